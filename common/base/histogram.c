/* SPDX-License-Identifier: MIT */
#include "common/base/histogram.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define PARTS_LOG2 5

static_assert(1 << PARTS_LOG2 == HISTOGRAM_PARTS, "a power of two");
static_assert(1 << HISTOGRAM_FIRST_LOG2 <= HISTOGRAM_SHORTEST_NS,
	      "the shortest duration has a cell");

static size_t cell_of(uint64_t duration_ns)
{
	unsigned int log2 = 63 - (unsigned int)__builtin_clzll(duration_ns);

	if (log2 >= HISTOGRAM_LAST_LOG2)
		return HISTOGRAM_CELLS - 1;
	return (size_t)(log2 - HISTOGRAM_FIRST_LOG2) * HISTOGRAM_PARTS +
	       ((duration_ns >> (log2 - PARTS_LOG2)) & (HISTOGRAM_PARTS - 1));
}

/* The middle of what a cell holds. */
static uint64_t value_of(size_t cell)
{
	unsigned int log2 =
		(unsigned int)(cell / HISTOGRAM_PARTS) + HISTOGRAM_FIRST_LOG2;
	uint64_t width_ns = 1ULL << (log2 - PARTS_LOG2);

	return (1ULL << log2) + cell % HISTOGRAM_PARTS * width_ns +
	       width_ns / 2;
}

void histogram_init(struct histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
}

void histogram_add(struct histogram *histogram, uint64_t duration_ns)
{
	if (duration_ns < HISTOGRAM_SHORTEST_NS)
		duration_ns = HISTOGRAM_SHORTEST_NS;
	histogram->count++;
	histogram->cells[cell_of(duration_ns)]++;
	if (duration_ns > histogram->max_ns)
		histogram->max_ns = duration_ns;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	to->count += from->count;
	for (size_t i = 0; i < HISTOGRAM_CELLS; i++)
		to->cells[i] += from->cells[i];
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
}

uint64_t histogram_quantile_ns(const struct histogram *histogram,
			       unsigned int permille)
{
	/* Rounded up: the rank of the one that is asked for, from 1. */
	uint64_t rank = histogram->count / 1000 * permille +
			(histogram->count % 1000 * permille + 999) / 1000;
	uint64_t value_ns;
	size_t cell = 0;

	assert(permille >= 1 && permille <= 1000);
	if (histogram->count == 0 || permille == 1000)
		return histogram->max_ns;
	for (uint64_t seen = histogram->cells[0]; seen < rank;)
		seen += histogram->cells[++cell];
	value_ns = value_of(cell);
	return value_ns < histogram->max_ns ? value_ns : histogram->max_ns;
}
