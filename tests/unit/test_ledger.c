/* SPDX-License-Identifier: MIT */
/*
 * The ledger promises what the log says and no more; it never believes a log
 * that contradicts itself (P9), and never lets a shadow convict (P11).
 */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/base/err.h"
#include "common/format/ledger.h"

static struct ackbody body;
static struct err err;
static struct ledger *ledger;

static struct run some_run(void)
{
	struct run run = {
		.id = {1},
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 2,
	};

	run.size_bytes = run_fit_size(16 * 1024 * 1024, run.block_bytes);
	return run;
}

static int tell_run(const struct run *run)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_RUN;
	body.run = *run;
	return ledger_apply(ledger, &body, &err);
}

static int tell_cycle(uint32_t cycle, uint64_t first0, uint64_t first1)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_CYCLE;
	body.cycle.cycle = cycle;
	body.cycle.sync = ACKBODY_SYNC_FUA;
	body.cycle.queue_depth = 1;
	body.cycle.streams = 2;
	body.cycle.first_sequence[0] = first0;
	body.cycle.first_sequence[1] = first1;
	return ledger_apply(ledger, &body, &err);
}

static int tell_limit(enum ackbody_type type, uint16_t stream,
		      uint64_t sequence)
{
	memset(&body, 0, sizeof(body));
	body.type = type;
	body.limit.stream = stream;
	body.limit.sequence = sequence;
	return ledger_apply(ledger, &body, &err);
}

static int tell_range(enum ackbody_type type, uint64_t first, uint64_t last)
{
	body.type = type;
	body.ranges.stream = 0;
	body.ranges.count = 1;
	body.ranges.ranges[0].first = first;
	body.ranges.ranges[0].last = last;
	return ledger_apply(ledger, &body, &err);
}

static int tell_event(enum ackbody_event event)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_EVENT;
	body.note.event = event;
	return ledger_apply(ledger, &body, &err);
}

static int set_up(void **state)
{
	(void)state;
	ledger = ledger_new(&err);
	return ledger == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	ledger_free(ledger);
	ledger = NULL;
	return 0;
}

/* The run, cycle 1 from number 1, and 1000 numbers reserved in stream 0. */
static void begin(void)
{
	const struct run run = some_run();

	assert_int_equal(tell_run(&run), 0);
	assert_int_equal(tell_cycle(1, 1, 1), 0);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 1000), 0);
}

static void nothing_told_is_nothing_promised(void **state)
{
	(void)state;
	assert_false(ledger_has_run(ledger));
	assert_null(ledger_cycle(ledger));
	assert_int_equal(ledger_limit(ledger, 0), 0);
	assert_int_equal(ledger_state(ledger, 0, 1), LEDGER_DOUBT);
	assert_int_equal(ledger_durable_last(ledger, 0), 0);
	assert_int_equal(ledger_durable_at_or_below(ledger, 0, UINT64_MAX), 0);
	assert_false(ledger_prove(ledger, 0, 1, 5));
}

static void p4_durable_is_promised_and_the_rest_in_doubt(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 32), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 40, 47), 0);
	assert_int_equal(ledger_state(ledger, 0, 1), LEDGER_DURABLE);
	assert_int_equal(ledger_state(ledger, 0, 32), LEDGER_DURABLE);
	assert_int_equal(ledger_state(ledger, 0, 33), LEDGER_DOUBT);
	assert_int_equal(ledger_state(ledger, 1, 1), LEDGER_DOUBT);
	assert_int_equal(ledger_durable_last(ledger, 0), 47);
	assert_int_equal(ledger_durable_count(ledger, 0), 40);
	assert_int_equal(ledger_durable_at_or_below(ledger, 0, 39), 32);
	assert_int_equal(ledger_durable_at_or_below(ledger, 0, 41), 41);
	assert_int_equal(ledger_durable_at_or_below(ledger, 0, 999), 47);
	assert_int_equal(ledger_limit(ledger, 0), 1000);
	assert_int_equal(ledger_limit(ledger, 1), 0);
}

static void p1_completed_is_not_promised(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 1, 10), 0);
	assert_int_equal(ledger_state(ledger, 0, 5), LEDGER_COMPLETED);
	assert_int_equal(ledger_durable_last(ledger, 0), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 3, 5), 0);
	assert_int_equal(ledger_state(ledger, 0, 5), LEDGER_DURABLE);
	assert_int_equal(ledger_state(ledger, 0, 6), LEDGER_COMPLETED);
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 3, 5), 0);
	assert_int_equal(ledger_state(ledger, 0, 5), LEDGER_DURABLE);
}

