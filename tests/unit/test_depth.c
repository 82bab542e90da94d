/* SPDX-License-Identifier: MIT */
/* How deep a loss reaches, and what survived behind the first hole. */
#include "tests/unit/cmocka_all.h"

#include "tests/unit/slotworld.h"
#include "verifier/depth.h"

/* 8 slots; 1 ... 16 durable: the slots promise 9 ... 16. */
static void setup_world(struct world *w)
{
	world_init(w, world_run(8, 1));
	world_cycle(w, 1, 1, 100);
	world_durable(w, 1, 16);
}

static void p4_a_hole_counts_the_survivors_behind_it(void **state)
{
	struct tally tally = {.capped = 0};
	struct depth depth = {.writes = 0};
	struct world w;

	(void)state;
	setup_world(&w);
	tally.streams[0].missing = 2; /* 11 and 13, say */
	tally.streams[0].missing_lowest = 11;
	tally.streams[0].lost_oldest = 11;
	depth_of_loss(w.ledger, &tally, NULL, &depth);
	depth_of_hole(w.ledger, w.schedules, &tally, &depth);
	assert_int_equal(depth.writes, 6);
	assert_true(depth.has_hole);
	assert_int_equal(depth.hole_sequence, 11);
	assert_int_equal(depth.survivors_behind, 4); /* 12 14 15 16 */
	assert_false(depth.has_ms);
	world_free(&w);
}

static void p4_a_lost_tail_has_no_survivors(void **state)
{
	struct tally tally = {.capped = 0};
	struct depth depth = {.writes = 0};
	struct world w;

	(void)state;
	setup_world(&w);
	tally.streams[0].missing = 3; /* 14 15 16 */
	tally.streams[0].missing_lowest = 14;
	depth_of_hole(w.ledger, w.schedules, &tally, &depth);
	assert_true(depth.has_hole);
	assert_int_equal(depth.survivors_behind, 0);
	world_free(&w);
}

static void flushes_and_time_come_from_the_log(void **state)
{
	struct logpass_ages ages = {.findings = NULL};
	struct tally tally = {.capped = 0};
	struct depth depth = {.writes = 0};
	struct world w;

	(void)state;
	setup_world(&w);
	tally.streams[0].lost_oldest = 11;
	ages.oldest[0] = (struct logpass_mark){1, 5, 5, 1000000000};
	ages.last[0] = (struct logpass_mark){1, 7, 7, 1013000000};
	depth_of_loss(w.ledger, &tally, &ages, &depth);
	assert_true(depth.has_flushes);
	assert_int_equal(depth.flushes, 3);
	assert_true(depth.has_ms);
	assert_int_equal(depth.ms, 13);
	world_free(&w);
}

/* Between two cycles the writer's host may have been rebooted. */
static void p9_clocks_of_two_cycles_are_not_compared(void **state)
{
	struct logpass_ages ages = {.findings = NULL};
	struct tally tally = {.capped = 0};
	struct depth depth = {.writes = 0};
	struct world w;

	(void)state;
	setup_world(&w);
	tally.streams[0].lost_oldest = 11;
	ages.oldest[0] = (struct logpass_mark){1, 5, 5, 1000000000};
	ages.last[0] = (struct logpass_mark){2, 1, 6, 1013000000};
	depth_of_loss(w.ledger, &tally, &ages, &depth);
	assert_int_equal(depth.flushes, 2);
	assert_false(depth.has_ms);
	world_free(&w);
}

static void nothing_missing_no_hole(void **state)
{
	struct tally tally = {.capped = 0};
	struct depth depth = {.writes = 0};
	struct world w;

	(void)state;
	setup_world(&w);
	depth_of_loss(w.ledger, &tally, NULL, &depth);
	depth_of_hole(w.ledger, w.schedules, &tally, &depth);
	assert_false(depth.has_hole);
	assert_int_equal(depth.writes, 0);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p4_a_hole_counts_the_survivors_behind_it),
		cmocka_unit_test(p4_a_lost_tail_has_no_survivors),
		cmocka_unit_test(flushes_and_time_come_from_the_log),
		cmocka_unit_test(p9_clocks_of_two_cycles_are_not_compared),
		cmocka_unit_test(nothing_missing_no_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
