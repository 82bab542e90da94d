/* SPDX-License-Identifier: MIT */
#include "campaign/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "campaign/chost.h"
#include "campaign/command.h"
#include "campaign/rig.h"
#include "common/base/err.h"

#define BESIDE_VERIFY_MS  (48ULL * 3600 * 1000)
#define BESIDE_BOUNDS_MS  (3600ULL * 1000)
#define BESIDE_TRIES      4 /* to ask a host whose connection is lost */
#define BESIDE_OTHER      "wrong drive: "
#define BESIDE_CONNECTION 255 /* what ssh ends with where it has none */

static void add_text(struct command_line *line, const char *option,
		     const char *value)
{
	if (value[0] == '\0')
		return;
	command_line_add(line, "%s", option);
	command_line_add(line, "%s", value);
}

static void add_number(struct command_line *line, const char *option,
		       uint64_t number)
{
	if (number == 0)
		return;
	command_line_add(line, "%s", option);
	command_line_add(line, "%llu", (unsigned long long)number);
}

/* What only a fresh run is told; a resumed one has it in its log. */
static void add_region(struct command_line *line,
		       const struct csettings *settings, uint64_t seed)
{
	add_number(line, "--offset", settings->offset_bytes);
	add_number(line, "--size", settings->size_bytes);
	add_number(line, "--block-size", settings->block_bytes);
	add_number(line, "--streams", settings->streams);
	add_text(line, "--pattern", settings->pattern);
	command_line_add(line, "--seed");
	command_line_add(line, "%llx", (unsigned long long)seed);
	command_line_add(line, settings->fill ? "--fill" : "--no-fill");
}

/* The key as the writer finds it. */
static const char *writers_key(const struct csettings *settings)
{
	return settings->host_key[0] != '\0' ? settings->host_key
					     : settings->key;
}

static void build_writer(struct rig *rig, const struct beside_writing *writing,
			 const char *json_path)
{
	const struct csettings *settings = rig_settings(rig);
	struct command_line *line = rig_begin(rig, RIG_WRITER);

	add_text(line, "--target", settings->target);
	add_text(line, "--collector", rig_writers_collector(rig));
	add_text(line, "--key", writers_key(settings));
	add_text(line, "--run", writing->run);
	if (writing->run[0] == '\0')
		add_region(line, settings, writing->seed);
	add_text(line, "--erase", settings->erase);
	add_number(line, "--queue-depth", settings->queue_depth);
	add_text(line, "--sync",
		 writing->arm == PLAN_ARM_CONTROL ? "none" : settings->sync);
	/* A writer that dies with its host leaves no account. */
	if (!csettings_cuts_host(settings))
		add_text(line, "--json", json_path);
}

struct command *beside_start_writer(struct rig *rig,
				    const struct beside_writing *writing,
				    struct err *err)
{
	char json_path[RIG_PATH_BYTES];
	char err_path[RIG_PATH_BYTES];
	const struct command_files files = {.err_path = err_path,
					    .reads_lines = true,
					    .ends_with_us = true};

	rig_cycle_path(rig, writing->cycle, "writer.json", json_path,
		       sizeof(json_path));
	rig_cycle_path(rig, writing->cycle, "writer.log", err_path,
		       sizeof(err_path));
	/* A file of a broken-off cycle must not speak for this one. */
	if (unlink(json_path) == -1 && errno != ENOENT) {
		(void)err_sys(err, errno, "cannot replace %s", json_path);
		return NULL;
	}
	build_writer(rig, writing, json_path);
	return command_start(rig_begun(rig), &files, err);
}

int beside_read_writer(struct rig *rig, uint64_t cycle,
		       struct outcome_writer *writer, struct err *err)
{
	char path[RIG_PATH_BYTES];

	rig_cycle_path(rig, cycle, "writer.json", path, sizeof(path));
	return outcome_read_writer(writer, path, err);
}

/* ---- the verifier ---- */

