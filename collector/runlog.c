/* SPDX-License-Identifier: MIT */
#include "collector/runlog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/syncers.h"
#include "common/ackfile/ackfile.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/ledger.h"

#define LINE_BYTES 640

struct runlog {
	uint8_t id[RUN_ID_BYTES];
	char name[RUN_ID_TEXT_BYTES];
	char path[PATH_MAX];
	struct ackfile *file; /* NULL until a new run has described itself */
	struct ledger *ledger;
	unsigned int places; /* clients that hold one */
	bool has_writer;
	bool is_dirty; /* appended, not yet durable */
	bool is_dead;
	struct err reason;
};

struct runlog_set {
	const char *dir;
	runlog_say *say;
	size_t count;
	struct runlog *runlogs[RUNLOG_MAX];
	struct syncers *syncers;
	struct syncers_job jobs[RUNLOG_MAX];
	struct runlog *group_of; /* NULL: the group is empty */
	uint32_t group_bytes;
	uint8_t group[ACKLOG_PAYLOAD_MAX];
};

struct runlog_set *runlog_set_new(const char *dir, runlog_say *say,
				  struct err *err)
{
	struct runlog_set *set = calloc(1, sizeof(*set));

	if (set == NULL) {
		err_sys(err, ENOMEM, "cannot keep logs in %s", dir);
		return NULL;
	}
	set->dir = dir;
	set->say = say;
	if ((mkdir(dir, 0777) < 0 && errno != EEXIST) ||
	    access(dir, R_OK | W_OK | X_OK) < 0) {
		err_sys(err, errno, "cannot keep logs in %s", dir);
		goto fail;
	}
	set->syncers = syncers_new(err);
	if (set->syncers == NULL)
		goto fail;
	return set;
fail:
	free(set);
	return NULL;
}

static int die(struct runlog_set *set, struct runlog *runlog, struct err *err)
{
	char line[LINE_BYTES];
	size_t length = strcspn(err->text, "\n"); /* a hint is not repeated */

	if (!runlog->is_dead) {
		runlog->is_dead = true;
		(void)snprintf(runlog->reason.text, sizeof(runlog->reason.text),
			       "%.*s; everything confirmed so far is safe",
			       length > 400 ? 400 : (int)length, err->text);
		(void)snprintf(line, sizeof(line), "run %s: %s", runlog->name,
			       runlog->reason.text);
		set->say(line);
	}
	*err = runlog->reason;
	return -1;
}

/* Appends what was gathered. A failure is the end of the run it belongs to. */
static void write_group(struct runlog_set *set)
{
	struct runlog *runlog = set->group_of;
	struct err err;

	if (runlog == NULL)
		return;
	set->group_of = NULL;
	if (runlog->file == NULL)
		runlog->file = ackfile_create(runlog->path, &err);
	if (runlog->file == NULL ||
	    ackfile_append(runlog->file, set->group, set->group_bytes,
			   clock_wall_ns(), &err) < 0)
		(void)die(set, runlog, &err);
}

static void close_runlog(struct runlog_set *set, struct runlog *runlog)
{
	char line[LINE_BYTES];
	struct err err;

	if (set->group_of == runlog)
		write_group(set);
	/* What was confirmed is durable already; this is only worth telling. */
	if (ackfile_close(runlog->file, &err) < 0) {
		(void)snprintf(line, sizeof(line), "run %s: %s", runlog->name,
			       err.text);
		set->say(line);
	}
	runlog->file = NULL;
	ledger_free(runlog->ledger);
	runlog->ledger = NULL;
}

void runlog_set_free(struct runlog_set *set)
{
	if (set == NULL)
		return;
	for (size_t i = 0; i < set->count; i++) {
		close_runlog(set, set->runlogs[i]);
		free(set->runlogs[i]);
	}
	syncers_free(set->syncers);
	free(set);
}

static struct runlog *find(const struct runlog_set *set,
			   const uint8_t id[RUN_ID_BYTES])
{
	for (size_t i = 0; i < set->count; i++)
		if (memcmp(set->runlogs[i]->id, id, RUN_ID_BYTES) == 0)
			return set->runlogs[i];
	return NULL;
}

static void forget(struct runlog_set *set, struct runlog *runlog)
{
	close_runlog(set, runlog);
	for (size_t i = 0; i < set->count; i++)
		if (set->runlogs[i] == runlog)
			set->runlogs[i] = set->runlogs[--set->count];
	free(runlog);
}

/* Opens the log with what is in it; ackfile_resume() makes all of it durable
 * before anybody is told of it. */
