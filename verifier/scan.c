/* SPDX-License-Identifier: MIT */
#include "verifier/scan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/target/target.h"
#include "verifier/leash.h"
#include "verifier/weigher.h"

struct flight {
	uint8_t *buffer;
	uint64_t chunk;
	uint64_t waited_ns; /* for it alone, since it was sent */
	uint32_t serial; /* a late answer to an abandoned read has an old one */
	bool is_busy;
};

struct worker {
	struct scan *scan;
	pthread_t thread;
	struct target_queue *queue;
	struct weigher weigher;
	struct flight flights[SCAN_FLIGHTS_MAX];
	uint64_t queued_bytes;  /* where the last read begins */
	unsigned int busy;      /* flights */
	unsigned int abandoned; /* reads the drive never answered */
	bool is_started, has_failed;
	struct err err;
};

static const struct run *run_of(const struct worker *worker)
{
	return ledger_run(worker->scan->ledger);
}

static uint64_t slots_of_chunk(const struct scan *scan, uint64_t chunk)
{
	uint64_t first = chunk * scan->chunk_slots;
	uint64_t left = run_slots_total(ledger_run(scan->ledger)) - first;

	return left < scan->chunk_slots ? left : scan->chunk_slots;
}

/* ---- reading ---- */

static struct reader_range range_of(const struct worker *worker,
				    const struct flight *flight)
{
	const struct scan *scan = worker->scan;
	const struct run *run = run_of(worker);

	return (struct reader_range){
		.offset_bytes =
			run_slot_offset(run, flight->chunk * scan->chunk_slots),
		.length = (size_t)slots_of_chunk(scan, flight->chunk) *
			  run->block_bytes,
		.buffer = flight->buffer,
		.reads = worker->weigher.reads,
	};
}

static void take_chunk(struct worker *worker, const struct flight *flight,
		       const enum judge_read *reads)
{
	weigher_take(&worker->weigher,
		     flight->chunk * worker->scan->chunk_slots,
		     slots_of_chunk(worker->scan, flight->chunk),
		     flight->buffer, reads);
}

/* A chunk with trouble: piece by piece. */
static void take_trouble(struct worker *worker, struct flight *flight,
			 int error)
{
	struct reader_range range = range_of(worker, flight);

	if (reader_read(worker->scan->reader, &range, error))
		take_chunk(worker, flight, range.reads);
}

static void take_completion(struct worker *worker,
			    const struct target_completion *completion)
{
	struct scan *scan = worker->scan;
	struct flight *flight = &worker->flights[completion->tag & 0xff];
	size_t length = range_of(worker, flight).length;

	if (flight->serial != (uint32_t)(completion->tag >> 8))
		return; /* given up long ago */
	flight->is_busy = false;
	worker->busy--;
	if (completion->result == (int64_t)length) {
		atomic_fetch_add(&scan->reader->read_bytes, length);
		take_chunk(worker, flight, NULL);
		return;
	}
	/* Half an answer is asked for again. */
	take_trouble(worker, flight,
		     completion->result < 0 ? (int)-completion->result : 0);
}

/* The drive did not answer in time: the buffer stays with it. */
static int give_up(struct worker *worker, struct flight *flight)
{
	size_t bytes =
		(size_t)worker->scan->chunk_slots * run_of(worker)->block_bytes;

	target_buffer_abandon(flight->buffer);
	flight->buffer = target_buffer_new(bytes, &worker->err);
	flight->serial++;
	flight->is_busy = false;
	worker->busy--;
	worker->abandoned++;
	if (flight->buffer == NULL)
		return -1;
	atomic_fetch_add(&worker->scan->reader->hung, 1);
	take_trouble(worker, flight, ETIMEDOUT);
	return 0;
}

static uint64_t timeout_ns(const struct worker *worker)
{
	return worker->scan->reader->timeout_ms * CLOCK_NS_PER_MS;
}

static int expire(struct worker *worker)
{
	unsigned int i;

	for (i = 0; i < worker->scan->flights; i++) {
		struct flight *flight = &worker->flights[i];

		if (flight->is_busy &&
		    flight->waited_ns >= timeout_ns(worker) &&
		    give_up(worker, flight) < 0)
			return -1;
	}
	return 0;
}

static struct flight *idle_flight(struct worker *worker)
{
	unsigned int i;

	for (i = 0; i < worker->scan->flights; i++)
		if (!worker->flights[i].is_busy)
			return &worker->flights[i];
	return NULL;
}

/* The next chunk that must be read, for an idle flight; false where there is
 * none. */
static bool take_next_chunk(struct worker *worker, struct flight *flight)
{
	struct scan *scan = worker->scan;

	while (!reader_is_over(scan->reader) &&
	       atomic_load(&scan->next_chunk) < scan->chunks) {
		flight->chunk = atomic_fetch_add(&scan->next_chunk, 1);
		if (flight->chunk >= scan->chunks)
			return false;
		if (!atomic_load(&scan->reader->is_gone))
			return true;
		take_trouble(worker, flight, ENODEV);
	}
	return false;
}

