/* SPDX-License-Identifier: MIT */
#include "common/ackfile/condcycle.h"

#include <stdlib.h>
#include <string.h>

void condcycle_begin(struct condcycle *of, const struct ackbody_cycle *cycle)
{
	memset(of, 0, sizeof(*of));
	if (cycle != NULL)
		of->cycle = *cycle;
}

bool condcycle_ends(const struct condcycle *of, const struct ackbody *body)
{
	return body->type == ACKBODY_CYCLE &&
	       !ackbody_is_same_cycle(&body->cycle, &of->cycle);
}

static void keep(struct condcycle_note *kept, const struct condcycle *of,
		 const struct ackbody_note *note)
{
	kept->is_there = true;
	kept->is_before_cut = !of->asked.is_there;
	kept->note = *note;
}

static void keep_first(struct condcycle_note *kept, const struct condcycle *of,
		       const struct ackbody_note *note)
{
	if (!kept->is_there)
		keep(kept, of, note);
}

static void take_event(struct condcycle *of, const struct ackbody_note *note)
{
	switch (note->event) {
	case ACKBODY_EVENT_CUT_ASKED:
		keep_first(&of->asked, of, note);
		return;
	case ACKBODY_EVENT_CUT_SEEN:
		if (of->asked.is_there && !of->restored.is_there)
			keep_first(&of->seen, of, note);
		return;
	case ACKBODY_EVENT_RESTORED:
		keep_first(&of->restored, of, note);
		return;
	case ACKBODY_EVENT_UNSENT:
		keep_first(&of->unsent, of, note);
		return;
	case ACKBODY_EVENT_ERROR:
	case ACKBODY_EVENT_NOTE:
		if (of->notes < CONDENSE_NOTES_MAX)
			keep(&of->note[of->notes++], of, note);
		return;
	}
}

static void take_limit(struct condcycle *of, const struct ackbody *body)
{
	uint16_t stream = body->limit.stream;

	if (body->type == ACKBODY_RESERVE) {
		if (body->limit.sequence > of->reserved[stream])
			of->reserved[stream] = body->limit.sequence;
	} else if (!of->is_issued[stream]) {
		of->is_issued[stream] = true;
		of->issued[stream] = body->limit.sequence;
	}
}

void condcycle_take(struct condcycle *of, const struct ackbody *body)
{
	switch (body->type) {
	case ACKBODY_RUN:
	case ACKBODY_CYCLE:
		return; /* said again */
	case ACKBODY_EVENT:
		take_event(of, &body->note);
		return;
	case ACKBODY_RESERVE:
	case ACKBODY_ISSUED:
		take_limit(of, body);
		break;
	case ACKBODY_END:
		keep(&of->end, of, &body->note);
		break;
	case ACKBODY_DURABLE:
	case ACKBODY_COMPLETED:
	case ACKBODY_FLUSHES:
		break;
	}
	/* P11: whoever still speaks has not ended. */
	of->seen.is_there = false;
}
