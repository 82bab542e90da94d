/* SPDX-License-Identifier: MIT */
/*
 * P9: the probe's answer is judged beside the scan's, but neither silence nor
 * what nobody asked for makes a finding or a change of it.
 */
#include "verifier/seen.h"

#include "tests/unit/cmocka_all.h"
#include "tests/unit/slotworld.h"

static struct {
	struct world world;
	struct seen *seen;
	struct seen_answer *answer;
	struct seen_slot second;
	struct judge_input input;
	struct err err;
} scene;

/* Slot 0 of 4: write 9 is promised, and the scan found it. */
static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	world_init(&scene.world, world_run(4, 1));
	world_cycle(&scene.world, 1, 1, 20);
	world_durable(&scene.world, 1, 10);
	world_expect(&scene.world, 0);
	world_holds(&scene.world, 0, WORLD_ATOMS, 9);
	scene.seen = seen_new(4, WORLD_BLOCK_ATOMS, &scene.err);
	scene.answer = seen_add(scene.seen, 0);
	return seen_slot_init(&scene.second, WORLD_ATOMS, &scene.err);
}

static int tear_down(void **state)
{
	(void)state;
	seen_slot_free(&scene.second);
	seen_free(scene.seen);
	world_free(&scene.world);
	return 0;
}

static void scan_reads(enum judge_read read)
{
	for (size_t i = 0; i < WORLD_BLOCK_ATOMS; i++)
		scene.world.reads[i] = read;
}

/* Does the probe's answer about SLOT count as a change? */
static bool judge_at(uint64_t slot)
{
	world_judge(&scene.world);
	scene.input = world_input(&scene.world);
	scene.input.reads = scene.world.reads;
	judge_slot(&scene.input, scene.world.classes, &scene.world.outcome);
	scene.input.slot = slot;
	return seen_judge(scene.seen, &scene.second, &scene.input,
			  scene.world.classes, &scene.world.outcome);
}

static bool judge(void)
{
	return judge_at(0);
}

static void probe_read_blank(void)
{
	static const enum record_state states[WORLD_BLOCK_ATOMS] = {
		RECORD_BLANK, RECORD_BLANK, RECORD_BLANK, RECORD_BLANK,
		RECORD_BLANK, RECORD_BLANK, RECORD_BLANK, RECORD_BLANK};
	static const struct record none[WORLD_BLOCK_ATOMS];

	seen_take(scene.seen, scene.answer, states, none);
}

static void p4_the_worse_answer_counts(void **state)
{
	(void)state;
	probe_read_blank();
	assert_true(judge());
	assert_int_equal(scene.world.classes[0], VERDICT_BLANK);
	assert_false(judge()); /* told once */
}

static void p9_silence_of_the_probe_is_no_finding(void **state)
{
	static const enum judge_read reads[] = {
		JUDGE_READ_OK, JUDGE_READ_UNREADABLE, JUDGE_READ_UNJUDGED};

	(void)state;
	seen_take_error(scene.answer, JUDGE_READ_HUNG);
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		scan_reads(reads[i]);
		(void)judge();
		for (size_t atom = 0; atom < WORLD_ATOMS; atom++)
			assert_int_not_equal(scene.world.classes[atom],
					     VERDICT_HUNG);
	}
}

static void p9_an_error_alone_is_no_finding_where_nobody_asked(void **state)
{
	(void)state;
	seen_take_error(scene.answer, JUDGE_READ_UNREADABLE);
	scan_reads(JUDGE_READ_UNJUDGED);
	assert_false(judge());
	assert_false(scene.world.outcome.is_broken);
}

/* What the probe was told stands, but nothing contradicts it. */
static void p9_what_nobody_asked_for_is_no_change(void **state)
{
	(void)state;
	probe_read_blank();
	scan_reads(JUDGE_READ_UNJUDGED);
	assert_false(judge());
	assert_int_equal(scene.world.classes[0], VERDICT_BLANK);
	scan_reads(JUDGE_READ_OK);
	assert_true(judge());
}

/* Asked for or not: slots that are this far apart have the same mark. */
static void slots_of_one_mark_are_told_apart(void **state)
{
	(void)state;
	probe_read_blank();
	assert_non_null(seen_add(scene.seen, 2ULL << 20));
	assert_null(seen_add(scene.seen, 2ULL << 20));
	assert_null(seen_add(scene.seen, 0));
	assert_false(judge_at(1ULL << 20));
	assert_int_not_equal(scene.world.classes[0], VERDICT_BLANK);
	assert_true(judge());
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p4_the_worse_answer_counts),
		ROW(slots_of_one_mark_are_told_apart),
		ROW(p9_silence_of_the_probe_is_no_finding),
		ROW(p9_an_error_alone_is_no_finding_where_nobody_asked),
		ROW(p9_what_nobody_asked_for_is_no_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