static int load(struct runlog_set *set, struct runlog *runlog, struct err *err)
{
	uint64_t repaired_bytes = 0;
	char line[LINE_BYTES];

	runlog->ledger = ledger_new(err);
	if (runlog->ledger == NULL)
		return -1;
	runlog->file = ackfile_resume(runlog->path, runlog->ledger,
				      &repaired_bytes, err);
	if (runlog->file == NULL)
		return -1;
	if (repaired_bytes > 0) {
		(void)snprintf(
			line, sizeof(line),
			"run %s: cut a torn tail of %" PRIu64
			" bytes off its log; nothing in it was confirmed",
			runlog->name, repaired_bytes);
		set->say(line);
	}
	if (ledger_has_run(runlog->ledger) &&
	    memcmp(ledger_run(runlog->ledger)->id, runlog->id, RUN_ID_BYTES) !=
		    0)
		return err_set(err, "%s is the log of another run",
			       runlog->path);
	return 0;
}

static bool is_stored(const struct runlog *runlog)
{
	return access(runlog->path, F_OK) == 0;
}

/*
 * A log without a single frame is what is left where the first append failed or
 * was interrupted: nothing in it was ever confirmed, and it stands in the way
 * of the client that tries again. Locked, so that it is nobody's.
 */
static int remove_husk(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct ackreader *reader = NULL;
	struct ackbody *body = malloc(sizeof(*body));
	int result = -1;

	if (fd < 0 || body == NULL) {
		err_sys(err, errno, "cannot open %s", path);
		goto out;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		err_sys(err, errno, "cannot lock %s", path);
		goto out;
	}
	reader = ackreader_open(path, err);
	if (reader == NULL)
		goto out;
	result = ackreader_next(reader, body, NULL, err);
	if (result == 0 && unlink(path) < 0)
		result = err_sys(err, errno, "cannot remove %s", path);
out:
	ackreader_close(reader);
	free(body);
	if (fd >= 0)
		(void)close(fd); /* nothing was written */
	return result < 0 ? -1 : 0;
}

static struct runlog *open_runlog(struct runlog_set *set,
				  const struct ackproto_hello *hello,
				  struct err *err)
{
	struct runlog *runlog = calloc(1, sizeof(*runlog));
	int length;

	if (runlog == NULL) {
		err_sys(err, ENOMEM, "cannot open another log");
		return NULL;
	}
	memcpy(runlog->id, hello->run_id, RUN_ID_BYTES);
	run_id_text(hello->run_id, runlog->name);
	length = snprintf(runlog->path, sizeof(runlog->path), "%s/%s.acklog",
			  set->dir, runlog->name);
	if (length < 0 || (size_t)length >= sizeof(runlog->path)) {
		err_sys(err, ENAMETOOLONG, "cannot open a log in %s", set->dir);
		goto fail;
	}
	if (hello->mode == ACKPROTO_NEW && is_stored(runlog) &&
	    remove_husk(runlog->path, err) < 0)
		goto fail;
	if (is_stored(runlog)) {
		if (load(set, runlog, err) < 0)
			goto fail;
	} else if (hello->mode != ACKPROTO_NEW) {
		err_set(err,
			"run %s is unknown here\nhint: --run is for a run "
			"whose log this collector has",
			runlog->name);
		goto fail;
	} else {
		runlog->ledger = ledger_new(err);
		if (runlog->ledger == NULL)
			goto fail;
	}
	return runlog;
fail:
	close_runlog(set, runlog);
	free(runlog);
	return NULL;
}

/*
 * A client that says NEW of a stored run has lost the answer to its first
 * statements: then the log holds no more than the beginning of cycle 1.
 */
static bool is_fresh(const struct runlog *runlog)
{
	const struct ackbody_cycle *cycle = ledger_cycle(runlog->ledger);

	if (!ledger_has_run(runlog->ledger))
		return true;
	if (cycle != NULL && cycle->cycle > 1)
		return false;
	for (uint16_t i = 0; i < ledger_run(runlog->ledger)->streams; i++)
		if (ledger_durable_last(runlog->ledger, i) > 0)
			return false;
	return true;
}

static int check_claim(const struct runlog *runlog, enum ackproto_mode mode,
		       bool *is_busy, struct err *err)
{
	if (runlog->is_dead) {
		*err = runlog->reason;
		return -1;
	}
	if (mode != ACKPROTO_NEW && !ledger_has_run(runlog->ledger))
		return err_set(err, "run %s has not described itself yet",
			       runlog->name);
	if (mode == ACKPROTO_OBSERVE)
		return 0;
	if (runlog->has_writer) {
		*is_busy = true;
		return err_set(err,
			       "run %s already has a writer\nhint: stop the "
			       "other writer first",
			       runlog->name);
	}
	if (mode == ACKPROTO_NEW && !is_fresh(runlog))
		return err_set(err, "run %s is here already, and not new",
			       runlog->name);
	return 0;
}

