/* SPDX-License-Identifier: MIT */
/*
 *   open drive and log -> RUN -> fill, labels, FLUSH -> CYCLE, RESERVE
 *        -> streams run -> EVENT (if it failed) -> ISSUED... -> END
 */
#include "writer/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"
#include "common/target/guard.h"
#include "common/target/target.h"
#include "writer/ackclient.h"
#include "writer/fill.h"
#include "writer/newer.h"
#include "writer/speaker.h"
#include "writer/stream.h"
#include "writer/wprogress.h"
#include "writer/wstop.h"
#include "writer/wsummary.h"

#define LOOK_MS          5 /* until the first write has completed */
#define LOOK_LATER_MS    20
#define CONFIRM_EXTRA_MS 1000 /* beyond what the ack thread itself waits */

struct writer {
	const struct wsettings *settings;
	struct wstop *stop;
	struct writer_result *result;
	struct target *target;
	struct channel_key *key;
	struct ackclient *acks;
	struct ackclient_before before;
	struct wprogress progress;
	struct ackbody body; /* big; one at a time is said */
	struct stream *streams[RUN_STREAMS_MAX];
	unsigned int started;
	bool is_writing, is_event_said;
	uint64_t started_ns;
};

/* ---- the drive ---- */

/* In /dev a missing name is a missing drive. */
static bool is_device_name(const char *name)
{
	return strncmp(name, "/dev/", 5) == 0 &&
	       strncmp(name, "/dev/shm/", 9) != 0;
}

static bool is_to_be_created(const struct wsettings *settings)
{
	return settings->given.size && !settings->is_resume &&
	       !strstr(settings->target, "://") &&
	       !is_device_name(settings->target) &&
	       access(settings->target, F_OK) < 0 && errno == ENOENT;
}

static int open_target(struct writer *writer, struct err *err)
{
	const struct wsettings *settings = writer->settings;

	if (is_to_be_created(settings) &&
	    target_create_file(settings->target,
			       settings->offset_bytes + settings->size_bytes,
			       err) < 0)
		return -1;
	writer->target = target_open(settings->target, TARGET_WRITE, err);
	return writer->target ? 0 : -1;
}

static int check_label(struct writer *writer, struct err *err)
{
	const char *name = writer->settings->target;
	const struct run *run = &writer->result->run;
	enum fill_label label = FILL_LABEL_NONE;

	if (fill_find_label(writer->target, run, &label, err) < 0)
		return -1;
	if (label == FILL_LABEL_OTHER)
		return err_set(err,
			       "%s is the wrong drive, or was used since: "
			       "it has the label of another run\nhint: begin "
			       "a new run, with a new log",
			       name);
	if (label == FILL_LABEL_OURS)
		return 0;
	if (run->identity[0] == '\0')
		return err_set(err,
			       "%s has no label of the run, and nothing "
			       "else to know it by\nhint: begin a new run, "
			       "with a new log",
			       name);
	wprogress_note("neither label of the run can be read; going on, since "
		       "the drive's identity is right");
	return 0;
}

/* ---- the log ---- */

static int open_log(struct writer *writer, struct err *err)
{
	const struct wsettings *settings = writer->settings;
	struct ackclient_setup setup = {
		.collector = settings->collector,
		.log_path = settings->acklog,
		.is_resume = settings->is_resume,
		.timeout_ms = settings->ack_timeout_ms,
		.stop = writer->stop,
		.note = wprogress_note,
	};

	if (settings->key) {
		writer->key = channel_key_load(settings->key, err);
		if (!writer->key)
			return -1;
	}
	setup.key = writer->key;
	memcpy(setup.run_id, settings->run_id, RUN_ID_BYTES);
	writer->acks = ackclient_open(&setup, &writer->before, err);
	return writer->acks ? 0 : -1;
}

static int say(struct writer *writer, enum ackbody_type type, struct err *err)
{
	writer->body.type = type;
	return ackclient_say(writer->acks, &writer->body, err);
}

static int say_limit(struct writer *writer, enum ackbody_type type,
		     uint16_t stream, uint64_t sequence, struct err *err)
{
	writer->body.limit.stream = stream;
	writer->body.limit.sequence = sequence;
	return say(writer, type, err);
}

