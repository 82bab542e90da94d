/* SPDX-License-Identifier: MIT */
/*
 * Trouble that goes away when it is looked at closely is a changed answer:
 * neither a finding nor nothing (P9).
 */
#include "verifier/reader.h"

#include <errno.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/changes.h"

#define BLOCK_BYTES 4096
#define RANGE_BYTES (16 * BLOCK_BYTES)
#define AT          65536

static struct scene {
	struct drive_fake *drive;
	struct reader reader;
	struct changes changes;
	uint8_t buffer[RANGE_BYTES];
	enum judge_read reads[RANGE_BYTES / RUN_ATOM_BYTES];
	int64_t trouble;             /* of reads of more than one block */
	uint64_t bad_block;          /* always fails */
	uint64_t deaf_from, deaf_to; /* keep silent */
	unsigned int asked;          /* of single blocks */
} scene;

static int64_t answer(void *context, const struct target_request *request)
{
	(void)context;
	if (request->offset_bytes < scene.deaf_to &&
	    request->offset_bytes + request->length > scene.deaf_from)
		return DRIVE_FAKE_LATER;
	if (scene.bad_block >= request->offset_bytes &&
	    scene.bad_block < request->offset_bytes + request->length)
		return -EIO;
	if (scene.trouble != 0 && request->length > BLOCK_BYTES)
		return scene.trouble;
	return DRIVE_FAKE_HONEST;
}

static void count_blocks(void *context, const struct target_request *request)
{
	(void)context;
	scene.asked += request->length == BLOCK_BYTES;
}

static int set_up(void **state)
{
	static const struct drive_fake_hooks hooks = {NULL, count_blocks,
						      answer, NULL, NULL};

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.bad_block = UINT64_MAX;
	scene.drive = drive_fake_new(1024 * 1024, BLOCK_BYTES, &hooks);
	memset(drive_fake_media(scene.drive), 0x5a, 1024 * 1024);
	changes_init(&scene.changes);
	reader_init(&scene.reader, drive_fake_target(scene.drive), BLOCK_BYTES,
		    20);
	scene.reader.changes = &scene.changes;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	drive_fake_free(scene.drive);
	return 0;
}

static unsigned int bad_atoms(int error)
{
	const struct reader_range range = {
		.offset_bytes = AT,
		.length = RANGE_BYTES,
		.buffer = scene.buffer,
		.reads = scene.reads,
	};
	unsigned int bad = 0, i;

	assert_true(reader_read(&scene.reader, &range, error));
	for (i = 0; i < RANGE_BYTES / RUN_ATOM_BYTES; i++) {
		bool is_read = scene.reads[i] == JUDGE_READ_OK;

		bad += !is_read;
		assert_int_equal(scene.buffer[i * RUN_ATOM_BYTES],
				 is_read ? 0x5a : 0);
	}
	return bad;
}

static uint64_t changed(void)
{
	return atomic_load(&scene.changes.places);
}

static void p9_a_good_read_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(bad_atoms(0), 0);
	assert_int_equal(changed(), 0);
}

static void p9_an_error_that_heals_is_a_changed_answer(void **state)
{
	(void)state;
	assert_int_equal(bad_atoms(EIO), 0);
	assert_int_equal(changed(), 1);
	assert_int_equal(atomic_load(&scene.changes.first), AT);
}

static void p9_a_late_answer_is_a_changed_one(void **state)
{
	(void)state;
	scene.trouble = DRIVE_FAKE_LATER;
	assert_int_equal(bad_atoms(ETIMEDOUT), 0);
	assert_int_equal(changed(), 1);
}

/* It explains the failures of all the ranges that it lies in. */
static void p4_a_bad_block_explains_the_failure(void **state)
{
	(void)state;
	scene.bad_block = AT + 5 * BLOCK_BYTES;
	assert_int_equal(bad_atoms(0), 8);
	assert_int_equal(scene.reads[5 * 8], JUDGE_READ_UNREADABLE);
	assert_int_equal(changed(), 0);
}

