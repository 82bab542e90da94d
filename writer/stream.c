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
 * system call and reaps in one.
 */
#include "writer/stream.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/record.h"
#include "common/target/target.h"
#include "writer/ackclient.h"
#include "writer/bundle.h"
#include "writer/durable.h"
#include "writer/failure.h"
#include "writer/places.h"
#include "writer/speaker.h"
#include "writer/wstop.h"

#define TAG_FLUSH   (1ULL << 63)  /* and the flush's number; else a buffer */
#define BATCH_BYTES (1024 * 1024) /* built before anything is submitted */
#define REAP_MAX    128
#define IDLE_MS     1      /* nothing in flight and nothing may be issued */
#define WAIT_MS     100    /* for a completion, before looking around */
#define FINISH_MS   120000 /* for what is in flight after an orderly stop */

struct stream {
	struct stream_setup setup;
	struct stream_counts counts;
	struct target_queue *queue;
	struct record_cipher *cipher;
	struct durable *durable;
	struct places *places;
	struct speaker speaker;
	struct failure_place failure;
	struct record record; /* what all writes have in common */
	pthread_t thread;

	unsigned int depth;
	unsigned int batch_max;
	unsigned int flying; /* writes and flushes */
	unsigned int failed; /* of them, those that came back with an error */

	struct speaker_flush flights[DURABLE_FLUSHES_MAX]; /* number 0: free */
	unsigned int flushing, flushing_max;
	struct speaker_flush last_flush; /* the newest that has completed */
	uint64_t flush_due_ns;
	uint64_t since_flush; /* completed since the last flush went out */

	uint64_t now_ns;
};

static bool has_flushes(const struct stream *stream)
{
	return stream->setup.cycle->sync == ACKBODY_SYNC_FLUSH_COUNT ||
	       stream->setup.cycle->sync == ACKBODY_SYNC_FLUSH_MS;
}

static void count(atomic_uint_fast64_t *counter, uint64_t value)
{
	atomic_store_explicit(counter, value, memory_order_relaxed);
}

static void count_one_more(atomic_uint_fast64_t *counter)
{
	count(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1);
}

static void fail_write(struct stream *stream, const struct place *place,
		       int64_t result)
{
	const struct run *run = stream->setup.run;

	durable_fail(stream->durable);
	failure_of_write(&stream->failure, run_slot_offset(run, place->slot),
			 result);
}

static void fail_queue(struct stream *stream, int errnum, const char *what)
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
	record->durable_sequence = durable_w(stream->durable); /* P5 */
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

