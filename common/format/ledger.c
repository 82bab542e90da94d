/* SPDX-License-Identifier: MIT */
#include "common/format/ledger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ledger_stream.h"
#include "common/format/rangeset.h"

static_assert(LEDGER_RANGES_MAX == RANGESET_RANGES_MAX,
	      "the ledger's limit is the set's");

struct ledger {
	bool has_run, is_fill_doubted;
	bool is_cut_asked, is_cut_seen, is_restored; /* in this cycle */
	struct run run;
	struct ackbody_cycle cycle; /* its number is 0 before the first */
	struct ledger_stream streams[RUN_STREAMS_MAX];
};

struct ledger *ledger_new(struct err *err)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (ledger == NULL) {
		(void)err_set(err, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < RUN_STREAMS_MAX; i++) {
		if (ledger_stream_init(&ledger->streams[i], err) < 0) {
			ledger_free(ledger);
			return NULL;
		}
	}
	return ledger;
}

void ledger_free(struct ledger *ledger)
{
	if (ledger == NULL)
		return;
	for (size_t i = 0; i < RUN_STREAMS_MAX; i++)
		ledger_stream_free(&ledger->streams[i]);
	free(ledger);
}

/* So that memory does not grow with the streams either. */
static void share_ranges(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->run.streams; i++)
		ledger_stream_share(&ledger->streams[i], ledger->run.streams);
}

static int apply_run(struct ledger *ledger, const struct run *run,
		     struct err *err)
{
	uint8_t known[RUN_BODY_BYTES], told[RUN_BODY_BYTES];

	if (!ledger->has_run) {
		ledger->run = *run;
		ledger->has_run = true;
		share_ranges(ledger);
		return 0;
	}
	run_encode_body(&ledger->run, known);
	run_encode_body(run, told);
	if (memcmp(known, told, sizeof(known)) != 0)
		return err_set(err, "the log describes two different runs");
	return 0;
}

static int check_cycle(const struct ledger *ledger,
		       const struct ackbody_cycle *cycle, struct err *err)
{
	if (cycle->cycle != (uint64_t)ledger->cycle.cycle + 1)
		return err_set(err,
			       "cycle %" PRIu32 " begins after cycle %" PRIu32,
			       cycle->cycle, ledger->cycle.cycle);
	if (cycle->streams != ledger->run.streams)
		return err_set(
			err, "cycle %" PRIu32 " has %u streams, its run %u",
			cycle->cycle, cycle->streams, ledger->run.streams);
	for (size_t i = 0; i < cycle->streams; i++)
		if (cycle->first_sequence[i] <= ledger->streams[i].reserved)
			return err_set(err,
				       "cycle %" PRIu32
				       " begins stream %zu at %" PRIu64
				       ", but numbers up to %" PRIu64
				       " belong to earlier cycles",
				       cycle->cycle, i,
				       cycle->first_sequence[i],
				       ledger->streams[i].reserved);
	return 0;
}

/* P11: after "cut asked" and without "cut seen" a writer may have gone on when
 * the power was back, so what its later records say of W is not believed. */
static bool is_media_firm(const struct ledger *ledger)
{
	return !ledger->is_cut_asked || ledger->is_cut_seen;
}

/* The cycle that ends keeps its doubt for ever. */
static void keep_doubt(const struct ledger *ledger,
		       struct ledger_stream *stream, uint64_t first)
{
	if (!is_media_firm(ledger) && ledger->cycle.cycle > 0 &&
	    first <= stream->reserved)
		(void)rangeset_add(&stream->unfirm, first, stream->reserved);
}

static int apply_cycle(struct ledger *ledger, const struct ackbody_cycle *cycle,
		       struct err *err)
{
	if (ackbody_is_same_cycle(cycle, &ledger->cycle))
		return 0;
	if (check_cycle(ledger, cycle, err) < 0)
		return -1;
	for (size_t i = 0; i < cycle->streams; i++)
		keep_doubt(ledger, &ledger->streams[i],
			   ledger->cycle.first_sequence[i]);
	ledger->cycle = *cycle;
	ledger->is_cut_asked = false;
	ledger->is_cut_seen = false;
	ledger->is_restored = false;
	for (size_t i = 0; i < cycle->streams; i++) {
		struct ledger_stream *stream = &ledger->streams[i];

		rangeset_clear(&stream->shadow);
		rangeset_clear(&stream->completed);
		stream->reserved = cycle->first_sequence[i] - 1;
		stream->limit_before = stream->limit;
		stream->is_issued = false;
	}
	return 0;
}

