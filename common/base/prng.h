/* SPDX-License-Identifier: MIT */
/*
 * prng - repeatable chance: the same seed gives the same numbers everywhere.
 *
 * Not for secrets. The generator is splitmix64; prng_mix() is its finaliser,
 * a good 64-bit hash for keyed decisions that need no state.
 */
#ifndef COMMON_BASE_PRNG_H
#define COMMON_BASE_PRNG_H

#include <stdint.h>

struct prng {
	uint64_t state;
};

void prng_init(struct prng *prng, uint64_t seed);
uint64_t prng_next(struct prng *prng);

/* Uniform in [0, LIMIT); LIMIT is at least 1. */
uint64_t prng_below(struct prng *prng, uint64_t limit);

static inline uint64_t prng_mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
	value = (value ^ value >> 27) * 0x94d049bb133111ebU;
	return value ^ value >> 31;
}

#endif