/* Queues one read, if a flight is idle; false where nothing was to be queued.
 */
static bool queue_next(struct worker *worker)
{
	struct flight *flight = idle_flight(worker);
	struct reader_range range;

	if (flight == NULL || !take_next_chunk(worker, flight))
		return false;
	range = range_of(worker, flight);
	flight->is_busy = true;
	flight->waited_ns = 0;
	worker->queued_bytes = range.offset_bytes;
	worker->busy++;
	target_queue_read(worker->queue,
			  (uint64_t)flight->serial << 8 |
				  (uint64_t)(flight - worker->flights),
			  flight->buffer, range.length, range.offset_bytes);
	return true;
}

static int next_timeout_ms(const struct worker *worker)
{
	uint64_t waited_ns = 0;
	unsigned int i;

	for (i = 0; i < worker->scan->flights; i++)
		if (worker->flights[i].is_busy &&
		    worker->flights[i].waited_ns > waited_ns)
			waited_ns = worker->flights[i].waited_ns;
	if (waited_ns >= timeout_ns(worker))
		return 0;
	return (int)((timeout_ns(worker) - waited_ns + CLOCK_NS_PER_MS - 1) /
		     CLOCK_NS_PER_MS);
}

/*
 * One answer at a time: while it is judged, the drive is busy with the others.
 * P9: the drive's time is the time that is spent waiting for it, and not what
 * the scan did meanwhile.
 */
static int reap(struct worker *worker, struct target_completion *completion,
		int timeout_ms)
{
	uint64_t started_ns = clock_monotonic_ns(), waited_ns;
	int count = target_queue_reap(worker->queue, completion, 1, timeout_ms);
	unsigned int i;

	waited_ns = clock_monotonic_ns() - started_ns;
	for (i = 0; i < worker->scan->flights; i++)
		worker->flights[i].waited_ns += waited_ns;
	return count;
}

static void rig_failed(struct worker *worker, int error)
{
	unsigned int i;

	for (i = 0; i < worker->scan->flights; i++)
		worker->abandoned += worker->flights[i].is_busy;
	atomic_store(&worker->scan->reader->rig_error, error);
}

/* What queue_next() has queued, if anything. */
static int submit(struct worker *worker)
{
	struct leash *leash = worker->scan->reader->leash;
	unsigned int mark =
		leash_begin(leash, LEASH_SUBMIT, worker->queued_bytes);
	int result = target_queue_submit(worker->queue);

	leash_end(leash, mark);
	return result;
}

/*
 * As long as reads are to be queued nobody waits. So a drive that is faster
 * than the judge, memory above all, is read one chunk after the other, and each
 * is judged while it is in the processor's cache; a slower one gets all flights
 * before the first answer.
 */
static void *work(void *argument)
{
	struct worker *worker = argument;

	for (;;) {
		struct target_completion completion;
		bool has_queued = queue_next(worker);
		int count;

		if (worker->busy == 0)
			break;
		count = submit(worker);
		if (count == 0)
			count = reap(worker, &completion,
				     has_queued ? 0 : next_timeout_ms(worker));
		if (count < 0) {
			rig_failed(worker, -count);
			break;
		}
		if (count > 0)
			take_completion(worker, &completion);
		/* Late is only what a look that found nothing did not find. */
		else if (expire(worker) < 0) {
			worker->has_failed = true;
			break;
		}
	}
	weigher_merge(&worker->weigher);
	/* Takes the kernel a while; here all threads wait at once. */
	if (worker->busy == 0 && worker->abandoned == 0) {
		target_queue_close(worker->queue);
		worker->queue = NULL;
	}
	return NULL;
}

/* ---- starting and ending ---- */

static int worker_open(struct worker *worker, struct err *err)
{
	struct scan *scan = worker->scan;
	const struct run *run = ledger_run(scan->ledger);
	size_t bytes = (size_t)scan->chunk_slots * run->block_bytes;
	unsigned int i;

	worker->queue = scan->queue;
	scan->queue = NULL;
	if (worker->queue == NULL)
		worker->queue = target_queue_open(scan->reader->target,
						  SCAN_DEPTH_MAX, err);
	if (worker->queue == NULL)
		return -1;
	if (weigher_open(&worker->weigher, worker->scan, bytes / RUN_ATOM_BYTES,
			 err) < 0)
		return -1;
	for (i = 0; i < scan->flights; i++) {
		worker->flights[i].buffer = target_buffer_new(bytes, err);
		if (worker->flights[i].buffer == NULL)
			return -1;
	}
	return 0;
}

static void worker_close(struct worker *worker)
{
	unsigned int i;

	for (i = 0; i < SCAN_FLIGHTS_MAX; i++)
		if (worker->flights[i].is_busy)
			target_buffer_abandon(worker->flights[i].buffer);
		else
			free(worker->flights[i].buffer);
	if (worker->abandoned > 0)
		target_queue_abandon(worker->queue);
	else
		target_queue_close(worker->queue);
	weigher_close(&worker->weigher);
}

