/* SPDX-License-Identifier: MIT */
#include "verifier/recheck.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/target/target.h"
#include "verifier/reader.h"

struct recheck {
	struct reader *reader;
	const struct ledger *ledger;
	const struct schedule *schedules;
	struct record_cipher *cipher;
	size_t count; /* atoms of a slot */
	uint8_t *buffer;
	enum record_state *states;
	struct record *found;
	enum judge_read *reads;
	enum verdict *classes;
	struct tally tally; /* of all that was read now */
};

static int recheck_open(struct recheck *recheck, struct err *err)
{
	const struct run *run = ledger_run(recheck->ledger);
	size_t count = run->block_bytes / RUN_ATOM_BYTES;

	recheck->count = count;
	recheck->cipher = record_cipher_new(run->id, err);
	recheck->buffer = target_buffer_new(run->block_bytes, err);
	if (recheck->cipher == NULL || recheck->buffer == NULL)
		return -1;
	recheck->states = calloc(count, sizeof(*recheck->states));
	recheck->found = calloc(count, sizeof(*recheck->found));
	recheck->reads = calloc(count, sizeof(*recheck->reads));
	recheck->classes = calloc(count, sizeof(*recheck->classes));
	if (recheck->states == NULL || recheck->found == NULL ||
	    recheck->reads == NULL || recheck->classes == NULL)
		return err_sys(err, ENOMEM, "cannot read findings again");
	return 0;
}

static void recheck_close(struct recheck *recheck)
{
	record_cipher_free(recheck->cipher);
	free(recheck->buffer);
	free(recheck->states);
	free(recheck->found);
	free(recheck->reads);
	free(recheck->classes);
}

/* False: the rig fails or too much hangs. */
static bool judge_again(struct recheck *recheck, uint64_t slot)
{
	const struct run *run = ledger_run(recheck->ledger);
	struct reader_range range = {
		.offset_bytes = run_slot_offset(run, slot),
		.length = run->block_bytes,
		.buffer = recheck->buffer,
		.reads = recheck->reads,
	};
	struct judge_outcome outcome;
	struct promise promise;
	struct judge_input input = {
		.ledger = recheck->ledger,
		.schedules = recheck->schedules,
		.promise = &promise,
		.slot = slot,
		.count = recheck->count,
		.states = recheck->states,
		.found = recheck->found,
		.reads = recheck->reads,
	};

	if (reader_is_over(recheck->reader) ||
	    !reader_read(recheck->reader, &range, 0))
		return false;
	record_examine_many(recheck->cipher, recheck->buffer, recheck->count,
			    recheck->states, recheck->found);
	expect_slot(recheck->ledger, recheck->schedules, slot, &promise);
	judge_slot(&input, recheck->classes, &outcome);
	tally_slot(&recheck->tally, &input, recheck->classes, &outcome);
	return true;
}

static bool is_same(const struct recheck *recheck,
		    const struct finding *finding)
{
	const struct run *run = ledger_run(recheck->ledger);
	size_t at = (size_t)((finding->offset_bytes -
			      run_slot_offset(run, finding->slot)) /
			     RUN_ATOM_BYTES);
	size_t atom;

	for (atom = at; atom < at + finding->atoms; atom++) {
		if (recheck->classes[atom] != finding->class)
			return false;
		if (finding->has_found &&
		    (recheck->states[atom] != RECORD_GOOD ||
		     recheck->found[atom].sequence != finding->found))
			return false;
	}
	return true;
}

int recheck_findings(const struct recheck_order *order, struct err *err)
{
	struct recheck recheck = {.reader = order->reader,
				  .ledger = order->ledger,
				  .schedules = order->schedules};
	struct findings *findings = order->findings;
	uint64_t slot = UINT64_MAX; /* the one in the buffer */
	size_t i;
	int result = recheck_open(&recheck, err);

	for (i = 0; result == 0 && i < findings->count; i++) {
		struct finding *finding = &findings->kept[i];

		if (finding->is_label || finding->class == VERDICT_HUNG ||
		    finding->class == VERDICT_GONE)
			continue;
		if (finding->slot != slot &&
		    !judge_again(&recheck, finding->slot))
			break;
		slot = finding->slot;
		/* Once unstable, always: an earlier scan saw it otherwise. */
		if (!is_same(&recheck, finding))
			finding->is_unstable = true;
	}
	if (recheck.tally.has_impossible && !order->tally->has_impossible) {
		order->tally->has_impossible = true;
		order->tally->impossible = recheck.tally.impossible;
	}
	recheck_close(&recheck);
	return result;
}

uint64_t recheck_unstable(const struct findings *findings)
{
	uint64_t unstable = 0;
	size_t i;

	for (i = 0; i < findings->count; i++)
		unstable += findings->kept[i].is_unstable;
	return unstable;
}
