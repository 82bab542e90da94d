/* SPDX-License-Identifier: MIT */
/*
 *          may it?             build, queue
 *   idle --------------------------------------> submit ----> reap
 *    ^                                             |            |
 *    |  hand over ranges, ask for reservations     |            | write: done
 *    +---------------------------------------------+<-----------+ flush:
 * durable
 *
 * One turn of the loop reads the clock once, hands everything over in one
 * system call and reaps in one. Or it is a flush alone, for which the thread
 * waits itself (stream_wait.c).
 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/target.h"
#include "writer/ackclient.h"
#include "writer/bundle.h"
#include "writer/places.h"
#include "writer/stream_parts.h"
#include "writer/wstop.h"

#define TAG_FLUSH (1ULL << 63) /* and the flush's number; else a buffer */
#define REAP_MAX  128
#define IDLE_MS   1   /* nothing in flight and nothing may be issued */
#define WAIT_MS   100 /* for a completion, before looking around */

static bool has_flushes(const struct stream *stream)
{
	return stream->setup.cycle->sync == ACKBODY_SYNC_FLUSH_COUNT ||
	       stream->setup.cycle->sync == ACKBODY_SYNC_FLUSH_MS;
}

static void count_one_more(atomic_uint_fast64_t *counter)
{
	stream_count(counter,
		     atomic_load_explicit(counter, memory_order_relaxed) + 1);
}

static void fail_write(struct stream *stream, const struct place *place,
		       int64_t result)
{
	const struct run *run = stream->setup.run;

	durable_fail(stream->durable);
	failure_of_write(&stream->failure, run_slot_offset(run, place->slot),
			 result);
}

void stream_fail_queue(struct stream *stream, int errnum, const char *what)
{
	durable_fail(stream->durable);
	failure_of_queue(&stream->failure, errnum, what);
}

static bool can_issue(struct stream *stream, uint64_t reserved)
{
	uint64_t next = durable_issued(stream->durable) + 1;

	return stream->flying < stream->depth && next <= reserved &&
	       next <= stream->setup.last_sequence &&
	       durable_can_issue(stream->durable) &&
	       places_can_take(stream->places);
}

static void take_next(struct stream *stream, struct bundle *bundle)
{
	struct record *record = &bundle->records[bundle->count];
	struct place *place = NULL;

	*record = stream->record;
	record->durable_sequence = stream->setup.is_unsent /* P5 */
					   ? record->first_sequence - 1
					   : durable_w(stream->durable);
	record->sequence = durable_issue(stream->durable);
	place = places_take(stream->places, &bundle->tags[bundle->count]);
	assert(place->sequence == record->sequence);
	record->offset_bytes = run_slot_offset(stream->setup.run, place->slot);
	bundle->buffers[bundle->count] = place->buffer;
	bundle->count++;
	stream->flying++;
}

/* True where more could have been issued. */
static bool issue_writes(struct stream *stream)
{
	uint64_t reserved =
		ackclient_reserved(stream->setup.acks, stream->setup.stream);
	bool is_fua = stream->setup.cycle->sync == ACKBODY_SYNC_FUA;
	struct bundle bundle = {.count = 0};
	unsigned int issued = 0;

	stream->record.issued_ns = stream->now_ns;
	while (issued < stream->batch_max && can_issue(stream, reserved)) {
		take_next(stream, &bundle);
		issued++;
		if (bundle.count == BUNDLE_MAX)
			bundle_queue(&bundle, stream->cipher, stream->queue,
				     is_fua);
	}
	bundle_queue(&bundle, stream->cipher, stream->queue, is_fua);
	return issued == stream->batch_max && can_issue(stream, reserved);
}

static bool is_flush_due(const struct stream *stream)
{
	const struct ackbody_cycle *cycle = stream->setup.cycle;

	if (!has_flushes(stream) || stream->flushing >= stream->flushing_max ||
	    stream->flying >= stream->depth ||
	    durable_uncovered(stream->durable) == 0)
		return false;
	if (!durable_can_issue(stream->durable))
		return true; /* the window is full: only a flush helps */
	if (cycle->sync == ACKBODY_SYNC_FLUSH_COUNT)
		return stream->since_flush >= cycle->sync_value;
	return stream->now_ns >= stream->flush_due_ns;
}

uint64_t stream_begin_flush(struct stream *stream)
{
	struct speaker_flush *flight = stream->flights;

	while (flight->number) /* there is one free: flushing_max */
		flight++;
	flight->number = durable_flush_submit(stream->durable);
	flight->submitted_ns = stream->now_ns;
	stream->flying++;
	stream->flushing++;
	if (stream->setup.cycle->sync == ACKBODY_SYNC_FLUSH_COUNT)
		stream->since_flush %= stream->setup.cycle->sync_value;
	stream->flush_due_ns =
		stream->now_ns +
		stream->setup.cycle->sync_value * CLOCK_NS_PER_MS;
	return TAG_FLUSH | flight->number;
}