/* Memory stays below SCAN_BUFFERS_BYTES whatever the machine and the run. */
static void plan_chunks(struct scan *scan)
{
	const struct run *run = ledger_run(scan->ledger);
	const struct target_info *info = target_info(scan->reader->target);
	uint64_t slots = run_slots_total(run), room, chunk_bytes;

	if (scan->threads > SCAN_THREADS_MAX)
		scan->threads = SCAN_THREADS_MAX;
	room = SCAN_BUFFERS_BYTES / run->block_bytes;
	if (scan->threads > room)
		scan->threads = (unsigned int)room;
	chunk_bytes = SCAN_BUFFERS_BYTES / scan->threads / 2;
	if (chunk_bytes > SCAN_CHUNK_BYTES)
		chunk_bytes = SCAN_CHUNK_BYTES;
	if (chunk_bytes > info->max_request_bytes)
		chunk_bytes = info->max_request_bytes;
	scan->chunk_slots = chunk_bytes / run->block_bytes;
	if (scan->chunk_slots == 0)
		scan->chunk_slots = 1;
	if (scan->chunk_slots > slots)
		scan->chunk_slots = slots;
	scan->chunks = (slots + scan->chunk_slots - 1) / scan->chunk_slots;
	if (scan->threads > scan->chunks)
		scan->threads = (unsigned int)scan->chunks;
	room = SCAN_BUFFERS_BYTES / scan->threads /
	       (scan->chunk_slots * run->block_bytes);
	scan->flights =
		room < SCAN_FLIGHTS_MAX ? (unsigned int)room : SCAN_FLIGHTS_MAX;
	if (scan->flights == 0)
		scan->flights = 1;
}

static int start_workers(struct scan *scan, struct worker *workers,
			 struct err *err)
{
	unsigned int i;

	for (i = 0; i < scan->threads; i++) {
		int error;

		workers[i].scan = scan;
		if (worker_open(&workers[i], err) < 0) {
			if (i == 0)
				return -1;
			/* A server may serve few at once: the others do. */
			scan->threads = i;
			break;
		}
		error = pthread_create(&workers[i].thread, NULL, work,
				       &workers[i]);
		if (error != 0)
			return err_sys(err, error,
				       "cannot start a scanning thread");
		workers[i].is_started = true;
	}
	return 0;
}

static int run_workers(struct scan *scan, struct worker *workers,
		       struct err *err)
{
	unsigned int i;
	int result = 0;

	if (start_workers(scan, workers, err) < 0)
		return -1;
	for (i = 0; i < scan->threads; i++) {
		pthread_join(workers[i].thread, NULL);
		workers[i].is_started = false;
		if (workers[i].has_failed) {
			*err = workers[i].err;
			result = -1;
		}
	}
	if (result == 0)
		result = weigher_ask_again(&workers[0].weigher, err);
	for (i = 0; i < scan->threads; i++) {
		tally_merge(scan->tally, &workers[i].weigher.tally);
		scan->done_slots += workers[i].weigher.done_slots;
	}
	return result;
}

/* What was read of a slot only in part is judged, and told. */
static uint64_t count_unscanned(const struct scan *scan)
{
	const struct run *run = ledger_run(scan->ledger);
	uint64_t slots = run_slots_total(run) - scan->done_slots;

	return slots * run->block_bytes +
	       scan->tally->unjudged * RUN_ATOM_BYTES;
}

int scan_region(struct scan *scan, struct err *err)
{
	const struct run *run = ledger_run(scan->ledger);
	struct worker *workers;
	unsigned int i, threads;
	int result;

	assert(scan->threads >= 1);
	if (run->block_bytes >
	    target_info(scan->reader->target)->max_request_bytes)
		return err_set(
			err,
			"cannot read writes of %u bytes: the drive takes "
			"at most %u at once",
			run->block_bytes,
			target_info(scan->reader->target)->max_request_bytes);
	plan_chunks(scan);
	atomic_init(&scan->next_chunk, 0);
	scan->done_slots = 0;
	atomic_init(&scan->put_off_count, 0);
	threads = scan->threads;
	workers = calloc(threads, sizeof(*workers));
	if (workers == NULL)
		return err_sys(err, errno, "cannot start scanning threads");
	pthread_mutex_init(&scan->lock, NULL);
	result = run_workers(scan, workers, err);
	for (i = 0; i < threads; i++) {
		if (workers[i].is_started) {
			atomic_store(&scan->next_chunk, scan->chunks);
			pthread_join(workers[i].thread, NULL);
		}
		worker_close(&workers[i]);
	}
	pthread_mutex_destroy(&scan->lock);
	scan->unscanned_bytes = count_unscanned(scan);
	free(workers);
	return result;
}
