/* SPDX-License-Identifier: MIT */
#include "verifier/probe.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/format/record.h"
#include "common/target/target.h"
#include "verifier/evidence.h"
#include "verifier/leash.h"
#include "verifier/reader.h"
#include "verifier/seen.h"

struct probe {
	struct reader *reader;
	const struct ledger *ledger;
	struct probe_doubt *doubt;
	struct target_queue *queue;
	struct record_cipher *cipher;
	struct evidence_cache *evidence;
	uint8_t *buffers;     /* PROBE_DEPTH logical blocks, page by page */
	size_t stride, atoms; /* of a logical block */
	enum record_state *states;
	struct record *found;
	struct seen_answer *answers[PROBE_DEPTH]; /* by tag; NULL: answered */
	unsigned int queued, in_flight;
	uint64_t queued_bytes; /* where the last one begins */
	bool has_trouble;      /* any */
	uint64_t misses, left;
};

static uint8_t *buffer_of(const struct probe *probe, uint64_t tag)
{
	return probe->buffers + (size_t)tag * probe->stride;
}

/* False: the rig failed. */
static bool take_error(struct probe *probe, struct seen_answer *answer,
		       int error)
{
	const struct run *run = ledger_run(probe->ledger);
	enum judge_read read = JUDGE_READ_GONE;

	probe->has_trouble = true;
	if (!atomic_load(&probe->reader->is_gone))
		read = reader_classify(probe->reader, error,
				       run_slot_offset(run, seen_slot(answer)));
	if (atomic_load(&probe->reader->rig_error) != 0)
		return false;
	seen_take_error(answer, read);
	return true;
}

static void take_record(struct probe *probe, const struct record *record)
{
	if (record->stream >= ledger_run(probe->ledger)->streams ||
	    record->sequence > ledger_limit(probe->ledger, record->stream) ||
	    record->durable_sequence >= record->sequence)
		return;
	if (record->sequence >
	    ledger_durable_last(probe->ledger, record->stream))
		probe->misses = 0;
	evidence_add(probe->evidence, record);
}

/* False: the rig failed. */
static bool take(struct probe *probe,
		 const struct target_completion *completion)
{
	struct seen_answer *answer = probe->answers[completion->tag];

	probe->answers[completion->tag] = NULL;
	probe->in_flight--;
	probe->misses++;
	if (completion->result != (int64_t)probe->reader->block_bytes)
		return take_error(probe, answer,
				  completion->result < 0
					  ? (int)-completion->result
					  : ESTALE);
	record_examine_many(probe->cipher, buffer_of(probe, completion->tag),
			    probe->atoms, probe->states, probe->found);
	atomic_fetch_add(&probe->reader->read_bytes,
			 probe->reader->block_bytes);
	seen_take(probe->doubt->seen, answer, probe->states, probe->found);
	if (probe->states[0] == RECORD_GOOD)
		take_record(probe, &probe->found[0]);
	return true;
}

/* The drive did not answer in time: the buffers stay with it. */
static void give_up(struct probe *probe)
{
	unsigned int tag;

	for (tag = 0; tag < probe->queued; tag++)
		if (probe->answers[tag] != NULL)
			(void)take_error(probe, probe->answers[tag], ETIMEDOUT);
	atomic_fetch_add(&probe->reader->hung, probe->in_flight);
}

/* Waits for all of a batch. False: the probe is over; the reader or what was
 * seen says why. */
static bool finish(struct probe *probe)
{
	uint64_t deadline_ns = clock_monotonic_ns() +
			       probe->reader->timeout_ms * CLOCK_NS_PER_MS;
	unsigned int mark = leash_begin(probe->reader->leash, LEASH_SUBMIT,
					probe->queued_bytes);
	int count = target_queue_submit(probe->queue), i;

	leash_end(probe->reader->leash, mark);
	while (count >= 0 && probe->in_flight > 0) {
		struct target_completion completions[PROBE_DEPTH];

		count = target_queue_reap(probe->queue, completions,
					  PROBE_DEPTH,
					  clock_until_ms(deadline_ns));
		for (i = 0; i < count; i++)
			if (!take(probe, &completions[i]))
				return false;
		if (count == 0 && clock_until_ms(deadline_ns) == 0) {
			give_up(probe);
			return false;
		}
	}
	probe->queued = 0;
	if (count < 0) {
		probe->has_trouble = true;
		atomic_store(&probe->reader->rig_error, -count);
	}
	return count >= 0;
}

