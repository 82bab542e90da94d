/* SPDX-License-Identifier: MIT */
/*
 * plugin - the NBD door to the model: one thin layer for nbdkit.
 *
 * One lock stands around the model. A write registers itself before it asks
 * for the lock, so that a cut finds the writes that are in flight. The
 * supervisor speaks through an inherited socket, in lines: "cut", "stop" and
 * "status"; the plugin says "ready" by itself once the socket listens. A cut
 * takes the lock for ever and ends the process: nothing is answered any more
 * and all connections drop. "cut N MS" comes when N more writes have been taken
 * and the next has arrived, or after MS milliseconds. A slow FLUSH leaves the
 * lock to others between its steps, one a millisecond. With "trace" everything
 * that the drive does is in that file before it is answered.
 *
 * The only file that knows nbdkit.
 */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/options.h"
#include "simdrive/flush.h"
#include "simdrive/inflight.h"
#include "simdrive/model.h"
#include "simdrive/park.h"
#include "simdrive/power.h"
#include "simdrive/statefile.h"
#include "simdrive/trace.h"
#include "simdrive/tracefile.h"

#define THREAD_MODEL      NBDKIT_THREAD_MODEL_PARALLEL
#define REQUEST_BYTES_MAX (32U * 1024 * 1024)
#define IN_FLIGHT_MAX     1024
#define LINE_BYTES        256

/* How long a cut waits for a write to be in flight: under load one comes at
 * once, and it is those that an honest drive may leave in part. */
#define CUT_WAIT_MS           20
#define CUT_WAIT_IN_FLIGHT_MS 500 /* where the fault needs them */

