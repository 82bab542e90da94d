/* SPDX-License-Identifier: MIT */
/* P9: what became of the flushes of a cycle, and whom it is told. */
#include "tests/unit/cmocka_all.h"

#include "tests/fake/stage_wflush.h"

static void expect_elided(uint16_t streams, uint16_t depth, bool is_known)
{
	const struct ackbody_cycle cycle = {.streams = streams,
					    .queue_depth = depth};

	wflush_finish(&scene.flush, 7 + told.elided, &cycle);
	assert_int_equal(scene.words.has_elided, is_known);
}

static void elided_is_known_of_one_flush_at_a_time(void **state)
{
	char text[256];

	(void)state;
	told.elided = 2;
	assert_false(wflush_end_note(&scene.words, 0, text, sizeof(text)));
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	expect_elided(2, 1, false);
	expect_elided(1, 4, false);
	expect_elided(1, 3, true);
	assert_true(wflush_end_note(&scene.words, 0, text, sizeof(text)));
	assert_string_equal(text, "flush proof: asked 9; completed by the "
				  "driver: sdb 7; elided 2");
	assert_false(wflush_end_note(&scene.words, 1, text, sizeof(text)));
	scene.words.is_fua = true;
	scene.words.has_elided = false;
	assert_true(wflush_end_note(&scene.words, 0, text, sizeof(text)));
	assert_non_null(strstr(text, "sdb 7; FUA writes are not counted"));
}

/* P9: a layer that swallows every second flush, under one that is asked for one
 * at a time. */
static void p9_one_of_many_that_was_not_sent_is_enough(void **state)
{
	(void)state;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	expect_elided(1, 3, true);
	assert_string_equal(scene.words.unsent, "");
	told.elided = 2;
	drive_fake_set_gone(scene.drive, true);
	expect_elided(1, 3, true);
	assert_string_equal(scene.words.unsent, "");
	drive_fake_set_gone(scene.drive, false);
	drive_fake_target(scene.drive)->info.is_block_device = false;
	expect_elided(1, 3, true);
	assert_string_equal(scene.words.unsent, ""); /* its file system's */
	drive_fake_target(scene.drive)->info.is_block_device = true;
	expect_elided(2, 3, false);
	assert_string_equal(scene.words.unsent, "");
	expect_elided(1, 3, true);
	assert_non_null(strstr(scene.words.unsent, "2 of 9 flushes"));
	(void)tear_down(state);
	(void)set_up(state);
	told.has_loop = true;
	told.elided = 2;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	expect_elided(1, 3, true);
	assert_string_equal(scene.words.unsent, "");
}

static bool is_marked(unsigned int copy)
{
	struct run found;

	return run_decode_label(&found,
				drive_fake_media(scene.drive) +
					run_label_offset(&scene.run, copy),
				&scene.err) == RUN_LABEL_GOOD &&
	       found.is_unsent;
}

/* P9: whoever verifies without the log must not hold the records' own promises
 * against the drive. */
static void p9_what_was_not_sent_is_said_by_both_labels(void **state)
{
	(void)state;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	wflush_mark(&scene.flush, &scene.run);
	assert_false(scene.run.is_unsent || is_marked(0) || is_marked(1));
	elide();
	(void)err_set(&scene.err, "sdb keeps them\nhint: x");
	wflush_note_unsent(&scene.flush, &scene.err);
	assert_string_equal(scene.words.unsent, "sdb keeps them");
	wflush_mark(&scene.flush, &scene.run);
	assert_true(scene.run.is_unsent && is_marked(0) && is_marked(1));
	memset(drive_fake_media(scene.drive), 0, RUN_LABEL_BYTES);
	wflush_mark(&scene.flush, &scene.run); /* it is marked */
	assert_false(is_marked(0));
}

static void what_was_repeated_or_lost_is_told(void **state)
{
	struct wflush_words words = {.has_answer = true, .has_trace = true};
	char text[256];

	(void)state;
	words.count = 1;
	words.trace.flushes_completed = 4;
	assert_true(wflush_end_note(&words, 1, text, sizeof(text)));
	assert_non_null(strstr(text, "trace: FLUSH issued 0, completed 4"));
	assert_false(wflush_end_note(&words, 2, text, sizeof(text)));
	words.trace.lost = 5;
	assert_true(wflush_end_note(&words, 2, text, sizeof(text)));
	assert_non_null(strstr(text, "5 events or more were lost"));
	words.trace.repeated = 1;
	assert_true(wflush_end_note(&words, 2, text, sizeof(text)));
	assert_non_null(strstr(text, "repeated by the kernel, 1 times"));
	words.trace.retried = 2;
	assert_true(wflush_end_note(&words, 3, text, sizeof(text)));
	assert_non_null(strstr(text, "2 commands were sent again"));
	assert_true(wflush_end_note(&words, 4, text, sizeof(text)));
	assert_false(wflush_end_note(&words, 5, text, sizeof(text)));
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(elided_is_known_of_one_flush_at_a_time),
		ROW(p9_one_of_many_that_was_not_sent_is_enough),
		ROW(p9_what_was_not_sent_is_said_by_both_labels),
		ROW(what_was_repeated_or_lost_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