static int say_note(struct writer *writer, enum ackbody_type type,
		    enum ackbody_event event, const char *text, struct err *err)
{
	struct ackbody_note *note = &writer->body.note;

	memset(note, 0, sizeof(*note));
	note->event = event;
	note->at_ns = clock_monotonic_ns();
	(void)snprintf(note->text, sizeof(note->text), "%.*s",
		       (int)strcspn(text, "\n"), text);
	return say(writer, type, err);
}

static int confirm(struct writer *writer, struct err *err)
{
	return ackclient_wait(
		writer->acks,
		writer->settings->ack_timeout_ms + CONFIRM_EXTRA_MS, err);
}

/* ---- beginning ---- */

static int guard(struct writer *writer, struct err *err)
{
	const struct run *run = &writer->result->run;

	return guard_check(writer->target, run->offset_bytes, run->size_bytes,
			   writer->settings->erase, err);
}

static void tick_fill(void *context, uint64_t done_bytes, uint64_t size_bytes)
{
	wprogress_show_fill(context, done_bytes, size_bytes);
}

static int begin_new(struct writer *writer, struct err *err)
{
	struct run *run = &writer->result->run;
	const struct target_info *info = target_info(writer->target);
	const struct fill_watch watch = {tick_fill, &writer->progress};

	/* Everything that can be refused is refused before anything is
	 * written, and before a log exists. */
	if (wsettings_new_run(writer->settings, info, run, err) < 0 ||
	    wsettings_cycle(writer->settings, info, run, &writer->before,
			    &writer->result->cycle, err) < 0 ||
	    wsettings_flushes(writer->settings, writer->target, err) < 0 ||
	    guard(writer, err) < 0 || open_log(writer, err) < 0 ||
	    ackclient_start(writer->acks, run->streams, err) < 0)
		return -1;
	writer->body.run = *run;
	if (say(writer, ACKBODY_RUN, err) < 0 || confirm(writer, err) < 0)
		return -1;
	wsummary_run(run);
	if (fill_region(writer->target, run, writer->stop, &watch, err) < 0)
		return err_hint(err, "nothing was promised yet; begin a new "
				     "run, with a new log");
	wprogress_end(&writer->progress);
	return 0;
}

static int begin_again(struct writer *writer, struct err *err)
{
	struct run *run = &writer->result->run;
	const struct target_info *info = target_info(writer->target);
	char text[128];

	if (open_log(writer, err) < 0)
		return -1;
	if (!writer->before.has_run)
		return err_set(err, "cannot resume: the ack log has no run in "
				    "it yet");
	/* P9: what the fill did not reach would look lost. */
	if (writer->before.cycle == 0)
		return err_set(err, "cannot resume: the region was never "
				    "filled to its end\nhint: begin a new run, "
				    "with a new log");
	*run = writer->before.run;
	if (wsettings_resume_run(writer->settings, info, run, err) < 0 ||
	    guard(writer, err) < 0 || check_label(writer, err) < 0 ||
	    newer_check(writer->target, run, writer->before.reserved, err) <
		    0 ||
	    wsettings_cycle(writer->settings, info, run, &writer->before,
			    &writer->result->cycle, err) < 0 ||
	    wsettings_flushes(writer->settings, writer->target, err) < 0 ||
	    ackclient_start(writer->acks, run->streams, err) < 0)
		return -1;
	wsummary_run(run);
	if (!writer->before.repaired_bytes)
		return 0;
	(void)snprintf(text, sizeof(text),
		       "the ack log ended in a torn frame; %llu bytes were cut "
		       "off",
		       (unsigned long long)writer->before.repaired_bytes);
	wprogress_note(text);
	return 0;
}

/* What each stream may issue at once; more it asks for itself. */
static uint64_t first_reservation(struct writer *writer, uint16_t stream)
{
	const struct ackbody_cycle *cycle = &writer->result->cycle;
	uint64_t last =
		wsettings_last_sequence(writer->settings, cycle, stream);
	uint64_t wanted =
		cycle->first_sequence[stream] + 2 * SPEAKER_CHUNK_MIN - 1;

	return wanted < last ? wanted : last;
}