/* Exit status and JSON must say the same, or neither is believed (P9). */
static void check_status(struct outcome_judged *judged, int status)
{
	const bool agrees =
		(judged->verdict == OUTCOME_KEPT &&
		 (status == 0 || status == 3)) ||
		(judged->verdict == OUTCOME_BROKEN && status == 1) ||
		(judged->verdict == OUTCOME_NONE && status == 2);

	if (agrees)
		return;
	(void)snprintf(judged->reason, sizeof(judged->reason),
		       "the verifier ended with status %d, but its report says "
		       "%s",
		       status, outcome_verdict_name(judged->verdict));
	judged->verdict = OUTCOME_NONE;
}

/* LOG is what --acklog gets, JSON what --json. */
static void build_verifier(struct rig *rig, const char *log, const char *json)
{
	const struct csettings *settings = rig_settings(rig);
	struct command_line *line = rig_begin(rig, RIG_VERIFIER);

	/* The user's options are words behind the program's own. */
	command_line_add_words(line, settings->verifier_options);
	add_text(line, "--target", settings->target);
	add_text(line, "--acklog", log);
	add_text(line, "--json", json);
}

/* What the verifier left at JSON_PATH, having said ANSWER. */
static int read_verdict(const char *json_path, const struct command_run *answer,
			struct outcome_judged *judged, struct err *err)
{
	if (outcome_read_verdict(judged, json_path, err) == -1)
		return err_set(err, "the verifier ended with status %d: %.380s",
			       answer->status, answer->complaint);
	check_status(judged, answer->status);
	if (judged->verdict == OUTCOME_NONE && judged->reason[0] == '\0')
		(void)snprintf(judged->reason, sizeof(judged->reason), "%.300s",
			       answer->complaint);
	return 0;
}

static int verify_here(struct rig *rig, const struct outcome *outcome,
		       bool is_second, struct outcome_judged *judged,
		       struct err *err)
{
	char json_path[RIG_PATH_BYTES], text_path[RIG_PATH_BYTES];
	char log_path[RIG_PATH_BYTES];
	const struct command_files files = {.out_path = text_path};
	struct command_run answer = {.files = &files,
				     .timeout_ms = BESIDE_VERIFY_MS,
				     .stop = rig_stop_flag(rig)};

	rig_cycle_path(rig, outcome->cycle,
		       is_second ? "second.json" : "verdict.json", json_path,
		       sizeof(json_path));
	rig_cycle_path(rig, outcome->cycle,
		       is_second ? "second.txt" : "verdict.txt", text_path,
		       sizeof(text_path));
	if (unlink(json_path) == -1 && errno != ENOENT)
		return err_sys(err, errno, "cannot replace %s", json_path);
	rig_log_path(rig, outcome->run, log_path, sizeof(log_path));
	build_verifier(rig, log_path, json_path);
	if (command_run(rig_begun(rig), &answer, err) == -1)
		return -1;
	return read_verdict(json_path, &answer, judged, err);
}

/* ---- the verifier on the host ---- */

/* The condensed log, which is small however long the log is. */
static int write_bounds(struct rig *rig, const struct outcome *outcome,
			const char *bounds_path, struct err *err)
{
	char log_path[RIG_PATH_BYTES];
	const struct command_files files = {.out_path = bounds_path};
	struct command_run answer = {.files = &files,
				     .timeout_ms = BESIDE_BOUNDS_MS,
				     .stop = rig_stop_flag(rig)};
	struct command_line *line = rig_begin(rig, RIG_COLLECTOR);

	rig_log_path(rig, outcome->run, log_path, sizeof(log_path));
	add_text(line, "--bounds", log_path);
	if (command_run(line, &answer, err) == -1)
		return err_prefix(err, "cannot condense %s", log_path);
	if (answer.status != 0)
		return err_set(err, "cannot condense %s: %.380s", log_path,
			       answer.complaint);
	return 0;
}

/* One try; 1 where an answer did not come through. */
static int verify_once(struct rig *rig, const struct command_files *files,
		       struct outcome_judged *judged, struct err *err)
{
	struct command_run answer = {.files = files,
				     .timeout_ms = BESIDE_VERIFY_MS,
				     .stop = rig_stop_flag(rig)};

