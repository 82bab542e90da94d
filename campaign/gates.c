/* SPDX-License-Identifier: MIT */
#include "campaign/gates.h"

#include <stdio.h>

/* What the cut itself must have been. */
static const char *gates_cut(const struct outcome *outcome)
{
	if (!outcome->was_cut)
		return "the power was not cut";
	if (!outcome->was_loaded)
		return "the writer had ended before the power was cut";
	if (!outcome->writer.is_known)
		return "the writer left no account of itself";
	if (!outcome->writer.saw_gone)
		return "the writer did not see the drive go away";
	if (outcome->writer.in_flight == 0)
		return "no write was in flight when the drive went away";
	return NULL;
}

/* The promise under test must have been asked of the drive at all (P9). */
static const char *gates_promise(const struct outcome *outcome,
				 enum gates_sync sync)
{
	if (outcome->arm == PLAN_ARM_CONTROL)
		return NULL;
	if (sync == GATES_SYNC_FLUSH && outcome->writer.flushes == 0)
		return "no flush had completed before the cut";
	if (sync == GATES_SYNC_FUA && outcome->writer.durable == 0)
		return "no FUA write had completed before the cut";
	if (outcome->writer.durable == 0)
		return "no write had become durable before the cut";
	/* P11: what was acknowledged later convicts nobody. */
	if (outcome->judged.verdict == OUTCOME_KEPT &&
	    !outcome->judged.has_promise)
		return "no write had been promised before the cut was asked";
	return NULL;
}

void gates_judge(const struct outcome *outcome, enum gates_sync sync,
		 char *reason, size_t room)
{
	const char *why = gates_cut(outcome);

	if (outcome->trouble[0] != '\0')
		why = outcome->trouble;
	if (why == NULL)
		why = gates_promise(outcome, sync);
	if (why == NULL && outcome->judged.verdict == OUTCOME_NONE) {
		(void)snprintf(reason, room, "no verdict: %s",
			       outcome->judged.reason[0] == '\0'
				       ? "the verifier gave no reason"
				       : outcome->judged.reason);
		return;
	}
	(void)snprintf(reason, room, "%s", why == NULL ? "" : why);
}
