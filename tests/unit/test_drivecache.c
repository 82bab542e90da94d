/* SPDX-License-Identifier: MIT */
/* A cache is switched on every kind of drive, and the drive is not believed
 * but asked whether it obeyed. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/drive/drivecache.h"
#include "tests/fake/passdrive.h"

static struct passdrive drive;
static struct err err;

static int set(bool is_on)
{
	struct drivefacts before;
	struct drivelink link;

	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	return drivecache_set(&link, "T", is_on, &before, &err);
}

static void every_kind_is_switched(void **state)
{
	const struct sysfs_fake *sysfs = *state;
	char name[32];

	for (int kind = PASSDRIVE_NVME; kind <= PASSDRIVE_SCSI; kind++) {
		struct sysfs_fake own = *sysfs;

		(void)snprintf(name, sizeof(name), "/%d", kind);
		(void)strcat(own.root, name);
		passdrive_init(&drive, (enum passdrive_kind)kind, &own);
		assert_int_equal(set(true), 0);
		assert_int_equal(drive.sets, 0); /* it is on already */
		assert_int_equal(set(false), 0);
		assert_int_equal(drive.sets, 1);
		assert_false(drive.is_cache_on);
		assert_int_equal(set(true), 0);
		assert_true(drive.is_cache_on);
	}
}

static void by_the_short_mode_commands_where_it_must(void **state)
{
	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.knows_mode10 = false;
	assert_int_equal(set(false), 0);
	assert_false(drive.is_cache_on);
}

static void p9_a_drive_that_does_not_obey_is_refused(void **state)
{
	passdrive_init(&drive, PASSDRIVE_NVME, *state);
	drive.is_stubborn = true;
	assert_int_equal(set(false), -1);
	assert_non_null(strstr(err.text, "did not obey"));
}

static void the_kernel_is_made_to_look_again(void **state)
{
	const struct sysfs_fake *sysfs = *state;
	char text[8] = "";
	FILE *file;

	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	sysfs_fake_put(sysfs, "d/disk/device/rescan", "");
	assert_int_equal(set(false), 0);
	file = fopen(sysfs_fake_path(sysfs, "d/disk/device/rescan"), "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_int_equal(fclose(file), 0);
	assert_string_equal(text, "1");
}

static void what_cannot_be_switched_is_refused(void **state)
{
	struct drivefacts before;
	struct drivelink link;

	passdrive_init(&drive, PASSDRIVE_NVME, *state);
	drive.has_cache = false;
	assert_int_equal(set(false), 0); /* so it is */
	assert_int_equal(set(true), -1);
	assert_non_null(strstr(err.text, "has no cache"));
	assert_int_equal(drivelink_open(&link, 0, &drivelink_kernel, &err), 0);
	assert_int_equal(drivecache_set(&link, "T", true, &before, &err), -1);
	assert_non_null(strstr(err.text, "T is neither"));
}

static void a_hidden_cache_is_not_touched(void **state)
{
	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.has_caching_page = false;
	assert_int_equal(set(false), -1);
	assert_non_null(strstr(err.text, "does not say"));
	assert_int_equal(drive.sets, 0);
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(every_kind_is_switched),
		ROW(by_the_short_mode_commands_where_it_must),
		ROW(p9_a_drive_that_does_not_obey_is_refused),
		ROW(the_kernel_is_made_to_look_again),
		ROW(what_cannot_be_switched_is_refused),
		ROW(a_hidden_cache_is_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
