/* SPDX-License-Identifier: MIT */
/*
 * P4: a finding that heals when it is read again stays a finding, and is told
 * as unstable; one that stays as it was is not.
 */
#include "verifier/recheck.h"

#include <stdlib.h>
#include <string.h>

#include "common/format/record.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/slotworld.h"
#include "verifier/reader.h"

static struct {
	struct world world;
	struct drive_fake *drive;
	struct record_cipher *cipher;
	struct reader reader;
	struct findings *findings;
	struct tally tally;
	struct err err;
} scene;

/* Slot 0 of 4: write 9 is promised, write 5 is what the scan found there. */
static int set_up(void **state)
{
	struct judge_input input;

	(void)state;
	memset(&scene, 0, sizeof(scene));
	world_init(&scene.world, world_run(4, 1));
	world_cycle(&scene.world, 1, 1, 20);
	world_durable(&scene.world, 1, 10);
	world_expect(&scene.world, 0);
	world_holds(&scene.world, 0, WORLD_ATOMS, 5);
	world_judge(&scene.world);
	world_all(&scene.world, 0, WORLD_ATOMS, VERDICT_LOST);
	scene.findings = calloc(1, sizeof(*scene.findings));
	input = world_input(&scene.world);
	findings_slot(scene.findings, &input, scene.world.classes);
	assert_int_equal(scene.findings->count, 1);
	scene.drive = drive_fake_new(scene.world.run.size_bytes, 4096, NULL);
	scene.cipher = record_cipher_new(scene.world.run.id, &scene.err);
	reader_init(&scene.reader, drive_fake_target(scene.drive), 4096, 1000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_cipher_free(scene.cipher);
	drive_fake_free(scene.drive);
	free(scene.findings);
	world_free(&scene.world);
	return 0;
}

static void put_write(uint64_t sequence)
{
	struct record record = {
		.cycle = 1,
		.sequence = sequence,
		.offset_bytes = run_slot_offset(&scene.world.run, 0),
		.atoms = WORLD_ATOMS,
		.first_sequence = 1,
	};

	memcpy(record.run_id, scene.world.run.id, RUN_ID_BYTES);
	record_build(scene.cipher, &record,
		     drive_fake_media(scene.drive) + record.offset_bytes);
}

static uint64_t recheck(void)
{
	const struct recheck_order order = {
		.reader = &scene.reader,
		.ledger = scene.world.ledger,
		.schedules = scene.world.schedules,
		.findings = scene.findings,
		.tally = &scene.tally,
	};

	assert_int_equal(recheck_findings(&order, &scene.err), 0);
	assert_int_equal(scene.findings->count, 1);
	assert_int_equal(scene.findings->kept[0].class, VERDICT_LOST);
	return recheck_unstable(scene.findings);
}

static void p4_the_same_again_is_stable(void **state)
{
	(void)state;
	put_write(5);
	assert_int_equal(recheck(), 0);
}

static void p4_a_healed_finding_stays_and_is_unstable(void **state)
{
	(void)state;
	put_write(9);
	assert_int_equal(recheck(), 1);
}

static void p4_another_old_write_is_another_answer(void **state)
{
	(void)state;
	put_write(1);
	assert_int_equal(recheck(), 1);
}

static void p4_blank_now_is_another_answer(void **state)
{
	(void)state;
	assert_int_equal(recheck(), 1);
}

/* The log ends at 20: a writer of which it knows nothing is at work. */
static void p9_what_cannot_exist_is_told_even_now(void **state)
{
	(void)state;
	put_write(9);
	assert_int_equal(recheck(), 1);
	assert_false(scene.tally.has_impossible);
	put_write(21);
	assert_int_equal(recheck(), 1);
	assert_true(scene.tally.has_impossible);
	assert_int_equal(scene.tally.impossible.found, 21);
	assert_int_equal(tally_broken_atoms(&scene.tally), 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p4_the_same_again_is_stable),
		ROW(p4_a_healed_finding_stays_and_is_unstable),
		ROW(p4_another_old_write_is_another_answer),
		ROW(p4_blank_now_is_another_answer),
		ROW(p9_what_cannot_exist_is_told_even_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
