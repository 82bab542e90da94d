/* SPDX-License-Identifier: MIT */
#include "common/ackfile/condsay.h"

#include <string.h>

#include "common/format/ackflushes.h"

int condsay_body(struct condsay *say, const struct ackbody *body,
		 struct err *err)
{
	return ackout_say(say->out, body, say->arrival_ns, err);
}

static int end_ranges(struct condsay *say, struct err *err)
{
	int result = 0;

	if (say->body.ranges.count > 0)
		result = condsay_body(say, &say->body, err);
	say->body.ranges.count = 0;
	return result;
}

static void begin_ranges(struct condsay *say, const struct condsay_order *order)
{
	say->body.type = order->type;
	say->body.ranges.stream = order->stream;
	say->body.ranges.flush = 0;
	say->body.ranges.submitted_ns = 0;
	say->body.ranges.completed_ns = order->at_ns;
	say->body.ranges.count = 0;
}

/* Ascending from call to call. */
static int say_range(struct condsay *say, const struct condsay_order *order,
		     uint64_t first, uint64_t last, struct err *err)
{
	struct ackbody_ranges *ranges = &say->body.ranges;

	if (order->floor > 0)
		(void)rangeset_add(order->mirror, first, last);
	ranges->ranges[ranges->count++] = (struct ackbody_range){first, last};
	return ranges->count == ACKBODY_RANGES_MAX ? end_ranges(say, err) : 0;
}

/* What of range I is asked for, and above FLOOR; false: nothing. */
static bool clip(const struct condsay_order *order, size_t i, uint64_t floor,
		 struct ackbody_range *clipped)
{
	const struct rangeset *set = order->set;
	const struct rangeset_range *range = &set->ranges[set->start + i];
	uint64_t low = order->low > floor ? order->low : floor + 1;

	clipped->first = range->first > low ? range->first : low;
	clipped->last = range->last < order->high ? range->last : order->high;
	return clipped->first <= clipped->last;
}

static bool has_forgotten(const struct condsay_order *order)
{
	return order->mirror->floor >= order->floor;
}

/* The number above the floor is left out, so that nothing joins what is to be
 * forgotten. */
static int say_singles(struct condsay *say, const struct condsay_order *order,
		       struct err *err)
{
	struct ackbody_range range;

	begin_ranges(say, order);
	for (size_t i = 0; i < order->set->count; i++) {
		if (!clip(order, i, order->floor + 1, &range))
			continue;
		for (; range.first <= range.last; range.first += 2) {
			if (has_forgotten(order))
				return end_ranges(say, err);
			if (say_range(say, order, range.first, range.first,
				      err) < 0)
				return -1;
		}
	}
	return end_ranges(say, err);
}

static int forget(struct condsay *say, const struct condsay_order *order,
		  struct err *err)
{
	begin_ranges(say, order);
	if (order->floor >= order->low && order->floor <= order->high &&
	    say_range(say, order, order->floor, order->floor, err) < 0)
		return -1;
	if (end_ranges(say, err) < 0)
		return -1;
	return say_singles(say, order, err);
}

int condsay_ranges(struct condsay *say, const struct condsay_order *order,
		   struct err *err)
{
	struct ackbody_range range;

	if (order->floor > 0 && !has_forgotten(order) &&
	    forget(say, order, err) < 0)
		return -1;
	begin_ranges(say, order);
	for (size_t i = 0; i < order->set->count; i++)
		if (clip(order, i, order->floor, &range) &&
		    say_range(say, order, range.first, range.last, err) < 0)
			return -1;
	return end_ranges(say, err);
}

/* One alone, or of FUA, has no place in FLUSHES. */
static int say_alone(struct condsay *say, uint16_t stream,
		     const struct ackbody_flush *flush, struct err *err)
{
	struct ackbody body;

	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_DURABLE;
	body.ranges.stream = stream;
	body.ranges.flush = flush->number;
	body.ranges.submitted_ns = flush->submitted_ns;
	body.ranges.completed_ns = flush->completed_ns;
	body.ranges.count = 1;
	body.ranges.ranges[0] = flush->range;
	return condsay_body(say, &body, err);
}

int condsay_flushes_end(struct condsay *say, struct err *err)
{
	struct ackbody_flushes *flushes = &say->body.flushes;
	int result = 0;

	if (say->body.type != ACKBODY_FLUSHES)
		return 0;
	if (flushes->count == 1)
		result = say_alone(say, flushes->stream, &flushes->flushes[0],
				   err);
	else if (flushes->count > 1)
		result = condsay_body(say, &say->body, err);
	flushes->count = 0;
	return result;
}

int condsay_flush(struct condsay *say, uint16_t stream,
		  const struct ackbody_flush *flush, struct err *err)
{
	struct ackbody_flushes *flushes = &say->body.flushes;
	bool goes_on = say->body.type == ACKBODY_FLUSHES && flushes->count > 0;

	if (goes_on &&
	    (flush->number == 0 || flushes->stream != stream ||
	     flushes->count == ACKBODY_FLUSHES_MAX ||
	     !ackflushes_follows(&flushes->flushes[flushes->count - 1],
				 flush))) {
		if (condsay_flushes_end(say, err) < 0)
			return -1;
		goes_on = false;
	}
	if (flush->number == 0)
		return say_alone(say, stream, flush, err);
	if (!goes_on) {
		say->body.type = ACKBODY_FLUSHES;
		flushes->stream = stream;
		flushes->count = 0;
	}
	flushes->flushes[flushes->count++] = *flush;
	return 0;
}