static void p11_promises_behind_cut_asked_are_shadows(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 1, 60), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 32), 0);
	assert_int_equal(tell_event(ACKBODY_EVENT_CUT_SEEN), 0);
	assert_false(ledger_is_cut_asked(ledger));
	assert_int_equal(tell_event(ACKBODY_EVENT_CUT_ASKED), 0);
	assert_true(ledger_is_cut_asked(ledger));
	assert_int_equal(tell_range(ACKBODY_DURABLE, 20, 50), 0);
	assert_int_equal(ledger_state(ledger, 0, 32), LEDGER_DURABLE);
	assert_int_equal(ledger_state(ledger, 0, 33), LEDGER_SHADOW);
	assert_int_equal(ledger_state(ledger, 0, 51), LEDGER_COMPLETED);
	assert_int_equal(ledger_durable_last(ledger, 0), 32);
	assert_int_equal(ledger_durable_at_or_below(ledger, 0, 50), 32);
	/* the power coming back does not turn them into promises */
	assert_int_equal(tell_event(ACKBODY_EVENT_RESTORED), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 51, 60), 0);
	assert_int_equal(ledger_state(ledger, 0, 60), LEDGER_SHADOW);
	/* said again, the cycle does not begin again */
	assert_int_equal(tell_cycle(1, 1, 1), 0);
	assert_true(ledger_is_cut_asked(ledger));
}

static void p6_a_new_cycle_keeps_promises_and_doubts(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 32), 0);
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 33, 40), 0);
	assert_int_equal(tell_event(ACKBODY_EVENT_CUT_ASKED), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 33, 36), 0);
	assert_int_equal(tell_cycle(2, 1001, 1), 0);
	assert_int_equal(ledger_cycle(ledger)->cycle, 2);
	assert_false(ledger_is_cut_asked(ledger));
	assert_int_equal(ledger_state(ledger, 0, 32), LEDGER_DURABLE);
	assert_int_equal(ledger_state(ledger, 0, 34), LEDGER_DOUBT);
	assert_int_equal(ledger_state(ledger, 0, 40), LEDGER_DOUBT);
	assert_int_equal(ledger_limit(ledger, 0), 1000);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 2000), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1001, 1001), 0);
	assert_int_equal(ledger_state(ledger, 0, 1001), LEDGER_DURABLE);
	assert_int_equal(ledger_durable_at_or_below(ledger, 0, 1000), 32);
}

static void p9_cycles_follow_one_another(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_cycle(3, 1001, 1), -1);
	assert_int_equal(tell_cycle(1, 1001, 1), -1);
	assert_int_equal(tell_cycle(2, 1000, 1), -1);
	assert_int_equal(tell_cycle(2, 2, 1), -1);
	assert_int_equal(tell_cycle(2, 1001, 1), 0);
	assert_int_equal(tell_cycle(1, 1, 1), -1);
	/* what a cycle leaves out is not given to the next one either */
	assert_int_equal(tell_cycle(3, 5000, 1), 0);
	assert_int_equal(ledger_reserved(ledger, 0), 4999);
	assert_int_equal(tell_cycle(4, 4999, 1), -1);
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_CYCLE;
	body.cycle.cycle = 4;
	body.cycle.streams = 1;
	body.cycle.first_sequence[0] = 5000;
	assert_int_equal(ledger_apply(ledger, &body, &err), -1);
}

static void p9_first_cycle_is_number_one(void **state)
{
	const struct run run = some_run();

	(void)state;
	assert_int_equal(tell_run(&run), 0);
	assert_int_equal(tell_cycle(2, 1, 1), -1);
}

static void p9_numbers_above_the_reservation_are_not_believed(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1001, 1001), -1);
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 990, 1001), -1);
	assert_int_equal(ledger_state(ledger, 0, 990), LEDGER_DOUBT);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1000, 1000), 0);
	/* behind "cut asked" too */
	assert_int_equal(tell_event(ACKBODY_EVENT_CUT_ASKED), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1001, 1001), -1);
}

