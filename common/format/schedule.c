/* SPDX-License-Identifier: MIT */
#include "common/format/schedule.h"

#include <assert.h>

#include "common/base/prng.h"

#define ROUNDS 6U
#define LANES  4U
#define GOLDEN 0x9e3779b97f4a7c15U

/* The key of one pass; round keys are counted up from it. */
static uint64_t pass_key(const struct schedule *schedule, uint64_t pass)
{
	return prng_mix(schedule->key ^ prng_mix((pass + 1) * GOLDEN));
}

static uint64_t round_value(uint64_t key, unsigned int round, uint64_t half)
{
	return prng_mix(key + (round + 1) * GOLDEN + prng_mix(half + 1));
}

static uint64_t permute(const struct schedule *schedule, uint64_t key,
			uint64_t value)
{
	unsigned int bits = schedule->half_bits;
	uint64_t mask = (1ULL << bits) - 1;
	uint64_t left = value >> bits;
	uint64_t right = value & mask;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t next = left ^ (round_value(key, round, right) & mask);

		left = right;
		right = next;
	}
	return left << bits | right;
}

static uint64_t permute_back(const struct schedule *schedule, uint64_t key,
			     uint64_t value)
{
	unsigned int bits = schedule->half_bits;
	uint64_t mask = (1ULL << bits) - 1;
	uint64_t left = value >> bits;
	uint64_t right = value & mask;

	for (unsigned int round = ROUNDS; round-- > 0;) {
		uint64_t previous =
			right ^ (round_value(key, round, left) & mask);

		right = left;
		left = previous;
	}
	return left << bits | right;
}

/*
 * Both walks start inside the slots, and a permutation brings every walk back
 * to where it began: so they end, after less than four steps on average, since
 * the network's domain is less than four times the slots.
 */
static uint64_t slot_at(const struct schedule *schedule, uint64_t pass,
			uint64_t position)
{
	uint64_t key = pass_key(schedule, pass);
	uint64_t value = position;

	if (schedule->pattern == RUN_PATTERN_SEQUENTIAL)
		return position;
	do
		value = permute(schedule, key, value);
	while (value >= schedule->slots);
	return value;
}

static uint64_t position_of(const struct schedule *schedule, uint64_t pass,
			    uint64_t slot)
{
	uint64_t key = pass_key(schedule, pass);
	uint64_t value = slot;

	if (schedule->pattern == RUN_PATTERN_SEQUENTIAL)
		return slot;
	do
		value = permute_back(schedule, key, value);
	while (value >= schedule->slots);
	return value;
}

void schedule_init(struct schedule *schedule, const struct run *run,
		   uint16_t stream)
{
	schedule->slots = run_slots_per_stream(run);
	schedule->pattern = run->pattern;
	schedule->key =
		prng_mix(prng_mix(run->seed + GOLDEN) + (stream + 1U) * GOLDEN);
	schedule->half_bits = 1;

	assert(schedule->slots >= 1 && schedule->slots <= 1ULL << 48);

	while (1ULL << 2 * schedule->half_bits < schedule->slots)
		schedule->half_bits++;
}

uint64_t schedule_slot(const struct schedule *schedule, uint64_t sequence)
{
	assert(sequence >= 1);

	return slot_at(schedule, (sequence - 1) / schedule->slots,
		       (sequence - 1) % schedule->slots);
}

/* As permute(), of several at once: a round waits for the one before it, and
 * the processor works on the others meanwhile. */
static void permute_lanes(const struct schedule *schedule, uint64_t key,
			  uint64_t values[LANES])
{
	unsigned int bits = schedule->half_bits;
	uint64_t mask = (1ULL << bits) - 1;
	uint64_t left[LANES], right[LANES];

#pragma GCC unroll 4
	for (unsigned int i = 0; i < LANES; i++) {
		left[i] = values[i] >> bits;
		right[i] = values[i] & mask;
	}
	for (unsigned int round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 4
		for (unsigned int i = 0; i < LANES; i++) {
			uint64_t next =
				left[i] ^
				(round_value(key, round, right[i]) & mask);

			left[i] = right[i];
			right[i] = next;
		}
	}
#pragma GCC unroll 4
	for (unsigned int i = 0; i < LANES; i++)
		values[i] = left[i] << bits | right[i];
}

static void slots_of_pass(const struct schedule *schedule, uint64_t pass,
			  uint64_t position, uint64_t slots[LANES])
{
	uint64_t key = pass_key(schedule, pass);

	for (unsigned int i = 0; i < LANES; i++)
		slots[i] = position + i;
	permute_lanes(schedule, key, slots);
	for (unsigned int i = 0; i < LANES; i++)
		while (slots[i] >= schedule->slots)
			slots[i] = permute(schedule, key, slots[i]);
}

