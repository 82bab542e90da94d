/* SPDX-License-Identifier: MIT */
#include "writer/places.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/format/schedule.h"
#include "common/target/target.h"

#define AHEAD 8 /* slots looked up at once */

struct places {
	struct schedule schedule;
	uint64_t first_slot; /* of the stream's share */
	uint64_t next;       /* number */
	uint64_t next_slot;
	uint64_t ahead[AHEAD]; /* the stream's slots of `next` and on */
	unsigned int ahead_at;
	uint64_t pass_last; /* last number of the pass of `next` */
	unsigned int older; /* writes of earlier passes in flight */
	unsigned int depth;
	unsigned int free_count;
	unsigned int *free;
	struct place *place;
	uint8_t *buffers;
};

static void locate_next(struct places *places)
{
	if (places->ahead_at == AHEAD) {
		schedule_slots(&places->schedule, places->next, AHEAD,
			       places->ahead);
		places->ahead_at = 0;
	}
	places->next_slot =
		places->first_slot + places->ahead[places->ahead_at++];
	if (places->next <= places->pass_last)
		return;
	/* A new pass: from here on a slot may be met for the second time. */
	places->pass_last += places->schedule.slots;
	places->older = places->depth - places->free_count;
}

static int make_buffers(struct places *places, uint32_t block_bytes,
			struct err *err)
{
	/* Each buffer at its own alignment, also where blocks are small. */
	size_t step =
		block_bytes < TARGET_ALIGNMENT ? TARGET_ALIGNMENT : block_bytes;

	step = (step + TARGET_ALIGNMENT - 1) / TARGET_ALIGNMENT *
	       TARGET_ALIGNMENT;
	places->buffers = target_buffer_new(step * places->depth, err);
	if (!places->buffers)
		return -1;
	for (unsigned int i = 0; i < places->depth; i++) {
		places->place[i].buffer = places->buffers + i * step;
		places->free[i] = places->depth - 1 - i;
	}
	places->free_count = places->depth;
	return 0;
}

struct places *places_new(const struct run *run, uint16_t stream,
			  uint64_t first_sequence, unsigned int depth,
			  struct err *err)
{
	struct places *places = calloc(1, sizeof(*places));

	if (places) {
		places->place = calloc(depth, sizeof(*places->place));
		places->free = calloc(depth, sizeof(*places->free));
	}
	if (!places || !places->place || !places->free) {
		err_sys(err, ENOMEM, "cannot keep %u writes in flight", depth);
		places_free(places);
		return NULL;
	}
	places->depth = depth;
	schedule_init(&places->schedule, run, stream);
	places->first_slot = run_slots_per_stream(run) * stream;
	places->next = first_sequence;
	places->ahead_at = AHEAD;
	places->pass_last =
		((first_sequence - 1) / places->schedule.slots + 1) *
		places->schedule.slots;
	if (make_buffers(places, run->block_bytes, err) < 0) {
		places_free(places);
		return NULL;
	}
	locate_next(places);
	return places;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	free(places->buffers);
	free(places->place);
	free(places->free);
	free(places);
}

void places_abandon(struct places *places)
{
	places->buffers = NULL;
}

bool places_can_take(const struct places *places)
{
	if (places->free_count == 0)
		return false;
	if (places->older == 0) /* within one pass no slot comes twice */
		return true;
	for (unsigned int i = 0; i < places->depth; i++)
		if (places->place[i].sequence &&
		    places->place[i].slot == places->next_slot)
			return false;
	return true;
}

struct place *places_take(struct places *places, unsigned int *index)
{
	struct place *place = NULL;

	assert(places->free_count > 0);
	*index = places->free[--places->free_count];
	place = &places->place[*index];
	place->sequence = places->next++;
	place->slot = places->next_slot;
	locate_next(places);
	return place;
}

struct place *places_get(struct places *places, uint64_t index)
{
	assert(index < places->depth && places->place[index].sequence);
	return &places->place[index];
}

void places_release(struct places *places, unsigned int index)
{
	struct place *place = &places->place[index];

	if (places->older > 0 &&
	    place->sequence + places->schedule.slots <= places->pass_last)
		places->older--;
	place->sequence = 0;
	places->free[places->free_count++] = index;
}