static struct {
	struct model_config config;
	struct model *model;
	const char *media, *state, *trace, *description;
	int control_fd, trace_fd;
	struct inflight_table in_flight; /* locked inside lock, or alone */
	pthread_mutex_t lock;            /* of the model */
	bool is_fresh;                   /* there was no state to load */
	bool is_cut_armed;               /* at that write, see above */
	uint64_t cut_at_write;
	uint64_t flush_ms, ready_ms;
	uint64_t on_since_ns;
} drive = {
	.control_fd = -1,
	.trace_fd = -1,
	.in_flight = {.lock = PTHREAD_MUTEX_INITIALIZER},
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

static void drive_load(void)
{
	drive.config.logical_block_bytes = 4096;
	drive.config.cache_bytes = MODEL_CACHE_BYTES_DEFAULT;
	drive.config.drain_ms = MODEL_DRAIN_MS_DEFAULT;
	drive.config.spare_bytes = MODEL_SPARE_BYTES_DEFAULT;
	drive.config.bypass_bytes = MODEL_BYPASS_BYTES_DEFAULT;
	drive.description = "plugpull-simdrive";
}

static int drive_config_number(const char *key, uint64_t number)
{
	struct model_config *config = &drive.config;

	if (strcmp(key, "logical-block") == 0)
		config->logical_block_bytes = (uint32_t)number;
	else if (strcmp(key, "cache") == 0)
		config->cache_bytes = number;
	else if (strcmp(key, "drain-ms") == 0)
		config->drain_ms = number;
	else if (strcmp(key, "drain-random") == 0)
		config->drain_order =
			number != 0 ? MODEL_DRAIN_RANDOM : MODEL_DRAIN_FIFO;
	else if (strcmp(key, "spare") == 0)
		config->spare_bytes = number;
	else if (strcmp(key, "bypass") == 0)
		config->bypass_bytes = number;
	else if (strcmp(key, "seed") == 0)
		config->seed = number;
	else if (strcmp(key, "fault-every") == 0)
		config->faults.every = number;
	else if (strcmp(key, "cut-drain") == 0)
		config->cut_drain = (enum model_cut_drain)number;
	else if (strcmp(key, "flush-ms") == 0)
		drive.flush_ms = number;
	else if (strcmp(key, "ready-ms") == 0)
		drive.ready_ms = number;
	else if (strcmp(key, "control-fd") == 0)
		drive.control_fd = (int)number;
	else
		return -1;
	return 0;
}

static int drive_config(const char *key, const char *value)
{
	struct err err = {.text = ""};
	uint64_t number = 0;
	int rc = 0;

	if (strcmp(key, "media") == 0)
		drive.media = value;
	else if (strcmp(key, "state") == 0)
		drive.state = value;
	else if (strcmp(key, "trace") == 0)
		drive.trace = value;
	else if (strcmp(key, "description") == 0)
		drive.description = value;
	else if (strcmp(key, "fault") == 0)
		rc = faults_add(&drive.config.faults, value, &err);
	else if (strcmp(key, "fault-cuts") == 0)
		rc = faults_set_cuts(&drive.config.faults, value, &err);
	else if (options_parse_count(value, key, &number, &err) != 0)
		rc = -1;
	else if (drive_config_number(key, number) != 0)
		rc = err_set(&err, "there is no parameter %s", key);
	if (rc != 0)
		nbdkit_error("%s", err.text);
	return rc;
}

/* With the lock held. A history with a hole would be none: the drive ends. */
static void append_to_trace(void *unused, const struct trace_event *event)
{
	struct trace_event stamped = *event;
	int rc = 0;

	(void)unused;
	stamped.time_ns = clock_monotonic_ns();
	rc = tracefile_append(drive.trace_fd, &stamped);
	if (rc == 0)
		return;
	nbdkit_error("cannot append to trace %s: %s", drive.trace,
		     strerror(-rc));
	_exit(1);
}

static int open_trace(struct err *err)
{
	if (drive.trace == NULL)
		return 0;
	drive.trace_fd = tracefile_open(drive.trace, err);
	drive.config.trace.tell = append_to_trace;
	return drive.trace_fd < 0 ? -1 : 0;
}

static int drive_get_ready(void)
{
	struct err err = {.text = ""};

	if (drive.media == NULL || drive.state == NULL) {
		nbdkit_error("media and state must be given");
		return -1;
	}
	if (media_open_file(&drive.config.media, drive.media, &err) == 0 &&
	    open_trace(&err) == 0)
		drive.model = model_new(&drive.config, &err);
	if (drive.model != NULL && statefile_load(drive.state, drive.model,
						  &drive.is_fresh, &err) == 0)
		return 0;
	nbdkit_error("%s: %s", drive.state, err.text);
	return -1;
}

static int say(const char *line)
{
	size_t left = strlen(line);

	while (left > 0) {
		ssize_t moved = write(drive.control_fd, line, left);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return -1;
		line += moved;
		left -= (size_t)moved;
	}
	return 0;
}

static int say_counters(void)
{
	const struct model_counters *counters = model_counters(drive.model);
	char line[LINE_BYTES];

	(void)snprintf(line, sizeof(line),
		       "dirty_bytes=%ju writes=%ju flushes=%ju fua_writes=%ju "
		       "reads=%ju cuts=%ju\n",
		       (uintmax_t)model_dirty_bytes(drive.model),
		       (uintmax_t)counters->writes,
		       (uintmax_t)counters->flushes,
		       (uintmax_t)counters->fua_writes,
		       (uintmax_t)counters->reads, (uintmax_t)counters->cuts);
	return say(line);
}

/* With the lock held no write gets any further: those that come now wait. */
static void await_writes_in_flight(void)
{
	bool needs_them = faults_find(&drive.config.faults,
				      FAULT_TEARS_IN_FLIGHT) != NULL;
	int waits = needs_them ? CUT_WAIT_IN_FLIGHT_MS : CUT_WAIT_MS;

	for (; waits > 0 && !inflight_is_any(&drive.in_flight); waits--)
		clock_sleep_ms(1);
}

/* Never returns; the lock is held. */
static void end_process(int rc)
{
	char line[LINE_BYTES];

	if (rc == 0)
		rc = statefile_save(drive.state, drive.model);
	if (rc == 0)
		rc = say_counters();
	if (rc != 0) {
		(void)snprintf(line, sizeof(line), "error %s\n", strerror(-rc));
		(void)say(line); /* the supervisor sees our end in any case */
	}
	_exit(rc == 0 ? 0 : 1);
}

/* With the lock held; never returns. */
static void cut(void)
{
	static struct damage_write writes[IN_FLIGHT_MAX];
	size_t count = 0;

	await_writes_in_flight();
	count = inflight_seize(&drive.in_flight, writes, IN_FLIGHT_MAX);
	end_process(
		power_cut(drive.model, writes, count, clock_monotonic_ns()));
}

/* The write that is waited for cuts the power itself, see drive_pwrite(). */
static void cut_later(uint64_t writes, uint64_t within_ms)
{
	const uint64_t deadline =
		clock_monotonic_ns() + within_ms * CLOCK_NS_PER_MS;

	(void)pthread_mutex_lock(&drive.lock);
	drive.cut_at_write = model_counters(drive.model)->writes + writes;
	drive.is_cut_armed = true;
	(void)pthread_mutex_unlock(&drive.lock);
	while (clock_monotonic_ns() < deadline)
		clock_sleep_ms(1);
	(void)pthread_mutex_lock(&drive.lock);
	cut();
}

static void obey(const char *line)
{
	uint64_t writes = 0, within_ms = 0;

	if (sscanf(line, "cut %" SCNu64 " %" SCNu64, &writes, &within_ms) == 2)
		cut_later(writes, within_ms);
	(void)pthread_mutex_lock(&drive.lock);
	if (strcmp(line, "cut\n") == 0)
		cut();
	if (strcmp(line, "stop\n") == 0)
		end_process(power_stop(drive.model));
	/* An error of the media shows in the next command. */
	(void)model_tick(drive.model, clock_monotonic_ns());
	if (say_counters() != 0)
		_exit(1);
	(void)pthread_mutex_unlock(&drive.lock);
}

static void *control_run(void *unused)
{
	FILE *lines = fdopen(drive.control_fd, "r");
	char line[LINE_BYTES];

	(void)unused;
	if (lines == NULL || say("ready\n") != 0)
		_exit(1);
	while (fgets(line, sizeof(line), lines) != NULL)
		obey(line);
	_exit(1); /* the supervisor is gone, and so is the power */
}

static int drive_after_fork(void)
{
	pthread_t thread;
	int rc = 0;

	park_aborts();
	drive.on_since_ns = clock_monotonic_ns();
	power_on(drive.model, drive.is_fresh);
	if (drive.control_fd < 0)
		return 0;
	rc = pthread_create(&thread, NULL, control_run, NULL);
	if (rc != 0) {
		nbdkit_error("cannot start a thread: %s", strerror(rc));
		return -1;
	}
	(void)pthread_detach(thread); /* cannot fail for a fresh thread */
	return 0;
}

static void *drive_open(int is_readonly)
{
	const uint64_t ready_ns =
		drive.on_since_ns + drive.ready_ms * CLOCK_NS_PER_MS;

	(void)is_readonly;
	while (clock_monotonic_ns() < ready_ns)
		clock_sleep_ms(1);
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t drive_get_size(void *handle)
{
	(void)handle;
	return (int64_t)drive.config.media.size_bytes;
}

static int drive_yes(void *handle)
{
	(void)handle;
	return 1;
}

static int drive_can_fua(void *handle)
{
	(void)handle;
	return NBDKIT_FUA_NATIVE;
}

static int drive_can_zero(void *handle)
{
	(void)handle;
	return 0; /* a client that wants zeroes writes them */
}

static int drive_block_size(void *handle, uint32_t *minimum,
			    uint32_t *preferred, uint32_t *maximum)
{
	(void)handle;
	*minimum = drive.config.logical_block_bytes;
	*preferred = 4096;
	*maximum = REQUEST_BYTES_MAX;
	return 0;
}

static const char *drive_description(void *handle)
{
	(void)handle;
	return drive.description;
}

static int answer(int rc)
{
	if (rc == 0)
		return 0;
	nbdkit_set_error(-rc);
	nbdkit_debug("answering: %s", strerror(-rc));
	return -1;
}

static int drive_pread(void *handle, void *buffer, uint32_t count,
		       uint64_t offset, uint32_t flags)
{
	int rc = 0;

	(void)handle;
	(void)flags;
	(void)pthread_mutex_lock(&drive.lock);
	rc = model_read(drive.model, buffer, count, offset,
			clock_monotonic_ns());
	(void)pthread_mutex_unlock(&drive.lock);
	while (rc == MODEL_NO_ANSWER)
		(void)pause(); /* until the process ends */
	return answer(rc);
}

static int drive_pwrite(void *handle, const void *buffer, uint32_t count,
			uint64_t offset, uint32_t flags)
{
	struct inflight entry = {
		.write = {.data = buffer,
			  .length = count,
			  .offset_bytes = offset,
			  .is_fua = (flags & NBDKIT_FLAG_FUA) != 0},
	};
	bool is_whole = count > 0 &&
			count % drive.config.logical_block_bytes == 0 &&
			offset % drive.config.logical_block_bytes == 0;
	int rc = 0;

	(void)handle;
	if (!is_whole)
		return answer(-EINVAL);
	inflight_enter(&drive.in_flight, &entry);
	(void)pthread_mutex_lock(&drive.lock);
	if (drive.is_cut_armed &&
	    model_counters(drive.model)->writes >= drive.cut_at_write)
		cut();
	rc = model_write(drive.model, &entry.write, entry.write.is_fua,
			 clock_monotonic_ns());
	/* Inside the lock: a cut must not apply it a second time, over
	 * something newer. */
	inflight_leave(&drive.in_flight, &entry);
	(void)pthread_mutex_unlock(&drive.lock);
	return answer(rc);
}

static int drive_flush(void *handle, uint32_t flags)
{
	struct flush flush;
	int rc = 0;

	(void)handle;
	(void)flags;
	(void)pthread_mutex_lock(&drive.lock);
	rc = flush_begin(drive.model, &flush, clock_monotonic_ns());
	for (uint64_t ms = 0; ms < drive.flush_ms && rc == 0; ms++) {
		(void)pthread_mutex_unlock(&drive.lock);
		clock_sleep_ms(1);
		(void)pthread_mutex_lock(&drive.lock);
		rc = flush_step(drive.model, &flush);
	}
	if (rc == 0)
		rc = flush_end(drive.model, &flush);
	(void)pthread_mutex_unlock(&drive.lock);
	return answer(rc);
}

static struct nbdkit_plugin plugin = {
	.name = "plugpull-simdrive",
	.version = PLUGPULL_VERSION,
	.load = drive_load,
	.config = drive_config,
	.get_ready = drive_get_ready,
	.after_fork = drive_after_fork,
	.open = drive_open,
	.get_size = drive_get_size,
	.can_multi_conn = drive_yes,
	.can_flush = drive_yes,
	.can_fua = drive_can_fua,
	.can_zero = drive_can_zero,
	.block_size = drive_block_size,
	.export_description = drive_description,
	.pread = drive_pread,
	.pwrite = drive_pwrite,
	.flush = drive_flush,
	.errno_is_preserved = 0,
};

/* -Wmissing-prototypes: the macro only defines it. */
struct nbdkit_plugin *plugin_init(void);
NBDKIT_REGISTER_PLUGIN(plugin)
