/* SPDX-License-Identifier: MIT */
/*
 * expect_slot() must name the newest promised write of a slot, of whatever
 * cycle, and promise nothing that was not promised.
 */
#include "tests/unit/cmocka_all.h"

#include "tests/unit/slotworld.h"

static void p4_newest_durable_write_is_expected(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	world_durable(&w, 1, 10);
	world_expect(&w, 1); /* writes 2, 6, 10 */
	assert_true(w.promise.has_promise);
	assert_int_equal(w.promise.durable_sequence, 10);
	world_expect(&w, 2); /* 3, 7; 11 is in doubt */
	assert_int_equal(w.promise.durable_sequence, 7);
	assert_int_equal(w.promise.limit, 100);
	world_free(&w);
}

static void p6_generation_0_is_promised_by_the_fill(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	world_durable(&w, 1, 2);
	world_expect(&w, 3);
	assert_true(w.promise.has_promise);
	assert_int_equal(w.promise.durable_sequence, 0);
	world_free(&w);
}

static void p9_nothing_is_promised_without_a_fill(void **state)
{
	struct run run = world_run(4, 1);
	struct world w;

	(void)state;
	run.is_filled = false;
	world_init(&w, run);
	world_cycle(&w, 1, 1, 100);
	world_durable(&w, 1, 2);
	world_expect(&w, 3);
	assert_false(w.promise.has_promise);
	world_expect(&w, 1);
	assert_true(w.promise.has_promise);
	assert_int_equal(w.promise.durable_sequence, 2);
	world_free(&w);
}

static void p6_leftover_slots_hold_generation_0(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(5, 2)); /* 2 slots each, the 5th is left */
	world_cycle(&w, 1, 1, 100);
	world_say(&w, ACKBODY_DURABLE, 0, 1, 50);
	world_say(&w, ACKBODY_DURABLE, 1, 1, 50);
	world_expect(&w, 4);
	assert_int_equal(w.promise.stream, -1);
	assert_true(w.promise.has_promise);
	assert_int_equal(w.promise.durable_sequence, 0);
	world_free(&w);
}

static void p4_each_stream_has_its_own_promises(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 2));
	world_cycle(&w, 1, 1, 100);
	world_say(&w, ACKBODY_DURABLE, 0, 1, 10);
	world_say(&w, ACKBODY_DURABLE, 1, 1, 3);
	world_expect(&w, 0); /* stream 0: 1, 3, 5, 7, 9 */
	assert_int_equal(w.promise.durable_sequence, 9);
	world_expect(&w, 2); /* stream 1: 1, 3 */
	assert_int_equal(w.promise.stream, 1);
	assert_int_equal(w.promise.durable_sequence, 3);
	world_free(&w);
}

/* Cycle 1 leaves 11 ... 100 in doubt for ever; they are never expected. */
static void p3_doubt_of_earlier_cycles_is_passed_over(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	world_durable(&w, 1, 10);
	world_cycle(&w, 2, 101, 200);
	world_durable(&w, 101, 102);
	world_expect(&w, 0); /* 101 */
	assert_int_equal(w.promise.durable_sequence, 101);
	world_expect(&w, 3); /* 100 and 104 are in doubt, 8 is not */
	assert_int_equal(w.promise.durable_sequence, 8);
	world_expect(&w, 1); /* 102 */
	assert_int_equal(w.promise.durable_sequence, 102);
	world_free(&w);
}

static void p3_gaps_between_durable_writes_are_in_doubt(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 20);
	world_durable(&w, 1, 4);
	world_durable(&w, 7, 8); /* FUA: 5 and 6 are still in flight */
	world_expect(&w, 0);
	assert_int_equal(w.promise.durable_sequence, 1);
	world_expect(&w, 2);
	assert_int_equal(w.promise.durable_sequence, 7);
	world_free(&w);
}

/* A writer's host that died reserved far more than it issued; what it had
 * completed is evidence all the same. */
static void p1_completed_far_below_the_limit_is_seen(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 4 * 60000);
	world_completed(&w, 5, 13);
	world_expect(&w, 0);
	assert_int_equal(w.promise.completed_sequence, 13);
	world_free(&w);
}

static void p1_completed_is_no_promise(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	world_durable(&w, 1, 4);
	world_completed(&w, 5, 13);
	world_expect(&w, 0); /* 1; 5, 9, 13 completed */
	assert_int_equal(w.promise.durable_sequence, 1);
	assert_int_equal(w.promise.completed_sequence, 13);
	assert_int_equal(w.promise.shadow_sequence, 0);
	world_free(&w);
}

static void p11_behind_cut_asked_is_a_shadow(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	world_durable(&w, 1, 4);
	world_cut_asked(&w);
	world_durable(&w, 5, 8);
	world_expect(&w, 0);
	assert_int_equal(w.promise.durable_sequence, 1);
	assert_int_equal(w.promise.shadow_sequence, 5);
	world_free(&w);
}

static void p5_media_proof_promises_without_a_log(void **state)
{
	struct run run = world_run(4, 1);
	struct world w = {.run = run};
	struct err err;

	(void)state;
	w.ledger = ledger_new(&err);
	ledger_begin_without_log(w.ledger, &run);
	expect_schedules(&run, w.schedules);
	world_expect(&w, 0);
	assert_int_equal(w.promise.durable_sequence, 0);
	assert_true(ledger_prove(w.ledger, 0, 1, 9));
	world_expect(&w, 0);
	assert_int_equal(w.promise.durable_sequence, 9);
	assert_true(w.promise.limit == UINT64_MAX);
	world_free(&w);
}

