/* SPDX-License-Identifier: MIT */
/*
 * P9: what a failed read says of the drive, and what it says of the rig. The
 * rig's trouble never becomes a verdict.
 */
#include "verifier/reader.h"

#include <errno.h>
#include <string.h>

#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"

#define DRIVE_BYTES (64 * 1024)
#define BLOCK_BYTES 4096
#define TIMEOUT_MS  5

static struct {
	struct drive_fake *drive;
	struct reader reader;
	uint64_t bad_at; /* the block that fails */
	int64_t failure;
	uint8_t buffer[DRIVE_BYTES];
	enum judge_read reads[DRIVE_BYTES / RUN_ATOM_BYTES];
} scene;

static int64_t answer(void *context, const struct target_request *request)
{
	(void)context;
	if (scene.failure == 0 || request->offset_bytes > scene.bad_at ||
	    request->offset_bytes + request->length <= scene.bad_at)
		return DRIVE_FAKE_HONEST;
	return scene.failure;
}

static int set_up(void **state)
{
	static const struct drive_fake_hooks hooks = {.answer = answer};

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.drive = drive_fake_new(DRIVE_BYTES, BLOCK_BYTES, &hooks);
	memset(drive_fake_media(scene.drive), 0x5a, DRIVE_BYTES);
	reader_init(&scene.reader, drive_fake_target(scene.drive), BLOCK_BYTES,
		    TIMEOUT_MS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	drive_fake_free(scene.drive);
	return 0;
}

static int rig_error(void)
{
	int error = atomic_load(&scene.reader.rig_error);

	atomic_store(&scene.reader.rig_error, 0);
	return error;
}

static void p9_what_the_kernel_refused_is_the_rigs(void **state)
{
	static const int errors[] = {
		EINVAL,  EFAULT, EBADF,      ENOMEM,       EPERM,       EACCES,
		ENOSYS,  EAGAIN, EOPNOTSUPP, ECONNREFUSED, ENOTCONN,    EPIPE,
		ENOLINK, EBADE,  EBUSY,      ESTALE,       EHOSTUNREACH};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		assert_int_equal(reader_classify(&scene.reader, errors[i], 0),
				 JUDGE_READ_OK);
		assert_int_equal(rig_error(), errors[i]);
	}
}

static void p9_a_drive_that_was_taken_away_is_the_rigs(void **state)
{
	static const int errors[] = {EIO, ENODEV, ENXIO, ETIMEDOUT};

	(void)state;
	drive_fake_set_gone(scene.drive, true);
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		assert_int_equal(reader_classify(&scene.reader, errors[i], 0),
				 JUDGE_READ_OK);
		assert_int_not_equal(rig_error(), 0);
	}
}

static void p4_what_the_drive_answers_is_the_drives(void **state)
{
	(void)state;
	assert_int_equal(reader_classify(&scene.reader, EIO, 0),
			 JUDGE_READ_UNREADABLE);
	assert_int_equal(reader_classify(&scene.reader, ETIMEDOUT, 0),
			 JUDGE_READ_HUNG);
	assert_int_equal(rig_error(), 0);
	assert_int_equal(reader_classify(&scene.reader, ESHUTDOWN, 0),
			 JUDGE_READ_GONE);
	assert_int_equal(rig_error(), 0);
}

static bool read_all(void)
{
	const struct reader_range range = {.length = DRIVE_BYTES,
					   .buffer = scene.buffer,
					   .reads = scene.reads};

	return reader_read(&scene.reader, &range, 0);
}

static void p4_the_bad_block_alone_is_unreadable(void **state)
{
	(void)state;
	scene.bad_at = 5 * BLOCK_BYTES;
	scene.failure = -EIO;
	assert_true(read_all());
	for (size_t i = 0; i < DRIVE_BYTES / RUN_ATOM_BYTES; i++) {
		bool is_bad = i / (BLOCK_BYTES / RUN_ATOM_BYTES) == 5;

		assert_int_equal(scene.reads[i], is_bad ? JUDGE_READ_UNREADABLE
							: JUDGE_READ_OK);
		assert_int_equal(scene.buffer[i * RUN_ATOM_BYTES],
				 is_bad ? 0 : 0x5a);
	}
}

static void p9_a_short_answer_is_none(void **state)
{
	(void)state;
	scene.bad_at = 5 * BLOCK_BYTES;
	scene.failure = 512;
	assert_false(read_all());
	assert_int_equal(atomic_load(&scene.reader.rig_error), ESTALE);
}

static void p9_trouble_of_the_rig_ends_the_reading(void **state)
{
	(void)state;
	scene.bad_at = 5 * BLOCK_BYTES;
	scene.failure = -EINVAL;
	assert_false(read_all());
	assert_true(reader_is_over(&scene.reader));
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_what_the_kernel_refused_is_the_rigs),
		ROW(p9_a_drive_that_was_taken_away_is_the_rigs),
		ROW(p4_what_the_drive_answers_is_the_drives),
		ROW(p4_the_bad_block_alone_is_unreadable),
		ROW(p9_a_short_answer_is_none),
		ROW(p9_trouble_of_the_rig_ends_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
