/* SPDX-License-Identifier: MIT */
#include "campaign/cycleverdict.h"

#include <stdio.h>
#include <string.h>

#include "campaign/again.h"
#include "campaign/beside.h"
#include "campaign/cevidence.h"
#include "campaign/journal.h"
#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/base/err.h"

/* Only a relay that can be read back, and says on, turns a missing drive into
 * a finding; otherwise it may be the rig (P9). */
static enum cycle_state judge_absence(struct cycle *cycle)
{
	struct outcome_judged *judged = &cycle->outcome->judged;
	enum crelay_power power = CRELAY_UNREAD;
	char says[OUTCOME_TEXT_BYTES];
	struct err err;
	const bool is_missing =
		beside_device_is_missing(cycle->order->rig, judged);

	(void)snprintf(says, sizeof(says), "%s", judged->reason);
	memset(judged, 0, sizeof(*judged));
	if (is_missing &&
	    rig_read_power(cycle->order->rig, &power, &err) == 0 &&
	    power == CRELAY_ON) {
		judged->verdict = OUTCOME_GONE;
		(void)snprintf(judged->reason, sizeof(judged->reason),
			       "the drive did not come back: %.250s", says);
		return CYCLE_AGAIN;
	}
	(void)err_set(&err, "the drive did not come back: %.250s", says);
	cyclestate_stop(cycle, err.text);
	return CYCLE_DONE;
}

/* P9: a limit set by somebody, a bridge or a volume can be the cause; but no
 * cycle on what is left would tell anything of this drive. */
static enum cycle_state judge_shrunk(struct cycle *cycle)
{
	struct err err;

	(void)err_set(&err, "the drive came back smaller: %.300s",
		      cycle->outcome->judged.reason);
	cyclestate_stop(cycle, err.text);
	return CYCLE_DONE;
}

static void note_rescan(struct cycle *cycle, const char *text)
{
	struct err err;

	if (journal_write(cycle->order->journal, "rescan",
			  json_pack("{s:I, s:s}", "cycle",
				    (json_int_t)cycle->order->number, "text",
				    text),
			  &err) == -1)
		cyclestate_stop(cycle, err.text);
	if (rig_send_note(cycle->order->rig, cycle->outcome->run, text, &err) ==
	    -1)
		(void)cyclestate_note(cycle, "rescan not on record", NULL, 0);
}

/* For the log: what the drive said of itself before and after. */
static void note_counters(struct cycle *cycle)
{
	const struct outcome_evidence *evidence = &cycle->outcome->evidence;
	char text[OUTCOME_TEXT_BYTES] = "counters: ";
	const size_t used = strlen(text);
	struct err err;

	counters_describe(&evidence->before, &evidence->after, false,
			  text + used, sizeof(text) - used);
	if (outcome_counters_are_lost(cycle->outcome))
		(void)snprintf(text + used, sizeof(text) - used,
			       "could not be read after the cut");
	if (text[used] != '\0' &&
	    rig_send_note(cycle->order->rig, cycle->outcome->run, text, &err) ==
		    -1)
		(void)cyclestate_note(cycle, "counters not on record", NULL, 0);
}

enum cycle_state cycleverdict_judge(struct cycle *cycle)
{
	struct rig *rig = cycle->order->rig;
	struct outcome *outcome = cycle->outcome;
	struct outcome_judged *judged = &outcome->judged;
	const uint64_t begun_ns = clock_monotonic_ns();
	struct again_answer answer;
	struct err err;
	int rc = 0;

	cyclestate_phase(cycle, "reading the drive");
	rc = again_verify(rig, outcome, false, &answer, &err);
	cyclestate_waited(cycle, begun_ns);
	if (rc == -1) {
		cyclestate_trouble(cycle, err.text);
		return CYCLE_DONE;
	}
	*judged = answer.judged;
	if (answer.rescan[0] != '\0')
		note_rescan(cycle, answer.rescan);
	if (beside_target_is_absent(rig, judged))
		return judge_absence(cycle);
	if (beside_target_has_shrunk(judged))
		return judge_shrunk(cycle);
	outcome->ready_ms = (answer.opened_ns - cycle->on_ns) / CLOCK_NS_PER_MS;
	outcome->judged_ms = cyclestate_ms_since(cycle->on_ns);
	cevidence_after(rig, outcome);
	note_counters(cycle);
	return judged->verdict == OUTCOME_BROKEN ? CYCLE_AGAIN : CYCLE_DONE;
}

/* For the record: what a clean power cycle has changed. */
static void note_second_counters(struct cycle *cycle)
{
	struct counters now;
	json_t *fields = NULL;
	struct err err;

	if (!counters_are_read(&cycle->outcome->evidence.before))
		return;
	cevidence_read_counters(cycle->order->rig, &now);
	fields = json_pack("{s:I, s:o}", "cycle",
			   (json_int_t)cycle->order->number, "counters",
			   counters_encode(&now));
	if (journal_write(cycle->order->journal, "looked again", fields,
			  &err) == -1)
		cyclestate_stop(cycle, err.text);
}

/* The first verdict stands whatever happens here. */
enum cycle_state cycleverdict_again(struct cycle *cycle)
{
	struct outcome *outcome = cycle->outcome;
	const uint64_t begun_ns = clock_monotonic_ns();
	struct err err;

	cyclestate_phase(cycle, "looking again after a clean power cycle");
	(void)cyclestate_note(cycle, "look again", NULL, 0);
	if (again_look(cycle->order->rig, outcome, cycle->order->plan.off_ms,
		       &outcome->second, &err) == -1) {
		(void)cyclestate_note(cycle, "power not restored", NULL, 0);
		cycle->must_stop = true;
	}
	note_second_counters(cycle);
	cyclestate_waited(cycle, begun_ns);
	if (outcome->judged.verdict == OUTCOME_GONE &&
	    outcome->second != OUTCOME_HEALED)
		cycle->must_stop = true;
	return CYCLE_DONE;
}
