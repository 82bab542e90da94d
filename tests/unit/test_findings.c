/* SPDX-License-Identifier: MIT */
/*
 * What a scan adds up to must not depend on the order in which slots were
 * judged, and must stay bounded.
 */
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>

#include "tests/unit/slotworld.h"
#include "verifier/findings.h"

static struct finding at(uint64_t offset_bytes)
{
	return (struct finding){.class = VERDICT_LOST,
				.offset_bytes = offset_bytes,
				.atoms = 1};
}

static void take(struct world *w, struct tally *tally,
		 struct findings *findings)
{
	struct judge_input input;

	world_judge(w);
	input = world_input(w);
	tally_slot(tally, &input, w->classes, &w->outcome);
	if (findings_has_news(w->classes, WORLD_ATOMS))
		findings_slot(findings, &input, w->classes);
}

static void keeps_the_lowest_offsets_in_any_order(void **state)
{
	struct findings *findings = calloc(1, sizeof(*findings));
	uint64_t i, count = 5000;

	(void)state;
	assert_non_null(findings);
	for (i = 0; i < count; i++) {
		struct finding finding = at(i * 7919 % count * 512);

		findings_add(findings, &finding);
	}
	findings_sort(findings);
	assert_int_equal(findings->count, FINDINGS_MAX);
	assert_int_equal(findings->total, count);
	for (i = 0; i < FINDINGS_MAX; i++)
		assert_int_equal(findings->kept[i].offset_bytes, i * 512);
	free(findings);
}

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

static void p4_a_lost_write_is_one_finding(void **state)
{
	struct world *w = *state;
	struct findings *findings = calloc(1, sizeof(*findings));
	struct tally tally = {.capped = 0};

	assert_non_null(findings);
	world_holds(w, 0, WORLD_ATOMS, 5);
	take(w, &tally, findings);
	assert_int_equal(findings->count, 1);
	assert_int_equal(findings->kept[0].class, VERDICT_LOST);
	assert_int_equal(findings->kept[0].atoms, WORLD_ATOMS);
	assert_int_equal(findings->kept[0].expected, 9);
	assert_int_equal(findings->kept[0].found, 5);
	assert_int_equal(findings->kept[0].generations, 1);
	assert_int_equal(tally.atoms[VERDICT_LOST], WORLD_ATOMS);
	assert_int_equal(tally.writes[VERDICT_LOST], 1);
	assert_int_equal(tally.writes[VERDICT_INTACT], 0);
	assert_int_equal(tally.streams[0].missing_lowest, 9);
	assert_int_equal(tally.streams[0].lost_oldest, 9);
	free(findings);
}

static void each_class_of_a_slot_is_a_finding_of_its_own(void **state)
{
	struct world *w = *state;
	struct findings *findings = calloc(1, sizeof(*findings));
	struct tally tally = {.capped = 0};

	assert_non_null(findings);
	world_holds_state(w, 2, 4, RECORD_BLANK);
	world_holds_state(w, 4, 5, RECORD_CORRUPT);
	world_holds_state(w, 9, 10, RECORD_BLANK);
	take(w, &tally, findings);
	findings_sort(findings);
	assert_int_equal(findings->count, 3);
	assert_int_equal(findings->kept[0].atoms, 2);
	assert_int_equal(findings->kept[1].class, VERDICT_CORRUPT);
	assert_int_equal(findings->kept[2].offset_bytes,
			 run_slot_offset(&w->run, 0) + 9 * 512);
	assert_int_equal(tally.writes[VERDICT_BLANK], 1);
	assert_int_equal(tally.atoms[VERDICT_BLANK], 3);
	assert_int_equal(tally.first_bad, run_slot_offset(&w->run, 0) + 1024);
	assert_int_equal(tally.last_bad,
			 run_slot_offset(&w->run, 0) + 10 * 512 - 1);
	free(findings);
}