static void reap_flush(struct stream *stream,
		       const struct target_completion *completion)
{
	struct speaker_flush *flight = stream->flights;
	uint64_t number = completion->tag & ~TAG_FLUSH;

	while (flight->number != number) {
		flight++;
		assert(flight < stream->flights + DURABLE_FLUSHES_MAX);
	}
	stream->flushing--;
	flight->completed_ns = clock_monotonic_ns();
	stream->wait.took_ns = flight->completed_ns - flight->submitted_ns;
	if (completion->result < 0) {
		stream->failed++;
		if (!wstop_has_failed(stream->setup.stop))
			stream_fail_queue(stream, (int)-completion->result,
					  "flush");
		durable_fail(stream->durable);
	}
	durable_flush_complete(stream->durable, number);
	/* P11: one that was repeated to a drive come back counts for nothing.
	 */
	if (completion->result >= 0 && !wstop_has_failed(stream->setup.stop))
		count_one_more(&stream->counts.flushes);
	if (number > stream->last_flush.number)
		stream->last_flush = *flight;
	flight->number = 0;
}

static void reap_write(struct stream *stream,
		       const struct target_completion *completion)
{
	struct place *place = places_get(stream->places, completion->tag);
	bool is_fua = stream->setup.cycle->sync == ACKBODY_SYNC_FUA;

	if (completion->result == (int64_t)stream->setup.run->block_bytes) {
		durable_complete(stream->durable, place->sequence, is_fua);
		stream->since_flush++;
		count_one_more(&stream->counts.completed);
	} else {
		stream->failed++;
		if (!wstop_has_failed(stream->setup.stop))
			fail_write(stream, place, completion->result);
		durable_fail(stream->durable);
	}
	places_release(stream->places, (unsigned int)completion->tag);
}

/* P9: what has just become durable may have been dropped by the system; then it
 * is not acknowledged. */
static void check_elision(struct stream *stream)
{
	if (stream->setup.cycle->sync == ACKBODY_SYNC_NONE ||
	    wstop_has_failed(stream->setup.stop) ||
	    target_is_write_back(stream->setup.target))
		return;
	/* Its files in sysfs go away with the drive. */
	if (target_is_gone(stream->setup.target)) {
		stream_fail_queue(stream, ENODEV, "ask the queue of");
		return;
	}
	durable_fail(stream->durable);
	failure_of_elision(&stream->failure);
}

void stream_take(struct stream *stream,
		 const struct target_completion *completions, int got)
{
	bool is_promise = stream->setup.cycle->sync == ACKBODY_SYNC_FUA;

	/* P1: another stream's failure ends the promises of this one, too. */
	if (wstop_has_failed(stream->setup.stop))
		durable_fail(stream->durable);
	for (int i = 0; i < got; i++) {
		bool is_flush = completions[i].tag & TAG_FLUSH;

		stream->flying--;
		is_promise = is_promise || is_flush;
		if (is_flush)
			reap_flush(stream, &completions[i]);
		else
			reap_write(stream, &completions[i]);
	}
	if (got > 0 && is_promise)
		check_elision(stream);
}

/* How many completions came, or -errno. */
static int reap(struct stream *stream, int timeout_ms)
{
	struct target_completion completions[REAP_MAX];
	int got = target_queue_reap(stream->queue, completions, REAP_MAX,
				    timeout_ms);

	stream_take(stream, completions, got);
	return got;
}

void stream_hand_over(struct stream *stream, bool is_last)
{
	struct stream_counts *counts = &stream->counts;
	uint64_t issued = durable_issued(stream->durable);

	stream_count(&counts->issued,
		     issued + 1 - stream->record.first_sequence);
	stream_count(&counts->highest, issued);
	stream_count(&counts->durable, durable_count(stream->durable));
	stream_count(&counts->flying, stream->flying + stream->failed);
	if (wstop_has_failed(stream->setup.stop)) /* P1, P2 */
		return;
	speaker_say_durable(&stream->speaker, &stream->last_flush,
			    stream->now_ns);
	speaker_say_completed(&stream->speaker, stream->now_ns, is_last);
	if (!is_last)
		speaker_ask_numbers(&stream->speaker, stream->now_ns);
}

static int wait_ms(const struct stream *stream, bool has_more)
{
	uint64_t due_ns = stream->now_ns + WAIT_MS * CLOCK_NS_PER_MS;
	uint64_t left_ns = 0;

	if (has_more)
		return 0;
	if (stream->flying < stream->depth)
		return IDLE_MS; /* held up by something that will pass */
	if (stream->speaker.completed_due_ns < due_ns)
		due_ns = stream->speaker.completed_due_ns;
	if (stream->setup.cycle->sync == ACKBODY_SYNC_FLUSH_MS &&
	    stream->flush_due_ns < due_ns)
		due_ns = stream->flush_due_ns;
	if (due_ns <= stream->now_ns)
		return IDLE_MS;
	left_ns = due_ns - stream->now_ns + CLOCK_NS_PER_MS - 1;
	return (int)(left_ns / CLOCK_NS_PER_MS);
}

