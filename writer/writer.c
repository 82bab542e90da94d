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
#include "common/target/guard.h"
#include "common/target/target.h"
#include "writer/ackclient.h"
#include "writer/fill.h"
#include "writer/newer.h"
#include "writer/speaker.h"
#include "writer/stream.h"
#include "writer/wcache.h"
#include "writer/wdrive.h"
#include "writer/wfind.h"
#include "writer/wflush.h"
#include "writer/wgone.h"
#include "writer/wlog.h"
#include "writer/wprogress.h"
#include "writer/wstop.h"
#include "writer/wsummary.h"

#define LOOK_MS       5 /* until the first write has completed */
#define LOOK_LATER_MS 20

struct writer {
	const struct wsettings *settings;
	struct wstop *stop;
	struct writer_result *result;
	struct target *target;
	struct wfind found;
	struct wcache *cache;
	struct wflush flush;
	struct wlog log;
	struct wprogress progress;
	struct wgone gone;
	struct stream *streams[RUN_STREAMS_MAX];
	unsigned int started;
	bool is_writing;
	uint64_t started_ns;
};

/* ---- the drive ---- */

/* RUN is NULL where it is yet to begin. */
static int open_target(struct writer *writer, const struct run *run,
		       struct err *err)
{
	if (wfind_settle(&writer->found, writer->settings, run, err) < 0)
		return -1;
	writer->settings = &writer->found.settings;
	writer->target = wdrive_open(writer->settings, run, &writer->cache,
				     &writer->result->drive, err);
	return wfind_confirm(&writer->found, writer->target, err);
}

/* ---- beginning ---- */

static int guard(struct writer *writer, struct err *err)
{
	const struct run *run = &writer->result->run;

	return guard_check(writer->target, run->offset_bytes, run->size_bytes,
			   writer->settings->erase, err);
}

static int begin_flushes(struct writer *writer, struct err *err)
{
	return wflush_begin(&writer->flush, writer->settings, writer->target,
			    &writer->result->flush, err);
}

static void tick_fill(void *context, uint64_t done_bytes, uint64_t size_bytes)
{
	wprogress_show_fill(context, done_bytes, size_bytes);
}

static int begin_new(struct writer *writer, struct err *err)
{
	struct run *run = &writer->result->run;
	const struct target_info *info;
	const struct fill_watch watch = {tick_fill, &writer->progress};

	if (open_target(writer, NULL, err) < 0)
		return -1;
	info = target_info(writer->target);
	/* Everything that can be refused is refused before anything is
	 * written, and before a log exists. */
	if (wsettings_new_run(writer->settings, info, run, err) < 0 ||
	    wsettings_cycle(writer->settings, info, run, &writer->log.before,
			    &writer->result->cycle, err) < 0 ||
	    guard(writer, err) < 0 || begin_flushes(writer, err) < 0 ||
	    wlog_open(&writer->log, writer->settings, writer->stop, err) < 0 ||
	    ackclient_start(writer->log.acks, run->streams, err) < 0)
		return -1;
	run->is_unsent = writer->result->flush.unsent[0] != '\0';
	writer->log.body.run = *run;
	if (wlog_say(&writer->log, ACKBODY_RUN, err) < 0 ||
	    wlog_confirm(&writer->log, err) < 0)
		return -1;
	wsummary_run(run);
	if (fill_region(writer->target, run, writer->stop, &watch, err) < 0 ||
	    wflush_filled(&writer->flush, err) < 0)
		return err_hint(err, "nothing was promised yet; begin a new "
				     "run, with a new log");
	wprogress_end(&writer->progress);
	return 0;
}