static void p9_a_wrong_range_leaves_the_others_untold(void **state)
{
	(void)state;
	begin();
	(void)tell_range(ACKBODY_DURABLE, 1, 1);
	body.ranges.count = 2;
	body.ranges.ranges[0] = (struct ackbody_range){5, 6};
	body.ranges.ranges[1] = (struct ackbody_range){8, 2000};
	assert_int_equal(ledger_apply(ledger, &body, &err), -1);
	assert_int_equal(ledger_state(ledger, 0, 5), LEDGER_DOUBT);
}

static void p9_numbers_of_an_earlier_cycle_are_not_believed(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 32), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 990, 1000), 0);
	assert_int_equal(tell_cycle(2, 1001, 1), 0);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 2000), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 33, 33), -1);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 30, 33), -1);
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 33, 33), -1);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1000, 1001), -1);
	assert_int_equal(ledger_state(ledger, 0, 33), LEDGER_DOUBT);
	/* already durable: harmless, and does not become this cycle's */
	assert_int_equal(tell_range(ACKBODY_DURABLE, 5, 32), 0);
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 5, 32), 0);
	assert_int_equal(ledger_durable_count(ledger, 0), 43);
}

static void issued_lowers_the_limit_but_not_the_reservation(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 32), 0);
	assert_int_equal(tell_range(ACKBODY_COMPLETED, 60, 60), 0);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 59), -1);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 1001), -1);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 0), -1);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 64), 0);
	assert_int_equal(ledger_limit(ledger, 0), 64);
	assert_int_equal(ledger_reserved(ledger, 0), 1000);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 33, 65), -1);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 33, 64), 0);
	/* said again, and contradicted */
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 64), 0);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 70), -1);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 1000), 0);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 1001), -1);
	assert_int_equal(ledger_limit(ledger, 0), 64);
	assert_int_equal(tell_cycle(2, 65, 1), -1);
	assert_int_equal(tell_cycle(2, 1001, 1), 0);
	assert_int_equal(ledger_limit(ledger, 0), 64);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 1100), 0);
	assert_int_equal(ledger_limit(ledger, 0), 1100);
}

static void issued_none_takes_the_reservation_back(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 5), 0);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 10), 0);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 1, 0), 0);
	assert_int_equal(ledger_limit(ledger, 1), 0);
	assert_int_equal(tell_cycle(2, 1001, 1), 0);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 2000), 0);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 999), -1);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 1000), 0);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 0), 0);
	assert_int_equal(ledger_limit(ledger, 0), 10);
	assert_int_equal(ledger_reserved(ledger, 0), 2000);
}

static void saying_a_thing_twice_is_harmless(void **state)
{
	const struct run run = some_run();

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tell_run(&run), 0);
		assert_int_equal(tell_cycle(1, 1, 1), 0);
		assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 500), 0);
		assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 1000), 0);
		assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 32), 0);
		assert_int_equal(tell_range(ACKBODY_COMPLETED, 33, 34), 0);
		assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 64), 0);
		body.type = ACKBODY_END;
		assert_int_equal(ledger_apply(ledger, &body, &err), 0);
	}
	assert_int_equal(ledger_durable_count(ledger, 0), 32);
	assert_int_equal(ledger_limit(ledger, 0), 64);
}

static void p9_another_run_is_not_believed(void **state)
{
	struct run run = some_run();

	(void)state;
	begin();
	run.seed++;
	assert_int_equal(tell_run(&run), -1);
	assert_int_equal(ledger_run(ledger)->seed, 0);
}

static void p9_statements_out_of_place_are_not_believed(void **state)
{
	const struct run run = some_run();

	(void)state;
	assert_int_equal(tell_cycle(1, 1, 1), -1);
	assert_int_equal(tell_event(ACKBODY_EVENT_NOTE), -1);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 1), -1);
	assert_int_equal(tell_run(&run), 0);
	assert_int_equal(tell_event(ACKBODY_EVENT_NOTE), 0);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 1), -1);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 1), -1);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 0, 0), -1);
	assert_int_equal(tell_cycle(1, 1, 1), 0);
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 2, 1), -1);
	assert_int_equal(tell_limit(ACKBODY_ISSUED, 63, 0), -1);
}

