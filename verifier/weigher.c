/* SPDX-License-Identifier: MIT */
#include "verifier/weigher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/target/target.h"
#include "verifier/alike.h"
#include "verifier/evidence.h"

/* At least so many are examined at once, so that what they say is still near
 * when it is judged. */
#define BATCH_ATOMS 64

static const struct run *run_of(const struct weigher *weigher)
{
	return ledger_run(weigher->scan->ledger);
}

/* Where the drive answered the probe otherwise, the worse answer counts (P9).
 */
static void judge_one(struct weigher *weigher, struct judge_input *input)
{
	struct scan *scan = weigher->scan;
	struct judge_outcome outcome;

	judge_slot(input, weigher->classes, &outcome);
	if (scan->seen != NULL &&
	    seen_judge(scan->seen, &weigher->second, input, weigher->classes,
		       &outcome) &&
	    scan->reader->changes != NULL)
		changes_note(scan->reader->changes,
			     run_slot_offset(run_of(weigher), input->slot));
	tally_slot(&weigher->tally, input, weigher->classes, &outcome);
	if (outcome.is_alike)
		return;
	if (!outcome.is_broken && input->promise->has_promise)
		return;
	if (!findings_has_news(weigher->classes, input->count))
		return;
	pthread_mutex_lock(&scan->lock);
	findings_slot(scan->findings, input, weigher->classes);
	pthread_mutex_unlock(&scan->lock);
}

/* P5: only what can exist is evidence; the judge tells the rest. */
static void gather_evidence(struct weigher *weigher,
			    const struct judge_input *input)
{
	const struct run *run = run_of(weigher);
	size_t count = input->is_alike ? 1 : input->count, i;

	for (i = 0; i < count; i++) {
		const struct record *record = &input->found[i];

		if (input->states[i] != RECORD_GOOD ||
		    record->stream >= run->streams ||
		    record->durable_sequence >= record->sequence ||
		    record->sequence >
			    ledger_limit(weigher->scan->ledger, record->stream))
			continue;
		evidence_add(weigher->evidence, record);
	}
}

/*
 * P9: a label that promises no fill may be the claim of a run whose labels did
 * not come back (writer/fill.c). Numbered writes of that run prove that they
 * had been flushed.
 */
static bool has_claimed(const struct weigher *weigher,
			const struct judge_input *input)
{
	const struct run *run = run_of(weigher);
	uint8_t id[RUN_ID_BYTES];
	size_t i;

	if (run->is_filled)
		return false;
	for (i = 0; i < RUN_ID_BYTES; i++)
		id[i] = run->id[i] ^ 0xff;
	for (i = 0; i < input->count; i++)
		if (input->states[i] == RECORD_FOREIGN &&
		    input->found[i].sequence > 0 &&
		    memcmp(input->found[i].run_id, id, RUN_ID_BYTES) == 0)
			return true;
	return false;
}

/* Slots that could not be put off count as never read. */
static void put_off(struct scan *scan, uint64_t slot)
{
	unsigned int at = atomic_fetch_add(&scan->put_off_count, 1);

	if (at < READER_SUSPECTS_MAX)
		scan->put_off[at] = slot;
}

/* P9: nobody asked for any of it. */
static bool is_unasked(const struct judge_input *input)
{
	size_t i;

	for (i = 0; i < input->count; i++)
		if (input->reads[i] != JUDGE_READ_UNJUDGED)
			return false;
	return true;
}

static bool has_unjudged(const struct judge_input *input)
{
	size_t i;

	for (i = 0; input->reads != NULL && i < input->count; i++)
		if (input->reads[i] == JUDGE_READ_UNJUDGED)
			return true;
	return false;
}

static uint64_t hash_of(const struct judge_input *input)
{
	if (input->is_alike)
		return changes_hash_alike(input->states, input->found,
					  input->count);
	return changes_hash(input->states, input->found, input->reads,
			    input->count);
}

static void take_slot(struct weigher *weigher, struct judge_input *input,
		      uint64_t newest)
{
	struct scan *scan = weigher->scan;
	struct promise promise;

	gather_evidence(weigher, input);
	if (!input->is_alike)
		weigher->tally.has_claimed |= has_claimed(weigher, input);
	if (input->reads != NULL && !scan->reader->is_second &&
	    reader_has_hung(input->reads, input->count)) {
		put_off(scan, input->slot);
		return;
	}
	if (input->reads != NULL && is_unasked(input))
		return;
	weigher->done_slots++;
	/* What was not seen whole is not compared. */
	if (scan->answers != NULL && !has_unjudged(input))
		changes_part_add(scan->answers, &weigher->answers, input->slot,
				 hash_of(input));
	expect_slot_from(scan->ledger, scan->schedules, input->slot, newest,
			 &promise);
	input->promise = &promise;
	judge_one(weigher, input);
}

