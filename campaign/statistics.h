/* SPDX-License-Identifier: MIT */
/*
 * statistics - how sure a number of cuts makes one.
 *
 * The trial is the cut, not the write: losses within one cut hang together.
 * Bounds are the exact ones of Clopper and Pearson at 95 %. Where nothing was
 * seen (or everything) only one side has anything to say: without a loss the
 * upper bound is the one-sided 1 - 0.05^(1/n); all other bounds are those of
 * the two-sided interval. Pure.
 */
#ifndef CAMPAIGN_STATISTICS_H
#define CAMPAIGN_STATISTICS_H

#include <stdint.h>

#define STATISTICS_CONFIDENCE 0.95

struct statistics_interval {
	double lower, upper; /* chances, 0 ... 1 */
};

/* The regularised incomplete beta function, A and B above 0, 0 <= X <= 1. */
double statistics_beta(double a, double b, double x);

/* The chance per cut, after EVENTS in CUTS. No cuts: 0 to 1. */
struct statistics_interval statistics_chance(uint64_t events, uint64_t cuts);

/* How many cuts without any loss bring the upper bound down to BOUND
 * (0 < BOUND < 1). */
uint64_t statistics_cuts_for(double bound);

#endif
