/* SPDX-License-Identifier: MIT */
#include "campaign/gates.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum counters_move gates_moved(const struct outcome *outcome,
				      enum counters_kind kind)
{
	return counters_moved(&outcome->evidence.before,
			      &outcome->evidence.after, kind);
}

unsigned int gates_proofs(const struct outcome *outcome)
{
	const struct outcome_evidence *evidence = &outcome->evidence;
	const struct outcome_host *host = &outcome->host;
	unsigned int proofs = 0;

	if (outcome->writer.is_known && outcome->writer.saw_gone)
		proofs |= GATES_PROOF_GONE;
	if (evidence->diskseq_before != 0 && evidence->diskseq_after != 0 &&
	    evidence->diskseq_before != evidence->diskseq_after)
		proofs |= GATES_PROOF_NEW_DEVICE;
	if (gates_moved(outcome, COUNTERS_POWER_CYCLES) == COUNTERS_ROSE)
		proofs |= GATES_PROOF_POWER_CYCLES;
	if (gates_moved(outcome, COUNTERS_UNSAFE_SHUTDOWNS) == COUNTERS_ROSE)
		proofs |= GATES_PROOF_UNSAFE_SHUTDOWNS;
	if (host->is_cut_too && host->fell_silent && host->has_booted)
		proofs |= GATES_PROOF_HOST;
	return proofs;
}

/* The writer lives on and tells what it saw. */
static const char *gates_drive(const struct outcome *outcome)
{
	if (!outcome->was_loaded)
		return "the writer had ended before the power was cut";
	if (!outcome->writer.is_known)
		return "the writer left no account of itself";
	if (gates_proofs(outcome) == 0)
		return "the writer did not see the drive go away, and no "
		       "counter of the drive rose: the cut is not proven";
	if (outcome->writer.in_flight == 0)
		return "no write was in flight when the drive went away";
	return NULL;
}

/* P11: the writer dies with its host, which must be seen to have died. */
static const char *gates_host(const struct outcome_host *host)
{
	if (!host->was_writing)
		return "the log had stopped growing before the power was cut";
	if (!host->fell_silent)
		return "acknowledgements went on behind \"off\"";
	if (!host->has_booted)
		return "nothing shows that the host lost its power";
	return NULL;
}

/* What the cut itself must have been. */
static const char *gates_cut(const struct outcome *outcome)
{
	if (!outcome->was_cut)
		return "the power was not cut";
	return outcome->host.is_cut_too ? gates_host(&outcome->host)
					: gates_drive(outcome);
}

/* A counter that the drive keeps is a witness; it must not deny the cut. */
static const char *gates_counters(const struct outcome *outcome)
{
	if (gates_moved(outcome, COUNTERS_POWER_CYCLES) == COUNTERS_STOOD)
		return "the drive's own counter says that its power was never "
		       "gone";
	if (gates_moved(outcome, COUNTERS_UNSAFE_SHUTDOWNS) == COUNTERS_STOOD)
		return "the drive counted no unsafe shutdown: it was shut "
		       "down in order";
	return NULL;
}

static const char *gates_settings(const struct outcome_evidence *evidence)
{
	if (evidence->cache_before[0] != '\0' &&
	    evidence->cache_after[0] != '\0' &&
	    strcmp(evidence->cache_before, evidence->cache_after) != 0)
		return "the kernel takes the drive's cache for another one "
		       "than before the cut";
	return NULL;
}

/* The promise under test must have been asked of the drive at all (P9). */
static const char *gates_promise(const struct outcome *outcome,
				 enum gates_sync sync)
{
	if (outcome->arm == PLAN_ARM_CONTROL)
		return NULL;
	/* Of a writer that died with its host the log tells alone. */
	if (!outcome->host.is_cut_too) {
		if (sync == GATES_SYNC_FLUSH && outcome->writer.flushes == 0)
			return "no flush had completed before the cut";
		if (sync == GATES_SYNC_FUA && outcome->writer.durable == 0)
			return "no FUA write had completed before the cut";
		if (outcome->writer.durable == 0)
			return "no write had become durable before the cut";
	}
	/* P11: what was acknowledged later convicts nobody. */
	if (outcome->judged.verdict == OUTCOME_KEPT &&
	    !outcome->judged.has_promise)
		return "no write had been promised before the cut was asked";
	return NULL;
}

/* For a counter that denies the cut: its numbers. */
static void append_numbers(const struct outcome *outcome, char *reason,
			   size_t room)
{
	const struct outcome_evidence *evidence = &outcome->evidence;
	char numbers[OUTCOME_TEXT_BYTES];
	const size_t used = strlen(reason);

	counters_describe(&evidence->before, &evidence->after, false, numbers,
			  sizeof(numbers));
	(void)snprintf(reason + used, room - used, " (%s)", numbers);
}

void gates_judge(const struct outcome *outcome, enum gates_sync sync,
		 char *reason, size_t room)
{
	const char *why = gates_cut(outcome);

	if (outcome->trouble[0] != '\0')
		why = outcome->trouble;
	if (why == NULL && gates_counters(outcome) != NULL) {
		(void)snprintf(reason, room, "%s", gates_counters(outcome));
		append_numbers(outcome, reason, room);
		return;
	}
	if (why == NULL)
		why = gates_settings(&outcome->evidence);
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
