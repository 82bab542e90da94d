/* SPDX-License-Identifier: MIT */
#include "common/format/rangeset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

#define CAPACITY_MIN 16

int rangeset_init(struct rangeset *set, struct err *err)
{
	memset(set, 0, sizeof(*set));
	set->ranges = calloc(CAPACITY_MIN, sizeof(*set->ranges));
	if (set->ranges == NULL)
		return err_set(err, "out of memory");
	set->capacity = CAPACITY_MIN;
	set->limit = RANGESET_RANGES_MAX;
	return 0;
}

void rangeset_set_limit(struct rangeset *set, size_t limit)
{
	assert(set->count == 0 && limit >= 1 && limit <= RANGESET_RANGES_MAX);
	set->limit = limit;
}

void rangeset_free(struct rangeset *set)
{
	free(set->ranges);
	memset(set, 0, sizeof(*set));
}

void rangeset_clear(struct rangeset *set)
{
	set->start = 0;
	set->count = 0;
	set->numbers = 0;
	set->floor = 0;
	set->forgotten = 0;
}

static struct rangeset_range *range_at(const struct rangeset *set, size_t i)
{
	return set->ranges + set->start + i;
}

static uint64_t length_of(const struct rangeset_range *range)
{
	return range->last - range->first + 1;
}

/* The first range whose last is at or above NUMBER; count if there is none. */
static size_t find_range(const struct rangeset *set, uint64_t number)
{
	size_t low = 0, high = set->count;

	if (high == 0 || number > range_at(set, high - 1)->last)
		return high;
	if (number >= range_at(set, high - 1)->first)
		return high - 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (range_at(set, middle)->last < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void forget_lowest(struct rangeset *set)
{
	const struct rangeset_range *lowest = range_at(set, 0);

	set->floor = lowest->last;
	set->numbers -= length_of(lowest);
	set->forgotten++;
	set->start++;
	set->count--;
}

/* Half as much again, so that moving down after forgetting is rare. */
static size_t capacity_max(const struct rangeset *set)
{
	size_t capacity = set->limit + set->limit / 2;

	return capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
}

static void move_down(struct rangeset *set)
{
	memmove(set->ranges, range_at(set, 0),
		set->count * sizeof(*set->ranges));
	set->start = 0;
}

/* Makes room for one more range behind the last one. */
static void make_room(struct rangeset *set)
{
	size_t capacity = 2 * set->capacity;
	struct rangeset_range *ranges;

	if (set->count == set->limit)
		forget_lowest(set);
	if (set->start + set->count < set->capacity)
		return;
	if (set->start > 0 && set->start >= set->count / 2) {
		move_down(set);
		return;
	}
	if (capacity > capacity_max(set))
		capacity = capacity_max(set);
	ranges = capacity > set->capacity
			 ? realloc(set->ranges, capacity * sizeof(*ranges))
			 : NULL;
	if (ranges != NULL) {
		set->ranges = ranges;
		set->capacity = capacity;
		return;
	}
	if (set->start == 0)
		forget_lowest(set);
	move_down(set);
}

/* Puts a range that touches no other one before range number AT. */
static void insert_range(struct rangeset *set, size_t at,
			 struct rangeset_range range)
{
	size_t before = set->count;

	if (at == 0 && before == set->limit) {
		/* It is the lowest itself, so it is the one to go. */
		set->floor = range.last;
		set->forgotten++;
		return;
	}
	make_room(set);
	if (range.last <= set->floor) { /* memory was short */
		set->forgotten++;
		return;
	}
	at -= before - set->count;
	memmove(range_at(set, at + 1), range_at(set, at),
		(set->count - at) * sizeof(range));
	*range_at(set, at) = range;
	set->count++;
	set->numbers += length_of(&range);
}

/* Joins ranges AT ... END - 1 and RANGE, which touches each of them. */
static void join_ranges(struct rangeset *set, size_t at, size_t end,
			struct rangeset_range range)
{
	for (size_t i = at; i < end; i++) {
		const struct rangeset_range *old = range_at(set, i);

		set->numbers -= length_of(old);
		if (old->first < range.first)
			range.first = old->first;
		if (old->last > range.last)
			range.last = old->last;
	}
	memmove(range_at(set, at + 1), range_at(set, end),
		(set->count - end) * sizeof(range));
	set->count -= end - at - 1;
	*range_at(set, at) = range;
	set->numbers += length_of(&range);
}

uint64_t rangeset_add(struct rangeset *set, uint64_t first, uint64_t last)
{
	uint64_t before = set->numbers;
	size_t at, end;

	assert(first >= 1 && first <= last && last < UINT64_MAX);
	if (first <= set->floor)
		first = set->floor + 1;
	if (first > last)
		return 0;
	at = find_range(set, first - 1);
	end = at;
	while (end < set->count && range_at(set, end)->first <= last + 1)
		end++;
	if (at < end) {
		join_ranges(set, at, end, (struct rangeset_range){first, last});
		return set->numbers - before;
	}
	insert_range(set, at, (struct rangeset_range){first, last});
	return rangeset_has(set, last) ? last - first + 1 : 0;
}

bool rangeset_has(const struct rangeset *set, uint64_t number)
{
	return rangeset_has_all(set, number, number);
}

bool rangeset_has_all(const struct rangeset *set, uint64_t first, uint64_t last)
{
	size_t at = find_range(set, first);

	return at < set->count && range_at(set, at)->first <= first &&
	       range_at(set, at)->last >= last;
}

uint64_t rangeset_at_or_below(const struct rangeset *set, uint64_t number)
{
	size_t at = find_range(set, number);

	if (at < set->count && range_at(set, at)->first <= number)
		return number;
	return at > 0 ? range_at(set, at - 1)->last : 0;
}

uint64_t rangeset_last(const struct rangeset *set)
{
	return set->count > 0 ? range_at(set, set->count - 1)->last : 0;
}
