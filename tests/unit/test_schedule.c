/* SPDX-License-Identifier: MIT */
/*
 * The schedule is the table that nobody keeps: for any size each pass visits
 * every slot once, and the way back must give the newest write, or the judge
 * expects the wrong thing everywhere (P4, P6).
 */
#include "common/format/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/prng.h"
#include "tests/unit/cmocka_all.h"

#define SEED       0x0123456789abcdefU
#define HUGE_SLOTS (1ULL << 40)

static const uint64_t sizes[] = {
	1,  2,  3,   4,   5,   7,   8,    9,    13,   15,   16,   17,   31,
	61, 64, 127, 255, 256, 257, 1000, 1021, 1024, 1025, 4093, 4096, 4097};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct schedule schedule_of(uint64_t slots, enum run_pattern pattern,
				   uint64_t seed, uint16_t stream)
{
	const struct run run = {
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + slots * 4 * 512,
		.block_bytes = 512,
		.streams = 4,
		.pattern = pattern,
		.seed = seed,
	};
	struct schedule schedule;

	schedule_init(&schedule, &run, stream);
	assert_true(schedule.slots == slots);
	return schedule;
}

/* Computed from docs/FORMATS.md by a program that shares no code with ours. */
static void orders_are_the_golden_ones(void **state)
{
	static const uint64_t sequences[] = {1,    2,    3,        1000,
					     1001, 1002, 123456789};
	static const uint64_t slots[] = {75, 332, 156, 174, 674, 789, 154};
	static const uint64_t huge[] = {203116746527, 507139578397,
					261758730739, 448984437287,
					187385775862};
	struct schedule schedule =
		schedule_of(1000, RUN_PATTERN_RANDOM, SEED, 1);

	(void)state;
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(schedule_slot(&schedule, sequences[i]),
				 slots[i]);
	schedule = schedule_of(HUGE_SLOTS, RUN_PATTERN_RANDOM, SEED, 1);
	for (size_t i = 0; i < 3; i++)
		assert_true(schedule_slot(&schedule, i + 1) == huge[i]);
	assert_true(schedule_slot(&schedule, HUGE_SLOTS) == huge[3]);
	assert_true(schedule_slot(&schedule, HUGE_SLOTS + 1) == huge[4]);
}

static void check_passes(const struct schedule *schedule)
{
	bool *seen = calloc(schedule->slots, sizeof(*seen));
	uint64_t sequence = 1;

	assert_non_null(seen);
	for (int pass = 0; pass < 3; pass++) {
		memset(seen, 0, schedule->slots * sizeof(*seen));
		for (uint64_t i = 0; i < schedule->slots; i++) {
			uint64_t slot = schedule_slot(schedule, sequence++);

			assert_true(slot < schedule->slots);
			assert_false(seen[slot]);
			seen[slot] = true;
		}
	}
	free(seen);
}

static void every_pass_visits_every_slot_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		struct schedule schedule =
			schedule_of(sizes[i], RUN_PATTERN_RANDOM, SEED, 0);

		check_passes(&schedule);
		schedule =
			schedule_of(sizes[i], RUN_PATTERN_SEQUENTIAL, SEED, 0);
		check_passes(&schedule);
	}
}

/* Against a table that is kept the plain way, for every bound of 3 passes. */
static void check_newest(const struct schedule *schedule)
{
	uint64_t *newest = calloc(schedule->slots, sizeof(*newest));

	assert_non_null(newest);
	for (uint64_t bound = 0; bound <= 3 * schedule->slots; bound++) {
		if (bound > 0)
			newest[schedule_slot(schedule, bound)] = bound;
		for (uint64_t slot = 0; slot < schedule->slots; slot++)
			assert_true(schedule_newest(schedule, slot, bound) ==
				    newest[slot]);
	}
	free(newest);
}

static void p4_newest_is_what_a_table_would_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES && sizes[i] <= 256; i++) {
		struct schedule schedule =
			schedule_of(sizes[i], RUN_PATTERN_RANDOM, SEED, 2);

		check_newest(&schedule);
		schedule =
			schedule_of(sizes[i], RUN_PATTERN_SEQUENTIAL, SEED, 2);
		check_newest(&schedule);
	}
}

/* Sampled: there and back again, and the pass that the answer comes from. */
static void huge_regions_need_no_table(void **state)
{
	struct schedule schedule =
		schedule_of(HUGE_SLOTS, RUN_PATTERN_RANDOM, SEED, 3);
	struct prng prng;

	(void)state;
	prng_init(&prng, SEED);
	for (int i = 0; i < 20000; i++) {
		uint64_t sequence = prng_below(&prng, 5 * HUGE_SLOTS) + 1;
		uint64_t slot = schedule_slot(&schedule, sequence);
		uint64_t before =
			schedule_newest(&schedule, slot, sequence - 1);
		uint64_t pass = (sequence - 1) / HUGE_SLOTS;

		assert_true(slot < HUGE_SLOTS);
		assert_true(schedule_newest(&schedule, slot, sequence) ==
			    sequence);
		assert_true((pass == 0) == (before == 0));
		if (before != 0) {
			assert_true((before - 1) / HUGE_SLOTS == pass - 1);
			assert_true(schedule_slot(&schedule, before) == slot);
		}
	}
}

static void the_highest_numbers_do_not_overflow(void **state)
{
	struct schedule schedule = schedule_of(3, RUN_PATTERN_RANDOM, SEED, 0);

	(void)state;
	for (uint64_t sequence = UINT64_MAX; sequence > UINT64_MAX - 50;
	     sequence--) {
		uint64_t slot = schedule_slot(&schedule, sequence);

		assert_true(schedule_newest(&schedule, slot, sequence) ==
			    sequence);
	}
}