static void queue_flush(struct stream *stream)
{
	struct speaker_flush *flight = stream->flights;

	while (flight->number) /* there is one free: flushing_max */
		flight++;
	/* P1: nothing is reaped between here and the submission. */
	flight->number = durable_flush_submit(stream->durable);
	flight->submitted_ns = stream->now_ns;
	target_queue_flush(stream->queue, TAG_FLUSH | flight->number);
	stream->flying++;
	stream->flushing++;
	if (stream->setup.cycle->sync == ACKBODY_SYNC_FLUSH_COUNT)
		stream->since_flush %= stream->setup.cycle->sync_value;
	stream->flush_due_ns =
		stream->now_ns +
		stream->setup.cycle->sync_value * CLOCK_NS_PER_MS;
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
	if (completion->result < 0) {
		stream->failed++;
		if (!wstop_has_failed(stream->setup.stop))
			fail_queue(stream, (int)-completion->result, "flush");
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

/* P9: what has just completed may have been dropped by the system; then it is
 * not acknowledged. */
static void check_elision(struct stream *stream)
{
	if (stream->setup.cycle->sync == ACKBODY_SYNC_NONE ||
	    wstop_has_failed(stream->setup.stop) ||
	    target_is_write_back(stream->setup.target))
		return;
	/* Its files in sysfs go away with the drive. */
	if (target_is_gone(stream->setup.target)) {
		fail_queue(stream, ENODEV, "ask the queue of");
		return;
	}
	durable_fail(stream->durable);
	failure_of_elision(&stream->failure);
}

/* How many completions came, or -errno. */
static int reap(struct stream *stream, int timeout_ms)
{
	struct target_completion completions[REAP_MAX];
	int got = target_queue_reap(stream->queue, completions, REAP_MAX,
				    timeout_ms);

	/* P1: another stream's failure ends the promises of this one, too. */
	if (wstop_has_failed(stream->setup.stop))
		durable_fail(stream->durable);
	for (int i = 0; i < got; i++) {
		stream->flying--;
		if (completions[i].tag & TAG_FLUSH)
			reap_flush(stream, &completions[i]);
		else
			reap_write(stream, &completions[i]);
	}
	if (got > 0)
		check_elision(stream);
	return got;
}

static void hand_over(struct stream *stream, bool is_last)
{
	struct stream_counts *counts = &stream->counts;
	uint64_t issued = durable_issued(stream->durable);

	count(&counts->issued, issued + 1 - stream->record.first_sequence);
	count(&counts->highest, issued);
	count(&counts->durable, durable_count(stream->durable));
	count(&counts->flying, stream->flying + stream->failed);
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
	int status = 0;

	stream->now_ns = clock_monotonic_ns();
	hand_over(stream, false);
	if (is_flush_due(stream) || is_last_flush)
		queue_flush(stream);
	if (may_issue)
		has_more = issue_writes(stream);
	status = target_queue_submit(stream->queue);
	if (status < 0)
		fail_queue(stream, -status, "submit requests to");
	else if (stream->flying == 0)
		clock_sleep_ms(IDLE_MS);
	else
		status = reap(stream, wait_ms(stream, has_more));
	if (status < 0 && !wstop_has_failed(stream->setup.stop))
		fail_queue(stream, -status, "wait for requests on");
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
	hand_over(stream, false);
	while (stream->flying > 0 && status >= 0 &&
	       clock_monotonic_ns() < until_ns)
		status = reap(stream, clock_until_ms(until_ns));
	count(&stream->counts.durable, durable_count(stream->durable));
}

/* Waits for what is in flight, flushes, and hands over the rest. */
static int finish(struct stream *stream)
{
	uint64_t until_ns = clock_monotonic_ns() + FINISH_MS * CLOCK_NS_PER_MS;
	bool needs_flush = has_flushes(stream);

	while (stream->flying > 0 || needs_flush) {
		bool is_last = needs_flush && stream->flying == 0;

		if (is_last && durable_uncovered(stream->durable) == 0)
			break;
		needs_flush = needs_flush && !is_last;
		if (turn(stream, false, is_last) < 0)
			return -1;
		if (clock_monotonic_ns() > until_ns) {
			fail_queue(stream, ETIMEDOUT, "finish the writes to");
			return -1;
		}
	}
	do {
		stream->now_ns = clock_monotonic_ns();
		hand_over(stream, true);
		if (speaker_has_room(&stream->speaker))
			return 0;
		clock_sleep_ms(IDLE_MS);
	} while (!wstop_has_failed(stream->setup.stop));
	return -1;
}

static void *stream_main(void *argument)
{
	struct stream *stream = argument;
	int status = 0;

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
	if (status < 0)
		drain(stream);
	atomic_store(&stream->counts.is_done, true);
	return NULL;
}

static int open_parts(struct stream *stream, struct err *err)
{
	const struct stream_setup *setup = &stream->setup;
	uint64_t first = setup->cycle->first_sequence[setup->stream];

	stream->failure =
		(struct failure_place){setup->target, setup->stop, setup->run};
	stream->cipher = record_cipher_new(setup->run->id, err);
	if (!stream->cipher)
		return -1;
	stream->durable = durable_new(
		first, setup->cycle->sync != ACKBODY_SYNC_NONE, err);
	if (!stream->durable)
		return -1;
	stream->places = places_new(setup->run, setup->stream, first,
				    stream->depth, err);
	if (!stream->places)
		return -1;
	stream->queue = target_queue_open(setup->target, stream->depth, err);
	return stream->queue ? 0 : -1;
}

static void fill_record(struct stream *stream)
{
	const struct stream_setup *setup = &stream->setup;
	struct record *record = &stream->record;

	memcpy(record->run_id, setup->run->id, RUN_ID_BYTES);
	record->cycle = setup->cycle->cycle;
	record->stream = setup->stream;
	record->first_sequence = setup->cycle->first_sequence[setup->stream];
	record->index = 0;
	record->atoms = (uint16_t)(setup->run->block_bytes / RUN_ATOM_BYTES);
}

/* VALUE, but at least 1 and at most LIMIT. */
static unsigned int within(unsigned int value, unsigned int limit)
{
	if (value == 0)
		return 1;
	return value < limit ? value : limit;
}

struct stream *stream_new(const struct stream_setup *setup, struct err *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		err_sys(err, ENOMEM, "cannot make a stream");
		return NULL;
	}
	stream->setup = *setup;
	stream->depth = setup->cycle->queue_depth;
	stream->batch_max =
		within(BATCH_BYTES / setup->run->block_bytes, stream->depth);
	stream->flushing_max = within(stream->depth / 2, DURABLE_FLUSHES_MAX);
	stream->speaker.requested = setup->reserved;
	stream->speaker.last_sequence = setup->last_sequence;
	fill_record(stream);
	count(&stream->counts.highest, stream->record.first_sequence - 1);
	if (open_parts(stream, err) < 0) {
		stream_free(stream);
		return NULL;
	}
	return stream;
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	if (stream_is_abandoned(stream))
		places_abandon(stream->places);
	else
		target_queue_close(stream->queue);
	places_free(stream->places);
	durable_free(stream->durable);
	record_cipher_free(stream->cipher);
	free(stream);
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
