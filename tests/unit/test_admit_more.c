/* SPDX-License-Identifier: MIT */
/*
 * A label is read once, and what was answered then is judged: a drive that
 * answers its first read with old content and heals is not believed the second
 * time.
 */
#include "verifier/admit.h"

#include <errno.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/changes.h"
#include "verifier/reader.h"

#define BLOCK_BYTES 4096
#define SLOTS       8

static struct scene {
	struct run run;
	struct drive_fake *drive;
	struct reader reader;
	struct admit_label labels[2];
	unsigned int reads[2];
	int stale_copy;      /* its first read answers blank; -1: none */
	unsigned int silent; /* questions that copy 1 does not answer */
	struct err err;
} scene;

static void see_reaped(void *context, const struct target_request *request,
		       int64_t result)
{
	int copy;

	(void)context;
	assert_true(result > 0);
	for (copy = 0; copy < 2; copy++) {
		if (request->offset_bytes !=
		    run_label_offset(&scene.run, (unsigned int)copy))
			continue;
		if (scene.reads[copy]++ == 0 && copy == scene.stale_copy)
			memset(request->buffer.to, 0, request->length);
	}
}

static void see_submitted(void *context, const struct target_request *request)
{
	(void)context;
	if (scene.silent > 0 &&
	    request->offset_bytes == run_label_offset(&scene.run, 1))
		scene.silent--;
}

static int64_t answer(void *context, const struct target_request *request)
{
	(void)context;
	return scene.silent > 0 && request->offset_bytes ==
					   run_label_offset(&scene.run, 1)
		       ? DRIVE_FAKE_LATER
		       : DRIVE_FAKE_HONEST;
}

static int set_up(void **state)
{
	static const struct drive_fake_hooks hooks = {NULL, see_submitted,
						      answer, see_reaped, NULL};
	unsigned int copy;

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.stale_copy = -1;
	scene.run = (struct run){
		.id = {6, 6},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + SLOTS * BLOCK_BYTES,
		.block_bytes = BLOCK_BYTES,
		.logical_block_bytes = BLOCK_BYTES,
		.streams = 1,
		.is_filled = true,
	};
	scene.drive = drive_fake_new(scene.run.size_bytes, BLOCK_BYTES, &hooks);
	for (copy = 0; copy < 2; copy++)
		run_encode_label(&scene.run,
				 drive_fake_media(scene.drive) +
					 run_label_offset(&scene.run, copy));
	reader_init(&scene.reader, drive_fake_target(scene.drive), BLOCK_BYTES,
		    1000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	drive_fake_free(scene.drive);
	return 0;
}

/* As the verifier does without a log. */
static void look(void)
{
	struct run run;

	if (admit_find_run(&scene.reader, 0, &run, scene.labels, &scene.err) <
	    0)
		fail_msg("%s", scene.err.text);
	assert_memory_equal(run.id, scene.run.id, RUN_ID_BYTES);
	assert_int_equal(admit_read_labels(&scene.reader, &run, scene.labels,
					   &scene.err),
			 0);
	assert_int_equal(scene.reads[0], 1);
	assert_int_equal(scene.reads[1], 1);
}

static void p9_a_label_marked_later_is_still_the_run_s(void **state)
{
	struct run marked = scene.run, other = scene.run;

	(void)state;
	look();
	assert_false(admit_is_unsent(&scene.run, scene.labels));
	marked.is_unsent = true;
	assert_true(admit_is_unsent(&marked, scene.labels));
	for (unsigned int copy = 0; copy < 2; copy++) {
		struct finding finding;

		scene.labels[copy].run = marked;
		assert_true(admit_is_unsent(&scene.run, scene.labels));
		assert_false(admit_finding(&scene.run, &scene.labels[copy],
					   copy, &finding));
		scene.labels[copy].run = scene.run;
	}
	other.id[0] ^= 1;
	other.is_unsent = true;
	scene.labels[0].run = other; /* another run's word */
	assert_false(admit_is_unsent(&scene.run, scene.labels));
}

static void expect_finding(unsigned int copy, bool is_finding)
{
	struct finding finding;

	assert_int_equal(
		admit_finding(&scene.run, &scene.labels[copy], copy, &finding),
		is_finding);
	if (is_finding)
		assert_int_equal(finding.class, VERDICT_BLANK);
}

static void p10_good_labels_are_read_once(void **state)
{
	(void)state;
	look();
	expect_finding(0, false);
	expect_finding(1, false);
}

static void p4_a_first_label_that_heals_is_a_finding(void **state)
{
	(void)state;
	scene.stale_copy = 0;
	look();
	expect_finding(0, true);
	expect_finding(1, false);
}

static void p4_a_second_label_that_heals_is_a_finding(void **state)
{
	(void)state;
	scene.stale_copy = 1;
	look();
	expect_finding(0, false);
	expect_finding(1, true);
}

/* QUESTIONS are not answered; what the second one makes of the label. */
static enum admit_copy ask_twice(unsigned int questions)
{
	struct changes changes;

	changes_init(&changes);
	scene.reader.timeout_ms = 5;
	scene.reader.changes = &changes;
	scene.silent = questions + 1; /* the last one begins to be answered */
	assert_int_equal(admit_read_labels(&scene.reader, &scene.run,
					   scene.labels, &scene.err),
			 0);
	assert_int_equal(scene.labels[0].state, ADMIT_COPY_GOOD);
	assert_int_equal(scene.labels[1].state, ADMIT_COPY_HUNG);
	assert_int_equal(admit_ask_again(&scene.reader, &scene.run,
					 scene.labels, &scene.err),
			 0);
	assert_int_equal(atomic_load(&changes.places),
			 scene.labels[1].state != ADMIT_COPY_HUNG);
	return scene.labels[1].state;
}

static void p9_a_label_that_answers_at_last_is_a_change(void **state)
{
	(void)state;
	assert_int_equal(ask_twice(1), ADMIT_COPY_GOOD);
}

static void p4_a_label_that_keeps_silent_twice_is_hung(void **state)
{
	(void)state;
	assert_int_equal(ask_twice(2), ADMIT_COPY_HUNG);
}

static void p9_where_the_rig_failed_nobody_asks_again(void **state)
{
	(void)state;
	scene.labels[1].state = ADMIT_COPY_HUNG;
	atomic_store(&scene.reader.rig_error, ENOMEM);
	assert_int_equal(admit_ask_again(&scene.reader, &scene.run,
					 scene.labels, &scene.err),
			 0);
	assert_int_equal(scene.labels[1].state, ADMIT_COPY_UNJUDGED);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p10_good_labels_are_read_once),
		ROW(p4_a_first_label_that_heals_is_a_finding),
		ROW(p4_a_second_label_that_heals_is_a_finding),
		ROW(p9_a_label_that_answers_at_last_is_a_change),
		ROW(p4_a_label_that_keeps_silent_twice_is_hung),
		ROW(p9_where_the_rig_failed_nobody_asks_again),
		ROW(p9_a_label_marked_later_is_still_the_run_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