static void p9_information_is_kept_apart(void **state)
{
	struct run run = world_run(4, 1);
	struct findings *findings = calloc(1, sizeof(*findings));
	struct tally tally = {.capped = 0};
	struct world w;

	(void)state;
	assert_non_null(findings);
	run.is_filled = false;
	world_init(&w, run);
	world_cycle(&w, 1, 1, 20);
	world_durable(&w, 1, 1);
	world_expect(&w, 3);
	w.reads[0] = JUDGE_READ_UNREADABLE;
	world_holds_state(&w, 0, WORLD_ATOMS, RECORD_BLANK);
	take(&w, &tally, findings);
	assert_int_equal(tally_broken_atoms(&tally), 0);
	assert_int_equal(tally.information[VERDICT_UNREADABLE], 1);
	assert_int_equal(tally.judged_writes, 0);
	assert_int_equal(findings->count, 1);
	assert_true(findings->kept[0].is_information);
	world_free(&w);
	free(findings);
}

static void merging_in_any_order_is_the_same(void **state)
{
	struct world *w = *state;
	struct findings *findings = calloc(1, sizeof(*findings));
	struct tally a, b, left, right;

	assert_non_null(findings);
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	world_holds(w, 0, WORLD_ATOMS, 5);
	take(w, &a, findings);
	world_expect(w, 1);
	world_holds(w, 0, WORLD_ATOMS, 2);
	take(w, &b, findings);
	left = a;
	tally_merge(&left, &b);
	right = b;
	tally_merge(&right, &a);
	assert_memory_equal(&left, &right, sizeof(left));
	assert_int_equal(left.streams[0].missing, 2);
	assert_int_equal(left.streams[0].missing_lowest, 9);
	assert_int_equal(left.judged_writes, 2);
	free(findings);
}

static void p7_the_place_that_misses_it_is_linked(void **state)
{
	struct world *w = *state;
	struct findings *findings = calloc(1, sizeof(*findings));
	struct tally tally = {.capped = 0};
	size_t i;

	assert_non_null(findings);
	world_holds(w, 0, WORLD_ATOMS, 10);
	for (i = 0; i < WORLD_ATOMS; i++)
		w->found[i].offset_bytes += w->run.block_bytes;
	take(w, &tally, findings);
	findings_link(findings, &w->run);
	assert_false(findings->kept[0].is_missed);
	world_expect(w, 1); /* its own place holds what was there before */
	world_holds(w, 0, WORLD_ATOMS, 6);
	take(w, &tally, findings);
	findings_sort(findings);
	findings_link(findings, &w->run);
	assert_int_equal(findings->count, 2);
	assert_int_equal(findings->kept[0].class, VERDICT_MISDIRECTED);
	assert_int_equal(findings->kept[0].found_offset,
			 run_slot_offset(&w->run, 1));
	assert_true(findings->kept[0].is_missed);
	assert_int_equal(findings->kept[1].class, VERDICT_LOST);
	free(findings);
}

static void nothing_readable_at_all_is_gone(void **state)
{
	struct world *w = *state;
	struct findings *findings = calloc(1, sizeof(*findings));
	struct tally tally = {.capped = 0};
	size_t i;

	assert_non_null(findings);
	for (i = 0; i < WORLD_ATOMS; i++)
		w->reads[i] = JUDGE_READ_UNREADABLE;
	take(w, &tally, findings);
	findings_all_gone(findings, &tally);
	assert_int_equal(tally.atoms[VERDICT_GONE], WORLD_ATOMS);
	assert_int_equal(tally.atoms[VERDICT_UNREADABLE], 0);
	assert_int_equal(findings->kept[0].class, VERDICT_GONE);
	memset(w->reads, 0, sizeof(w->reads));
	free(findings);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_lowest_offsets_in_any_order),
		WORLD(p4_a_lost_write_is_one_finding),
		WORLD(each_class_of_a_slot_is_a_finding_of_its_own),
		cmocka_unit_test(p9_information_is_kept_apart),
		WORLD(merging_in_any_order_is_the_same),
		WORLD(p7_the_place_that_misses_it_is_linked),
		WORLD(nothing_readable_at_all_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
