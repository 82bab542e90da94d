/* SPDX-License-Identifier: MIT */
/*
 * A quantile is within a few per cent of the true one over the whole range,
 * never above the maximum, and the same whether one histogram has seen
 * everything or two were merged.
 */
#include "common/base/histogram.h"

#include <stdlib.h>

#include "common/base/prng.h"
#include "tests/unit/cmocka_all.h"

#define HOUR_NS 3600000000000ULL
#define COUNT   10007

static int compare(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* As many of each size: anything from 1 us to 1 h. */
static uint64_t draw_ns(struct prng *prng)
{
	uint64_t value_ns;

	do {
		value_ns = prng_next(prng) >> prng_below(prng, 54);
	} while (value_ns < 1000 || value_ns > HOUR_NS);
	return value_ns;
}

static void assert_close(uint64_t got_ns, uint64_t true_ns)
{
	assert_in_range(got_ns * 50, true_ns * 49, true_ns * 51);
}

static void one_duration_is_told_within_two_per_cent(void **state)
{
	static struct histogram histogram;

	(void)state;
	for (uint64_t ns = 1000; ns <= HOUR_NS; ns += 1 + ns / 97) {
		histogram_init(&histogram);
		histogram_add(&histogram, ns);
		histogram_add(&histogram, HOUR_NS);
		assert_close(histogram_quantile_ns(&histogram, 500), ns);
		assert_int_equal(histogram_quantile_ns(&histogram, 1000),
				 HOUR_NS);
	}
}

static void quantiles_are_those_of_the_sorted_list(void **state)
{
	static const unsigned int permilles[] = {1, 10, 500, 900, 990, 999};
	static struct histogram histogram;
	static uint64_t all_ns[COUNT];
	struct prng prng;

	(void)state;
	prng_init(&prng, 7);
	histogram_init(&histogram);
	for (size_t i = 0; i < COUNT; i++) {
		all_ns[i] = draw_ns(&prng);
		histogram_add(&histogram, all_ns[i]);
	}
	qsort(all_ns, COUNT, sizeof(all_ns[0]), compare);
	for (size_t i = 0; i < sizeof(permilles) / sizeof(permilles[0]); i++) {
		size_t rank = (COUNT * permilles[i] + 999) / 1000;

		assert_close(histogram_quantile_ns(&histogram, permilles[i]),
			     all_ns[rank - 1]);
	}
	assert_int_equal(histogram_quantile_ns(&histogram, 1000),
			 all_ns[COUNT - 1]);
}

static void a_quantile_is_rounded_up_to_one_that_was_added(void **state)
{
	static struct histogram histogram;

	(void)state;
	histogram_init(&histogram);
	for (uint64_t ns = 1000000; ns <= 100000000; ns *= 10)
		histogram_add(&histogram, ns);
	assert_close(histogram_quantile_ns(&histogram, 333), 1000000);
	assert_close(histogram_quantile_ns(&histogram, 334), 10000000);
	assert_close(histogram_quantile_ns(&histogram, 500), 10000000);
	assert_close(histogram_quantile_ns(&histogram, 667), 100000000);
}

static void merging_is_the_same_as_adding(void **state)
{
	static struct histogram all, parts[2];
	struct prng prng;

	(void)state;
	prng_init(&prng, 8);
	histogram_init(&all);
	histogram_init(&parts[0]);
	histogram_init(&parts[1]);
	for (size_t i = 0; i < COUNT; i++) {
		uint64_t ns = draw_ns(&prng);

		histogram_add(&all, ns);
		histogram_add(&parts[prng_below(&prng, 2)], ns);
	}
	histogram_merge(&parts[0], &parts[1]);
	assert_memory_equal(&parts[0], &all, sizeof(all));
}

static void nothing_falls_off_either_end(void **state)
{
	static struct histogram histogram;

	(void)state;
	histogram_init(&histogram);
	assert_int_equal(histogram_quantile_ns(&histogram, 500), 0);
	assert_int_equal(histogram_quantile_ns(&histogram, 1000), 0);
	histogram_add(&histogram, 0);
	histogram_add(&histogram, 1);
	assert_int_equal(histogram_quantile_ns(&histogram, 990), 1000);
	histogram_add(&histogram, UINT64_MAX);
	histogram_add(&histogram, UINT64_MAX);
	histogram_add(&histogram, UINT64_MAX);
	assert_int_equal(histogram.count, 5);
	assert_true(histogram_quantile_ns(&histogram, 990) > HOUR_NS);
	assert_true(histogram_quantile_ns(&histogram, 1000) == UINT64_MAX);
	assert_int_equal(histogram_quantile_ns(&histogram, 400), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_duration_is_told_within_two_per_cent),
		cmocka_unit_test(quantiles_are_those_of_the_sorted_list),
		cmocka_unit_test(
			a_quantile_is_rounded_up_to_one_that_was_added),
		cmocka_unit_test(merging_is_the_same_as_adding),
		cmocka_unit_test(nothing_falls_off_either_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
