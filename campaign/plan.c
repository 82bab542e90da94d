/* SPDX-License-Identifier: MIT */
#include "campaign/plan.h"

#include <assert.h>

#include "common/base/prng.h"

/* What a number is drawn for; each gets chance of its own. */
enum plan_use {
	PLAN_FOR_AFTER = 1,
	PLAN_FOR_OFF,
	PLAN_FOR_SEED,
	PLAN_FOR_ARM,
	PLAN_FOR_RECUT_AFTER,
	PLAN_FOR_RECUT_OFF,
};

static void plan_chance(struct prng *prng, uint64_t seed, enum plan_use use,
			uint64_t number)
{
	prng_init(prng, prng_mix(seed ^ prng_mix(number << 3 | use)));
}

static uint64_t plan_between(const struct plan *plan, enum plan_use use,
			     uint64_t cycle, uint64_t min, uint64_t max)
{
	struct prng prng;

	assert(min <= max && max < UINT64_MAX);
	plan_chance(&prng, plan->seed, use, cycle);
	return min + prng_below(&prng, max - min + 1);
}

/*
 * Cycle 1 is a control cycle. The cycles behind it are cut into one share for
 * each further control cycle, as even as can be, and the seed draws one cycle
 * of each share.
 */
static enum plan_arm plan_arm_of(const struct plan *plan, uint64_t cycle)
{
	const uint64_t room = plan_cycles(plan) - 1;
	uint64_t shares = 0;
	uint64_t place = cycle - 2;
	uint64_t share = 0;
	uint64_t start = 0;
	uint64_t end = 0;
	struct prng prng;

	if (plan->control_cycles == 0)
		return PLAN_ARM_TEST;
	if (cycle == 1)
		return PLAN_ARM_CONTROL;
	shares = plan->control_cycles - 1;
	if (shares == 0)
		return PLAN_ARM_TEST;

	share = ((place + 1) * shares - 1) / room;
	start = share * room / shares;
	end = (share + 1) * room / shares;
	plan_chance(&prng, plan->seed, PLAN_FOR_ARM, share);
	if (place == start + prng_below(&prng, end - start))
		return PLAN_ARM_CONTROL;
	return PLAN_ARM_TEST;
}

uint64_t plan_cycles(const struct plan *plan)
{
	return plan->test_cycles + plan->control_cycles;
}

struct plan_cycle plan_draw(const struct plan *plan, uint64_t cycle)
{
	struct plan_cycle drawn = {0};
	struct prng prng;

	assert(plan_cycles(plan) <= PLAN_CYCLES_MAX);
	assert(cycle >= 1 && cycle <= plan_cycles(plan));

	drawn.arm = plan_arm_of(plan, cycle);
	drawn.after_ms = plan_between(plan, PLAN_FOR_AFTER, cycle,
				      plan->after_min_ms, plan->after_max_ms);
	drawn.off_ms = plan_between(plan, PLAN_FOR_OFF, cycle, plan->off_min_ms,
				    plan->off_max_ms);
	plan_chance(&prng, plan->seed, PLAN_FOR_SEED, cycle);
	drawn.workload_seed = prng_next(&prng);
	return drawn;
}

struct plan_recut plan_recut(const struct plan *plan, uint64_t cycle,
			     uint64_t i)
{
	const uint64_t number = cycle * (PLAN_RECUTS_MAX + 1) + i;

	assert(i < plan->recuts && plan->recuts <= PLAN_RECUTS_MAX);

	return (struct plan_recut){
		.after_ms = plan_between(plan, PLAN_FOR_RECUT_AFTER, number,
					 plan->recut_after_min_ms,
					 plan->recut_after_max_ms),
		.off_ms = plan_between(plan, PLAN_FOR_RECUT_OFF, number,
				       plan->recut_off_min_ms,
				       plan->recut_off_max_ms),
	};
}

const char *plan_arm_name(enum plan_arm arm)
{
	return arm == PLAN_ARM_CONTROL ? "control" : "test";
}
