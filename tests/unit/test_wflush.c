/* SPDX-License-Identifier: MIT */
/*
 * P9: what the writer does about flushes that do not arrive. What is looked at
 * and what is counted is replaced here by what the test says.
 */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/fake/drive_fake.h"
#include "writer/wflush.h"
#include "writer/wsettings.h"
#include "writer/wstop.h"

#include "tests/fake/stage_wflush.h"

static void p9_a_drive_that_no_flush_reaches_is_refused(void **state)
{
	(void)state;
	elide();
	assert_int_equal(begin(FLUSHWAY_NO), -1);
	assert_non_null(strstr(scene.err.text,
			       "no flush would reach fake: because of it\n"
			       "hint: mend it\nhint: --accept-elided-flush"));
	assert_string_equal(scene.words.unsent, "");
	scene.settings.sync = ACKBODY_SYNC_NONE;
	assert_int_equal(begin(FLUSHWAY_NO), -1); /* the fill */
	scene.settings.is_resume = true;
	assert_int_equal(begin(FLUSHWAY_NO), 0);
	assert_false(is_write_back());
	assert_int_equal(told.asks, 0);
}

static void p9_what_was_accepted_is_the_first_word_of_the_cycle(void **state)
{
	enum ackbody_event event;
	char text[64];

	(void)state;
	elide();
	scene.settings.accepts_elision = true;
	assert_int_equal(begin(FLUSHWAY_NO), 0);
	assert_true(is_write_back());
	assert_int_equal(told.asks, 0);
	expect_note(0, ACKBODY_EVENT_UNSENT,
		    "accepted: --sync flush:32: no "
		    "flush would reach fake: because");
	expect_note(1, ACKBODY_EVENT_NOTE, "look 0");
	expect_note(2, ACKBODY_EVENT_NOTE, "look 1");
	assert_false(wflush_note(&scene.flush, 3, &event, text, sizeof(text)));
	/* It was said already. */
	told.is_counted = true;
	told.looked = -1;
	wflush_finish(&scene.flush, 7, &(struct ackbody_cycle){.streams = 1});
	assert_int_equal(strncmp(scene.words.unsent, "accepted", 8), 0);
}

/* --accept-elided-flush is no statement by itself. */
static void what_needs_no_acceptance_is_not_told(void **state)
{
	(void)state;
	scene.settings.accepts_elision = true;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	assert_string_equal(scene.words.unsent, "");
	expect_note(0, ACKBODY_EVENT_NOTE, "flush proof: ");
	expect_note(1, ACKBODY_EVENT_NOTE, "look 0");
}

static void p9_a_drive_s_own_word_lets_its_queue_elide(void **state)
{
	(void)state;
	elide();
	assert_int_equal(begin(FLUSHWAY_NOT_NEEDED), 0);
	assert_true(is_write_back());
	assert_int_equal(told.asks, 0);
	assert_string_equal(scene.words.unsent, "");
	expect_note(0, ACKBODY_EVENT_NOTE, "look 0");
}

/* Between the look and the test it was switched. */
static void p9_a_queue_that_was_switched_since_is_refused(void **state)
{
	(void)state;
	elide();
	assert_int_equal(begin(FLUSHWAY_YES), -1);
	assert_non_null(strstr(scene.err.text, "no flush would reach fake"));
	assert_int_equal(begin(FLUSHWAY_UNKNOWN), -1);
}

static void p9_the_first_flush_must_be_counted(void **state)
{
	(void)state;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	assert_int_equal(told.asks, 1);
	assert_int_equal(told.judges, 1);
	told.judged = -1;
	assert_int_equal(begin(FLUSHWAY_YES), -1);
	assert_non_null(strstr(scene.err.text, "none reached sdb"));
	assert_int_equal(begin(FLUSHWAY_UNKNOWN), -1);
	scene.settings.accepts_elision = true;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	expect_note(0, ACKBODY_EVENT_UNSENT, "accepted: none reached sdb");
}

