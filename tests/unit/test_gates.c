/* SPDX-License-Identifier: MIT */
/*
 * gates: a cycle that did not do what it was meant to do counts for nothing,
 * neither for the drive nor against it (P9).
 */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "campaign/gates.h"

static char reason[OUTCOME_TEXT_BYTES];

/* A cycle as it should be. */
static struct outcome good_cycle(enum plan_arm arm)
{
	struct outcome outcome = {.cycle = 1, .arm = arm};

	outcome.was_cut = true;
	outcome.was_loaded = true;
	outcome.writer.is_known = true;
	outcome.writer.saw_gone = true;
	outcome.writer.in_flight = 32;
	outcome.judged.has_promise = arm == PLAN_ARM_TEST;
	outcome.writer.flushes = arm == PLAN_ARM_TEST ? 20 : 0;
	outcome.writer.durable = arm == PLAN_ARM_TEST ? 640 : 0;
	outcome.judged.verdict = OUTCOME_KEPT;
	return outcome;
}

static bool counts(const struct outcome *outcome, enum gates_sync sync)
{
	gates_judge(outcome, sync, reason, sizeof(reason));
	return reason[0] == '\0';
}

static void assert_void(const struct outcome *outcome, const char *why)
{
	assert_false(counts(outcome, GATES_SYNC_FLUSH));
	if (strstr(reason, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", reason, why);
}

static void a_good_cycle_counts_in_both_arms(void **state)
{
	const struct outcome test = good_cycle(PLAN_ARM_TEST);
	const struct outcome control = good_cycle(PLAN_ARM_CONTROL);

	(void)state;
	assert_true(counts(&test, GATES_SYNC_FLUSH));
	assert_true(counts(&test, GATES_SYNC_FUA));
	assert_true(counts(&control, GATES_SYNC_FLUSH));
}

static void a_broken_cycle_counts_too(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_CONTROL);

	(void)state;
	outcome.judged.verdict = OUTCOME_BROKEN;
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	outcome.judged.verdict = OUTCOME_GONE;
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
}

static void p9_no_flush_no_test(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	outcome.writer.flushes = 0;
	assert_void(&outcome, "no flush");
	assert_true(counts(&outcome, GATES_SYNC_FUA));
	outcome.writer.durable = 0;
	assert_false(counts(&outcome, GATES_SYNC_FUA));
}

static void p9_a_flush_that_covered_nothing_is_no_test(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	outcome.writer.durable = 0;
	assert_void(&outcome, "durable");
	outcome = good_cycle(PLAN_ARM_TEST);
	outcome.judged.has_promise = false;
	assert_void(&outcome, "promised before the cut was asked");
	outcome.judged.verdict = OUTCOME_BROKEN;
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	outcome = good_cycle(PLAN_ARM_CONTROL);
	outcome.writer.durable = 0;
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
}

static void p9_nothing_in_flight_no_test(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	outcome.writer.in_flight = 0;
	assert_void(&outcome, "in flight");
}

static void p9_a_drive_that_stayed_was_not_cut(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_CONTROL);

	(void)state;
	outcome.writer.saw_gone = false;
	assert_void(&outcome, "did not see the drive go");
	outcome = good_cycle(PLAN_ARM_CONTROL);
	outcome.was_cut = false;
	assert_void(&outcome, "not cut");
	outcome = good_cycle(PLAN_ARM_CONTROL);
	outcome.was_loaded = false;
	assert_void(&outcome, "ended before");
	outcome = good_cycle(PLAN_ARM_CONTROL);
	outcome.writer.is_known = false;
	assert_void(&outcome, "no account");
}

static void p9_no_verdict_counts_for_nothing(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	outcome.judged.verdict = OUTCOME_NONE;
	assert_void(&outcome, "no reason");
	(void)snprintf(outcome.judged.reason, sizeof(outcome.judged.reason),
		       "another drive");
	assert_void(&outcome, "another drive");
}

static void p9_trouble_voids_even_a_conviction(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	outcome.judged.verdict = OUTCOME_BROKEN;
	(void)snprintf(outcome.trouble, sizeof(outcome.trouble),
		       "hook after_on failed");
	assert_void(&outcome, "hook after_on");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_cycle_counts_in_both_arms),
		cmocka_unit_test(a_broken_cycle_counts_too),
		cmocka_unit_test(p9_no_flush_no_test),
		cmocka_unit_test(p9_a_flush_that_covered_nothing_is_no_test),
		cmocka_unit_test(p9_nothing_in_flight_no_test),
		cmocka_unit_test(p9_a_drive_that_stayed_was_not_cut),
		cmocka_unit_test(p9_no_verdict_counts_for_nothing),
		cmocka_unit_test(p9_trouble_voids_even_a_conviction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