void schedule_slots(const struct schedule *schedule, uint64_t first,
		    unsigned int count, uint64_t *slots)
{
	assert(first >= 1);

	while (count > 0) {
		uint64_t pass = (first - 1) / schedule->slots;
		uint64_t position = (first - 1) % schedule->slots;
		unsigned int done = 1;

		if (schedule->pattern == RUN_PATTERN_RANDOM && count >= LANES &&
		    position + LANES <= schedule->slots) {
			slots_of_pass(schedule, pass, position, slots);
			done = LANES;
		} else {
			*slots = slot_at(schedule, pass, position);
		}
		first += done;
		slots += done;
		count -= done;
	}
}

uint64_t schedule_newest(const struct schedule *schedule, uint64_t slot,
			 uint64_t bound)
{
	uint64_t pass = 0;
	uint64_t position = 0;

	assert(slot < schedule->slots);

	if (bound == 0)
		return 0;
	pass = (bound - 1) / schedule->slots;
	position = position_of(schedule, pass, slot);
	if (position > (bound - 1) % schedule->slots) {
		/* This pass comes to it only after BOUND. */
		if (pass == 0)
			return 0;
		pass--;
		position = position_of(schedule, pass, slot);
	}
	return pass * schedule->slots + position + 1;
}

/* As permute_back(), of several at once. */
static void permute_back_lanes(const struct schedule *schedule, uint64_t key,
			       uint64_t values[LANES])
{
	unsigned int bits = schedule->half_bits;
	uint64_t mask = (1ULL << bits) - 1;
	uint64_t left[LANES], right[LANES];

#pragma GCC unroll 4
	for (unsigned int i = 0; i < LANES; i++) {
		left[i] = values[i] >> bits;
		right[i] = values[i] & mask;
	}
	for (unsigned int round = ROUNDS; round-- > 0;) {
#pragma GCC unroll 4
		for (unsigned int i = 0; i < LANES; i++) {
			uint64_t previous =
				right[i] ^
				(round_value(key, round, left[i]) & mask);

			right[i] = left[i];
			left[i] = previous;
		}
	}
#pragma GCC unroll 4
	for (unsigned int i = 0; i < LANES; i++)
		values[i] = left[i] << bits | right[i];
}

/*
 * Turns COUNT slots into their positions in PASS. Each walk has a length of its
 * own: a lane whose walk has ended takes the next slot, so that none idles.
 */
static void positions_of(const struct schedule *schedule, uint64_t pass,
			 uint64_t *values, unsigned int count)
{
	uint64_t key = pass_key(schedule, pass), lanes[LANES] = {0};
	unsigned int of[LANES], started = 0, ended = 0;

	if (schedule->pattern == RUN_PATTERN_SEQUENTIAL)
		return;
	for (unsigned int i = 0; i < LANES; i++) {
		of[i] = started;
		lanes[i] = started < count ? values[started++] : 0;
	}
	while (ended < count) {
		permute_back_lanes(schedule, key, lanes);
		for (unsigned int i = 0; i < LANES; i++) {
			if (lanes[i] >= schedule->slots || of[i] >= count)
				continue;
			values[of[i]] = lanes[i];
			ended++;
			of[i] = started < count ? started : count;
			lanes[i] = started < count ? values[started++] : 0;
		}
	}
}

void schedule_newest_many(const struct schedule *schedule, uint64_t slot,
			  unsigned int count, uint64_t bound, uint64_t *newest)
{
	uint64_t pass, last, late[SCHEDULE_MANY_MAX];
	unsigned int which[SCHEDULE_MANY_MAX], misses = 0;

	assert(count <= SCHEDULE_MANY_MAX && slot + count <= schedule->slots);
	for (unsigned int i = 0; i < count; i++)
		newest[i] = bound == 0 ? 0 : slot + i;
	if (bound == 0)
		return;
	pass = (bound - 1) / schedule->slots;
	last = (bound - 1) % schedule->slots;
	positions_of(schedule, pass, newest, count);
	for (unsigned int i = 0; i < count; i++) {
		if (newest[i] <= last) {
			newest[i] += pass * schedule->slots + 1;
			continue;
		}
		newest[i] = 0;
		late[misses] = slot + i;
		which[misses++] = i;
	}
	if (pass == 0 || misses == 0)
		return;
	/* This pass comes to them only after BOUND. */
	positions_of(schedule, pass - 1, late, misses);
	for (unsigned int i = 0; i < misses; i++)
		newest[which[i]] = (pass - 1) * schedule->slots + late[i] + 1;
}