static int apply_reserve(struct ledger *ledger,
			 const struct ackbody_limit *body, struct err *err)
{
	struct ledger_stream *stream = &ledger->streams[body->stream];

	if (body->sequence <= stream->reserved)
		return 0; /* said before */
	if (stream->is_issued)
		return err_set(err,
			       "stream %u reserves up to %" PRIu64
			       " after it has stopped",
			       body->stream, body->sequence);
	stream->reserved = body->sequence;
	stream->limit = body->sequence;
	return 0;
}

/* Can RANGE be true of a stream whose cycle began at FIRST? */
static int check_range(const struct ledger_stream *stream, uint64_t first,
		       const struct ackbody_range *range, struct err *err)
{
	uint64_t low = range->first;

	if (range->last > stream->limit)
		return err_set(err,
			       "the log tells of number %" PRIu64
			       ", which is above the limit of %" PRIu64,
			       range->last, stream->limit);
	if (range->first >= first)
		return 0;
	if (range->last >= first)
		return err_set(err,
			       "the log tells of numbers %" PRIu64
			       " to %" PRIu64
			       " across the cycle's beginning at %" PRIu64,
			       range->first, range->last, first);
	/* What was forgotten is not told apart from what was never told. */
	if (low <= stream->durable.floor)
		low = stream->durable.floor + 1;
	if (low > range->last ||
	    rangeset_has_all(&stream->durable, low, range->last))
		return 0;
	return err_set(err,
		       "the log tells of numbers %" PRIu64 " to %" PRIu64
		       " of an earlier cycle",
		       range->first, range->last);
}

/*
 * P11: what is called durable behind "cut asked" may owe it to a FLUSH that a
 * kernel sent again to an empty cache; it goes to the shadow set.
 */
static struct rangeset *choose_set(const struct ledger *ledger,
				   struct ledger_stream *stream,
				   enum ackbody_type type)
{
	if (type == ACKBODY_COMPLETED)
		return &stream->completed;
	return ledger->is_cut_asked ? &stream->shadow : &stream->durable;
}

static int apply_told(struct ledger *ledger, enum ackbody_type type,
		      const struct ackbody_told *told, struct err *err)
{
	struct ledger_stream *stream = &ledger->streams[told->stream];
	struct rangeset *set = choose_set(ledger, stream, type);
	uint64_t first = ledger->cycle.first_sequence[told->stream];

	for (size_t i = 0; i < told->count; i++)
		if (check_range(stream, first, &told->ranges[i], err) < 0)
			return err_prefix(err, "stream %u", told->stream);
	for (size_t i = 0; i < told->count; i++) {
		const struct ackbody_range *range = &told->ranges[i];

		if (range->first >= first)
			(void)rangeset_add(set, range->first, range->last);
	}
	return 0;
}

static int apply_ranges(struct ledger *ledger, const struct ackbody *body,
			struct err *err)
{
	struct ackbody_told told;

	for (size_t i = 0; ackbody_told_at(body, i, &told); i++)
		if (apply_told(ledger, body->type, &told, err) < 0)
			return -1;
	return 0;
}

static uint64_t highest_told(const struct ledger_stream *stream)
{
	uint64_t highest = rangeset_last(&stream->durable);

	if (rangeset_last(&stream->shadow) > highest)
		highest = rangeset_last(&stream->shadow);
	if (rangeset_last(&stream->completed) > highest)
		highest = rangeset_last(&stream->completed);
	return highest;
}

static int apply_issued(struct ledger *ledger, const struct ackbody_limit *body,
			struct err *err)
{
	struct ledger_stream *stream = &ledger->streams[body->stream];
	uint64_t none = ledger->cycle.first_sequence[body->stream] - 1;
	uint64_t issued = body->sequence == 0 ? none : body->sequence;

