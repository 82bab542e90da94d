/* SPDX-License-Identifier: MIT */
/* plan: the same seed gives the same campaign, and the arms keep their shares.
 */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "campaign/plan.h"

static struct plan plan_of(uint64_t test, uint64_t control, uint64_t seed)
{
	return (struct plan){.seed = seed,
			     .test_cycles = test,
			     .control_cycles = control,
			     .after_min_ms = 100,
			     .after_max_ms = 600,
			     .off_min_ms = 50,
			     .off_max_ms = 80};
}

static uint64_t controls_in(const struct plan *plan)
{
	uint64_t count = 0;

	for (uint64_t i = 1; i <= plan_cycles(plan); i++)
		count += plan_draw(plan, i).arm == PLAN_ARM_CONTROL;
	return count;
}

static void every_arm_gets_exactly_its_cycles(void **state)
{
	(void)state;
	for (uint64_t test = 1; test <= 12; test++) {
		for (uint64_t control = 0; control <= 30; control++) {
			const struct plan plan =
				plan_of(test, control, test * 31 + control);

			assert_int_equal(controls_in(&plan), control);
		}
	}
}

static void the_first_cycle_is_a_control_cycle(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		const struct plan plan = plan_of(20, 5, seed);

		assert_int_equal(plan_draw(&plan, 1).arm, PLAN_ARM_CONTROL);
	}
}

/* No end of the campaign is without a control cycle. */
static void control_cycles_are_spread(void **state)
{
	const struct plan plan = plan_of(100, 11, 7);
	uint64_t gap = 0;

	(void)state;
	for (uint64_t i = 1; i <= plan_cycles(&plan); i++) {
		gap++;
		if (plan_draw(&plan, i).arm == PLAN_ARM_CONTROL)
			gap = 0;
		assert_true(gap <= 2 * 11);
	}
}

static void another_seed_mixes_the_arms_differently(void **state)
{
	const struct plan one = plan_of(40, 20, 1);
	const struct plan two = plan_of(40, 20, 2);
	unsigned int differ = 0;

	(void)state;
	for (uint64_t i = 1; i <= plan_cycles(&one); i++)
		differ += plan_draw(&one, i).arm != plan_draw(&two, i).arm;
	assert_true(differ > 5);
}

static void same_seed_same_plan(void **state)
{
	const struct plan one = plan_of(40, 20, 0x5eed);
	const struct plan two = plan_of(40, 20, 0x5eed);

	(void)state;
	for (uint64_t i = plan_cycles(&one); i >= 1; i--) {
		const struct plan_cycle a = plan_draw(&one, i);
		const struct plan_cycle b = plan_draw(&two, i);

		assert_int_equal(a.arm, b.arm);
		assert_int_equal(a.after_ms, b.after_ms);
		assert_int_equal(a.off_ms, b.off_ms);
		assert_int_equal(a.workload_seed, b.workload_seed);
	}
}

/* A cut a fixed time after the last write would let an idle drain get away:
 * the moment must reach both ends of its range and stay inside. */
static void p2_the_moment_of_the_cut_covers_its_range(void **state)
{
	const struct plan plan = plan_of(2000, 0, 3);
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;

	(void)state;
	for (uint64_t i = 1; i <= 2000; i++) {
		const struct plan_cycle cycle = plan_draw(&plan, i);

		assert_in_range(cycle.after_ms, 100, 600);
		assert_in_range(cycle.off_ms, 50, 80);
		low = cycle.after_ms < low ? cycle.after_ms : low;
		high = cycle.after_ms > high ? cycle.after_ms : high;
	}
	assert_true(low < 110 && high > 590);
}

static void a_range_of_one_moment_is_that_moment(void **state)
{
	struct plan plan = plan_of(3, 0, 3);

	(void)state;
	plan.after_min_ms = plan.after_max_ms = 250;
	assert_int_equal(plan_draw(&plan, 2).after_ms, 250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_arm_gets_exactly_its_cycles),
		cmocka_unit_test(the_first_cycle_is_a_control_cycle),
		cmocka_unit_test(control_cycles_are_spread),
		cmocka_unit_test(another_seed_mixes_the_arms_differently),
		cmocka_unit_test(same_seed_same_plan),
		cmocka_unit_test(p2_the_moment_of_the_cut_covers_its_range),
		cmocka_unit_test(a_range_of_one_moment_is_that_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
