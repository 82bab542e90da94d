/* SPDX-License-Identifier: MIT */
#include "writer/ackpack.h"

#include "common/format/ackflushes.h"
#include "writer/ackring.h"

static bool belongs(const struct ackbody_ranges *ranges,
		    const struct ackring_item *item)
{
	const struct ackbody_range *last = &ranges->ranges[ranges->count - 1];

	return ranges->flush == item->flush && item->range.first > last->last &&
	       (ranges->count < ACKBODY_RANGES_MAX ||
		item->range.first == last->last + 1);
}

static void append_range(struct ackbody_ranges *ranges,
			 const struct ackring_item *item)
{
	struct ackbody_range *last = ranges->ranges;

	ranges->completed_ns = item->completed_ns;
	if (ranges->count > 0) {
		last += ranges->count - 1;
		if (item->range.first == last->last + 1) {
			last->last = item->range.last;
			return;
		}
		last++;
	}
	*last = item->range;
	ranges->count++;
}

/* DURABLE or COMPLETED: the ranges of one flush. */
static size_t pack_ranges(struct ackring *ring, uint16_t stream,
			  struct ackbody *body)
{
	const struct ackring_item *item = ackring_peek(ring, 0);
	struct ackbody_ranges *ranges = &body->ranges;
	size_t used = 0;

	body->type = item->type;
	ranges->stream = stream;
	ranges->flush = item->flush;
	ranges->submitted_ns = item->submitted_ns;
	ranges->count = 0;
	do {
		append_range(ranges, item);
		item = ackring_peek(ring, ++used);
	} while (item && item->type == body->type && belongs(ranges, item));
	return used;
}

/* False where ITEM cannot stand behind the others. */
static bool append_flush(struct ackbody_flushes *flushes,
			 const struct ackring_item *item)
{
	struct ackbody_flush *last = flushes->flushes + flushes->count;
	const struct ackbody_flush flush = {item->flush, item->submitted_ns,
					    item->completed_ns, item->range};

	if (flushes->count > 0 && !ackflushes_follows(last - 1, &flush))
		return false;
	if (flushes->count > 0 && last[-1].number == flush.number &&
	    last[-1].range.last + 1 == flush.range.first) {
		last[-1].range.last = flush.range.last;
		return true;
	}
	if (flushes->count == ACKBODY_FLUSHES_MAX)
		return false;
	*last = flush;
	flushes->count++;
	return true;
}

/* 0 where the oldest item begins nothing that several flushes share. */
static size_t pack_flushes(struct ackring *ring, uint16_t stream,
			   struct ackbody *body)
{
	const struct ackring_item *item = ackring_peek(ring, 0);
	struct ackbody_flushes *flushes = &body->flushes;
	size_t used = 0;

	body->type = ACKBODY_FLUSHES;
	flushes->stream = stream;
	flushes->count = 0;
	while (item && item->type == ACKBODY_DURABLE && item->flush != 0 &&
	       append_flush(flushes, item))
		item = ackring_peek(ring, ++used);
	if (used == 0 || flushes->flushes[0].number ==
				 flushes->flushes[flushes->count - 1].number)
		return 0;
	return used;
}

size_t ackpack_body(struct ackring *ring, uint16_t stream, struct ackbody *body)
{
	const struct ackring_item *item = ackring_peek(ring, 0);
	size_t used = 0;

	if (!item)
		return 0;
	if (item->type == ACKBODY_RESERVE) {
		body->type = ACKBODY_RESERVE;
		body->limit.stream = stream;
		body->limit.sequence = item->range.last;
		return 1;
	}
	used = pack_flushes(ring, stream, body);
	return used > 0 ? used : pack_ranges(ring, stream, body);
}
