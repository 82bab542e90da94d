/* SPDX-License-Identifier: MIT */
#include "campaign/statistics.h"

#include <assert.h>
#include <math.h>

#define BETA_ROUNDS_MAX  100000
#define BETA_PRECISION   1e-14
#define BETA_TINY        1e-300
#define BISECTION_ROUNDS 200

static double away_from_zero(double value)
{
	return fabs(value) < BETA_TINY ? BETA_TINY : value;
}

/*
 * The continued fraction of the incomplete beta function by the modified
 * method of Lentz (DLMF 8.17.22): two terms a round, until the product stands.
 */
static double beta_fraction(double a, double b, double x)
{
	double c = 1;
	double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
	double product = d;

	for (int m = 1; m <= BETA_ROUNDS_MAX; m++) {
		const double even =
			m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		const double odd = -(a + m) * (a + b + m) * x /
				   ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		product *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		product *= d * c;
		if (fabs(d * c - 1) < BETA_PRECISION)
			break;
	}
	return product;
}

double statistics_beta(double a, double b, double x)
{
	double front = 0;

	assert(a > 0 && b > 0 && x >= 0 && x <= 1);
	if (x <= 0 || x >= 1)
		return x;

	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) +
		    b * log1p(-x));
	/* The fraction converges fast on this side of the mean only. */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The x at which statistics_beta(a, b, x) reaches LEVEL; it rises with x. */
static double beta_inverse(double a, double b, double level)
{
	double low = 0;
	double high = 1;

	for (int round = 0; round < BISECTION_ROUNDS; round++) {
		const double middle = low + (high - low) / 2;

		if (statistics_beta(a, b, middle) < level)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Without a loss the exact bound has a closed form. */
static double upper_without_event(double cuts)
{
	return -expm1(log(1 - STATISTICS_CONFIDENCE) / cuts);
}

struct statistics_interval statistics_chance(uint64_t events, uint64_t cuts)
{
	const double tail = (1 - STATISTICS_CONFIDENCE) / 2;
	struct statistics_interval chance = {0, 1};

	assert(events <= cuts);
	if (cuts == 0)
		return chance;

	if (events > 0)
		chance.lower = beta_inverse((double)events,
					    (double)(cuts - events + 1), tail);
	if (events == 0)
		chance.upper = upper_without_event((double)cuts);
	else if (events < cuts)
		chance.upper = beta_inverse((double)(events + 1),
					    (double)(cuts - events), 1 - tail);
	return chance;
}

uint64_t statistics_cuts_for(double bound)
{
	uint64_t cuts = 0;

	assert(bound > 0 && bound < 1);
	cuts = (uint64_t)ceil(log(1 - STATISTICS_CONFIDENCE) / log1p(-bound));

	/* Rounding may have put the quotient on the wrong side by one. */
	if (cuts == 0 || upper_without_event((double)cuts) > bound)
		cuts++;
	if (cuts > 1 && upper_without_event((double)(cuts - 1)) <= bound)
		cuts--;
	return cuts;
}
