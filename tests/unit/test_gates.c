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

static void keep(struct outcome *outcome, enum counters_kind kind,
		 uint64_t before, uint64_t after)
{
	outcome->evidence.before.has[kind] = true;
	outcome->evidence.before.values[kind] = before;
	outcome->evidence.after.has[kind] = true;
	outcome->evidence.after.values[kind] = after;
}

static void p9_a_counter_that_stands_denies_the_cut(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	keep(&outcome, COUNTERS_POWER_CYCLES, 12, 12);
	assert_void(&outcome, "power was never gone (power cycles 12 -> 12)");
	keep(&outcome, COUNTERS_POWER_CYCLES, 12, 11);
	assert_void(&outcome, "power was never gone");
	/* Not even a conviction stands against it. */
	outcome.judged.verdict = OUTCOME_BROKEN;
	assert_void(&outcome, "power was never gone");
	keep(&outcome, COUNTERS_POWER_CYCLES, 12, 13);
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
}

static void p9_a_drive_that_was_shut_down_was_not_cut(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	keep(&outcome, COUNTERS_POWER_CYCLES, 12, 13);
	keep(&outcome, COUNTERS_UNSAFE_SHUTDOWNS, 4, 4);
	assert_void(&outcome, "no unsafe shutdown");
	keep(&outcome, COUNTERS_UNSAFE_SHUTDOWNS, 4, 5);
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
}

static void a_counter_that_is_not_kept_says_nothing(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	keep(&outcome, COUNTERS_POWER_CYCLES, 0, 0);
	keep(&outcome, COUNTERS_UNSAFE_SHUTDOWNS, 0, 0);
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	assert_int_equal(gates_proofs(&outcome), GATES_PROOF_GONE);
	/* Read before the cut, and not behind it. */
	outcome = good_cycle(PLAN_ARM_TEST);
	outcome.evidence.before.has[COUNTERS_POWER_CYCLES] = true;
	outcome.evidence.before.values[COUNTERS_POWER_CYCLES] = 12;
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	assert_true(outcome_counters_are_lost(&outcome));
}

static void a_counter_that_rose_proves_the_cut(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);

	(void)state;
	outcome.writer.saw_gone = false;
	assert_void(&outcome, "the cut is not proven");
	keep(&outcome, COUNTERS_POWER_CYCLES, 0, 1);
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	assert_int_equal(gates_proofs(&outcome), GATES_PROOF_POWER_CYCLES);
	outcome = good_cycle(PLAN_ARM_TEST);
	outcome.writer.saw_gone = false;
	outcome.evidence.diskseq_before = 7;
	assert_void(&outcome, "the cut is not proven");
	outcome.evidence.diskseq_after = 7;
	assert_void(&outcome, "the cut is not proven");
	outcome.evidence.diskseq_after = 8;
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	assert_int_equal(gates_proofs(&outcome), GATES_PROOF_NEW_DEVICE);
}

static void p9_another_cache_is_another_test(void **state)
{
	struct outcome outcome = good_cycle(PLAN_ARM_TEST);
	struct outcome_evidence *evidence = &outcome.evidence;

	(void)state;
	(void)snprintf(evidence->cache_before, sizeof(evidence->cache_before),
		       "write back");
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	(void)snprintf(evidence->cache_after, sizeof(evidence->cache_after),
		       "write through");
	assert_void(&outcome, "another one than before the cut");
}

/* A host and its writer died: no account, the log speaks. */
static struct outcome good_host(enum plan_arm arm)
{
	struct outcome outcome = good_cycle(arm);

	memset(&outcome.writer, 0, sizeof(outcome.writer));
	outcome.was_loaded = false;
	outcome.host.is_cut_too = true;
	outcome.host.was_writing = true;
	outcome.host.fell_silent = true;
	outcome.host.has_booted = true;
	return outcome;
}

static void p11_a_host_must_be_seen_to_have_died(void **state)
{
	struct outcome outcome = good_host(PLAN_ARM_TEST);

	(void)state;
	assert_true(counts(&outcome, GATES_SYNC_FLUSH));
	assert_true(counts(&outcome, GATES_SYNC_FUA));
	assert_int_equal(gates_proofs(&outcome), GATES_PROOF_HOST);
	assert_int_equal(gates_proofs(&outcome) & GATES_PROOFS_OF_DRIVE, 0);
	outcome.host.has_booted = false;
	assert_void(&outcome, "nothing shows that the host lost its power");
	outcome = good_host(PLAN_ARM_TEST);
	outcome.host.fell_silent = false;
	assert_void(&outcome, "acknowledgements went on");
	outcome = good_host(PLAN_ARM_CONTROL);
	outcome.host.was_writing = false;
	assert_void(&outcome, "stopped growing before");
	outcome = good_host(PLAN_ARM_CONTROL);
	outcome.was_cut = false;
	assert_void(&outcome, "not cut");
}

static void p9_a_host_whose_writer_promised_nothing_is_no_test(void **state)
{
	struct outcome outcome = good_host(PLAN_ARM_TEST);

	(void)state;
	outcome.judged.has_promise = false;
	assert_void(&outcome, "promised before the cut was asked");
	outcome = good_host(PLAN_ARM_TEST);
	keep(&outcome, COUNTERS_POWER_CYCLES, 5, 5);
	assert_void(&outcome, "power was never gone");
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
		cmocka_unit_test(p9_a_counter_that_stands_denies_the_cut),
		cmocka_unit_test(p9_a_drive_that_was_shut_down_was_not_cut),
		cmocka_unit_test(a_counter_that_is_not_kept_says_nothing),
		cmocka_unit_test(a_counter_that_rose_proves_the_cut),
		cmocka_unit_test(p9_another_cache_is_another_test),
		cmocka_unit_test(p11_a_host_must_be_seen_to_have_died),
		cmocka_unit_test(
			p9_a_host_whose_writer_promised_nothing_is_no_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
