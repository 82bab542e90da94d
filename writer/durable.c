/* SPDX-License-Identifier: MIT */
/*
 * Each number of the window has a byte of marks. Completions are also kept in
 * the order in which they were reaped, in a ring; a flush remembers how far
 * that ring was filled when it was submitted. That is all P1 needs: a flush
 * that completes makes durable what stands in the ring below its mark. A later
 * flush covers all that an earlier one covers, so they may complete in any
 * order.
 */
#include "writer/durable.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/err.h"

#define WINDOW_MASK (DURABLE_WINDOW - 1)

static_assert(DURABLE_WINDOW == 65536, "the ring keeps 16 bits of a number");

enum {
	MARK_ISSUED = 1,
	MARK_COMPLETED = 2,
	MARK_DURABLE = 4,
	MARK_UNTAKEN = 8,      /* became durable, not taken yet */
	MARK_UNTAKEN_DONE = 16 /* completed, not told yet */
};

/* Where to look for marks; a superset, empty where first > last. */
struct span {
	uint64_t first, last;
};

struct flush {
	uint64_t number; /* 0: this place is free */
	uint64_t covers; /* completions reaped before it was submitted */
};

struct durable {
	uint64_t first;
	uint64_t issued;
	uint64_t w;
	uint64_t base; /* the window is base + 1 ... base + DURABLE_WINDOW */
	uint64_t completed; /* places of the ring ever filled */
	uint64_t covered;   /* of these, covered by some flush submitted */
	uint64_t credited;  /* of these, made durable */
	uint64_t durable;
	uint64_t flushes;
	struct span untaken, untaken_done;
	struct flush flush[DURABLE_FLUSHES_MAX];
	bool has_promises;
	bool is_failed;
	uint8_t marks[DURABLE_WINDOW];
	uint16_t ring[DURABLE_WINDOW];
};

static uint8_t *marks_of(struct durable *durable, uint64_t sequence)
{
	return &durable->marks[sequence & WINDOW_MASK];
}

static void span_clear(struct span *span)
{
	span->first = UINT64_MAX / 2; /* above every number */
	span->last = 0;
}

static void span_add(struct span *span, uint64_t sequence)
{
	if (sequence < span->first)
		span->first = sequence;
	if (sequence > span->last)
		span->last = sequence;
}

/* The number in the window whose low 16 bits stand in the ring. */
static uint64_t ring_sequence(const struct durable *durable, uint64_t place)
{
	uint64_t next = durable->base + 1;
	uint16_t low = durable->ring[place & WINDOW_MASK];

	return next + (uint16_t)(low - (uint16_t)next);
}

/* P5: without a gap from the first number on. */
static void advance_w(struct durable *durable)
{
	while (durable->w < durable->issued &&
	       *marks_of(durable, durable->w + 1) & MARK_DURABLE)
		durable->w++;
	if (durable->has_promises)
		durable->base = durable->w;
}

/* Without promises the window moves over what has completed and was told. */
static void advance_base(struct durable *durable)
{
	while (durable->base < durable->issued) {
		uint8_t marks = *marks_of(durable, durable->base + 1);

		if (!(marks & MARK_COMPLETED) || marks & MARK_UNTAKEN_DONE)
			return;
		durable->base++;
	}
}

static void make_durable(struct durable *durable, uint64_t sequence)
{
	uint8_t *marks = marks_of(durable, sequence);

	*marks = (uint8_t)((*marks | MARK_DURABLE | MARK_UNTAKEN) &
			   ~MARK_UNTAKEN_DONE);
	span_add(&durable->untaken, sequence);
	durable->durable++;
}

static bool take(struct durable *durable, struct span *span, uint8_t mark,
		 struct ackbody_range *range)
{
	/* A number this far back was taken, and its marks are another's now. */
	if (span->first + DURABLE_WINDOW <= durable->issued)
		span->first = durable->issued - DURABLE_WINDOW + 1;
	while (span->first <= span->last &&
	       !(*marks_of(durable, span->first) & mark))
		span->first++;
	if (span->first > span->last) {
		span_clear(span);
		return false;
	}
	range->first = span->first;
	while (span->first <= span->last &&
	       *marks_of(durable, span->first) & mark) {
		*marks_of(durable, span->first) &= (uint8_t)~mark;
		span->first++;
	}
	range->last = span->first - 1;
	return true;
}