/* One turn: 0, or -1 where the run has failed. */
static int turn(struct stream *stream, bool may_issue, bool is_last_flush)
{
	bool has_more = false;
	bool has_flush = is_last_flush;
	int status = 0;

	stream->now_ns = clock_monotonic_ns();
	stream_hand_over(stream, false);
	has_flush = has_flush || is_flush_due(stream);
	if (has_flush && stream_may_wait(stream))
		return stream_wait_flush(stream) &&
				       !wstop_has_failed(stream->setup.stop)
			       ? 0
			       : -1;
	if (has_flush)
		target_queue_flush(stream->queue, stream_begin_flush(stream));
	if (may_issue)
		has_more = issue_writes(stream);
	status = target_queue_submit(stream->queue);
	if (status < 0)
		stream_fail_queue(stream, -status, "submit requests to");
	else if (stream->flying == 0)
		clock_sleep_ms(IDLE_MS);
	else
		status = reap(stream, wait_ms(stream, has_more));
	if (status < 0 && !wstop_has_failed(stream->setup.stop))
		stream_fail_queue(stream, -status, "wait for requests on");
	return wstop_has_failed(stream->setup.stop) ? -1 : 0;
}

/* P1: after a failure answers are only counted, for a bounded time. */
static void drain(struct stream *stream)
{
	uint64_t until_ns = clock_monotonic_ns() +
			    stream->setup.drain_timeout_ms * CLOCK_NS_PER_MS;
	int status = 0;

	durable_fail(stream->durable);
	stream->now_ns = clock_monotonic_ns();
	stream_hand_over(stream, false);
	while (stream->flying > 0 && status >= 0 &&
	       clock_monotonic_ns() < until_ns)
		status = reap(stream, clock_until_ms(until_ns));
	stream_count(&stream->counts.durable, durable_count(stream->durable));
}

/* Waits for what is in flight, flushes, and hands over the rest. */
static int finish(struct stream *stream)
{
	uint64_t until_ns =
		clock_monotonic_ns() + STREAM_FINISH_MS * CLOCK_NS_PER_MS;
	bool needs_flush = has_flushes(stream);

	while (stream->flying > 0 || needs_flush) {
		bool is_last = needs_flush && stream->flying == 0;

		if (is_last && durable_uncovered(stream->durable) == 0)
			break;
		needs_flush = needs_flush && !is_last;
		if (turn(stream, false, is_last) < 0)
			return -1;
		if (clock_monotonic_ns() > until_ns) {
			stream_fail_queue(stream, ETIMEDOUT,
					  "finish the writes to");
			return -1;
		}
	}
	do {
		stream->now_ns = clock_monotonic_ns();
		stream_hand_over(stream, true);
		if (speaker_has_room(&stream->speaker))
			return 0;
		clock_sleep_ms(IDLE_MS);
	} while (!wstop_has_failed(stream->setup.stop));
	return -1;
}

static void *stream_main(void *argument)
{
	struct stream *stream = argument;
	sigset_t all;
	int status = 0;

	/* A signal would break off a flush, which counts as a failed one. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, NULL); /* neither can fail */
	pthread_mutex_lock(&stream->wait.mutex);
	stream->now_ns = clock_monotonic_ns();
	stream->flush_due_ns =
		stream->now_ns +
		stream->setup.cycle->sync_value * CLOCK_NS_PER_MS;
	speaker_init(&stream->speaker,
		     ackclient_ring(stream->setup.acks, stream->setup.stream),
		     stream->durable, stream->now_ns);
	while (status == 0 && !wstop_is_asked(stream->setup.stop) &&
	       durable_issued(stream->durable) < stream->setup.last_sequence)
		status = turn(stream, true, false);
	if (status == 0)
		status = finish(stream);
	if (!stream->wait.is_left) {
		if (status < 0)
			drain(stream);
		atomic_store(&stream->counts.is_done, true);
	}
	pthread_mutex_unlock(&stream->wait.mutex);
	return NULL;
}

int stream_start(struct stream *stream, struct err *err)
{
	int errnum = pthread_create(&stream->thread, NULL, stream_main, stream);

	if (errnum)
		return err_sys(err, errnum, "cannot start a stream");
	return 0;
}

void stream_join(struct stream *stream)
{
	if (!stream->wait.is_left)
		pthread_join(stream->thread, NULL);
}

bool stream_is_abandoned(const struct stream *stream)
{
	/* What an NBD server owes us ends with the connection. */
	return stream->flying > 0 && !target_info(stream->setup.target)->is_nbd;
}

struct stream_counts *stream_counts(struct stream *stream)
{
	return &stream->counts;
}