	if (stream->is_issued && issued == stream->issued)
		return 0; /* said before */
	if (stream->is_issued || issued < none || issued > stream->reserved ||
	    (highest_told(stream) > none && highest_told(stream) > issued))
		return err_set(err,
			       "stream %u stopped at number %" PRIu64
			       ", which contradicts what was told before",
			       body->stream, body->sequence);
	stream->is_issued = true;
	stream->issued = issued;
	stream->limit = issued > none ? issued : stream->limit_before;
	return 0;
}

static int check_place(const struct ledger *ledger, const struct ackbody *body,
		       struct err *err)
{
	struct ackbody_told told;
	unsigned int stream = 0;

	if (!ledger->has_run)
		return err_set(err, "the log does not begin with its run");
	if (body->type == ACKBODY_CYCLE || body->type == ACKBODY_EVENT)
		return 0;
	if (ledger->cycle.cycle == 0)
		return err_set(err, "the log has statements before its first "
				    "cycle");
	if (ackbody_told_at(body, 0, &told))
		stream = told.stream;
	if (body->type == ACKBODY_RESERVE || body->type == ACKBODY_ISSUED)
		stream = body->limit.stream;
	if (stream >= ledger->run.streams)
		return err_set(err,
			       "the log tells of stream %u, but its run has %u",
			       stream, ledger->run.streams);
	return 0;
}

/* P11: RESTORED does not take "cut asked" back; the next CYCLE does. */
static void apply_event(struct ledger *ledger, enum ackbody_event event)
{
	switch (event) {
	case ACKBODY_EVENT_CUT_ASKED:
		ledger->is_cut_asked = true;
		return;
	case ACKBODY_EVENT_CUT_SEEN:
		if (ledger->is_cut_asked && !ledger->is_restored)
			ledger->is_cut_seen = true;
		return;
	case ACKBODY_EVENT_RESTORED:
		ledger->is_restored = true;
		return;
	case ACKBODY_EVENT_ERROR:
	case ACKBODY_EVENT_NOTE:
	case ACKBODY_EVENT_UNSENT:
		return;
	}
}

int ledger_apply(struct ledger *ledger, const struct ackbody *body,
		 struct err *err)
{
	if (body->type == ACKBODY_RUN)
		return apply_run(ledger, &body->run, err);
	if (check_place(ledger, body, err) < 0)
		return -1;
	/* P11: whoever still speaks has not ended, whatever was seen. */
	if (body->type != ACKBODY_EVENT && body->type != ACKBODY_CYCLE)
		ledger->is_cut_seen = false;
	switch (body->type) {
	case ACKBODY_CYCLE:
		return apply_cycle(ledger, &body->cycle, err);
	case ACKBODY_RESERVE:
		return apply_reserve(ledger, &body->limit, err);
	case ACKBODY_DURABLE:
	case ACKBODY_COMPLETED:
	case ACKBODY_FLUSHES:
		return apply_ranges(ledger, body, err);
	case ACKBODY_EVENT:
		apply_event(ledger, body->note.event);
		return 0;
	case ACKBODY_ISSUED:
		return apply_issued(ledger, &body->limit, err);
	case ACKBODY_RUN:
	case ACKBODY_END:
		return 0;
	}
	abort(); /* decoding lets no other type through */
}

void ledger_begin_without_log(struct ledger *ledger, const struct run *run)
{
	assert(!ledger->has_run);
	ledger->run = *run;
	ledger->has_run = true;
	share_ranges(ledger);
	for (size_t i = 0; i < run->streams; i++) {
		ledger->streams[i].reserved = UINT64_MAX;
		ledger->streams[i].limit = UINT64_MAX;
	}
}

/* P11: all of it is of an earlier cycle. */
static bool prove_earlier(struct ledger_stream *stream, uint64_t first,
			  uint64_t last)
{
	if (first <= stream->unfirm.floor ||
	    rangeset_at_or_below(&stream->unfirm, last) >= first)
		return false;
	return rangeset_add(&stream->durable, first, last) > 0;
}