static void a_clean_file_need_not_be_flushed(void **state)
{
	(void)state;
	told.judged = -1;
	drive_fake_target(scene.drive)->info.is_block_device = false;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	assert_int_equal(told.asks, 1);
	assert_int_equal(told.judges, 0);
	expect_note(0, ACKBODY_EVENT_NOTE, "look 0");
	told.flushes_always = true;
	assert_int_equal(begin(FLUSHWAY_YES), -1);
}

static void p9_the_fill_must_have_been_flushed(void **state)
{
	(void)state;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	assert_int_equal(wflush_filled(&scene.flush, &scene.err), 0);
	told.judged = -1;
	assert_int_equal(wflush_filled(&scene.flush, &scene.err), -1);
	assert_non_null(strstr(scene.err.text, "none reached sdb"));
	told.is_counted = false;
	assert_int_equal(wflush_filled(&scene.flush, &scene.err), 0);
}

static void p9_flushes_that_stop_arriving_end_the_run(void **state)
{
	(void)state;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	wflush_start(&scene.flush, 3);
	assert_int_equal(told.streams, 3);
	wflush_watch(&scene.flush, 100, &scene.stop);
	assert_false(wstop_has_failed(&scene.stop));
	assert_false(told.was_last);
	told.looked = -1;
	drive_fake_set_gone(scene.drive, true);
	wflush_watch(&scene.flush, 100, &scene.stop);
	assert_false(wstop_has_failed(&scene.stop));
	drive_fake_set_gone(scene.drive, false);
	wflush_watch(&scene.flush, 100, &scene.stop);
	assert_true(wstop_has_failed(&scene.stop));
	assert_true(atomic_load(&scene.stop.is_unsent));
	wstop_reason(&scene.stop, &scene.err);
	assert_non_null(strstr(scene.err.text, "stopped sending flushes: none "
					       "reached sdb"));
	told.looks = 0;
	wflush_watch(&scene.flush, 100, &scene.stop);
	assert_int_equal(told.looks, 0);
}

/* A drive that had gone first is a drive that had gone. */
static void the_first_failure_stands(void **state)
{
	struct err why;

	(void)state;
	(void)err_set(&why, "the drive went away");
	wstop_fail(&scene.stop, &why, true);
	wstop_fail_unsent(&scene.stop, &why);
	assert_false(atomic_load(&scene.stop.is_unsent));
	assert_true(atomic_load(&scene.stop.is_gone));
}

static void p9_the_last_flushes_are_judged_at_the_end(void **state)
{
	const struct ackbody_cycle cycle = {.streams = 1, .queue_depth = 1};

	(void)state;
	assert_int_equal(begin(FLUSHWAY_YES), 0);
	wflush_finish(&scene.flush, 7 + told.elided, &cycle);
	assert_true(told.was_last);
	assert_string_equal(scene.words.unsent, "");
	told.looked = -1;
	drive_fake_set_gone(scene.drive, true);
	wflush_finish(&scene.flush, 7 + told.elided, &cycle);
	assert_string_equal(scene.words.unsent, "");
	drive_fake_set_gone(scene.drive, false);
	wflush_finish(&scene.flush, 7 + told.elided, &cycle);
	assert_string_equal(scene.words.unsent, "none reached sdb");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_a_drive_that_no_flush_reaches_is_refused),
		ROW(p9_what_was_accepted_is_the_first_word_of_the_cycle),
		ROW(what_needs_no_acceptance_is_not_told),
		ROW(p9_a_drive_s_own_word_lets_its_queue_elide),
		ROW(p9_a_queue_that_was_switched_since_is_refused),
		ROW(p9_the_first_flush_must_be_counted),
		ROW(a_clean_file_need_not_be_flushed),
		ROW(p9_the_fill_must_have_been_flushed),
		ROW(p9_flushes_that_stop_arriving_end_the_run),
		ROW(the_first_failure_stands),
		ROW(p9_the_last_flushes_are_judged_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