/* How many of the first 1000 numbers go to the same slot in both. */
static size_t count_equal(const struct schedule *one,
			  const struct schedule *other, uint64_t shift)
{
	size_t equal = 0;

	for (uint64_t i = 1; i <= 1000; i++)
		equal += schedule_slot(one, i) ==
			 schedule_slot(other, i + shift);
	return equal;
}

static void streams_passes_and_seeds_differ(void **state)
{
	struct schedule one = schedule_of(1000, RUN_PATTERN_RANDOM, SEED, 0);
	struct schedule seed =
		schedule_of(1000, RUN_PATTERN_RANDOM, SEED + 1, 0);

	(void)state;
	assert_in_range(count_equal(&one, &seed, 0), 0, 10);
	for (uint16_t stream = 1; stream < 4; stream++) {
		struct schedule other =
			schedule_of(1000, RUN_PATTERN_RANDOM, SEED, stream);

		assert_in_range(count_equal(&one, &other, 0), 0, 10);
	}
	for (uint64_t pass = 1; pass < 20; pass++)
		assert_in_range(count_equal(&one, &one, pass * 1000), 0, 10);
	assert_int_equal(count_equal(&one, &one, 0), 1000);
}

/* Random means that neighbours in time are not neighbours on the drive. */
static void random_order_looks_random(void **state)
{
	struct schedule schedule =
		schedule_of(4096, RUN_PATTERN_RANDOM, SEED, 0);
	size_t rising = 0;
	size_t close = 0;

	(void)state;
	for (uint64_t i = 1; i < 4096; i++) {
		uint64_t slot = schedule_slot(&schedule, i);
		uint64_t next = schedule_slot(&schedule, i + 1);

		rising += next > slot;
		close += next - slot + 8 < 17;
	}
	assert_in_range(rising, 1948, 2148);
	assert_in_range(close, 4, 40);
}

static void sequential_is_a_ring(void **state)
{
	struct schedule schedule =
		schedule_of(10, RUN_PATTERN_SEQUENTIAL, SEED, 0);

	(void)state;
	for (uint64_t i = 0; i < 35; i++)
		assert_int_equal(schedule_slot(&schedule, i + 1), i % 10);
	assert_int_equal(schedule_newest(&schedule, 4, 4), 0);
	assert_int_equal(schedule_newest(&schedule, 4, 14), 5);
	assert_int_equal(schedule_newest(&schedule, 4, 15), 15);
}

/* Also over the edges of passes, and where a pass is shorter than a step. */
static void several_at_once_are_the_same(void **state)
{
	static const enum run_pattern patterns[] = {RUN_PATTERN_RANDOM,
						    RUN_PATTERN_SEQUENTIAL};
	uint64_t slots[19];

	(void)state;
	for (size_t i = 0; i < 2 * SIZES; i++) {
		struct schedule schedule =
			schedule_of(sizes[i / 2], patterns[i % 2], SEED + i, 2);
		uint64_t first = 1;

		while (first <= 3 * schedule.slots) {
			unsigned int count = (unsigned int)(first * 7 % 20);

			memset(slots, 0xff, sizeof(slots));
			schedule_slots(&schedule, first, count, slots);
			for (unsigned int k = 0; k < count; k++)
				assert_true(
					slots[k] ==
					schedule_slot(&schedule, first + k));
			for (unsigned int k = count; k < 19; k++)
				assert_true(slots[k] == UINT64_MAX);
			first += count + 1;
		}
	}
}

/* Slots that no pass below the bound has reached included. */
static void the_newest_of_several_are_the_same(void **state)
{
	static const enum run_pattern patterns[] = {RUN_PATTERN_RANDOM,
						    RUN_PATTERN_SEQUENTIAL};
	uint64_t newest[SCHEDULE_MANY_MAX + 1];
	struct prng prng;

	(void)state;
	prng_init(&prng, SEED);
	for (uint64_t i = 0; i < 4000; i++) {
		struct schedule schedule =
			schedule_of(1 + prng_below(&prng, 1 + i % 400),
				    patterns[i % 8 == 0], SEED + i % 5, 1);
		uint64_t bound = prng_below(&prng, 4 * schedule.slots);
		uint64_t slot = prng_below(&prng, schedule.slots);
		uint64_t most = schedule.slots - slot;
		unsigned int count = (unsigned int)prng_below(
			&prng,
			1 + (most < SCHEDULE_MANY_MAX ? most
						      : SCHEDULE_MANY_MAX));

		if (i % 3 == 0) /* a pass's end */
			bound = bound / schedule.slots * schedule.slots;
		memset(newest, 0xff, sizeof(newest));
		schedule_newest_many(&schedule, slot, count, bound, newest);
		for (unsigned int k = 0; k < count; k++)
			assert_true(newest[k] == schedule_newest(&schedule,
								 slot + k,
								 bound));
		assert_true(newest[count] == UINT64_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_the_golden_ones),
		cmocka_unit_test(several_at_once_are_the_same),
		cmocka_unit_test(the_newest_of_several_are_the_same),
		cmocka_unit_test(every_pass_visits_every_slot_once),
		cmocka_unit_test(p4_newest_is_what_a_table_would_say),
		cmocka_unit_test(huge_regions_need_no_table),
		cmocka_unit_test(the_highest_numbers_do_not_overflow),
		cmocka_unit_test(streams_passes_and_seeds_differ),
		cmocka_unit_test(random_order_looks_random),
		cmocka_unit_test(sequential_is_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