struct runlog *runlog_claim(struct runlog_set *set,
			    const struct ackproto_hello *hello, bool *is_busy,
			    struct err *err)
{
	struct runlog *runlog = find(set, hello->run_id);

	*is_busy = false;
	if (runlog == NULL) {
		if (set->count == RUNLOG_MAX) {
			err_set(err, "%d runs are in use, which is the limit",
				RUNLOG_MAX);
			return NULL;
		}
		runlog = open_runlog(set, hello, err);
		if (runlog == NULL)
			return NULL;
		set->runlogs[set->count++] = runlog;
	}
	if (check_claim(runlog, hello->mode, is_busy, err) < 0) {
		if (runlog->places == 0)
			forget(set, runlog);
		return NULL;
	}
	runlog->places++;
	if (hello->mode != ACKPROTO_OBSERVE)
		runlog->has_writer = true;
	return runlog;
}

void runlog_release(struct runlog_set *set, struct runlog *runlog,
		    enum ackproto_mode mode)
{
	if (mode != ACKPROTO_OBSERVE)
		runlog->has_writer = false;
	if (--runlog->places == 0)
		forget(set, runlog);
}

void runlog_fill_welcome(const struct runlog *runlog, enum ackproto_mode mode,
			 struct ackproto_welcome *welcome)
{
	const struct ackbody_cycle *cycle = ledger_cycle(runlog->ledger);

	memset(welcome, 0, sizeof(*welcome));
	if (mode == ACKPROTO_NEW)
		return;
	welcome->has_run = true;
	welcome->run = *ledger_run(runlog->ledger);
	welcome->cycle = cycle ? cycle->cycle : 0;
	for (uint16_t i = 0; i < welcome->run.streams; i++) {
		welcome->reserved[i] = ledger_reserved(runlog->ledger, i);
		welcome->durable[i] = ledger_durable_last(runlog->ledger, i);
	}
}

static int try_bodies(struct runlog *runlog, const uint8_t *payload,
		      uint32_t length, struct err *err)
{
	struct ackbody body;
	size_t at = 0;
	int result;

	while ((result = ackbody_decode(&body, payload, length, &at, err)) == 1)
		if (ledger_apply(runlog->ledger, &body, err) < 0)
			return -1;
	return result;
}

void runlog_commit_all(struct runlog_set *set)
{
	struct runlog *dirty[RUNLOG_MAX];
	size_t count = 0;

	write_group(set);
	for (size_t i = 0; i < set->count; i++) {
		struct runlog *runlog = set->runlogs[i];

		if (!runlog->is_dirty || runlog->is_dead)
			continue;
		dirty[count] = runlog;
		set->jobs[count++].file = runlog->file;
	}
	syncers_run(set->syncers, set->jobs, count);
	for (size_t i = 0; i < count; i++) {
		if (set->jobs[i].result < 0)
			(void)die(set, dirty[i], &set->jobs[i].err);
		else
			dirty[i]->is_dirty = false;
	}
}

/* The ledger has seen part of a payload that is not in the log: it is built
 * again from the log, so that it says what the log says and no more. */
static void rebuild(struct runlog_set *set, struct runlog *runlog)
{
	bool is_stored_run;
	struct err err;

	runlog_commit_all(set);
	if (runlog->is_dead)
		return;
	is_stored_run = runlog->file != NULL;
	close_runlog(set, runlog);
	if (is_stored_run && load(set, runlog, &err) < 0)
		(void)die(set, runlog, &err);
	if (is_stored_run)
		return;
	runlog->ledger = ledger_new(&err);
	if (runlog->ledger == NULL)
		(void)die(set, runlog, &err);
}

int runlog_append(struct runlog_set *set, struct runlog *runlog,
		  const uint8_t *payload, uint32_t length, struct err *err)
{
	if (!runlog->is_dead && try_bodies(runlog, payload, length, err) < 0) {
		rebuild(set, runlog);
		return -1;
	}
	if (set->group_of != runlog ||
	    length > sizeof(set->group) - set->group_bytes)
		write_group(set);
	if (runlog->is_dead) {
		*err = runlog->reason;
		return -1;
	}
	if (set->group_of == NULL)
		set->group_bytes = 0;
	memcpy(set->group + set->group_bytes, payload, length);
	set->group_bytes += length;
	set->group_of = runlog;
	runlog->is_dirty = true;
	return 0;
}

bool runlog_is_dead(const struct runlog *runlog)
{
	return runlog->is_dead;
}

const char *runlog_reason(const struct runlog *runlog)
{
	return runlog->reason.text;
}

const char *runlog_name(const struct runlog *runlog)
{
	return runlog->name;
}
