/* SPDX-License-Identifier: MIT */
#include "common/format/ackflushes.h"

#include <assert.h>

#include "common/format/ackbytes.h"

/* Another range of what BEFORE did. */
static bool is_same(const struct ackbody_flush *before,
		    const struct ackbody_flush *next)
{
	return next->number == before->number &&
	       next->submitted_ns == before->submitted_ns &&
	       next->completed_ns == before->completed_ns;
}

bool ackflushes_follows(const struct ackbody_flush *before,
			const struct ackbody_flush *next)
{
	return is_same(before, next) ||
	       (next->number > before->number &&
		next->submitted_ns >= before->submitted_ns);
}

/* Ranges go both ways: the sign is the lowest bit. */
static void put_first(struct ackbytes_sink *sink, uint64_t first,
		      uint64_t expected)
{
	if (first >= expected)
		ackbytes_put_varint(sink, (first - expected) << 1);
	else
		ackbytes_put_varint(sink, (expected - first) * 2 - 1);
}

static void put_range(struct ackbytes_sink *sink,
		      const struct ackbody_range *range, uint64_t expected,
		      bool has_another)
{
	assert(range->first >= 1 && range->last >= range->first);
	assert(range->last <= ACKBODY_SEQUENCE_MAX);
	put_first(sink, range->first, expected);
	ackbytes_put_varint(sink, (range->last - range->first) << 1 |
					  (has_another ? 1 : 0));
}

static void put_step(struct ackbytes_sink *sink,
		     const struct ackbody_flush *before,
		     const struct ackbody_flush *next)
{
	assert(next->number > before->number);
	assert(next->submitted_ns >= before->submitted_ns);
	assert(next->completed_ns >= next->submitted_ns);
	ackbytes_put_varint(sink, next->number - before->number - 1);
	ackbytes_put_varint(sink, next->submitted_ns - before->submitted_ns);
	ackbytes_put_varint(sink, next->completed_ns - next->submitted_ns);
}

void ackflushes_put(struct ackbytes_sink *sink,
		    const struct ackbody_flushes *flushes)
{
	static const struct ackbody_flush none; /* number and times 0 */
	const struct ackbody_flush *before = &none;
	uint64_t expected = 1;

	assert(flushes->stream < RUN_STREAMS_MAX);
	assert(flushes->count >= 2 && flushes->count <= ACKBODY_FLUSHES_MAX);
	ackbytes_put_varint(sink, flushes->stream);
	ackbytes_put_varint(sink, flushes->count);
	for (unsigned int i = 0; i < flushes->count; i++) {
		const struct ackbody_flush *flush = &flushes->flushes[i];

		if (i == 0 || !is_same(before, flush))
			put_step(sink, before, flush);
		put_range(sink, &flush->range, expected,
			  i + 1 < flushes->count && is_same(flush, flush + 1));
		expected = flush->range.last + 1;
		before = flush;
	}
}

static uint64_t get_first(struct ackbytes_source *source, uint64_t expected)
{
	uint64_t value = ackbytes_get_varint(source);
	uint64_t distance = value / 2;

	if ((value & 1) == 0 && expected <= ACKBODY_SEQUENCE_MAX &&
	    distance <= ACKBODY_SEQUENCE_MAX - expected)
		return expected + distance;
	if ((value & 1) != 0 && distance + 1 < expected)
		return expected - distance - 1;
	source->is_bad = true;
	return 1;
}

/* True where another range of the same flush has to follow. */
static bool get_range(struct ackbytes_source *source,
		      struct ackbody_range *range, uint64_t expected)
{
	uint64_t value;

	range->first = get_first(source, expected);
	value = ackbytes_get_varint(source);
	if (value / 2 > ACKBODY_SEQUENCE_MAX - range->first) {
		source->is_bad = true;
		value = 0;
	}
	range->last = range->first + value / 2;
	return (value & 1) != 0;
}

static void get_step(struct ackbytes_source *source,
		     const struct ackbody_flush *before,
		     struct ackbody_flush *next)
{
	if (before->number == UINT64_MAX) {
		source->is_bad = true;
		return;
	}
	next->number = before->number + 1 +
		       ackbytes_get_varint_max(source,
					       UINT64_MAX - 1 - before->number);
	next->submitted_ns = before->submitted_ns +
			     ackbytes_get_varint_max(
				     source, UINT64_MAX - before->submitted_ns);
	next->completed_ns = next->submitted_ns +
			     ackbytes_get_varint_max(
				     source, UINT64_MAX - next->submitted_ns);
}

void ackflushes_get(struct ackbytes_source *source,
		    struct ackbody_flushes *flushes)
{
	struct ackbody_flush now = {.range = {0, 0}};
	bool is_same_flush = false;

	flushes->stream =
		(uint16_t)ackbytes_get_varint_max(source, RUN_STREAMS_MAX - 1);
	flushes->count =
		(uint16_t)ackbytes_get_varint_max(source, ACKBODY_FLUSHES_MAX);
	if (flushes->count < 2)
		source->is_bad = true;
	for (unsigned int i = 0; i < flushes->count && !source->is_bad; i++) {
		if (!is_same_flush)
			get_step(source, &now, &now);
		is_same_flush =
			get_range(source, &now.range, now.range.last + 1);
		flushes->flushes[i] = now;
	}
	if (is_same_flush)
		source->is_bad = true;
}
