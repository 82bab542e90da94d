/* SPDX-License-Identifier: MIT */
#include "tests/fake/smallmodel_logs.h"

#include <assert.h>
#include <string.h>

#include "tests/fake/smallmodel_ends.h"
#include "tests/fake/smallmodel_naive.h"

static void
each_log(struct small_check *check, const struct small_past *past,
	 const struct small_log *log,
	 void (*each)(struct small_check *, const struct small_past *,
		      const struct small_log *, const struct small_knowledge *))
{
	struct small_knowledge knowledge;

	smallmodel_naive_know(check->world.bounds, past, log, &knowledge);
	each(check, past, log, &knowledge);
}

static void add_tell(struct small_log *log, enum ackbody_type type,
		     uint16_t stream, uint64_t last)
{
	assert(log->tells < SMALL_TELLS_MAX);
	log->tell[log->tells++] = (struct small_tell){type, stream, 0, last};
}

/* The writer was there to the end and said how far it came. */
static void add_issued(struct small_log *log, const struct small_past *past,
		       uint16_t streams)
{
	uint16_t k;

	for (k = 0; k < streams; k++) {
		uint64_t last = past->first[past->cycle - 1][k] - 1;

		for (unsigned int i = past->cycle_writes; i < past->writes; i++)
			if (past->write[i].stream == k)
				last = past->write[i].sequence;
		add_tell(log, ACKBODY_ISSUED, k, last);
	}
}

/* Where the events stand: before which of the statements. */
struct events {
	unsigned int keep, asked, seen, restored;
	bool is_restored_first; /* where both stand at the same place */
};

static void add_event(struct small_log *log, enum ackbody_event event)
{
	add_tell(log, ACKBODY_EVENT, 0, event);
}

static void each_event_log(
	struct small_check *check, const struct small_past *past,
	const struct events *events,
	void (*each)(struct small_check *, const struct small_past *,
		     const struct small_log *, const struct small_knowledge *))
{
	struct small_log log;

	memset(&log, 0, sizeof(log));
	log.cycles = past->cycle;
	log.is_whole = events->keep == past->tells;
	for (unsigned int i = 0; i <= events->keep; i++) {
		if (i == events->asked)
			add_event(&log, ACKBODY_EVENT_CUT_ASKED);
		if (i == events->restored && events->is_restored_first)
			add_event(&log, ACKBODY_EVENT_RESTORED);
		if (i == events->seen)
			add_event(&log, ACKBODY_EVENT_CUT_SEEN);
		if (i == events->restored && !events->is_restored_first)
			add_event(&log, ACKBODY_EVENT_RESTORED);
		if (i < events->keep)
			log.tell[log.tells++] = past->tell[i];
	}
	each_log(check, past, &log, each);
	if (!log.is_whole)
		return;
	add_issued(&log, past, check->world.run.streams);
	each_log(check, past, &log, each);
	if (events->asked > events->keep)
		return;
	add_event(&log, ACKBODY_EVENT_CUT_SEEN);
	each_log(check, past, &log, each);
}

/* "Cut seen" and "restored" at any place, or only "cut seen" at the end. */
static void each_place(struct small_check *check, const struct small_past *past,
		       struct events *events,
		       void (*each)(struct small_check *,
				    const struct small_past *,
				    const struct small_log *,
				    const struct small_knowledge *))
{
	unsigned int start = past->begins[past->cycle - 1];
	unsigned int none = events->keep + 1;

	if (!check->world.bounds->has_all_events)
		start = none;
	events->restored = none;
	for (events->seen = events->keep; events->seen <= none; events->seen++)
		each_event_log(check, past, events, each);
	for (events->seen = start; events->seen <= none; events->seen++)
		for (events->restored = start; events->restored <= none;
		     events->restored++) {
			events->is_restored_first = false;
			each_event_log(check, past, events, each);
			events->is_restored_first = true;
			each_event_log(check, past, events, each);
		}
}

void smallmodel_logs_each(struct small_check *check,
			  const struct small_past *past, bool with_old,
			  void (*each)(struct small_check *check,
				       const struct small_past *past,
				       const struct small_log *log,
				       const struct small_knowledge *knowledge))
{
	unsigned int start = past->begins[past->cycle - 1];
	struct small_log log;
	struct events events = {.is_restored_first = false};

	for (events.keep = start; events.keep <= past->tells; events.keep++)
		for (events.asked = start; events.asked <= events.keep + 1;
		     events.asked++)
			each_place(check, past, &events, each);
	if (!with_old)
		return;
	memset(&log, 0, sizeof(log));
	log.is_missing = true;
	each_log(check, past, &log, each);
	for (log.is_missing = false; ++log.cycles < past->cycle;) {
		log.tells = past->begins[log.cycles];
		memcpy(log.tell, past->tell, sizeof(log.tell));
		each_log(check, past, &log, each);
	}
}