static void take_batch(struct weigher *weigher, uint64_t slot, uint64_t slots,
		       const uint8_t *buffer, const enum judge_read *reads)
{
	struct scan *scan = weigher->scan;
	size_t count = run_of(weigher)->block_bytes / RUN_ATOM_BYTES;
	uint64_t newest[EXPECT_MANY_MAX], i;

	expect_newest(scan->ledger, scan->schedules, slot, (unsigned int)slots,
		      newest);
	record_examine_many(weigher->cipher, buffer, (size_t)slots * count,
			    weigher->states, weigher->found);
	for (i = 0; i < slots; i++) {
		size_t at = (size_t)i * count;
		struct judge_input input = {
			.ledger = scan->ledger,
			.schedules = scan->schedules,
			.slot = slot + i,
			.count = count,
			.states = weigher->states + at,
			.found = weigher->found + at,
			.reads = reads == NULL ? NULL : reads + at,
		};

		input.is_alike = reads == NULL &&
				 alike_atoms(input.states, input.found, count);
		take_slot(weigher, &input, newest[i]);
	}
}

/* Atoms of a slot are never parted. */
static uint64_t slots_of_batch(const struct run *run)
{
	uint64_t slots = BATCH_ATOMS * RUN_ATOM_BYTES / run->block_bytes;

	return slots == 0 ? 1 : slots;
}

void weigher_take(struct weigher *weigher, uint64_t slot, uint64_t slots,
		  const uint8_t *buffer, const enum judge_read *reads)
{
	const struct run *run = run_of(weigher);
	uint64_t step = slots_of_batch(run), i;

	for (i = 0; i < slots; i += step) {
		size_t at = (size_t)i * run->block_bytes;
		uint64_t left = slots - i;

		take_batch(weigher, slot + i, left < step ? left : step,
			   buffer + at,
			   reads == NULL ? NULL : reads + at / RUN_ATOM_BYTES);
	}
}

static int compare_slots(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Block by block, as each of them was asked before. False: the rig failed. */
static bool ask_slot(struct weigher *weigher, uint64_t slot, uint8_t *buffer)
{
	struct reader *reader = weigher->scan->reader;
	const struct run *run = run_of(weigher);
	struct reader_range range = {
		.offset_bytes = run_slot_offset(run, slot),
		.length = run->block_bytes,
		.buffer = buffer,
		.reads = weigher->reads,
	};
	bool has_parts = range.length > reader->block_bytes;

	if (!reader_read(reader, &range, has_parts ? ETIMEDOUT : 0))
		return false;
	weigher_take(weigher, slot, 1, buffer, range.reads);
	return true;
}

int weigher_ask_again(struct weigher *weigher, struct err *err)
{
	struct scan *scan = weigher->scan;
	unsigned int count = atomic_load(&scan->put_off_count), i;
	uint8_t *buffer;

	if (count == 0 || atomic_load(&scan->reader->rig_error) != 0)
		return 0;
	if (count > READER_SUSPECTS_MAX)
		count = READER_SUSPECTS_MAX;
	buffer = target_buffer_new(run_of(weigher)->block_bytes, err);
	if (buffer == NULL)
		return -1;
	qsort(scan->put_off, count, sizeof(scan->put_off[0]), compare_slots);
	reader_ask_second(scan->reader);
	for (i = 0; i < count && !reader_is_over(scan->reader); i++)
		if (!ask_slot(weigher, scan->put_off[i], buffer))
			break;
	reader_ask_first(scan->reader);
	weigher_merge(weigher);
	free(buffer);
	return 0;
}

void weigher_merge(struct weigher *weigher)
{
	evidence_cache_merge(weigher->evidence);
	if (weigher->scan->answers != NULL)
		changes_part_flush(weigher->scan->answers, &weigher->answers);
}

int weigher_open(struct weigher *weigher, struct scan *scan, size_t atoms,
		 struct err *err)
{
	const struct run *run = ledger_run(scan->ledger);
	size_t slot_atoms = run->block_bytes / RUN_ATOM_BYTES;
	size_t batch_atoms = (size_t)slots_of_batch(run) * slot_atoms;

	weigher->scan = scan;
	weigher->cipher = record_cipher_new(run->id, err);
	weigher->evidence = evidence_cache_new(scan->evidence, err);
	if (weigher->cipher == NULL || weigher->evidence == NULL)
		return -1;
	weigher->states = calloc(batch_atoms, sizeof(*weigher->states));
	weigher->found = calloc(batch_atoms, sizeof(*weigher->found));
	weigher->reads = calloc(atoms, sizeof(*weigher->reads));
	weigher->classes = calloc(slot_atoms, sizeof(*weigher->classes));
	if (weigher->states == NULL || weigher->found == NULL ||
	    weigher->reads == NULL || weigher->classes == NULL)
		return err_sys(err, ENOMEM, "cannot start a scanning thread");
	return seen_slot_init(&weigher->second, slot_atoms, err);
}

void weigher_close(struct weigher *weigher)
{
	record_cipher_free(weigher->cipher);
	evidence_cache_free(weigher->evidence);
	free(weigher->states);
	free(weigher->found);
	free(weigher->reads);
	free(weigher->classes);
	seen_slot_free(&weigher->second);
}
