/* SPDX-License-Identifier: MIT */
/*
 * rangeset - which of the numbers from 1 are in a set, as ascending ranges
 * that neither touch nor overlap.
 *
 * Made for numbers that arrive nearly in order: adding at the end costs O(1),
 * amortised. Memory has an upper limit: beyond RANGESET_RANGES_MAX ranges, or
 * where no more memory is to be had, the LOWEST range is forgotten, and with it
 * every number at or below its end, for good. Adding therefore never fails.
 */
#ifndef COMMON_FORMAT_RANGESET_H
#define COMMON_FORMAT_RANGESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define RANGESET_RANGES_MAX 65536

struct rangeset_range {
	uint64_t first, last;
};

struct rangeset {
	struct rangeset_range *ranges; /* room for capacity of them */
	size_t start, count, capacity; /* in use: start ... start + count - 1 */
	size_t limit;     /* of count: RANGESET_RANGES_MAX, unless it is set */
	uint64_t numbers; /* how many are in the set */
	uint64_t floor;   /* numbers up to here were forgotten; 0: none */
	uint64_t forgotten; /* ranges */
};

int rangeset_init(struct rangeset *set, struct err *err);
/* Of an empty set: no more than LIMIT ranges are kept, 1 ...
 * RANGESET_RANGES_MAX. */
void rangeset_set_limit(struct rangeset *set, size_t limit);
void rangeset_free(struct rangeset *set);
void rangeset_clear(struct rangeset *set); /* as after init */

/* 1 <= FIRST <= LAST < UINT64_MAX. Returns how many numbers were new; those at
 * or below the floor are not added and not counted. */
uint64_t rangeset_add(struct rangeset *set, uint64_t first, uint64_t last);

bool rangeset_has(const struct rangeset *set, uint64_t number);
/* Is every number from FIRST to LAST in the set? */
bool rangeset_has_all(const struct rangeset *set, uint64_t first,
		      uint64_t last);
/* The highest number in the set at or below NUMBER; 0 if there is none. */
uint64_t rangeset_at_or_below(const struct rangeset *set, uint64_t number);
uint64_t rangeset_last(const struct rangeset *set); /* 0: empty */

#endif