	build_verifier(rig, "-", "-");
	if (command_run(rig_begun(rig), &answer, err) == -1)
		return -1;
	if (beside_is_connection_lost(answer.status)) {
		(void)err_set(err,
			      "the connection to the host was lost while it "
			      "verified: %.300s",
			      answer.complaint);
		return 1;
	}
	return read_verdict(files->out_path, &answer, judged, err) == -1 ? 1
									 : 0;
}

static int verify_on_host(struct rig *rig, const struct outcome *outcome,
			  bool is_second, struct outcome_judged *judged,
			  struct err *err)
{
	char bounds_path[RIG_PATH_BYTES], json_path[RIG_PATH_BYTES];
	const struct command_files files = {.in_path = bounds_path,
					    .out_path = json_path};
	struct chost_coming coming = {.old_boot = "",
				      .off_ms = rig_settings(rig)->off_max_ms};
	struct err ignored; /* the answer that did not come is the trouble */
	int rc = 1;

	rig_cycle_path(rig, outcome->cycle, "bounds", bounds_path,
		       sizeof(bounds_path));
	rig_cycle_path(rig, outcome->cycle,
		       is_second ? "second.json" : "verdict.json", json_path,
		       sizeof(json_path));
	if (write_bounds(rig, outcome, bounds_path, err) == -1)
		return -1;
	for (int tries = 0; rc == 1 && tries < BESIDE_TRIES; tries++) {
		/* It may be the host's network that is late, or the host. */
		if (tries > 0 &&
		    chost_await(rig, &coming, &ignored) != CHOST_BOOTED)
			break;
		rc = verify_once(rig, &files, judged, err);
	}
	/* It is kept where somebody may want to judge once more. */
	if (rc == 0 && judged->verdict == OUTCOME_KEPT)
		(void)unlink(bounds_path);
	return rc == 0 ? 0 : -1;
}

int beside_verify(struct rig *rig, const struct outcome *outcome,
		  bool is_second, struct outcome_judged *judged,
		  struct err *err)
{
	if (csettings_cuts_host(rig_settings(rig)))
		return verify_on_host(rig, outcome, is_second, judged, err);
	return verify_here(rig, outcome, is_second, judged, err);
}

bool beside_target_is_absent(const struct rig *rig,
			     const struct outcome_judged *judged)
{
	static const char *const verbs[] = {
		"cannot open ", "cannot connect to ", "cannot use "};
	const char *target = rig_settings(rig)->target;

	/* P10: its old name is another drive's, and it is nowhere else yet. */
	if (judged->verdict == OUTCOME_NONE &&
	    strncmp(judged->reason, BESIDE_OTHER, strlen(BESIDE_OTHER)) == 0)
		return true;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		const size_t length = strlen(verbs[i]);

		if (judged->verdict == OUTCOME_NONE &&
		    strncmp(judged->reason, verbs[i], length) == 0 &&
		    strncmp(judged->reason + length, target, strlen(target)) ==
			    0)
			return true;
	}
	return false;
}

bool beside_device_is_missing(const struct rig *rig,
			      const struct outcome_judged *judged)
{
	static const int reasons[] = {ENOENT, ENXIO, ENODEV, ENOMEDIUM};
	const size_t length = strlen(judged->reason);

	if (!beside_target_is_absent(rig, judged) ||
	    strncmp(rig_settings(rig)->target, "nbd", 3) == 0)
		return false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const char *why = strerror(reasons[i]);

		if (length > strlen(why) &&
		    strcmp(judged->reason + length - strlen(why), why) == 0)
			return true;
	}
	return false;
}

bool beside_target_has_shrunk(const struct outcome_judged *judged)
{
	return judged->verdict == OUTCOME_NONE &&
	       strncmp(judged->reason, "the region of run ", 18) == 0 &&
	       strstr(judged->reason, " has shrunk to ") != NULL;
}

bool beside_is_connection_lost(int status)
{
	return status == BESIDE_CONNECTION || status >= 128;
}
