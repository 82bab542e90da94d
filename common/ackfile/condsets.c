/* SPDX-License-Identifier: MIT */
#include "common/ackfile/condsets.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/format/ledger.h"

static size_t share_of(size_t all, uint16_t streams)
{
	size_t share = all / streams;

	return share < LEDGER_RANGES_MAX ? share : LEDGER_RANGES_MAX;
}

size_t condsets_durable_max(uint16_t streams)
{
	return share_of(LEDGER_DURABLE_ALL_MAX, streams);
}

size_t condsets_evidence_max(uint16_t streams)
{
	return share_of(LEDGER_EVIDENCE_ALL_MAX, streams);
}

struct condsets *condsets_new(struct err *err)
{
	struct condsets *sets = calloc(1, sizeof(*sets));

	if (sets != NULL)
		sets->recent =
			calloc(CONDSETS_RECENT_MAX, sizeof(*sets->recent));
	if (sets == NULL || sets->recent == NULL)
		goto fail;
	for (size_t i = 0; i < RUN_STREAMS_MAX; i++) {
		struct condsets_stream *of = &sets->of[i];

		if (rangeset_init(&of->durable, err) < 0 ||
		    rangeset_init(&of->shadow, err) < 0 ||
		    rangeset_init(&of->completed, err) < 0 ||
		    rangeset_init(&of->older, err) < 0)
			goto fail;
	}
	return sets;
fail:
	condsets_free(sets);
	(void)err_set(err, "out of memory");
	return NULL;
}

void condsets_free(struct condsets *sets)
{
	if (sets == NULL)
		return;
	for (size_t i = 0; i < RUN_STREAMS_MAX; i++) {
		rangeset_free(&sets->of[i].durable);
		rangeset_free(&sets->of[i].shadow);
		rangeset_free(&sets->of[i].completed);
		rangeset_free(&sets->of[i].older);
	}
	free(sets->recent);
	free(sets);
}

static void take_run(struct condsets *sets, const struct run *run)
{
	if (sets->streams > 0)
		return; /* said before */
	sets->streams = run->streams;
	for (size_t i = 0; i < run->streams; i++) {
		struct condsets_stream *of = &sets->of[i];
		size_t durable = condsets_durable_max(run->streams);
		size_t evidence = condsets_evidence_max(run->streams);

		rangeset_set_limit(&of->durable, durable);
		rangeset_set_limit(&of->older, durable);
		rangeset_set_limit(&of->shadow, evidence);
		rangeset_set_limit(&of->completed, evidence);
	}
}

static void take_cycle(struct condsets *sets, const struct ackbody_cycle *cycle)
{
	if (ackbody_is_same_cycle(cycle, &sets->cycle))
		return;
	sets->cycle = *cycle;
	sets->is_cut_asked = false;
	sets->recent_start = 0;
	sets->recent_count = 0;
	for (size_t i = 0; i < sets->streams; i++) {
		struct condsets_stream *of = &sets->of[i];

		rangeset_clear(&of->shadow);
		rangeset_clear(&of->completed);
		rangeset_clear(&of->older);
		of->older_ns = 0;
		of->first = cycle->first_sequence[i];
	}
}

static void take_recent(struct condsets *sets,
			const struct condsets_recent *next)
{
	size_t end =
		(sets->recent_start + sets->recent_count) % CONDSETS_RECENT_MAX;

	if (sets->recent_count == CONDSETS_RECENT_MAX) {
		const struct condsets_recent *oldest = &sets->recent[end];
		struct condsets_stream *of = &sets->of[oldest->stream];

		(void)rangeset_add(&of->older, oldest->flush.range.first,
				   oldest->flush.range.last);
		if (oldest->flush.completed_ns > of->older_ns)
			of->older_ns = oldest->flush.completed_ns;
		sets->recent_start =
			(sets->recent_start + 1) % CONDSETS_RECENT_MAX;
		sets->recent_count--;
	}
	sets->recent[end] = *next;
	sets->recent_count++;
}

/* P11: behind "cut asked" it is shadow, as in the ledger. */
static void take_range(struct condsets *sets, enum ackbody_type type,
		       const struct ackbody_told *told,
		       const struct ackbody_range *range)
{
	struct condsets_stream *of = &sets->of[told->stream];
	const struct condsets_recent recent = {
		.stream = told->stream,
		.flush = {.number = told->flush,
			  .submitted_ns = told->submitted_ns,
			  .completed_ns = told->completed_ns,
			  .range = *range},
	};

	if (range->first < of->first)
		return; /* of an earlier cycle, and durable before */
	if (type == ACKBODY_COMPLETED) {
		(void)rangeset_add(&of->completed, range->first, range->last);
	} else if (sets->is_cut_asked) {
		(void)rangeset_add(&of->shadow, range->first, range->last);
	} else {
		(void)rangeset_add(&of->durable, range->first, range->last);
		take_recent(sets, &recent);
	}
}

static void take_told(struct condsets *sets, const struct ackbody *body)
{
	struct ackbody_told told;

	for (size_t i = 0; ackbody_told_at(body, i, &told); i++)
		for (size_t k = 0; k < told.count; k++)
			take_range(sets, body->type, &told, &told.ranges[k]);
}

void condsets_take(struct condsets *sets, const struct ackbody *body)
{
	switch (body->type) {
	case ACKBODY_RUN:
		take_run(sets, &body->run);
		return;
	case ACKBODY_CYCLE:
		take_cycle(sets, &body->cycle);
		return;
	case ACKBODY_DURABLE:
	case ACKBODY_COMPLETED:
	case ACKBODY_FLUSHES:
		take_told(sets, body);
		return;
	case ACKBODY_EVENT:
		if (body->note.event == ACKBODY_EVENT_CUT_ASKED)
			sets->is_cut_asked = true;
		return;
	case ACKBODY_RESERVE:
	case ACKBODY_ISSUED:
	case ACKBODY_END:
		return;
	}
	abort(); /* decoding lets no other type through */
}

const struct condsets_recent *condsets_recent_at(const struct condsets *sets,
						 size_t i)
{
	if (i >= sets->recent_count)
		return NULL;
	return &sets->recent[(sets->recent_start + i) % CONDSETS_RECENT_MAX];
}
