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
#include "verifier/reader.h"

struct probe {
	struct reader *reader;
	const struct ledger *ledger;
	const struct schedule *schedules;
	struct target_queue *queue;
	struct record_cipher *cipher;
	struct evidence_cache *evidence;
	uint8_t *buffers; /* PROBE_DEPTH logical blocks, page by page */
	size_t stride;
	unsigned int in_flight;
	uint64_t misses, left;
};

static uint8_t *buffer_of(const struct probe *probe, uint64_t tag)
{
	return probe->buffers + (size_t)tag * probe->stride;
}

static void take(struct probe *probe,
		 const struct target_completion *completion)
{
	struct record record;

	probe->in_flight--;
	probe->misses++;
	if (completion->result < RUN_ATOM_BYTES)
		return;
	if (record_examine(probe->cipher, buffer_of(probe, completion->tag),
			   &record) != RECORD_GOOD ||
	    record.stream >= ledger_run(probe->ledger)->streams ||
	    record.sequence > ledger_limit(probe->ledger, record.stream) ||
	    record.durable_sequence >= record.sequence)
		return;
	if (record.sequence > ledger_durable_last(probe->ledger, record.stream))
		probe->misses = 0;
	evidence_add(probe->evidence, &record);
}

/* Waits for all of a batch. -1: the drive does not answer as it should; the
 * scan will find out how. */
static int finish(struct probe *probe)
{
	uint64_t deadline_ns = clock_monotonic_ns() +
			       probe->reader->timeout_ms * CLOCK_NS_PER_MS;

	if (target_queue_submit(probe->queue) < 0)
		return -1;
	while (probe->in_flight > 0) {
		struct target_completion completions[PROBE_DEPTH];
		int count = target_queue_reap(probe->queue, completions,
					      PROBE_DEPTH,
					      clock_until_ms(deadline_ns));
		int i;

		if (count < 0 ||
		    (count == 0 && clock_until_ms(deadline_ns) == 0))
			return -1;
		for (i = 0; i < count; i++)
			take(probe, &completions[i]);
	}
	return 0;
}

static int probe_stream(struct probe *probe, uint16_t stream)
{
	const struct run *run = ledger_run(probe->ledger);
	uint64_t sequence = ledger_durable_last(probe->ledger, stream) + 1;
	uint64_t limit = ledger_limit(probe->ledger, stream);

	probe->misses = 0;
	while (sequence <= limit && probe->left > 0 &&
	       probe->misses < PROBE_MISSES_MAX) {
		uint64_t slot =
			stream * run_slots_per_stream(run) +
			schedule_slot(&probe->schedules[stream], sequence);
		unsigned int tag = probe->in_flight++;

		target_queue_read(probe->queue, tag, buffer_of(probe, tag),
				  probe->reader->block_bytes,
				  run_slot_offset(run, slot));
		probe->left--;
		sequence++;
		if (probe->in_flight == PROBE_DEPTH && finish(probe) < 0)
			return -1;
	}
	return finish(probe);
}

static int probe_open(struct probe *probe, struct evidence *evidence,
		      struct err *err)
{
	probe->stride = (probe->reader->block_bytes + TARGET_ALIGNMENT - 1) /
			TARGET_ALIGNMENT * TARGET_ALIGNMENT;
	probe->buffers = target_buffer_new(PROBE_DEPTH * probe->stride, err);
	if (probe->buffers == NULL)
		return -1;
	probe->cipher = record_cipher_new(ledger_run(probe->ledger)->id, err);
	probe->evidence = evidence_cache_new(evidence, err);
	if (probe->cipher == NULL || probe->evidence == NULL)
		return -1;
	probe->queue =
		target_queue_open(probe->reader->target, PROBE_DEPTH, err);
	return probe->queue == NULL ? -1 : 0;
}

int probe_doubt(struct reader *reader, const struct ledger *ledger,
		const struct schedule *schedules, struct evidence *evidence,
		struct err *err)
{
	struct probe probe = {.reader = reader,
			      .ledger = ledger,
			      .schedules = schedules,
			      .left = PROBE_SLOTS_MAX};
	uint16_t stream;
	int result;

	result = probe_open(&probe, evidence, err);
	for (stream = 0; result == 0 && stream < ledger_run(ledger)->streams;
	     stream++)
		if (probe_stream(&probe, stream) < 0)
			break;
	/* Reads that were never answered keep their buffers and their queue. */
	if (probe.in_flight == 0) {
		target_queue_close(probe.queue);
		free(probe.buffers);
	}
	record_cipher_free(probe.cipher);
	evidence_cache_free(probe.evidence);
	return result;
}
