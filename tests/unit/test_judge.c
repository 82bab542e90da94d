/* SPDX-License-Identifier: MIT */
/*
 * judge_slot() must convict for every broken promise and for nothing else. Each
 * test is named after the rule it proves, and builds only what the rule needs.
 */
#include "tests/unit/cmocka_all.h"

#include "tests/unit/slotworld.h"

/* Slot 0 of 4: writes 1, 5, 9, 13, 17. 1 ... 10 are durable (newest: 9),
 * numbers up to 20 may have been issued. */
static int setup(void **state)
{
	static struct world world;

	world_init(&world, world_run(4, 1));
	world_cycle(&world, 1, 1, 20);
	world_durable(&world, 1, 10);
	world_expect(&world, 0);
	world_holds(&world, 0, WORLD_ATOMS, 9);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

static void p4_newest_promised_is_intact(void **state)
{
	struct world *w = *state;

	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_INTACT);
	assert_false(w->outcome.is_broken);
	assert_false(w->outcome.is_impossible);
	assert_false(w->outcome.has_newer);
}

static void p4_older_than_promised_is_lost(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, WORLD_ATOMS, 5);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_LOST);
	assert_true(w->outcome.is_broken);
	world_holds(w, 0, WORLD_ATOMS, 0);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_LOST);
}

static void p3_unpromised_write_may_survive(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, WORLD_ATOMS, 13);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_NEWER);
	assert_false(w->outcome.is_broken);
	assert_true(w->outcome.has_newer);
}

static void p3_unpromised_write_may_be_torn_between_blocks(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, WORLD_BLOCK_ATOMS, 13);
	world_judge(w);
	world_all(w, 0, WORLD_BLOCK_ATOMS, VERDICT_NEWER);
	world_all(w, WORLD_BLOCK_ATOMS, WORLD_ATOMS, VERDICT_INTACT);
	assert_false(w->outcome.is_broken);
}

static void p8_unpromised_write_torn_inside_a_block_is_corrupt(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, 3, 13);
	world_judge(w);
	world_all(w, 0, WORLD_BLOCK_ATOMS, VERDICT_CORRUPT);
	world_all(w, WORLD_BLOCK_ATOMS, WORLD_ATOMS, VERDICT_INTACT);
	assert_true(w->outcome.is_broken);
}

static void p8_two_unpromised_writes_in_one_block_are_corrupt(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, 4, 13);
	world_holds(w, 4, WORLD_BLOCK_ATOMS, 17);
	world_judge(w);
	world_all(w, 0, WORLD_BLOCK_ATOMS, VERDICT_CORRUPT);
}

static void p4_part_of_promised_write_is_torn(void **state)
{
	struct world *w = *state;

	world_holds(w, 3, WORLD_ATOMS, 5);
	world_judge(w);
	world_all(w, 0, 3, VERDICT_INTACT);
	world_all(w, 3, WORLD_ATOMS, VERDICT_TORN);
	assert_true(w->outcome.is_broken);
}

/* A newer write over half of the slot does not excuse the other half. */
static void p4_newer_beside_older_is_lost(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, WORLD_BLOCK_ATOMS, 13);
	world_holds(w, WORLD_BLOCK_ATOMS, WORLD_ATOMS, 5);
	world_judge(w);
	world_all(w, 0, WORLD_BLOCK_ATOMS, VERDICT_NEWER);
	world_all(w, WORLD_BLOCK_ATOMS, WORLD_ATOMS, VERDICT_LOST);
	assert_true(w->outcome.is_broken);
}

static void p4_each_bad_content_has_its_class(void **state)
{
	static const struct {
		enum record_state state;
		enum verdict verdict;
	} table[] = {{RECORD_BLANK, VERDICT_BLANK},
		     {RECORD_FOREIGN, VERDICT_FOREIGN},
		     {RECORD_CORRUPT, VERDICT_CORRUPT}};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < 3; i++) {
		world_holds(w, 0, WORLD_ATOMS, 9);
		world_holds_state(w, 5, 6, table[i].state);
		world_judge(w);
		world_all(w, 0, 5, VERDICT_INTACT);
		world_all(w, 5, 6, table[i].verdict);
		world_all(w, 6, WORLD_ATOMS, VERDICT_INTACT);
		assert_true(w->outcome.is_broken);
	}
}

static void p4_each_read_error_has_its_class(void **state)
{
	static const struct {
		enum judge_read read;
		enum verdict verdict;
	} table[] = {{JUDGE_READ_UNREADABLE, VERDICT_UNREADABLE},
		     {JUDGE_READ_HUNG, VERDICT_HUNG},
		     {JUDGE_READ_GONE, VERDICT_GONE}};
	struct world *w = *state;
	size_t i;

	for (i = 0; i < 3; i++) {
		w->reads[2] = table[i].read;
		world_judge(w);
		world_all(w, 2, 3, table[i].verdict);
		world_all(w, 3, WORLD_ATOMS, VERDICT_INTACT);
		assert_true(w->outcome.is_broken);
	}
	memset(w->reads, 0, sizeof(w->reads));
}

