/* SPDX-License-Identifier: MIT */
/*
 * What stands on the drive before the first numbered write was promised: whole,
 * flushed, and the labels last, since they say that the rest is there.
 */
#include "writer/fill.h"

#include <errno.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/record.h"
#include "common/target/target.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "writer/wstop.h"

#define BLOCK_BYTES 4096
#define SLOTS       1000 /* some megabytes, and not a whole number of them */
#define NEVER       UINT64_MAX

static struct scene {
	struct run run;
	struct wstop stop;
	struct drive_fake *drive;
	struct err err;
	/* Request number FAIL_AT of that kind answers FAILURE. */
	enum target_request_kind fail_kind;
	uint64_t fail_at;
	int64_t failure;
	uint64_t asked[3]; /* by kind */
	uint64_t done_bytes;
	uint64_t label_at[4]; /* DONE_BYTES when a label was submitted */
	uint64_t flush_at[3]; /* DONE_BYTES when a flush was submitted */
	unsigned int flushes;
	unsigned int labels; /* the first two are the claim's */
} scene;

#define CLAIM_BYTES (2 * RUN_LABEL_BYTES)

static bool is_label(uint64_t offset_bytes)
{
	return offset_bytes == run_label_offset(&scene.run, 0) ||
	       offset_bytes == run_label_offset(&scene.run, 1);
}

static void see_submitted(void *context, const struct target_request *request)
{
	(void)context;
	if (request->kind == TARGET_REQUEST_FLUSH && scene.flushes < 3)
		scene.flush_at[scene.flushes++] = scene.done_bytes;
	if (request->kind == TARGET_REQUEST_WRITE &&
	    is_label(request->offset_bytes) && scene.labels < 4)
		scene.label_at[scene.labels++] = scene.done_bytes;
}

static int64_t answer(void *context, const struct target_request *request)
{
	(void)context;
	scene.asked[request->kind]++;
	if (request->kind == scene.fail_kind &&
	    scene.asked[request->kind] == scene.fail_at)
		return scene.failure;
	return DRIVE_FAKE_HONEST;
}

static void see_reaped(void *context, const struct target_request *request,
		       int64_t result)
{
	(void)context;
	if (request->kind == TARGET_REQUEST_WRITE && result > 0)
		scene.done_bytes += (uint64_t)result;
}

static void ignore_tick(void *context, uint64_t done_bytes, uint64_t size_bytes)
{
	(void)context;
	(void)done_bytes;
	(void)size_bytes;
}

static int set_up(void **state)
{
	static const struct drive_fake_hooks hooks = {NULL, see_submitted,
						      answer, see_reaped, NULL};

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.run = (struct run){
		.id = {9, 8, 7},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + SLOTS * BLOCK_BYTES,
		.block_bytes = BLOCK_BYTES,
		.logical_block_bytes = 512,
		.streams = 1,
		.is_filled = true,
		.seed = 1,
	};
	scene.fail_at = NEVER;
	scene.flushes = 0;
	wstop_init(&scene.stop);
	scene.drive = drive_fake_new(scene.run.size_bytes, 512, &hooks);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	drive_fake_free(scene.drive);
	return 0;
}

static int fill(void)
{
	const struct fill_watch watch = {ignore_tick, NULL};

	return fill_region(drive_fake_target(scene.drive), &scene.run,
			   &scene.stop, &watch, &scene.err);
}

static void p4_every_slot_holds_generation_0(void **state)
{
	struct record_cipher *cipher =
		record_cipher_new(scene.run.id, &scene.err);
	uint8_t *media = drive_fake_media(scene.drive);

	(void)state;
	assert_int_equal(fill(), 0);
	for (uint64_t at = run_slot_offset(&scene.run, 0);
	     at < run_label_offset(&scene.run, 1); at += RUN_ATOM_BYTES) {
		struct record found;

		assert_int_equal(record_examine(cipher, media + at, &found),
				 RECORD_GOOD);
		assert_int_equal(found.sequence, 0);
		assert_int_equal(found.offset_bytes, at);
	}
	record_cipher_free(cipher);
}

