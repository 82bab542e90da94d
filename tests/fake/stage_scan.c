/* SPDX-License-Identifier: MIT */
/*
 * stage_scan - the verifier's half of a rehearsal.
 */
#include "tests/fake/stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "verifier/evidence.h"
#include "verifier/expect.h"

static enum judge_read read_block(struct stage *stage, uint8_t *buffer,
				  uint64_t offset_bytes)
{
	switch (model_read(stage->model, buffer, LOGICAL_BYTES, offset_bytes,
			   stage->now_ns)) {
	case 0:
		return JUDGE_READ_OK;
	case MODEL_NO_ANSWER:
		return JUDGE_READ_HUNG;
	case -ESHUTDOWN:
		return JUDGE_READ_GONE;
	default:
		return JUDGE_READ_UNREADABLE;
	}
}

struct slot_view {
	uint8_t bytes[BLOCK_BYTES];
	enum judge_read reads[ATOMS];
	enum record_state states[ATOMS];
	struct record found[ATOMS];
};

static void look_at_slot(struct stage *stage, uint64_t slot,
			 struct slot_view *view)
{
	uint64_t offset = run_slot_offset(&stage->run, slot);

	memset(view->bytes, 0, BLOCK_BYTES);
	for (size_t at = 0; at < BLOCK_BYTES; at += LOGICAL_BYTES) {
		enum judge_read read =
			read_block(stage, view->bytes + at, offset + at);

		for (size_t i = 0; i < LOGICAL_BYTES / RUN_ATOM_BYTES; i++)
			view->reads[at / RUN_ATOM_BYTES + i] = read;
	}
	record_examine_many(stage->cipher, view->bytes, ATOMS, view->states,
			    view->found);
}

static void judge_view(struct stage *stage, uint64_t slot,
		       const struct slot_view *view,
		       struct rehearsal_result *result)
{
	struct promise promise;
	struct judge_outcome outcome;
	enum verdict classes[ATOMS];
	struct judge_input input = {
		.ledger = stage->ledger,
		.schedules = stage->schedules,
		.promise = &promise,
		.slot = slot,
		.count = ATOMS,
		.states = view->states,
		.found = view->found,
		.reads = view->reads,
	};

	expect_slot(stage->ledger, stage->schedules, slot, &promise);
	judge_slot(&input, classes, &outcome);
	for (size_t i = 0; i < ATOMS; i++)
		result->atoms[classes[i]]++;
	result->completed_lost += outcome.is_completed_lost;
}

static int gather_proof(struct stage *stage, const struct slot_view *views,
			struct err *err)
{
	struct evidence *evidence = evidence_new(err);
	struct evidence_cache *cache =
		evidence ? evidence_cache_new(evidence, err) : NULL;

	if (!cache) {
		evidence_free(evidence);
		return -1;
	}
	for (size_t i = 0; i < SLOTS * ATOMS; i++)
		if (views[i / ATOMS].reads[i % ATOMS] == JUDGE_READ_OK &&
		    views[i / ATOMS].states[i % ATOMS] == RECORD_GOOD)
			evidence_add(cache, &views[i / ATOMS].found[i % ATOMS]);
	evidence_cache_free(cache);
	(void)evidence_apply(evidence, stage->ledger); /* new or not */
	evidence_free(evidence);
	return 0;
}

int stage_scan(struct stage *stage, struct rehearsal_result *result,
	       struct err *err)
{
	struct slot_view *views = calloc(SLOTS, sizeof(*views));
	int status = -1;

	if (!views)
		return err_set(err, "no memory for the scan");
	for (uint64_t slot = 0; slot < SLOTS; slot++)
		look_at_slot(stage, slot, &views[slot]);
	if (stage->config->log == REHEARSAL_LOG_NONE) {
		ledger_free(stage->ledger);
		stage->ledger = ledger_new(err);
		if (!stage->ledger)
			goto out;
		ledger_begin_without_log(stage->ledger, &stage->run);
	}
	if (gather_proof(stage, views, err) < 0)
		goto out;
	for (uint64_t slot = 0; slot < SLOTS; slot++)
		judge_view(stage, slot, &views[slot], result);
	result->durable = ledger_durable_count(stage->ledger, 0);
	status = 0;
out:
	free(views);
	return status;
}