static void p7_good_atom_of_another_place_is_misdirected(void **state)
{
	struct world *w = *state;
	size_t i;

	world_holds(w, 0, WORLD_ATOMS, 10); /* write 10 belongs to slot 1 */
	for (i = 0; i < WORLD_ATOMS; i++)
		w->found[i].offset_bytes += w->run.block_bytes;
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_MISDIRECTED);
	assert_true(w->outcome.is_broken);
}

/* The right content a few sectors beside its place. */
static void p7_shifted_within_the_slot_is_misdirected(void **state)
{
	struct world *w = *state;

	w->found[4] = w->found[3];
	world_judge(w);
	world_all(w, 4, 5, VERDICT_MISDIRECTED);
}

static void p9_number_above_the_limit_blames_the_tester(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, WORLD_ATOMS, 21);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_IMPOSSIBLE);
	assert_true(w->outcome.is_impossible);
	assert_false(w->outcome.is_broken);
	w->found[0].offset_bytes += w->run.block_bytes; /* wherever it lies */
	world_judge(w);
	world_all(w, 0, 1, VERDICT_IMPOSSIBLE);
}

static void p9_number_of_another_slot_blames_the_tester(void **state)
{
	struct world *w = *state;

	world_holds(w, 0, WORLD_ATOMS, 10);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_IMPOSSIBLE);
}

static void p9_impossible_headers_blame_the_tester(void **state)
{
	struct world *w = *state;

	w->found[0].stream = 7; /* the run has one */
	w->found[2].index = 3;
	w->found[4].atoms = 8;
	w->found[6].durable_sequence = 9; /* proves itself */
	world_judge(w);
	world_all(w, 0, 1, VERDICT_IMPOSSIBLE);
	world_all(w, 2, 3, VERDICT_IMPOSSIBLE);
	world_all(w, 4, 5, VERDICT_IMPOSSIBLE);
	world_all(w, 6, 7, VERDICT_IMPOSSIBLE);
	assert_true(w->outcome.is_impossible);
	assert_false(w->outcome.is_broken);
}

static void p6_slot_never_written_keeps_generation_0(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 20);
	world_durable(&w, 1, 1);
	world_expect(&w, 3);
	world_holds(&w, 0, WORLD_ATOMS, 0);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_INTACT);
	world_holds_state(&w, 0, WORLD_ATOMS, RECORD_BLANK);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_BLANK);
	assert_true(w.outcome.is_broken);
	world_holds(&w, 0, WORLD_ATOMS, 4); /* issued perhaps */
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_NEWER);
	world_free(&w);
}

static void p6_leftover_slot_never_holds_a_write(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(5, 2));
	world_cycle(&w, 1, 1, 20);
	world_durable(&w, 1, 1);
	world_expect(&w, 4);
	world_holds(&w, 0, WORLD_ATOMS, 0);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_INTACT);
	world_holds(&w, 0, WORLD_ATOMS, 5);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_IMPOSSIBLE);
	world_free(&w);
}

static void without_fill(struct world *w)
{
	struct run run = world_run(4, 1);

	run.is_filled = false;
	world_init(w, run);
	world_cycle(w, 1, 1, 20);
	world_durable(w, 1, 1);
	world_expect(w, 3);
}

static void p9_nothing_promised_nothing_broken(void **state)
{
	struct world w;

	(void)state;
	without_fill(&w);
	world_holds_state(&w, 0, 4, RECORD_BLANK);
	world_holds_state(&w, 4, 8, RECORD_FOREIGN);
	world_holds_state(&w, 8, WORLD_ATOMS, RECORD_CORRUPT);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_UNPROMISED);
	assert_false(w.outcome.is_broken);
	w.reads[0] = JUDGE_READ_UNREADABLE; /* told, not held against it */
	world_judge(&w);
	world_all(&w, 0, 1, VERDICT_UNREADABLE);
	assert_false(w.outcome.is_broken);
	world_holds(&w, 8, WORLD_ATOMS, 4);
	world_judge(&w);
	world_all(&w, 8, WORLD_ATOMS, VERDICT_NEWER);
	assert_false(w.outcome.is_broken);
	world_free(&w);
}

static void p8_torn_block_is_corrupt_without_a_promise(void **state)
{
	struct world w;

	(void)state;
	without_fill(&w);
	world_holds_state(&w, 0, WORLD_ATOMS, RECORD_BLANK);
	world_holds(&w, 0, 2, 4);
	world_judge(&w);
	world_all(&w, 0, WORLD_BLOCK_ATOMS, VERDICT_CORRUPT);
	world_all(&w, WORLD_BLOCK_ATOMS, WORLD_ATOMS, VERDICT_UNPROMISED);
	assert_true(w.outcome.is_broken);
	world_free(&w);
}

static void p9_impossible_without_a_promise_too(void **state)
{
	struct world w;

	(void)state;
	without_fill(&w);
	world_holds(&w, 0, WORLD_ATOMS, 24);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_IMPOSSIBLE);
	world_holds(&w, 0, WORLD_ATOMS, 0); /* nobody wrote generation 0 */
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_IMPOSSIBLE);
	world_free(&w);
}