static int begin_again(struct writer *writer, struct err *err)
{
	struct run *run = &writer->result->run;
	const struct target_info *info;
	char text[128];

	if (wlog_open(&writer->log, writer->settings, writer->stop, err) < 0)
		return -1;
	if (!writer->log.before.has_run)
		return err_set(err, "cannot resume: the ack log has no run in "
				    "it yet");
	/* P9: what the fill did not reach would look lost. */
	if (writer->log.before.cycle == 0)
		return err_set(err, "cannot resume: the region was never "
				    "filled to its end\nhint: begin a new run, "
				    "with a new log");
	*run = writer->log.before.run;
	if (open_target(writer, run, err) < 0)
		return -1;
	info = target_info(writer->target);
	if (wsettings_resume_run(writer->settings, info, run, err) < 0 ||
	    guard(writer, err) < 0 ||
	    wfind_check_label(&writer->found, writer->target, run, err) < 0 ||
	    newer_check(writer->target, run, writer->log.before.reserved, err) <
		    0 ||
	    wsettings_cycle(writer->settings, info, run, &writer->log.before,
			    &writer->result->cycle, err) < 0 ||
	    begin_flushes(writer, err) < 0 ||
	    ackclient_start(writer->log.acks, run->streams, err) < 0)
		return -1;
	wsummary_run(run);
	if (!writer->log.before.repaired_bytes)
		return 0;
	(void)snprintf(text, sizeof(text),
		       "the ack log ended in a torn frame; %llu bytes were cut "
		       "off",
		       (unsigned long long)writer->log.before.repaired_bytes);
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

/* How the drive is spoken to, what was done to it, and what is known of it. */
static int say_drive(struct writer *writer, struct err *err)
{
	enum ackbody_event event;
	char text[ACKBODY_TEXT_BYTES];
	int status = 0;

	for (unsigned int i = 0;
	     status == 0 &&
	     wdrive_note(&writer->result->drive, i, text, sizeof(text));
	     i++)
		status = wlog_say_note(&writer->log, ACKBODY_EVENT_NOTE, text,
				       err);
	for (unsigned int i = 0;
	     status == 0 &&
	     wflush_note(&writer->flush, i, &event, text, sizeof(text));
	     i++)
		status = wlog_say_note(&writer->log, event, text, err);
	return status;
}

static int begin_cycle(struct writer *writer, struct err *err)
{
	const struct ackbody_cycle *cycle = &writer->result->cycle;

	writer->log.body.cycle = *cycle;
	if (wlog_say(&writer->log, ACKBODY_CYCLE, err) < 0 ||
	    say_drive(writer, err) < 0)
		return -1;
	for (uint16_t i = 0; i < cycle->streams; i++) {
		uint64_t reserved = first_reservation(writer, i);

		if (reserved >= cycle->first_sequence[i] &&
		    wlog_say_limit(&writer->log, ACKBODY_RESERVE, i, reserved,
				   err) < 0)
			return -1;
	}
	return wlog_confirm(&writer->log, err);
}

static int make_streams(struct writer *writer, struct err *err)
{
	const struct ackbody_cycle *cycle = &writer->result->cycle;

	for (uint16_t i = 0; i < cycle->streams; i++) {
		const struct stream_setup setup = {
			.run = &writer->result->run,
			.cycle = cycle,
			.target = writer->target,
			.acks = writer->log.acks,
			.stop = writer->stop,
			.drain_timeout_ms = writer->settings->drain_timeout_ms,
			.stream = i,
			.is_unsent = writer->result->flush.unsent[0] != '\0',
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
	wflush_start(&writer->flush, writer->result->cycle.streams);
	wgone_begin(&writer->gone, writer->target);
	writer->log.gone = &writer->gone;
	writer->started_ns = writer->gone.started_ns;
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

		stream_watch(writer->streams[i]);
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
	now->confirmed = ackclient_confirmed_writes(writer->log.acks);
	now->confirmed_ns = ackclient_confirmed_ns(writer->log.acks);
	now->block_bytes = result->run.block_bytes;
	return is_running;
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
		wflush_watch(&writer->flush, writer->result->flushes,
			     writer->stop);
		wlog_say_failure(&writer->log, writer->stop);
		wgone_wait(&writer->gone,
			   writer->is_writing ? LOOK_LATER_MS : LOOK_MS);
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
		if (target_is_gone(writer->target)) {
			wstop_note_gone(writer->stop, "its device");
			wstop_fail(writer->stop, &reason, true);
		}
	}
	result->writing_ns = end_ns - writer->started_ns;
	result->is_gone = atomic_load(&writer->stop->is_gone);
	if (result->is_gone)
		wgone_settle(&writer->gone);
	wgone_words(&writer->gone, writer->stop, &result->gone);
	wlog_say_failure(&writer->log, writer->stop);
}

/* The kernel's word of the drive, where it came behind the failure. */
static int say_gone(struct writer *writer, struct err *err)
{
	struct wgone_words words = writer->result->gone;
	char text[ACKBODY_TEXT_BYTES];

	words.by = NULL;
	wgone_tell(&words, text, sizeof(text));
	if (!writer->result->is_gone || writer->gone.is_event_told ||
	    text[0] == '\0')
		return 0;
	return wlog_say_note(&writer->log, ACKBODY_EVENT_NOTE, text, err);
}

/* What became of the flushes. */
static int say_flushes(struct writer *writer, struct err *err)
{
	struct wflush_words *words = &writer->result->flush;
	bool was_unsent = words->unsent[0] != '\0';
	char text[ACKBODY_TEXT_BYTES];
	struct err reason;
	int status = 0;

	if (atomic_load(&writer->stop->is_unsent)) { /* it is on record */
		wstop_reason(writer->stop, &reason);
		wflush_note_unsent(&writer->flush, &reason);
		was_unsent = true;
	}
	wflush_finish(&writer->flush, writer->result->flushes,
		      &writer->result->cycle);
	if (!was_unsent && words->unsent[0] != '\0')
		status = wlog_say_note(&writer->log, ACKBODY_EVENT_UNSENT,
				       words->unsent, err);
	for (unsigned int i = 0;
	     status == 0 && wflush_end_note(words, i, text, sizeof(text)); i++)
		status = wlog_say_note(&writer->log, ACKBODY_EVENT_NOTE, text,
				       err);
	return status;
}

static int say_end(struct writer *writer, struct err *err)
{
	const char *text = "stopped as told";
	struct err reason;

	for (uint16_t i = 0; i < writer->started; i++) {
		struct stream_counts *counts =
			stream_counts(writer->streams[i]);

		if (wlog_say_limit(&writer->log, ACKBODY_ISSUED, i,
				   atomic_load(&counts->highest), err) < 0)
			return -1;
	}
	if (wstop_has_failed(writer->stop)) {
		wstop_reason(writer->stop, &reason);
		text = reason.text;
	}
	if (wlog_say_end(&writer->log, text, err) < 0)
		return -1;
	return wlog_confirm(&writer->log, err);
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

/* Not where the drive has left, or still owes an answer. */
static void mark_if_found(struct writer *writer)
{
	bool is_idle = !writer->result->is_gone;

	for (unsigned int i = 0; i < writer->started; i++)
		is_idle = is_idle && !stream_is_abandoned(writer->streams[i]);
	if (is_idle)
		wflush_mark(&writer->flush, &writer->result->run);
}

static int run_cycle(struct writer *writer, struct err *err)
{
	int status = 0;

	wflush_mark(&writer->flush, &writer->result->run);
	status = make_streams(writer, err);
	if (status == 0)
		status = begin_cycle(writer, err);
	if (status < 0)
		return -1;
	(void)start_streams(writer, err); /* it is in wstop then */
	watch(writer);
	join_streams(writer);
	status = say_flushes(writer, err);
	mark_if_found(writer);
	if (status == 0)
		status = say_gone(writer, err);
	if (status == 0)
		status = say_end(writer, err);
	writer->result->confirmed =
		ackclient_confirmed_writes(writer->log.acks);
	ackclient_latency(writer->log.acks, &writer->result->latency);
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
	wflush_free(&writer->flush);
	wgone_end(&writer->gone);
	status = wlog_close(&writer->log, err);
	if (is_idle)
		target_close(writer->target);
	else /* the drive still has requests of ours */
		target_buffer_abandon(writer->target);
	if (wcache_close(writer->cache, writer->result->is_gone, err) < 0)
		status = -1;
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