struct durable *durable_new(uint64_t first_sequence, bool has_promises,
			    struct err *err)
{
	struct durable *durable = calloc(1, sizeof(*durable));

	assert(first_sequence >= 1);
	if (!durable) {
		err_sys(err, ENOMEM, "cannot keep track of writes");
		return NULL;
	}
	durable->first = first_sequence;
	durable->issued = first_sequence - 1;
	durable->w = first_sequence - 1;
	durable->base = first_sequence - 1;
	durable->has_promises = has_promises;
	span_clear(&durable->untaken);
	span_clear(&durable->untaken_done);
	return durable;
}

void durable_free(struct durable *durable)
{
	free(durable);
}

bool durable_can_issue(const struct durable *durable)
{
	uint64_t next = durable->issued + 1;

	return next - durable->base <= DURABLE_WINDOW &&
	       !(durable->marks[next & WINDOW_MASK] & MARK_UNTAKEN);
}

uint64_t durable_issue(struct durable *durable)
{
	assert(durable_can_issue(durable));
	durable->issued++;
	*marks_of(durable, durable->issued) = MARK_ISSUED;
	return durable->issued;
}

void durable_complete(struct durable *durable, uint64_t sequence, bool is_fua)
{
	uint8_t *marks = marks_of(durable, sequence);

	assert(sequence > durable->base && sequence <= durable->issued);
	assert(*marks == MARK_ISSUED);
	*marks |= MARK_COMPLETED;
	if (durable->is_failed)
		return;
	if (is_fua && durable->has_promises) { /* P1 (b) */
		make_durable(durable, sequence);
		advance_w(durable);
		return;
	}
	*marks |= MARK_UNTAKEN_DONE;
	span_add(&durable->untaken_done, sequence);
	if (!durable->has_promises)
		return;
	durable->ring[durable->completed & WINDOW_MASK] = (uint16_t)sequence;
	durable->completed++;
}

uint64_t durable_uncovered(const struct durable *durable)
{
	return durable->completed - durable->covered;
}

bool durable_can_flush(const struct durable *durable)
{
	if (durable->is_failed || !durable->has_promises)
		return false;
	for (size_t i = 0; i < DURABLE_FLUSHES_MAX; i++)
		if (!durable->flush[i].number)
			return true;
	return false;
}

uint64_t durable_flush_submit(struct durable *durable)
{
	struct flush *flush = durable->flush;

	assert(durable_can_flush(durable));
	while (flush->number)
		flush++;
	flush->number = ++durable->flushes;
	flush->covers = durable->completed; /* P1 (a): and nothing later */
	durable->covered = durable->completed;
	return flush->number;
}

void durable_flush_complete(struct durable *durable, uint64_t number)
{
	struct flush *flush = durable->flush;
	uint64_t place = 0;

	assert(number >= 1 && number <= durable->flushes);
	while (flush->number != number) {
		flush++;
		assert(flush < durable->flush + DURABLE_FLUSHES_MAX);
	}
	flush->number = 0;
	if (durable->is_failed)
		return;
	for (place = durable->credited; place < flush->covers; place++)
		make_durable(durable, ring_sequence(durable, place));
	durable->credited = place;
	advance_w(durable);
}

void durable_fail(struct durable *durable)
{
	durable->is_failed = true;
}

bool durable_take(struct durable *durable, struct ackbody_range *range)
{
	return take(durable, &durable->untaken, MARK_UNTAKEN, range);
}

bool durable_take_completed(struct durable *durable,
			    struct ackbody_range *range)
{
	bool is_taken = false;

	/* Up to the base nothing is left to tell. */
	if (durable->untaken_done.first <= durable->base)
		durable->untaken_done.first = durable->base + 1;
	is_taken =
		take(durable, &durable->untaken_done, MARK_UNTAKEN_DONE, range);
	if (is_taken && !durable->has_promises)
		advance_base(durable);
	return is_taken;
}

uint64_t durable_w(const struct durable *durable)
{
	return durable->w;
}

uint64_t durable_issued(const struct durable *durable)
{
	return durable->issued;
}

uint64_t durable_count(const struct durable *durable)
{
	return durable->durable;
}
