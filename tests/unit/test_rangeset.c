/* SPDX-License-Identifier: MIT */
/*
 * The set holds what was added and nothing else, in whatever order it came,
 * and above its limit it forgets from below, for good.
 */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/rangeset.h"

#define MODEL_NUMBERS 200

static struct err err;

static void compare_model(const struct rangeset *set, const bool *model)
{
	uint64_t below = 0, count = 0;

	for (uint64_t i = 1; i < MODEL_NUMBERS; i++) {
		if (model[i]) {
			below = i;
			count++;
		}
		assert_int_equal(rangeset_has(set, i), model[i]);
		assert_int_equal(rangeset_at_or_below(set, i), below);
	}
	assert_int_equal(set->numbers, count);
	assert_int_equal(rangeset_last(set), below);
	for (size_t i = 1; i < set->count; i++)
		assert_true(set->ranges[set->start + i].first >
			    set->ranges[set->start + i - 1].last + 1);
}

static void any_order_gives_the_same_set(void **state)
{
	struct rangeset set;
	struct prng prng;

	(void)state;
	prng_init(&prng, 7);
	assert_int_equal(rangeset_init(&set, &err), 0);
	for (int round = 0; round < 300; round++) {
		bool model[MODEL_NUMBERS] = {false};

		rangeset_clear(&set);
		for (int step = 0; step < 60; step++) {
			uint64_t first =
				1 + prng_below(&prng, MODEL_NUMBERS - 8);
			uint64_t last = first + prng_below(&prng, 7);
			uint64_t added = 0;

			for (uint64_t i = first; i <= last; i++) {
				added += !model[i];
				model[i] = true;
			}
			assert_int_equal(rangeset_add(&set, first, last),
					 added);
			compare_model(&set, model);
		}
	}
	rangeset_free(&set);
}

static void has_all_needs_every_number(void **state)
{
	struct rangeset set;

	(void)state;
	assert_int_equal(rangeset_init(&set, &err), 0);
	assert_false(rangeset_has_all(&set, 1, 1));
	(void)rangeset_add(&set, 10, 20);
	(void)rangeset_add(&set, 22, 30);
	assert_true(rangeset_has_all(&set, 10, 20));
	assert_false(rangeset_has_all(&set, 9, 20));
	assert_false(rangeset_has_all(&set, 10, 22));
	assert_int_equal(rangeset_add(&set, 21, 21), 1);
	assert_true(rangeset_has_all(&set, 10, 30));
	rangeset_free(&set);
}

static void the_lowest_are_forgotten_for_good(void **state)
{
	struct rangeset set;
	const uint64_t total = 5ULL * RANGESET_RANGES_MAX;

	(void)state;
	assert_int_equal(rangeset_init(&set, &err), 0);
	for (uint64_t i = 1; i <= total; i++)
		assert_int_equal(rangeset_add(&set, 2 * i, 2 * i), 1);
	assert_int_equal(set.count, RANGESET_RANGES_MAX);
	assert_int_equal(set.numbers, RANGESET_RANGES_MAX);
	assert_int_equal(set.forgotten, total - RANGESET_RANGES_MAX);
	assert_true(set.capacity <= 2 * RANGESET_RANGES_MAX);
	assert_false(rangeset_has(&set, set.floor));
	assert_true(rangeset_has(&set, set.floor + 2));
	assert_int_equal(rangeset_at_or_below(&set, set.floor + 1), 0);
	/* said again, below the floor: nothing new, nothing lost */
	assert_int_equal(rangeset_add(&set, 2, set.floor), 0);
	assert_int_equal(set.numbers, RANGESET_RANGES_MAX);
	assert_int_equal(rangeset_add(&set, 1, set.floor + 1), 1);
	assert_true(rangeset_has_all(&set, set.floor + 1, set.floor + 2));
	rangeset_free(&set);
}

static void full_from_above_the_newcomer_goes(void **state)
{
	struct rangeset set;

	(void)state;
	assert_int_equal(rangeset_init(&set, &err), 0);
	for (uint64_t i = 0; i < RANGESET_RANGES_MAX; i++)
		(void)rangeset_add(&set, 1000 + 2 * i, 1000 + 2 * i);
	assert_int_equal(rangeset_add(&set, 10, 20), 0);
	assert_int_equal(set.forgotten, 1);
	assert_int_equal(set.floor, 20);
	assert_true(rangeset_has(&set, 1000));
	/* in the middle: the lowest makes room */
	(void)rangeset_add(&set, 1000 + 4ULL * RANGESET_RANGES_MAX,
			   1000 + 4ULL * RANGESET_RANGES_MAX);
	assert_int_equal(rangeset_add(&set, 1005 + 2ULL * RANGESET_RANGES_MAX,
				      1005 + 2ULL * RANGESET_RANGES_MAX),
			 1);
	assert_false(rangeset_has(&set, 1002));
	assert_true(rangeset_has(&set, 1004));
	assert_int_equal(set.count, RANGESET_RANGES_MAX);
	rangeset_free(&set);
}

/* Also where the limit is below the room that a set begins with. */
static void a_lower_limit_forgets_sooner(void **state)
{
	static const size_t limits[] = {1, 2, 15, 16, 17, 1000};
	struct rangeset set;

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		size_t limit = limits[i];

		assert_int_equal(rangeset_init(&set, &err), 0);
		rangeset_set_limit(&set, limit);
		for (uint64_t n = 1; n <= 5000; n++)
			assert_int_equal(rangeset_add(&set, 2 * n, 2 * n), 1);
		assert_int_equal(set.count, limit);
		assert_int_equal(set.forgotten, 5000 - limit);
		assert_int_equal(set.floor, 2 * (5000 - limit));
		assert_int_equal(rangeset_last(&set), 10000);
		assert_true(set.capacity <= 16 + 2 * limit);
		rangeset_free(&set);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_gives_the_same_set),
		cmocka_unit_test(has_all_needs_every_number),
		cmocka_unit_test(the_lowest_are_forgotten_for_good),
		cmocka_unit_test(full_from_above_the_newcomer_goes),
		cmocka_unit_test(a_lower_limit_forgets_sooner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
