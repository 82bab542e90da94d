/* SPDX-License-Identifier: MIT */
/* tally: one conviction convicts; trouble and doubt never acquit (P9). */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <stdio.h>

#include "campaign/tally.h"

enum fate { KEPT, LOSSY, BROKEN, GONE, VOID_KEPT, VOID_BROKEN };

static struct tally tally;

static int fresh(void **state)
{
	(void)state;
	tally_init(&tally);
	return 0;
}

static void add(enum plan_arm arm, enum fate fate)
{
	struct outcome outcome = {.cycle = 1, .arm = arm};

	outcome.judged.verdict = OUTCOME_KEPT;
	outcome.writer.is_known = outcome.writer.saw_gone = true;
	if (fate == BROKEN || fate == VOID_BROKEN)
		outcome.judged.verdict = OUTCOME_BROKEN;
	if (fate == GONE)
		outcome.judged.verdict = OUTCOME_GONE;
	if (fate == LOSSY)
		outcome.judged.completed_lost = 17;
	if (fate == VOID_KEPT || fate == VOID_BROKEN)
		(void)snprintf(outcome.void_reason, sizeof(outcome.void_reason),
			       "void");
	tally_add(&tally, &outcome);
}

static void assert_verdict(enum tally_verdict expected, int status)
{
	assert_int_equal(tally_judge(&tally, true), expected);
	assert_int_equal(tally_exit_status(expected), status);
}

static void kept_and_loss_in_the_control_arm_is_a_pass(void **state)
{
	(void)state;
	add(PLAN_ARM_CONTROL, LOSSY);
	add(PLAN_ARM_TEST, KEPT);
	assert_verdict(TALLY_PASS, 0);
	assert_int_equal(tally.completed_lost, 17);
}

static void loss_of_unpromised_writes_in_test_cycles_is_evidence(void **state)
{
	(void)state;
	add(PLAN_ARM_TEST, LOSSY);
	assert_verdict(TALLY_PASS, 0);
}

static void p4_one_broken_promise_convicts(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		add(PLAN_ARM_TEST, LOSSY);
	add(PLAN_ARM_TEST, BROKEN);
	add(PLAN_ARM_TEST, VOID_KEPT);
	assert_verdict(TALLY_FAIL, 1);
	assert_int_equal(tally_judge(&tally, false), TALLY_FAIL);
}

static void p6_broken_in_the_control_arm_convicts_too(void **state)
{
	(void)state;
	add(PLAN_ARM_CONTROL, BROKEN);
	add(PLAN_ARM_TEST, LOSSY);
	assert_verdict(TALLY_FAIL, 1);
}

static void a_drive_that_is_gone_convicts(void **state)
{
	(void)state;
	add(PLAN_ARM_TEST, GONE);
	assert_verdict(TALLY_FAIL, 1);
}

static void kept_everywhere_is_no_pass(void **state)
{
	(void)state;
	add(PLAN_ARM_TEST, KEPT);
	assert_verdict(TALLY_INCONCLUSIVE, 3);
	add(PLAN_ARM_CONTROL, KEPT);
	assert_verdict(TALLY_PROTECTED, 3);
	add(PLAN_ARM_TEST, VOID_KEPT);
	assert_verdict(TALLY_INCONCLUSIVE, 3);
}

/* The host's end says nothing of a drive with a supply of its own. */
static void protected_needs_each_cut_proven_by_the_drive(void **state)
{
	struct outcome outcome = {.cycle = 1, .arm = PLAN_ARM_TEST};

	(void)state;
	add(PLAN_ARM_CONTROL, KEPT);
	outcome.judged.verdict = OUTCOME_KEPT;
	outcome.host.is_cut_too = true;
	outcome.host.fell_silent = outcome.host.has_booted = true;
	tally_add(&tally, &outcome);
	assert_int_equal(tally.host, 1);
	assert_int_equal(tally.gone, 1);
	assert_int_equal(tally.not_by_drive, 1);
	assert_verdict(TALLY_INCONCLUSIVE, 3);
	fresh(state);
	add(PLAN_ARM_CONTROL, KEPT);
	outcome.evidence.before.has[COUNTERS_UNSAFE_SHUTDOWNS] = true;
	outcome.evidence.after.has[COUNTERS_UNSAFE_SHUTDOWNS] = true;
	outcome.evidence.after.values[COUNTERS_UNSAFE_SHUTDOWNS] = 1;
	tally_add(&tally, &outcome);
	assert_int_equal(tally.unsafe_shutdowns, 1);
	assert_int_equal(tally.not_by_drive, 0);
	assert_verdict(TALLY_PROTECTED, 3);
}

static void p9_a_void_conviction_takes_the_acquittal_away(void **state)
{
	(void)state;
	add(PLAN_ARM_CONTROL, LOSSY);
	add(PLAN_ARM_TEST, KEPT);
	add(PLAN_ARM_TEST, VOID_BROKEN);
	assert_verdict(TALLY_NO_VERDICT, 2);
}

static void p9_trouble_never_acquits(void **state)
{
	(void)state;
	assert_verdict(TALLY_NO_VERDICT, 2);
	add(PLAN_ARM_CONTROL, LOSSY);
	assert_verdict(TALLY_NO_VERDICT, 2);
	add(PLAN_ARM_TEST, VOID_KEPT);
	assert_verdict(TALLY_NO_VERDICT, 2);
	add(PLAN_ARM_TEST, KEPT);
	assert_verdict(TALLY_PASS, 0);
	assert_int_equal(tally_judge(&tally, false), TALLY_NO_VERDICT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			kept_and_loss_in_the_control_arm_is_a_pass, fresh),
		cmocka_unit_test_setup(
			loss_of_unpromised_writes_in_test_cycles_is_evidence,
			fresh),
		cmocka_unit_test_setup(p4_one_broken_promise_convicts, fresh),
		cmocka_unit_test_setup(
			p6_broken_in_the_control_arm_convicts_too, fresh),
		cmocka_unit_test_setup(a_drive_that_is_gone_convicts, fresh),
		cmocka_unit_test_setup(kept_everywhere_is_no_pass, fresh),
		cmocka_unit_test_setup(
			protected_needs_each_cut_proven_by_the_drive, fresh),
		cmocka_unit_test_setup(
			p9_a_void_conviction_takes_the_acquittal_away, fresh),
		cmocka_unit_test_setup(p9_trouble_never_acquits, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