/* Cycle 1 left 11 ... 20 in doubt; they may turn up in cycle 2. */
static void p3_doubt_of_an_earlier_cycle_stays_acceptable(void **state)
{
	struct world *w = *state;

	world_cycle(w, 2, 21, 40);
	world_expect(w, 0);
	assert_int_equal(w->promise.durable_sequence, 9);
	world_holds(w, 0, WORLD_ATOMS, 17);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_NEWER);
	world_durable(w, 21, 21);
	world_expect(w, 0);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_LOST);
}

static void p1_completed_and_gone_is_evidence_only(void **state)
{
	struct world *w = *state;

	world_completed(w, 11, 13);
	world_expect(w, 0);
	world_judge(w);
	assert_true(w->outcome.is_completed_lost);
	assert_false(w->outcome.is_broken);
	world_holds(w, 0, 8, 13); /* a part of it is there */
	world_judge(w);
	assert_false(w->outcome.is_completed_lost);
	world_holds(w, 0, WORLD_ATOMS, 17); /* overwritten by a newer one */
	world_judge(w);
	assert_false(w->outcome.is_completed_lost);
	world_holds(w, 0, WORLD_ATOMS, 9);
	w->reads[0] = JUDGE_READ_UNREADABLE; /* who knows */
	world_judge(w);
	assert_false(w->outcome.is_completed_lost);
	w->reads[0] = JUDGE_READ_OK;
}

static void p11_shadow_loss_convicts_nobody(void **state)
{
	struct world *w = *state;

	world_cut_asked(w);
	world_durable(w, 11, 13);
	world_expect(w, 0);
	world_judge(w);
	world_all(w, 0, WORLD_ATOMS, VERDICT_INTACT);
	assert_true(w->outcome.is_shadow_lost);
	assert_false(w->outcome.is_broken);
	world_holds(w, 0, WORLD_ATOMS, 13);
	world_judge(w);
	assert_false(w->outcome.is_shadow_lost);
}

static void p4_generations_count_passes_over_the_slot(void **state)
{
	struct world *w = *state;
	const struct schedule *schedule = &w->schedules[0];

	assert_int_equal(judge_generations(schedule, 9, 5), 1);
	assert_int_equal(judge_generations(schedule, 9, 1), 2);
	assert_int_equal(judge_generations(schedule, 9, 0), 3);
	assert_int_equal(judge_generations(schedule, 1, 0), 1);
	assert_int_equal(judge_generations(schedule, 9, 9), 0);
	assert_int_equal(judge_generations(schedule, 0, 0), 0);
}

static void p4_a_region_of_one_slot_is_judged(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(1, 1));
	world_cycle(&w, 1, 1, 20);
	world_durable(&w, 1, 7);
	world_expect(&w, 0);
	world_holds(&w, 0, WORLD_ATOMS, 7);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_INTACT);
	world_holds(&w, 0, WORLD_ATOMS, 6);
	world_judge(&w);
	world_all(&w, 0, WORLD_ATOMS, VERDICT_LOST);
	world_free(&w);
}

static void every_broken_verdict_cites_a_rule(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < VERDICT_COUNT; i++) {
		assert_true(verdict_word((enum verdict)i)[0] != '\0');
		assert_true(verdict_meaning((enum verdict)i)[0] != '\0');
		if (verdict_is_broken((enum verdict)i))
			assert_int_equal(verdict_rule((enum verdict)i)[0], 'P');
	}
}

#define RULE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(p4_newest_promised_is_intact),
		RULE(p4_older_than_promised_is_lost),
		RULE(p3_unpromised_write_may_survive),
		RULE(p3_unpromised_write_may_be_torn_between_blocks),
		RULE(p8_unpromised_write_torn_inside_a_block_is_corrupt),
		RULE(p8_two_unpromised_writes_in_one_block_are_corrupt),
		RULE(p4_part_of_promised_write_is_torn),
		RULE(p4_newer_beside_older_is_lost),
		RULE(p4_each_bad_content_has_its_class),
		RULE(p4_each_read_error_has_its_class),
		RULE(p7_good_atom_of_another_place_is_misdirected),
		RULE(p7_shifted_within_the_slot_is_misdirected),
		RULE(p9_number_above_the_limit_blames_the_tester),
		RULE(p9_number_of_another_slot_blames_the_tester),
		RULE(p9_impossible_headers_blame_the_tester),
		cmocka_unit_test(p6_slot_never_written_keeps_generation_0),
		cmocka_unit_test(p6_leftover_slot_never_holds_a_write),
		cmocka_unit_test(p9_nothing_promised_nothing_broken),
		cmocka_unit_test(p8_torn_block_is_corrupt_without_a_promise),
		cmocka_unit_test(p9_impossible_without_a_promise_too),
		RULE(p3_doubt_of_an_earlier_cycle_stays_acceptable),
		RULE(p1_completed_and_gone_is_evidence_only),
		RULE(p11_shadow_loss_convicts_nobody),
		RULE(p4_generations_count_passes_over_the_slot),
		cmocka_unit_test(p4_a_region_of_one_slot_is_judged),
		cmocka_unit_test(every_broken_verdict_cites_a_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