static int begin_cycle(struct writer *writer, struct err *err)
{
	const struct ackbody_cycle *cycle = &writer->result->cycle;

	writer->body.cycle = *cycle;
	if (say(writer, ACKBODY_CYCLE, err) < 0)
		return -1;
	for (uint16_t i = 0; i < cycle->streams; i++) {
		uint64_t reserved = first_reservation(writer, i);

		if (reserved >= cycle->first_sequence[i] &&
		    say_limit(writer, ACKBODY_RESERVE, i, reserved, err) < 0)
			return -1;
	}
	return confirm(writer, err);
}

static int make_streams(struct writer *writer, struct err *err)
{
	const struct ackbody_cycle *cycle = &writer->result->cycle;

	for (uint16_t i = 0; i < cycle->streams; i++) {
		const struct stream_setup setup = {
			.run = &writer->result->run,
			.cycle = cycle,
			.target = writer->target,
			.acks = writer->acks,
			.stop = writer->stop,
			.drain_timeout_ms = writer->settings->drain_timeout_ms,
			.stream = i,
			.reserved = first_reservation(writer, i),
			.last_sequence = wsettings_last_sequence(
				writer->settings, cycle, i),
		};

		writer->streams[i] = stream_new(&setup, err);
		if (!writer->streams[i])
			return -1;
	}
	return 0;
}

static int start_streams(struct writer *writer, struct err *err)
{
	writer->result->has_begun = true;
	writer->started_ns = clock_monotonic_ns();
	while (writer->started < writer->result->cycle.streams) {
		if (stream_start(writer->streams[writer->started], err) < 0) {
			wstop_fail(writer->stop, err, false);
			return -1;
		}
		writer->started++;
	}
	return 0;
}

/* ---- watching ---- */

/* True while some stream still runs. */
static bool add_up(struct writer *writer, struct wprogress_now *now)
{
	struct writer_result *result = writer->result;
	bool is_running = false;

	result->writes = result->issued = result->durable = 0;
	result->flushes = result->in_flight = 0;
	for (unsigned int i = 0; i < writer->started; i++) {
		struct stream_counts *counts =
			stream_counts(writer->streams[i]);

		if (!atomic_load(&counts->is_done))
			is_running = true;
		result->writes += atomic_load(&counts->completed);
		result->issued += atomic_load(&counts->issued);
		result->durable += atomic_load(&counts->durable);
		result->flushes += atomic_load(&counts->flushes);
		result->in_flight += atomic_load(&counts->flying);
	}
	now->writes = result->writes;
	now->durable = result->durable;
	now->flying = result->in_flight;
	now->confirmed = ackclient_confirmed_writes(writer->acks);
	now->confirmed_ns = ackclient_confirmed_ns(writer->acks);
	now->block_bytes = result->run.block_bytes;
	return is_running;
}

static void say_failure(struct writer *writer)
{
	bool is_gone = atomic_load(&writer->stop->is_gone);
	struct err reason;
	struct err err; /* an ack log that fails too is told at the end */

	if (writer->is_event_said || !wstop_has_failed(writer->stop))
		return;
	writer->is_event_said = true;
	wstop_reason(writer->stop, &reason);
	(void)say_note(writer, ACKBODY_EVENT,
		       is_gone ? ACKBODY_EVENT_CUT_SEEN : ACKBODY_EVENT_ERROR,
		       reason.text, &err);
}

static void watch(struct writer *writer)
{
	uint64_t runtime_ns = writer->settings->runtime_ms * CLOCK_NS_PER_MS;
	struct wprogress_now now;

	while (add_up(writer, &now)) {
		if (runtime_ns &&
		    clock_monotonic_ns() - writer->started_ns >= runtime_ns)
			atomic_store(&writer->stop->is_asked, true);
		if (!writer->is_writing && now.writes > 0) {
			writer->is_writing = true;
			wsummary_writing(writer->result->cycle.cycle);
		}
		wprogress_show(&writer->progress, &now);
		say_failure(writer);
		clock_sleep_ms(writer->is_writing ? LOOK_LATER_MS : LOOK_MS);
	}
	wprogress_end(&writer->progress);
	if (!writer->is_writing && now.writes > 0)
		wsummary_writing(writer->result->cycle.cycle);
}