static void p5_media_proof_promises(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 32), 0);
	assert_true(ledger_prove(ledger, 0, 1, 40));
	assert_false(ledger_prove(ledger, 0, 1, 40));
	assert_false(ledger_prove(ledger, 0, 1, 0)); /* none yet */
	assert_int_equal(ledger_state(ledger, 0, 40), LEDGER_DURABLE);
	assert_int_equal(ledger_durable_count(ledger, 0), 40);
	/* what was never reserved, or no stream of ours, proves nothing (P9) */
	assert_false(ledger_prove(ledger, 0, 1, 1001));
	assert_false(ledger_prove(ledger, 2, 1, 5));
	assert_false(ledger_prove(ledger, 0, 0, 50));
}

static void p5_without_a_log_only_the_media_promises(void **state)
{
	const struct run run = some_run();

	(void)state;
	ledger_begin_without_log(ledger, &run);
	assert_true(ledger_has_run(ledger));
	assert_true(ledger_limit(ledger, 0) == UINT64_MAX);
	assert_int_equal(ledger_durable_last(ledger, 1), 0);
	assert_true(ledger_prove(ledger, 1, 1001, 2000));
	assert_int_equal(ledger_durable_last(ledger, 1), 2000);
	assert_int_equal(ledger_state(ledger, 1, 1000), LEDGER_DOUBT);
	assert_false(ledger_prove(ledger, 1, 1, UINT64_MAX));
}

static void a_million_ranges_stay_within_the_limit(void **state)
{
	const uint64_t total = 1000000;

	(void)state;
	begin();
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 4 * total), 0);
	for (uint64_t i = 0; i < total; i++)
		assert_int_equal(
			tell_range(ACKBODY_DURABLE, 2 * i + 1, 2 * i + 1), 0);
	assert_int_equal(ledger_durable_count(ledger, 0), LEDGER_RANGES_MAX);
	assert_int_equal(ledger_forgotten(ledger), total - LEDGER_RANGES_MAX);
	/* the oldest turned into doubt, the newest are promised */
	assert_int_equal(ledger_state(ledger, 0, 1), LEDGER_DOUBT);
	assert_int_equal(ledger_state(ledger, 0, 2 * total - 1),
			 LEDGER_DURABLE);
	assert_int_equal(ledger_durable_at_or_below(ledger, 0, 999), 0);
	/* said again, in the next cycle too: forgotten, but no contradiction */
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 1), 0);
	assert_int_equal(tell_cycle(2, 4 * total + 1, 1), 0);
	assert_int_equal(tell_range(ACKBODY_DURABLE, 1, 1), 0);
	assert_int_equal(ledger_state(ledger, 0, 1), LEDGER_DOUBT);
	assert_false(ledger_prove(ledger, 0, 1, 999));
}

static void a_million_acks_in_order_are_one_range(void **state)
{
	(void)state;
	begin();
	assert_int_equal(tell_limit(ACKBODY_RESERVE, 0, 32000000), 0);
	for (uint64_t i = 0; i < 1000000; i++)
		assert_int_equal(
			tell_range(ACKBODY_DURABLE, 32 * i + 1, 32 * i + 32),
			0);
	assert_int_equal(ledger_durable_count(ledger, 0), 32000000);
	assert_int_equal(ledger_forgotten(ledger), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(nothing_told_is_nothing_promised),
		TEST(p4_durable_is_promised_and_the_rest_in_doubt),
		TEST(p1_completed_is_not_promised),
		TEST(p11_promises_behind_cut_asked_are_shadows),
		TEST(p6_a_new_cycle_keeps_promises_and_doubts),
		TEST(p9_cycles_follow_one_another),
		TEST(p9_first_cycle_is_number_one),
		TEST(p9_numbers_above_the_reservation_are_not_believed),
		TEST(p9_a_wrong_range_leaves_the_others_untold),
		TEST(p9_numbers_of_an_earlier_cycle_are_not_believed),
		TEST(issued_lowers_the_limit_but_not_the_reservation),
		TEST(issued_none_takes_the_reservation_back),
		TEST(saying_a_thing_twice_is_harmless),
		TEST(p9_another_run_is_not_believed),
		TEST(p9_statements_out_of_place_are_not_believed),
		TEST(p5_media_proof_promises),
		TEST(p5_without_a_log_only_the_media_promises),
		TEST(a_million_ranges_stay_within_the_limit),
		TEST(a_million_acks_in_order_are_one_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
