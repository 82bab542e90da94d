/* SPDX-License-Identifier: MIT */
/*
 * P9: a record that dates itself otherwise than the log does was written under
 * a log that had gone on from here; it neither convicts nor acquits.
 */
#include "tests/unit/cmocka_all.h"

#include "tests/unit/slotworld.h"

static struct world world;

/* Slot 0 of 4. Cycle 1 ended at 20, cycle 2 began at 21; 21 is durable. */
static int set_up(void **state)
{
	(void)state;
	world_init(&world, world_run(4, 1));
	world_cycle(&world, 1, 1, 20);
	world_durable(&world, 1, 10);
	world_cycle(&world, 2, 21, 40);
	world_durable(&world, 21, 21);
	world_expect(&world, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	world_free(&world);
	return 0;
}

static void judge_as(uint64_t sequence, uint32_t cycle, uint64_t first,
		     enum verdict verdict)
{
	world_holds(&world, 0, WORLD_ATOMS, sequence);
	for (size_t i = 0; i < WORLD_ATOMS; i++) {
		world.found[i].cycle = cycle;
		world.found[i].first_sequence = first;
		world.found[i].durable_sequence = first - 1;
	}
	world_judge(&world);
	world_all(&world, 0, WORLD_ATOMS, verdict);
	assert_int_equal(world.outcome.is_impossible,
			 verdict == VERDICT_IMPOSSIBLE);
}

static void p9_this_cycles_numbers_are_of_this_cycle(void **state)
{
	(void)state;
	judge_as(21, 2, 21, VERDICT_INTACT);
	judge_as(25, 2, 21, VERDICT_NEWER);
	judge_as(25, 3, 21, VERDICT_IMPOSSIBLE);
	judge_as(25, 1, 21, VERDICT_IMPOSSIBLE);
	judge_as(25, 2, 22, VERDICT_IMPOSSIBLE);
}

static void p9_earlier_numbers_are_of_an_earlier_cycle(void **state)
{
	(void)state;
	judge_as(17, 1, 1, VERDICT_LOST);
	judge_as(17, 2, 1, VERDICT_IMPOSSIBLE);
	judge_as(17, 3, 1, VERDICT_IMPOSSIBLE);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_this_cycles_numbers_are_of_this_cycle),
		ROW(p9_earlier_numbers_are_of_an_earlier_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