/* P5. What cannot be (numbers that were never reserved) proves nothing. */
bool ledger_prove(struct ledger *ledger, uint16_t stream, uint64_t first,
		  uint64_t last)
{
	struct ledger_stream *of;
	uint64_t begin;

	if (stream >= ledger->run.streams || first == 0 || last < first ||
	    last > ACKBODY_SEQUENCE_MAX ||
	    last > ledger->streams[stream].reserved)
		return false;
	of = &ledger->streams[stream];
	begin = ledger->cycle.first_sequence[stream]; /* 0: no cycle */
	if (last < begin)
		return prove_earlier(of, first, last);
	if (is_media_firm(ledger))
		return rangeset_add(&of->durable, first, last) > 0;
	if (first < begin)
		first = begin;
	return rangeset_add(&of->shadow, first, last) > 0;
}

void ledger_promise_fill(struct ledger *ledger, bool is_promised)
{
	ledger->is_fill_doubted = !is_promised;
}

bool ledger_is_fill_promised(const struct ledger *ledger)
{
	return ledger->run.is_filled && !ledger->is_fill_doubted;
}

bool ledger_has_run(const struct ledger *ledger)
{
	return ledger->has_run;
}

const struct run *ledger_run(const struct ledger *ledger)
{
	return &ledger->run;
}

const struct ackbody_cycle *ledger_cycle(const struct ledger *ledger)
{
	return ledger->cycle.cycle > 0 ? &ledger->cycle : NULL;
}

static const struct ledger_stream *stream_of(const struct ledger *ledger,
					     uint16_t stream)
{
	assert(stream < RUN_STREAMS_MAX);
	return &ledger->streams[stream];
}

uint64_t ledger_limit(const struct ledger *ledger, uint16_t stream)
{
	return stream_of(ledger, stream)->limit;
}

uint64_t ledger_reserved(const struct ledger *ledger, uint16_t stream)
{
	return stream_of(ledger, stream)->reserved;
}

uint64_t ledger_durable_last(const struct ledger *ledger, uint16_t stream)
{
	return rangeset_last(&stream_of(ledger, stream)->durable);
}

uint64_t ledger_durable_count(const struct ledger *ledger, uint16_t stream)
{
	return stream_of(ledger, stream)->durable.numbers;
}

uint64_t ledger_forgotten(const struct ledger *ledger)
{
	uint64_t forgotten = 0;

	for (size_t i = 0; i < ledger->run.streams; i++)
		forgotten += ledger->streams[i].durable.forgotten;
	return forgotten;
}

uint64_t ledger_floor(const struct ledger *ledger, uint16_t stream)
{
	return stream_of(ledger, stream)->durable.floor;
}

bool ledger_is_cut_asked(const struct ledger *ledger)
{
	return ledger->is_cut_asked;
}

bool ledger_is_cut_seen(const struct ledger *ledger)
{
	return ledger->is_cut_seen;
}

enum ledger_state ledger_state(const struct ledger *ledger, uint16_t stream,
			       uint64_t sequence)
{
	const struct ledger_stream *from = stream_of(ledger, stream);

	if (rangeset_has(&from->durable, sequence))
		return LEDGER_DURABLE;
	if (rangeset_has(&from->shadow, sequence))
		return LEDGER_SHADOW;
	if (rangeset_has(&from->completed, sequence))
		return LEDGER_COMPLETED;
	return LEDGER_DOUBT;
}

uint64_t ledger_durable_at_or_below(const struct ledger *ledger,
				    uint16_t stream, uint64_t sequence)
{
	return rangeset_at_or_below(&stream_of(ledger, stream)->durable,
				    sequence);
}

uint64_t ledger_known_at_or_below(const struct ledger *ledger, uint16_t stream,
				  uint64_t sequence)
{
	const struct ledger_stream *of = stream_of(ledger, stream);
	uint64_t newest = rangeset_at_or_below(&of->durable, sequence);
	uint64_t completed = rangeset_at_or_below(&of->completed, sequence);
	uint64_t shadow = rangeset_at_or_below(&of->shadow, sequence);

	newest = completed > newest ? completed : newest;
	return shadow > newest ? shadow : newest;
}
