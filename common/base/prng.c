/* SPDX-License-Identifier: MIT */
#include "common/base/prng.h"

#include <assert.h>

void prng_init(struct prng *prng, uint64_t seed)
{
	prng->state = seed;
}

uint64_t prng_next(struct prng *prng)
{
	prng->state += 0x9e3779b97f4a7c15U;
	return prng_mix(prng->state);
}

uint64_t prng_below(struct prng *prng, uint64_t limit)
{
	uint64_t unfair = 0;
	uint64_t value = 0;

	assert(limit >= 1);

	/* Drops the few values that would favour the small remainders; each
	 * round keeps at least half of them, so the loop ends. */
	unfair = -limit % limit;
	do
		value = prng_next(prng);
	while (value < unfair);
	return value % limit;
}
