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

static struct {
	enum flushway_answer answer;
	bool flushes_always, is_counted, has_loop;
	uint64_t elided;
	int judged, looked; /* what proof_judge() and proof_look() return */
	unsigned int asks, judges, looks, streams;
	bool was_last;
} told;

int preflight_look(struct preflight *preflight, const struct target *target,
		   bool is_native, struct err *err)
{
	(void)err;
	memset(preflight, 0, sizeof(*preflight));
	preflight->target = target;
	preflight->is_native = is_native;
	preflight->way.answer = told.answer;
	(void)snprintf(preflight->way.text, sizeof(preflight->way.text),
		       "because of it");
	(void)snprintf(preflight->way.remedy, sizeof(preflight->way.remedy),
		       "mend it");
	preflight->mount.flushes_always = told.flushes_always;
	preflight->has_loop = told.has_loop;
	return 0;
}

bool preflight_must_arrive(const struct preflight *preflight)
{
	return target_info(preflight->target)->is_block_device ||
	       preflight->mount.flushes_always;
}

void preflight_free(struct preflight *preflight)
{
	(void)preflight;
}

void preflight_tell(const struct preflight *preflight, char *text, size_t room)
{
	(void)preflight;
	(void)snprintf(text, room, "it was looked at");
}

bool preflight_warning(const struct preflight *preflight, unsigned int i,
		       char *text, size_t room)
{
	(void)preflight;
	(void)snprintf(text, room, "beware");
	return i == 0;
}

bool preflight_note(const struct preflight *preflight, unsigned int i,
		    char *text, size_t room)
{
	(void)preflight;
	(void)snprintf(text, room, "look %u", i);
	return i < 2;
}

int proof_begin(struct proof *proof, const struct target *target,
		struct err *err)
{
	(void)proof;
	(void)target;
	(void)err;
	return 0;
}

void proof_end(struct proof *proof)
{
	(void)proof;
	told.is_counted = false;
}

bool proof_is_counted(const struct proof *proof)
{
	(void)proof;
	return told.is_counted;
}

int proof_ask(const struct proof *proof, struct target *target, int timeout_ms,
	      struct err *err)
{
	(void)proof;
	(void)target;
	(void)err;
	assert_true(timeout_ms > 0);
	told.asks++;
	return 0;
}

int proof_judge(struct proof *proof, struct err *err)
{
	(void)proof;
	told.judges++;
	return told.judged == 0 ? 0 : err_set(err, "none reached sdb\nhint: x");
}

void proof_start(struct proof *proof, unsigned int streams)
{
	(void)proof;
	told.streams = streams;
}

int proof_look(struct proof *proof, uint64_t flushes, bool is_last,
	       struct err *err)
{
	(void)proof;
	(void)flushes;
	told.looks++;
	told.was_last = is_last;
	return told.looked == 0 ? 0 : err_set(err, "none reached sdb\nhint: x");
}

size_t proof_rows(struct proof *proof, const struct flushcount_row **rows)
{
	static struct flushcount_row row = {.name = "sdb",
					    .is_counted = true,
					    .is_top = true,
					    .first = 3,
					    .last = 10};

	(void)proof;
	*rows = &row;
	return 1;
}

bool proof_elided(const struct flushcount_row *rows, size_t count,
		  uint64_t asked, bool may_have_merged, uint64_t *elided)
{
	(void)rows;
	assert_int_equal(count, 1);
	assert_int_equal(asked, 7 + told.elided);
	*elided = told.elided;
	return !may_have_merged;
}

void proof_tell(const struct flushcount_row *rows, size_t count, char *text,
		size_t room)
{
	(void)rows;
	(void)snprintf(text, room, "sdb 7");
	assert_int_equal(count, 1);
}

/* ---- */

struct scene {
	struct drive_fake *drive;
	struct wsettings settings;
	struct wflush flush;
	struct wflush_words words;
	struct wstop stop;
	struct run run;
	struct err err;
};

static struct scene scene;

static int set_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	memset(&told, 0, sizeof(told));
	told.is_counted = true;
	scene.run = (struct run){
		.id = {1},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 1,
		.is_filled = true,
	};
	scene.drive = drive_fake_new(scene.run.size_bytes, 512, NULL);
	drive_fake_target(scene.drive)->info.is_block_device = true;
	wsettings_init(&scene.settings);
	wstop_init(&scene.stop);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	wflush_free(&scene.flush);
	drive_fake_free(scene.drive);
	return 0;
}

static int begin(enum flushway_answer answer)
{
	told.answer = answer;
	return wflush_begin(&scene.flush, &scene.settings,
			    drive_fake_target(scene.drive), &scene.words,
			    &scene.err);
}

static bool is_write_back(void)
{
	return target_is_write_back(drive_fake_target(scene.drive));
}

static void elide(void)
{
	drive_fake_target(scene.drive)->info.is_write_back = false;
}

static void expect_note(unsigned int i, enum ackbody_event event,
			const char *words)
{
	enum ackbody_event found;
	char text[256];

	assert_true(wflush_note(&scene.flush, i, &found, text, sizeof(text)));
	assert_int_equal(found, event);
	if (strstr(text, words) == NULL)
		fail_msg("%s", text);
}

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
		ROW(elided_is_known_of_one_flush_at_a_time),
		ROW(p9_one_of_many_that_was_not_sent_is_enough),
		ROW(p9_what_was_not_sent_is_said_by_both_labels),
		ROW(what_was_repeated_or_lost_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