/* P6: a label says that the fill before it had been flushed. */
static void p6_labels_come_last_and_behind_a_flush(void **state)
{
	const uint64_t slots_bytes = SLOTS * BLOCK_BYTES;

	(void)state;
	assert_int_equal(fill(), 0);
	assert_int_equal(scene.labels, 4);
	assert_true(scene.label_at[2] >= CLAIM_BYTES + slots_bytes);
	assert_true(scene.label_at[3] >= CLAIM_BYTES + slots_bytes);
	/* P1: a flush covers what has completed before it. */
	assert_int_equal(scene.flush_at[1], CLAIM_BYTES + slots_bytes);
	assert_int_equal(scene.flush_at[2], 2 * CLAIM_BYTES + slots_bytes);
	assert_int_equal(scene.asked[TARGET_REQUEST_FLUSH], 3);
}

static void must_fail(enum target_request_kind kind, uint64_t at,
		      int64_t failure)
{
	scene.fail_kind = kind;
	scene.fail_at = at;
	scene.failure = failure;
	assert_int_equal(fill(), -1);
	assert_non_null(strstr(scene.err.text, "cannot prepare the region"));
	/* Generation 0 that is not whole is not promised. */
	assert_true(scene.labels == 2 || at > 3);
}

static void p4_a_short_fill_is_no_fill(void **state)
{
	(void)state;
	must_fail(TARGET_REQUEST_WRITE, 3, BLOCK_BYTES);
}

static void p4_a_failed_fill_is_no_fill(void **state)
{
	(void)state;
	must_fail(TARGET_REQUEST_WRITE, 3, -EIO);
}

static enum fill_label find(const struct run *run)
{
	enum fill_label label = FILL_LABEL_NONE;

	assert_int_equal(fill_find_label(drive_fake_target(scene.drive), run,
					 &label, &scene.err),
			 0);
	return label;
}

/* P9: whoever verifies an earlier run must see at once that it is over. */
static void p9_the_claim_stands_before_the_fill(void **state)
{
	(void)state;
	must_fail(TARGET_REQUEST_WRITE, 3, -EIO);
	assert_int_equal(scene.flush_at[0], CLAIM_BYTES);
	assert_int_equal(find(&scene.run), FILL_LABEL_OTHER);
}

static void p4_a_failed_label_is_no_label(void **state)
{
	(void)state;
	must_fail(TARGET_REQUEST_WRITE, 7, -EIO); /* behind four of slots */
	assert_int_equal(scene.labels, 4);
}

static void p1_a_failed_flush_ends_the_run(void **state)
{
	(void)state;
	scene.fail_kind = TARGET_REQUEST_FLUSH;
	scene.fail_at = 1;
	scene.failure = -EIO;
	assert_int_equal(fill(), -1);
}

static void p10_a_run_knows_its_own_label(void **state)
{
	struct run other = scene.run;
	uint8_t *media = drive_fake_media(scene.drive);

	(void)state;
	other.id[0]++;
	assert_int_equal(find(&scene.run), FILL_LABEL_NONE);
	assert_int_equal(fill(), 0);
	assert_int_equal(find(&scene.run), FILL_LABEL_OURS);
	assert_int_equal(find(&other), FILL_LABEL_OTHER);
	memset(media + run_label_offset(&scene.run, 0), 0, RUN_LABEL_BYTES);
	assert_int_equal(find(&scene.run), FILL_LABEL_OURS);
	assert_int_equal(find(&other), FILL_LABEL_OTHER);
	media[run_label_offset(&scene.run, 1) + 9] ^= 1;
	assert_int_equal(find(&scene.run), FILL_LABEL_NONE);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p4_every_slot_holds_generation_0),
		ROW(p6_labels_come_last_and_behind_a_flush),
		ROW(p4_a_short_fill_is_no_fill),
		ROW(p4_a_failed_fill_is_no_fill),
		ROW(p9_the_claim_stands_before_the_fill),
		ROW(p4_a_failed_label_is_no_label),
		ROW(p1_a_failed_flush_ends_the_run),
		ROW(p10_a_run_knows_its_own_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