static void p9_a_reader_without_a_list_reads_all_the_same(void **state)
{
	(void)state;
	scene.reader.changes = NULL;
	assert_int_equal(bad_atoms(EIO), 0);
}

static unsigned int count_reads(enum judge_read read)
{
	unsigned int count = 0;

	for (size_t i = 0; i < RANGE_BYTES / RUN_ATOM_BYTES; i += 8)
		count += scene.reads[i] == read;
	return count;
}

static void keep_silent(unsigned int from, unsigned int to)
{
	scene.deaf_from = AT + from * BLOCK_BYTES;
	scene.deaf_to = AT + to * BLOCK_BYTES;
}

static void p9_only_what_was_asked_for_is_hung(void **state)
{
	(void)state;
	keep_silent(0, 16);
	atomic_store(&scene.reader.hung, READER_HUNG_MAX - 4);
	assert_int_equal(bad_atoms(ETIMEDOUT), 16 * 8);
	assert_int_equal(scene.asked, 4);
	assert_int_equal(count_reads(JUDGE_READ_HUNG), 4);
	assert_int_equal(count_reads(JUDGE_READ_UNJUDGED), 12);
	assert_int_equal(scene.reads[4 * 8], JUDGE_READ_UNJUDGED);
}

static void p9_only_what_was_asked_for_is_unreadable(void **state)
{
	(void)state;
	atomic_store(&scene.reader.hung, READER_HUNG_MAX);
	assert_int_equal(bad_atoms(EIO), 16 * 8);
	assert_int_equal(count_reads(JUDGE_READ_UNJUDGED), 16);
}

/* The second question is answered by 2, and not by 3; 4 was answered before. */
static void p9_hung_is_what_keeps_silent_twice(void **state)
{
	(void)state;
	keep_silent(2, 4);
	assert_int_equal(bad_atoms(ETIMEDOUT), 2 * 8);
	assert_int_equal(count_reads(JUDGE_READ_HUNG), 2);
	assert_int_equal(changed(), 0);
	keep_silent(3, 5);
	reader_ask_second(&scene.reader);
	assert_int_equal(bad_atoms(ETIMEDOUT), 2 * 8);
	assert_int_equal(scene.reads[2 * 8], JUDGE_READ_OK);
	assert_int_equal(scene.reads[3 * 8], JUDGE_READ_HUNG);
	assert_int_equal(scene.reads[4 * 8], JUDGE_READ_UNJUDGED);
	assert_int_equal(changed(), 1);
	assert_int_equal(atomic_load(&scene.changes.first),
			 AT + 2 * BLOCK_BYTES);
}

static void p9_the_second_question_has_its_own_time(void **state)
{
	uint64_t started_ns;

	(void)state;
	keep_silent(2, 3);
	(void)bad_atoms(ETIMEDOUT);
	reader_ask_second(&scene.reader);
	assert_int_equal(atomic_load(&scene.reader.hung), 0);
	started_ns = clock_monotonic_ns();
	(void)bad_atoms(ETIMEDOUT);
	assert_true(clock_monotonic_ns() - started_ns >=
		    READER_PATIENCE * 20 * CLOCK_NS_PER_MS);
	reader_ask_first(&scene.reader);
	assert_false(scene.reader.is_second);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_a_good_read_changes_nothing),
		ROW(p9_an_error_that_heals_is_a_changed_answer),
		ROW(p9_a_late_answer_is_a_changed_one),
		ROW(p4_a_bad_block_explains_the_failure),
		ROW(p9_a_reader_without_a_list_reads_all_the_same),
		ROW(p9_only_what_was_asked_for_is_hung),
		ROW(p9_only_what_was_asked_for_is_unreadable),
		ROW(p9_hung_is_what_keeps_silent_twice),
		ROW(p9_the_second_question_has_its_own_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
