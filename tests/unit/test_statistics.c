/* SPDX-License-Identifier: MIT */
/* statistics: the exact bounds, against published values and closed forms. */
#include "tests/unit/cmocka_all.h"

#include <math.h>
#include <stdbool.h>

#include "campaign/statistics.h"

static void assert_near(double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance))
		fail_msg("%.10g is not within %g of %.10g", got, tolerance,
			 expected);
}

static void beta_has_its_closed_forms(void **state)
{
	(void)state;
	assert_near(statistics_beta(1, 1, 0.37), 0.37, 1e-13);
	assert_near(statistics_beta(3, 1, 0.5), 0.125, 1e-13);
	assert_near(statistics_beta(1, 5, 0.2), 1 - pow(0.8, 5), 1e-13);
	assert_near(statistics_beta(0.5, 0.5, 0.25), 1.0 / 3, 1e-12);
	assert_near(statistics_beta(2, 3, 0.4), 0.5248, 1e-12);
	assert_near(statistics_beta(4, 7, 0), 0, 0);
	assert_near(statistics_beta(4, 7, 1), 1, 0);
}

static void beta_mirrors_itself(void **state)
{
	(void)state;
	for (int a = 1; a < 400; a += 37)
		for (int b = 1; b < 3000; b += 311)
			for (double x = 0.05; x < 1; x += 0.15)
				assert_near(statistics_beta(a, b, x),
					    1 - statistics_beta(b, a, 1 - x),
					    1e-11);
}

/* The tail of the binomial distribution, added up term by term. */
static double binomial_at_least(unsigned int k, unsigned int n, double p)
{
	double sum = 0;

	for (unsigned int i = k; i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) -
			   lgamma(n - i + 1.0) + i * log(p) +
			   (n - i) * log1p(-p));
	return sum;
}

static void bounds_solve_the_binomial_equation(void **state)
{
	(void)state;
	for (unsigned int n = 2; n <= 90; n += 11) {
		for (unsigned int k = 1; k < n; k += 3) {
			const struct statistics_interval chance =
				statistics_chance(k, n);

			assert_near(binomial_at_least(k, n, chance.lower),
				    0.025, 1e-9);
			assert_near(binomial_at_least(k + 1, n, chance.upper),
				    0.975, 1e-9);
		}
	}
}

static void without_a_loss_as_published(void **state)
{
	static const struct {
		uint64_t cuts;
		double percent, half_digit;
	} rows[] = {{20, 13.9, 0.05},      {59, 4.95, 0.005},
		    {100, 2.95, 0.005},    {299, 0.997, 0.0005},
		    {1000, 0.299, 0.0005}, {2995, 0.1, 0.0005},
		    {7000, 0.043, 0.0005}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct statistics_interval chance =
			statistics_chance(0, rows[i].cuts);

		assert_near(chance.lower, 0, 0);
		assert_near(chance.upper * 100, rows[i].percent,
			    rows[i].half_digit);
	}
}

static void with_losses_as_published(void **state)
{
	struct statistics_interval chance = statistics_chance(1, 100);

	(void)state;
	assert_near(chance.lower * 100, 0.03, 0.005);
	assert_near(chance.upper * 100, 5.4, 0.051);
	chance = statistics_chance(2, 300);
	assert_near(chance.lower * 100, 0.08, 0.005);
	assert_near(chance.upper * 100, 2.4, 0.05);
	chance = statistics_chance(5, 1000);
	assert_near(chance.lower * 100, 0.16, 0.005);
	assert_near(chance.upper * 100, 1.2, 0.05);
	chance = statistics_chance(72, 441);
	assert_near(chance.lower * 100, 13, 0.5);
	assert_near(chance.upper * 100, 20, 0.5);
}

static void sensitivity_as_published(void **state)
{
	(void)state;
	assert_near(statistics_chance(10, 10).lower * 100, 69, 0.5);
	assert_near(statistics_chance(20, 20).lower * 100, 83, 0.5);
	assert_near(statistics_chance(10, 10).upper, 1, 0);
}

static void no_cuts_say_nothing(void **state)
{
	const struct statistics_interval chance = statistics_chance(0, 0);

	(void)state;
	assert_near(chance.lower, 0, 0);
	assert_near(chance.upper, 1, 0);
}

static void the_rule_of_three_is_near(void **state)
{
	(void)state;
	for (uint64_t n = 100; n <= 100000; n *= 10) {
		const double upper = statistics_chance(0, n).upper;

		assert_true(upper < 3.0 / (double)n);
		assert_true(upper > 2.9 / (double)n);
	}
}

static void cuts_needed_as_published(void **state)
{
	(void)state;
	assert_int_equal(statistics_cuts_for(0.5), 5);
	assert_int_equal(statistics_cuts_for(0.16), 18);
	assert_int_equal(statistics_cuts_for(0.1), 29);
	assert_int_equal(statistics_cuts_for(0.05), 59);
	assert_int_equal(statistics_cuts_for(0.01), 299);
	assert_int_equal(statistics_cuts_for(0.001), 2995);
	assert_int_equal(statistics_cuts_for(0.96), 1);
}

/* The number is the smallest that will do. */
static void cuts_needed_agree_with_the_bound(void **state)
{
	(void)state;
	for (double bound = 0.0003; bound < 0.9; bound *= 1.37) {
		const uint64_t cuts = statistics_cuts_for(bound);

		assert_true(statistics_chance(0, cuts).upper <= bound);
		if (cuts > 1)
			assert_true(statistics_chance(0, cuts - 1).upper >
				    bound);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beta_has_its_closed_forms),
		cmocka_unit_test(beta_mirrors_itself),
		cmocka_unit_test(bounds_solve_the_binomial_equation),
		cmocka_unit_test(without_a_loss_as_published),
		cmocka_unit_test(with_losses_as_published),
		cmocka_unit_test(sensitivity_as_published),
		cmocka_unit_test(no_cuts_say_nothing),
		cmocka_unit_test(the_rule_of_three_is_near),
		cmocka_unit_test(cuts_needed_as_published),
		cmocka_unit_test(cuts_needed_agree_with_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