/* ---- ending ---- */

static void join_streams(struct writer *writer)
{
	struct writer_result *result = writer->result;
	struct wprogress_now now;
	struct err reason;
	uint64_t end_ns = 0;

	for (unsigned int i = 0; i < writer->started; i++)
		stream_join(writer->streams[i]);
	end_ns = clock_monotonic_ns();
	add_up(writer, &now);
	if (wstop_has_failed(writer->stop)) {
		end_ns = writer->stop->failed_ns;
		wstop_reason(writer->stop, &reason);
		/* Some systems take a moment to notice that it is gone. */
		if (target_is_gone(writer->target))
			wstop_fail(writer->stop, &reason, true);
	}
	result->writing_ns = end_ns - writer->started_ns;
	result->is_gone = atomic_load(&writer->stop->is_gone);
	say_failure(writer);
}

static int say_end(struct writer *writer, struct err *err)
{
	const char *text = "stopped as told";
	struct err reason;

	for (uint16_t i = 0; i < writer->started; i++) {
		struct stream_counts *counts =
			stream_counts(writer->streams[i]);

		if (say_limit(writer, ACKBODY_ISSUED, i,
			      atomic_load(&counts->highest), err) < 0)
			return -1;
	}
	if (wstop_has_failed(writer->stop)) {
		wstop_reason(writer->stop, &reason);
		text = reason.text;
	}
	if (say_note(writer, ACKBODY_END, ACKBODY_EVENT_NOTE, text, err) < 0)
		return -1;
	return confirm(writer, err);
}

/* One sentence for people: what was seen first, and when. */
static int report_failure(struct writer *writer, struct err *err)
{
	double seconds = (double)writer->result->writing_ns / 1e9;

	wstop_reason(writer->stop, err);
	if (writer->result->is_gone)
		return err_prefix(err,
				  "the drive went away after %.3f s of "
				  "writing",
				  seconds);
	return err_prefix(err, "stopped after %.3f s of writing", seconds);
}

static int run_cycle(struct writer *writer, struct err *err)
{
	int status = make_streams(writer, err);

	if (status == 0)
		status = begin_cycle(writer, err);
	if (status < 0)
		return -1;
	(void)start_streams(writer, err); /* it is in wstop then */
	watch(writer);
	join_streams(writer);
	status = say_end(writer, err);
	writer->result->confirmed = ackclient_confirmed_writes(writer->acks);
	ackclient_latency(writer->acks, &writer->result->latency);
	if (wstop_has_failed(writer->stop))
		return report_failure(writer, err);
	return status;
}

static int close_all(struct writer *writer, struct err *err)
{
	bool is_idle = true;
	int status = 0;

	for (unsigned int i = 0; i < RUN_STREAMS_MAX; i++) {
		if (writer->streams[i] &&
		    stream_is_abandoned(writer->streams[i]))
			is_idle = false;
		stream_free(writer->streams[i]);
	}
	status = ackclient_close(writer->acks, err);
	channel_key_free(writer->key);
	if (is_idle) /* else the drive still has requests of ours */
		target_close(writer->target);
	return status;
}

int writer_run(const struct wsettings *settings, struct wstop *stop,
	       struct writer_result *result, struct err *err)
{
	struct writer writer = {
		.settings = settings, .stop = stop, .result = result};
	struct err closing;
	int status = 0;

	memset(result, 0, sizeof(*result));
	wprogress_init(&writer.progress);
	status = open_target(&writer, err);
	if (status == 0)
		status = settings->is_resume ? begin_again(&writer, err)
					     : begin_new(&writer, err);
	if (status == 0)
		status = run_cycle(&writer, err);
	if (close_all(&writer, &closing) < 0 && status == 0) {
		*err = closing;
		status = -1;
	}
	return status;
}
