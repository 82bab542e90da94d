/* SPDX-License-Identifier: MIT */
#include "verifier/conclude.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *conclude_answer_word(enum answer answer)
{
	static const char *const words[] = {
		[ANSWER_KEPT] = "kept",
		[ANSWER_BROKEN] = "broken",
		[ANSWER_NONE] = "none",
	};

	return words[answer];
}

const char *conclude_bound_word(const struct result *result)
{
	if (!result->has_log)
		return "media";
	return result->durable_all > result->durable_log ? "both" : "log";
}

void conclude_none(struct result *result, const char *reason)
{
	result->answer = ANSWER_NONE;
	result->status = CONCLUDE_NONE;
	(void)snprintf(result->reason, sizeof(result->reason), "%s", reason);
}

/* "3 writes lost, 1 write torn" */
static void count_broken(const struct tally *tally, char *text, size_t room)
{
	size_t used = 0, i;

	text[0] = '\0';
	for (i = 0; i < VERDICT_COUNT; i++) {
		int length;

		if (!verdict_is_broken((enum verdict)i) || tally->atoms[i] == 0)
			continue;
		length = snprintf(text + used, room - used,
				  "%s%" PRIu64 " write%s %s",
				  used > 0 ? ", " : "", tally->writes[i],
				  tally->writes[i] == 1 ? "" : "s",
				  verdict_word((enum verdict)i));
		if (length < 0 || (size_t)length >= room - used)
			return;
		used += (size_t)length;
	}
}

static void say_impossible(struct result *result)
{
	const struct finding *finding = &result->tally.impossible;

	conclude_none(result, "");
	(void)snprintf(result->reason, sizeof(result->reason),
		       "byte %" PRIu64 " holds write %" PRIu64
		       " of stream %u, which cannot have been issued there: "
		       "the log is not the whole log of this drive",
		       finding->offset_bytes, finding->found,
		       finding->found_stream);
}

static void say_kept(struct result *result)
{
	if (result->tally.capped > 0) { /* P9: nor does trouble ever acquit */
		conclude_none(result, "");
		(void)snprintf(result->reason, sizeof(result->reason),
			       "%" PRIu64 " places have too long a history "
			       "to be judged",
			       result->tally.capped);
		return;
	}
	if (result->dropped > 0 && !result->has_log) {
		conclude_none(result, "the drive's own records are of more "
				      "cycles than can be kept in memory");
		return;
	}
	if (result->tally.has_claimed) {
		conclude_none(result, "the labels only claim the region, yet "
				      "writes of the run that claimed it are "
				      "there: the drive has lost its labels"
				      "\nhint: name that run's log with "
				      "--acklog");
		return;
	}
	result->answer = ANSWER_KEPT;
	if (!result->was_promised) {
		result->status = CONCLUDE_NOT_SHOWN;
		(void)snprintf(result->reason, sizeof(result->reason),
			       "nothing was promised");
		return;
	}
	if (result->tally.completed_lost > 0) {
		result->status = CONCLUDE_KEPT;
		(void)snprintf(result->reason, sizeof(result->reason),
			       "every promise was kept, and %" PRIu64
			       " completed writes that were never promised "
			       "are gone",
			       result->tally.completed_lost);
		return;
	}
	result->status = CONCLUDE_NOT_SHOWN;
	(void)snprintf(result->reason, sizeof(result->reason),
		       "every promise was kept, but nothing showed that this "
		       "rig could have seen a loss");
}

const char *conclude_unsent(const struct result *result)
{
	if (result->log.unsent[0] != '\0')
		return result->log.unsent;
	return result->is_marked_unsent ? "its label says so" : NULL;
}

/* P9: what nobody asked of the drive it neither kept nor broke. */
static void say_unsent(struct result *result)
{
	char broken[256];

	count_broken(&result->tally, broken, sizeof(broken));
	conclude_none(result, "");
	(void)snprintf(
		result->reason, sizeof(result->reason),
		"the flushes did not reach the drive (%s)%s%.180s%s",
		conclude_unsent(result), broken[0] == '\0' ? "" : ": ", broken,
		broken[0] == '\0' ? "" : ", which accuses the way there");
}

/* P9: which of two answers was the drive's true one is not known. */
static void say_changed(struct result *result)
{
	conclude_none(result, "the drive's answers changed between two reads");
	if (result->changed > 0)
		(void)snprintf(result->reason, sizeof(result->reason),
			       "the drive's answers changed between two reads "
			       "in %" PRIu64 " place%s, the first at byte "
			       "%" PRIu64,
			       result->changed, result->changed == 1 ? "" : "s",
			       result->changed_first);
}

void conclude(struct result *result)
{
	if (result->has_log_grown) { /* P9: two times, and no moment judged */
		conclude_none(result,
			      "the log grew while the drive was read: the "
			      "writer of this run is still at work");
		return;
	}
	if (result->log_doubt[0] != '\0') {
		conclude_none(result, "");
		(void)snprintf(result->reason, sizeof(result->reason),
			       "the log changed while the drive was read: %s",
			       result->log_doubt);
		return;
	}
	if (conclude_unsent(result) != NULL) {
		say_unsent(result);
		return;
	}
	if (result->tally.has_impossible) { /* P9 */
		say_impossible(result);
		return;
	}
	if (tally_broken_atoms(&result->tally) > 0) {
		result->answer = ANSWER_BROKEN;
		result->status = CONCLUDE_BROKEN;
		count_broken(&result->tally, result->reason,
			     sizeof(result->reason));
		return;
	}
	if (result->rig_error != 0) { /* P9: nor does trouble ever acquit */
		conclude_none(result, "");
		(void)snprintf(result->reason, sizeof(result->reason),
			       "%s could not be read to its end, and not for "
			       "the drive's reasons: %s",
			       result->target_name,
			       strerror(result->rig_error));
		return;
	}
	if (result->unscanned_bytes > 0) {
		conclude_none(result, "");
		(void)snprintf(result->reason, sizeof(result->reason),
			       "%" PRIu64
			       " bytes were never read, or not asked "
			       "for often enough",
			       result->unscanned_bytes);
		return;
	}
	/* What is still unsettled after the last scan has changed as well. */
	if (result->changed > 0 || result->unstable > 0 ||
	    result->is_unsettled) {
		say_changed(result);
		return;
	}
	say_kept(result);
}
