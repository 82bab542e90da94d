/* SPDX-License-Identifier: MIT */
/*
 * histogram - how long something took, many times over, in fixed memory.
 *
 * Log-linear: each power of two is cut into equal parts, so that a quantile is
 * wrong by less than 2 % between 1 us and 1 h. What is shorter counts as 1 us;
 * what is longer counts in the last part. The maximum is exact. Pure.
 */
#ifndef COMMON_BASE_HISTOGRAM_H
#define COMMON_BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PARTS      32 /* of each power of two */
#define HISTOGRAM_FIRST_LOG2 9  /* 512 ns, below the shortest */
#define HISTOGRAM_LAST_LOG2  42 /* 2^42 ns, above an hour */
#define HISTOGRAM_CELLS \
	(HISTOGRAM_PARTS * (HISTOGRAM_LAST_LOG2 - HISTOGRAM_FIRST_LOG2))
#define HISTOGRAM_SHORTEST_NS 1000

struct histogram {
	uint64_t count;
	uint64_t max_ns;
	uint64_t cells[HISTOGRAM_CELLS];
};

void histogram_init(struct histogram *histogram);
void histogram_add(struct histogram *histogram, uint64_t duration_ns);
/* As if everything in FROM had been added to TO as well. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* What PERMILLE (1 ... 1000) of the durations do not exceed; 1000 is the exact
 * maximum. 0 where nothing was added. */
uint64_t histogram_quantile_ns(const struct histogram *histogram,
			       unsigned int permille);

#endif