static bool probe_stream(struct probe *probe, uint16_t stream)
{
	const struct run *run = ledger_run(probe->ledger);
	uint64_t sequence = ledger_durable_last(probe->ledger, stream) + 1;
	uint64_t limit = ledger_limit(probe->ledger, stream);

	probe->misses = 0;
	for (; sequence <= limit && probe->left > 0 &&
	       probe->misses < PROBE_MISSES_MAX;
	     sequence++) {
		uint64_t slot = stream * run_slots_per_stream(run) +
				schedule_slot(&probe->doubt->schedules[stream],
					      sequence);
		struct seen_answer *answer = seen_add(probe->doubt->seen, slot);
		unsigned int tag = probe->queued;

		probe->left--;
		if (answer == NULL)
			continue; /* no answer is asked for twice */
		probe->answers[tag] = answer;
		probe->queued_bytes = run_slot_offset(run, slot);
		target_queue_read(probe->queue, tag, buffer_of(probe, tag),
				  probe->reader->block_bytes,
				  run_slot_offset(run, slot));
		probe->in_flight = ++probe->queued;
		if (probe->queued == PROBE_DEPTH && !finish(probe))
			return false;
	}
	return finish(probe);
}

/* How many numbers are in doubt, at most as many as are looked at. */
static uint64_t count_doubt(const struct ledger *ledger)
{
	uint64_t count = 0;
	uint16_t stream;

	for (stream = 0; stream < ledger_run(ledger)->streams; stream++) {
		uint64_t last = ledger_durable_last(ledger, stream);
		uint64_t limit = ledger_limit(ledger, stream);

		if (limit > last)
			count += limit - last < SEEN_SLOTS_MAX ? limit - last
							       : SEEN_SLOTS_MAX;
	}
	return count < SEEN_SLOTS_MAX ? count : SEEN_SLOTS_MAX;
}

static int probe_open(struct probe *probe, struct err *err)
{
	size_t block_bytes = probe->reader->block_bytes;

	probe->left = count_doubt(probe->ledger);
	probe->atoms = block_bytes / RUN_ATOM_BYTES;
	probe->doubt->seen = seen_new(probe->left, probe->atoms, err);
	probe->stride = (block_bytes + TARGET_ALIGNMENT - 1) /
			TARGET_ALIGNMENT * TARGET_ALIGNMENT;
	probe->buffers = target_buffer_new(PROBE_DEPTH * probe->stride, err);
	if (probe->doubt->seen == NULL || probe->buffers == NULL)
		return -1;
	probe->states = calloc(probe->atoms, sizeof(*probe->states));
	probe->found = calloc(probe->atoms, sizeof(*probe->found));
	if (probe->states == NULL || probe->found == NULL)
		return err_sys(err, ENOMEM, "cannot read what is in doubt");
	probe->cipher = record_cipher_new(ledger_run(probe->ledger)->id, err);
	probe->evidence = evidence_cache_new(probe->doubt->evidence, err);
	if (probe->cipher == NULL || probe->evidence == NULL)
		return -1;
	probe->queue =
		target_queue_open(probe->reader->target, PROBE_DEPTH, err);
	return probe->queue == NULL ? -1 : 0;
}

/* Only a queue that never had any trouble is used again. */
static void end_queue(struct probe *probe)
{
	if (probe->in_flight > 0) {
		target_queue_abandon(probe->queue);
		target_buffer_abandon(probe->buffers);
		return;
	}
	if (probe->has_trouble)
		target_queue_close(probe->queue);
	else
		probe->doubt->queue = probe->queue;
	free(probe->buffers);
}

int probe_doubt(struct probe_doubt *doubt, struct err *err)
{
	struct probe probe = {.reader = doubt->reader,
			      .ledger = doubt->ledger,
			      .doubt = doubt};
	uint16_t stream;
	int result;

	result = probe_open(&probe, err);
	for (stream = 0;
	     result == 0 && stream < ledger_run(doubt->ledger)->streams;
	     stream++)
		if (!probe_stream(&probe, stream))
			break;
	end_queue(&probe);
	record_cipher_free(probe.cipher);
	evidence_cache_free(probe.evidence);
	free(probe.states);
	free(probe.found);
	return result;
}
