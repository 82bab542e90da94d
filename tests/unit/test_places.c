/* SPDX-License-Identifier: MIT */
/*
 * places must never let two writes to one slot be in flight together, also
 * across the border of two passes, and must follow the schedule.
 */
#include "writer/places.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/schedule.h"
#include "tests/unit/cmocka_all.h"

#define DEPTH  16
#define ROUNDS 20000

static struct run run_of(uint64_t slots, enum run_pattern pattern)
{
	struct run run = {
		.id = {1},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + slots * 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 2,
		.pattern = pattern,
		.seed = 42,
	};

	return run;
}

/* Takes and releases in a random order; checks each take by hand. */
static void play(struct places *places, const struct run *run,
		 uint64_t first_sequence)
{
	struct place *flying[DEPTH] = {0};
	uint64_t next = first_sequence;
	struct schedule schedule;
	struct prng prng;
	unsigned int index = 0;

	prng_init(&prng, 7);
	schedule_init(&schedule, run, 1);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned int victim = (unsigned int)prng_below(&prng, DEPTH);

		while (places_can_take(places)) {
			struct place *place = places_take(places, &index);

			assert_int_equal(place->sequence, next);
			assert_int_equal(
				place->slot,
				run_slots_per_stream(run) +
					schedule_slot(&schedule, next));
			for (int j = 0; j < DEPTH; j++)
				assert_false(flying[j] &&
					     flying[j]->slot == place->slot);
			assert_null(flying[index]);
			flying[index] = place;
			next++;
		}
		if (flying[victim])
			places_release(places, victim);
		flying[victim] = NULL;
	}
	assert_true(next > first_sequence + ROUNDS / 20);
}

static void play_slots(uint64_t slots, enum run_pattern pattern)
{
	const struct run run = run_of(slots, pattern);
	struct err err;

	for (uint64_t first = 1; first < 30; first += 7) {
		struct places *places = places_new(&run, 1, first, DEPTH, &err);

		assert_non_null(places);
		play(places, &run, first);
		places_free(places);
	}
}

static void p3_one_slot_never_has_two_writes_in_flight(void **state)
{
	(void)state;
	for (uint64_t slots = 2; slots < 80; slots += 6) {
		play_slots(slots, RUN_PATTERN_RANDOM);
		play_slots(slots, RUN_PATTERN_SEQUENTIAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p3_one_slot_never_has_two_writes_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
