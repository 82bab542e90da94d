/* SPDX-License-Identifier: MIT */
#include "campaign/tally.h"

#include <stdlib.h>
#include <string.h>

#include "campaign/gates.h"

static bool outcome_is_broken(const struct outcome *outcome)
{
	return outcome->judged.verdict == OUTCOME_BROKEN ||
	       outcome->judged.verdict == OUTCOME_GONE;
}

static void count_proofs(struct tally *tally, const struct outcome *outcome)
{
	const unsigned int proofs = gates_proofs(outcome);

	tally->gone += (proofs & GATES_PROOF_GONE) != 0;
	tally->new_device += (proofs & GATES_PROOF_NEW_DEVICE) != 0;
	tally->power_cycles += (proofs & GATES_PROOF_POWER_CYCLES) != 0;
	tally->unsafe_shutdowns += (proofs & GATES_PROOF_UNSAFE_SHUTDOWNS) != 0;
	tally->host += (proofs & GATES_PROOF_HOST) != 0;
	tally->not_by_drive += (proofs & GATES_PROOFS_OF_DRIVE) == 0;
}

/* Whether the cycle counts or not. */
static void count_health(struct tally *tally, const struct outcome *outcome)
{
	const struct outcome_evidence *evidence = &outcome->evidence;
	char text[8];

	counters_describe(&evidence->before, &evidence->after, true, text,
			  sizeof(text));
	tally->damaged += text[0] != '\0';
	tally->unread += outcome_counters_are_lost(outcome);
}

void tally_init(struct tally *tally)
{
	memset(tally, 0, sizeof(*tally));
}

void tally_add(struct tally *tally, const struct outcome *outcome)
{
	struct tally_arm *arm = outcome->arm == PLAN_ARM_CONTROL
					? &tally->control
					: &tally->test;

	arm->cycles++;
	count_health(tally, outcome);
	if (outcome->void_reason[0] != '\0') {
		tally->void_cycles++;
		if (outcome_is_broken(outcome))
			tally->void_broken++;
		return;
	}
	arm->counted++;
	count_proofs(tally, outcome);
	if (outcome_is_broken(outcome))
		arm->broken++;
	if (outcome->judged.completed_lost > 0)
		arm->lossy++;
	tally->intact += outcome->judged.atoms[OUTCOME_INTACT];
	tally->newer += outcome->judged.atoms[OUTCOME_NEWER];
	tally->completed_lost += outcome->judged.completed_lost;
	tally->shadow_lost += outcome->judged.shadow_lost;
}

enum tally_verdict tally_judge(const struct tally *tally, bool is_complete)
{
	if (tally->test.broken + tally->control.broken > 0)
		return TALLY_FAIL;
	if (!is_complete || tally->void_broken > 0 || tally->test.counted == 0)
		return TALLY_NO_VERDICT;
	if (tally->test.lossy + tally->control.lossy > 0)
		return TALLY_PASS;
	if (tally->control.counted > 0 && tally->void_cycles == 0 &&
	    tally->not_by_drive == 0)
		return TALLY_PROTECTED;
	return TALLY_INCONCLUSIVE;
}

const char *tally_verdict_name(enum tally_verdict verdict)
{
	switch (verdict) {
	case TALLY_FAIL:
		return "FAIL";
	case TALLY_PASS:
		return "PASS";
	case TALLY_PROTECTED:
		return "PROTECTED";
	case TALLY_INCONCLUSIVE:
		return "INCONCLUSIVE";
	case TALLY_NO_VERDICT:
		return "NO VERDICT";
	}
	abort();
}

const char *tally_verdict_meaning(enum tally_verdict verdict)
{
	switch (verdict) {
	case TALLY_FAIL:
		return "the drive broke a promise";
	case TALLY_PASS:
		return "every promise was kept, and this rig saw writes "
		       "without a promise vanish";
	case TALLY_PROTECTED:
		return "even writes that were never flushed survived every "
		       "cut: flush was not put to the test";
	case TALLY_INCONCLUSIVE:
		return "every promise was kept, but nothing shows that this "
		       "rig could have seen a loss";
	case TALLY_NO_VERDICT:
		return "neither conviction nor acquittal";
	}
	abort();
}

int tally_exit_status(enum tally_verdict verdict)
{
	switch (verdict) {
	case TALLY_PASS:
		return 0;
	case TALLY_FAIL:
		return 1;
	case TALLY_NO_VERDICT:
		return 2;
	case TALLY_PROTECTED:
	case TALLY_INCONCLUSIVE:
		return 3;
	}
	abort();
}