static void p4_a_region_of_one_slot_works(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(1, 1));
	world_cycle(&w, 1, 1, 5000000);
	world_durable(&w, 1, 77);
	world_expect(&w, 0);
	assert_int_equal(w.promise.durable_sequence, 77);
	world_free(&w);
}

/* Every other number durable, in a region of two slots: one of the slots is
 * never promised and needs a step for each range. */
static void p9_too_long_a_history_promises_nothing(void **state)
{
	struct world w;
	uint64_t s;

	(void)state;
	world_init(&w, world_run(2, 1));
	world_cycle(&w, 1, 1, 3 * EXPECT_STEPS_MAX);
	for (s = 1; s <= 2 * EXPECT_STEPS_MAX + 100; s += 2)
		world_durable(&w, s, s);
	world_expect(&w, 1);
	assert_true(w.promise.is_capped);
	assert_false(w.promise.has_promise);
	world_expect(&w, 0);
	assert_false(w.promise.is_capped);
	assert_true(w.promise.has_promise);
	world_free(&w);
}

/* One pass over many slots, write N in slot N - 1; every fourth write is
 * durable: one range more than is kept. */
static void p9_what_may_be_forgotten_is_not_judged(void **state)
{
	const uint64_t last = 4 * LEDGER_RANGES_MAX + 1;
	struct world w;
	uint64_t s;

	(void)state;
	world_init(&w, world_run(last + 1, 1));
	world_cycle(&w, 1, 1, last + 1);
	for (s = 5; s <= last; s += 4)
		world_durable(&w, s, s);
	assert_int_equal(ledger_floor(w.ledger, 0), 0);
	world_expect(&w, 0);
	assert_false(w.promise.is_capped);
	world_durable(&w, 1, 1);
	assert_int_equal(ledger_floor(w.ledger, 0), 1);
	world_expect(&w, 0); /* it was durable, which nobody knows now */
	assert_true(w.promise.is_capped);
	assert_int_equal(w.promise.durable_sequence, 0);
	world_expect(&w, 1);
	assert_false(w.promise.is_capped);
	world_expect(&w, 4);
	assert_false(w.promise.is_capped);
	assert_int_equal(w.promise.durable_sequence, 5);
	world_free(&w);
}

/* The same as a table that remembers every write, for a random schedule. */
static void p4_agrees_with_a_table_of_all_writes(void **state)
{
	struct run run = world_run(37, 1);
	uint64_t newest[37] = {0};
	struct world w;
	uint64_t s, slot;

	(void)state;
	run.pattern = RUN_PATTERN_RANDOM;
	run.seed = 99;
	world_init(&w, run);
	world_cycle(&w, 1, 1, 1000);
	for (s = 1; s <= 500; s++) {
		if (s % 7 == 0 || (s > 200 && s < 300))
			continue;
		world_durable(&w, s, s);
		newest[schedule_slot(&w.schedules[0], s)] = s;
	}
	for (slot = 0; slot < 37; slot++) {
		world_expect(&w, slot);
		assert_int_equal(w.promise.durable_sequence, newest[slot]);
	}
	world_free(&w);
}

/* The same slot by slot: over the edges of streams, and those left over. */
static void p4_many_begin_where_each_does(void **state)
{
	struct run run = world_run(3 * 37 + 2, 3);
	uint64_t newest[EXPECT_MANY_MAX];
	struct world w;
	uint64_t slot, limit;

	(void)state;
	run.pattern = RUN_PATTERN_RANDOM;
	for (limit = 1; limit < 120; limit += 17) {
		world_init(&w, run);
		world_cycle(&w, 1, 1, limit);
		for (slot = 0; slot + EXPECT_MANY_MAX <= 3 * 37 + 2; slot++) {
			expect_newest(w.ledger, w.schedules, slot,
				      EXPECT_MANY_MAX, newest);
			for (size_t i = 0; i < EXPECT_MANY_MAX; i++) {
				uint64_t stream = (slot + i) / 37;

				assert_true(
					newest[i] ==
					(stream == 3
						 ? 0
						 : schedule_newest(
							   &w.schedules[stream],
							   (slot + i) % 37,
							   limit)));
			}
		}
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p4_newest_durable_write_is_expected),
		cmocka_unit_test(p6_generation_0_is_promised_by_the_fill),
		cmocka_unit_test(p9_nothing_is_promised_without_a_fill),
		cmocka_unit_test(p6_leftover_slots_hold_generation_0),
		cmocka_unit_test(p4_each_stream_has_its_own_promises),
		cmocka_unit_test(p3_doubt_of_earlier_cycles_is_passed_over),
		cmocka_unit_test(p3_gaps_between_durable_writes_are_in_doubt),
		cmocka_unit_test(p1_completed_is_no_promise),
		cmocka_unit_test(p1_completed_far_below_the_limit_is_seen),
		cmocka_unit_test(p11_behind_cut_asked_is_a_shadow),
		cmocka_unit_test(p5_media_proof_promises_without_a_log),
		cmocka_unit_test(p4_a_region_of_one_slot_works),
		cmocka_unit_test(p9_too_long_a_history_promises_nothing),
		cmocka_unit_test(p9_what_may_be_forgotten_is_not_judged),
		cmocka_unit_test(p4_agrees_with_a_table_of_all_writes),
		cmocka_unit_test(p4_many_begin_where_each_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
