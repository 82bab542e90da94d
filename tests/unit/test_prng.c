/* SPDX-License-Identifier: MIT */
/* Chance is repeatable: these numbers must never change (rule 23). */
#include "common/base/prng.h"

#include "tests/unit/cmocka_all.h"

/* The published first outputs of splitmix64. */
static void known_answers(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 0);
	assert_true(prng_next(&prng) == 0xe220a8397b1dcdafU);
	assert_true(prng_next(&prng) == 0x6e789e6aa1b965f4U);
	assert_true(prng_next(&prng) == 0x06c45d188009454fU);
	prng_init(&prng, 1234567);
	assert_true(prng_next(&prng) == 6457827717110365317U);
	assert_true(prng_next(&prng) == 3203168211198807973U);
}

static void below_stays_below_and_reaches_all(void **state)
{
	struct prng prng;
	unsigned int seen[7] = {0};

	(void)state;
	prng_init(&prng, 42);
	for (int i = 0; i < 7000; i++) {
		uint64_t value = prng_below(&prng, 7);

		assert_true(value < 7);
		seen[value]++;
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 800, 1200);
}

static void limits_at_both_ends(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 42);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(prng_below(&prng, 1), 0);
		assert_true(prng_below(&prng, UINT64_MAX) < UINT64_MAX);
		assert_true(prng_below(&prng, (1ULL << 63) + 1) <= 1ULL << 63);
	}
}

static void mix_spreads_neighbours(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		int changed =
			__builtin_popcountll(prng_mix(i + 1) ^ prng_mix(i + 2));

		assert_in_range(changed, 12, 52);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(below_stays_below_and_reaches_all),
		cmocka_unit_test(limits_at_both_ends),
		cmocka_unit_test(mix_spreads_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
