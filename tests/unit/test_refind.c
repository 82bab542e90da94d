/* SPDX-License-Identifier: MIT */
/*
 * Where the run's drive is now, in a made-up sysfs. What the open descriptor
 * must say is in tests/kernel/found-again.sh.
 */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/refind.h"
#include "tests/fake/sysfs_fake.h"

#define MISSING "/dev/plugpull-test-none"

static char noted[512];

static void take_note(const char *text)
{
	(void)snprintf(noted, sizeof(noted), "%s", text);
}

static void add_drive(const struct sysfs_fake *tree, const char *name,
		      const char *serial, const char *wwn)
{
	static const char *const files[] = {"dev", "size", "device/model",
					    "device/serial", "device/wwid"};
	static unsigned int minor_number;
	char path[256], folder[128], number[16];
	const char *values[5] = {number, "8192\n", "Disk\n", serial, wwn};

	(void)snprintf(number, sizeof(number), "8:%u", minor_number++);
	(void)snprintf(folder, sizeof(folder), "d/%s", name);
	for (size_t i = 0; i < 5; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		sysfs_fake_put(tree, path, values[i]);
	}
	(void)snprintf(path, sizeof(path), "block/%s", name);
	sysfs_fake_link(tree, path, folder);
	(void)snprintf(path, sizeof(path), "dev/block/%s", number);
	sysfs_fake_link(tree, path, folder);
}

static struct refind resolve(const struct sysfs_fake *tree, const char *name,
			     const char *identity)
{
	const struct refind_request request = {.name = name,
					       .identity = identity,
					       .sysfs = tree->root,
					       .note = take_note};
	struct refind where;
	struct err err = {0};

	noted[0] = '\0';
	if (refind_resolve(&request, &where, &err) == -1)
		fail_msg("%s", err.text);
	return where;
}

static void expect_refusal(const struct sysfs_fake *tree, const char *name,
			   const char *text)
{
	const struct refind_request request = {
		.name = name, .identity = "", .sysfs = tree->root};
	struct refind where;
	struct err err = {0};

	assert_int_equal(refind_resolve(&request, &where, &err), -1);
	if (strncmp(err.text, "cannot open ", 12) != 0 ||
	    strstr(err.text, text) == NULL)
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void p10_a_drive_with_another_name_is_found(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct refind where;

	add_drive(tree, "sdb", "S1", "");
	add_drive(tree, "sdc", "S2", "");
	where = resolve(tree, MISSING, "Disk S2");
	assert_true(where.is_elsewhere);
	assert_false(where.is_shared);
	assert_string_equal(where.path, "/dev/sdc");
	assert_string_equal(where.identity, "Disk S2");
	assert_string_equal(noted, MISSING " is /dev/sdc now");
}

static void p10_none_is_taken_for_one_that_is_not_there(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct refind where;
	struct err err;

	add_drive(tree, "sdb", "S1", "");
	where = resolve(tree, MISSING, "Disk S2");
	assert_false(where.is_elsewhere);
	assert_string_equal(where.path, MISSING);
	assert_string_equal(noted, "");
	(void)err_set(&err, "cannot open x");
	refind_explain(&where, MISSING, &err);
	assert_non_null(strstr(err.text, "\nhint: no drive with the identity "
					 "'Disk S2' is here"));
}

static void p10_none_of_several_is_taken(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct refind where;

	add_drive(tree, "sdb", "S2", "");
	add_drive(tree, "sdc", "S2", "");
	where = resolve(tree, MISSING, "Disk S2");
	assert_false(where.is_elsewhere);
	assert_string_equal(where.path, MISSING);
	assert_non_null(strstr(where.why, "2 drives have the identity"));
	assert_non_null(strstr(where.why, "sdb, sdc"));
}

static void p10_a_placeholder_finds_nothing(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct refind where;

	add_drive(tree, "sdb", "00000000", "");
	where = resolve(tree, MISSING, "Disk 00000000");
	assert_false(where.is_elsewhere);
	assert_non_null(strstr(where.why, "others may have it"));
	/* What NVMe makes of the serial number is no more than that. */
	add_drive(tree, "sdc", "0000", "nvme.1b36-30303030-4469-00000001");
	where = resolve(tree, MISSING,
			"Disk 0000 nvme.1b36-30303030-4469-00000001");
	assert_false(where.is_elsewhere);
	add_drive(tree, "sdd", "0000", "naa.5000c500");
	where = resolve(tree, MISSING, "Disk 0000 naa.5000c500");
	assert_true(where.is_elsewhere);
	assert_string_equal(where.path, "/dev/sdd");
}

static void p10_without_an_identity_nothing_is_looked_for(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct refind where;

	add_drive(tree, "sdb", "", "");
	where = resolve(tree, MISSING, "");
	assert_false(where.is_elsewhere);
	assert_string_equal(where.why, "");
	where = resolve(tree, MISSING, "file:0011223344556677:12");
	assert_false(where.is_elsewhere);
	where = resolve(tree, MISSING, "nbd:some export");
	assert_false(where.is_elsewhere);
}

static void p10_files_and_exports_stay_where_they_are(void **state)
{
	const struct sysfs_fake *tree = *state;
	char file[512];

	add_drive(tree, "sdb", "S1", "");
	sysfs_fake_put(tree, "disk.img", "x");
	(void)snprintf(file, sizeof(file), "%s",
		       sysfs_fake_path(tree, "disk.img"));
	assert_false(resolve(tree, file, "Disk S1").is_elsewhere);
	assert_false(resolve(tree, "nbd://x/y", "Disk S1").is_elsewhere);
	assert_false(
		resolve(tree, "/tmp/plugpull-none", "Disk S1").is_elsewhere);
	assert_false(
		resolve(tree, "/dev/shm/none.img", "Disk S1").is_elsewhere);
}

static void p10_an_id_names_exactly_one_drive(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct refind where;

	add_drive(tree, "sdb", "S1", "naa.1");
	add_drive(tree, "sdc", "S2", "naa.2");
	where = resolve(tree, "id:S2", "");
	assert_true(where.is_elsewhere);
	assert_string_equal(where.path, "/dev/sdc");
	assert_string_equal(resolve(tree, "id:naa.1", "").path, "/dev/sdb");
	expect_refusal(tree, "id:S3", "No such device");
	expect_refusal(tree, "id:", "No such device");
	add_drive(tree, "sdd", "S2", "naa.3");
	expect_refusal(tree, "id:S2", "it names 2 drives, not one: sdc, sdd");
}

static void p10_an_id_that_is_not_proof_is_marked(void **state)
{
	const struct sysfs_fake *tree = *state;

	add_drive(tree, "sdb", "00000000", "");
	assert_true(resolve(tree, "id:00000000", "").is_shared);
	add_drive(tree, "sdc", "S1", "");
	assert_false(resolve(tree, "id:S1", "").is_shared);
}

static void a_file_is_opened_as_ever(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct refind_request request = {.identity = "", .name = MISSING};
	struct refind where;
	struct err err = {0};
	char file[512];

	assert_null(refind_open(&request, TARGET_READ, &where, &err));
	assert_int_equal(strncmp(err.text, "cannot open " MISSING,
				 strlen("cannot open " MISSING)),
			 0);
	sysfs_fake_put(tree, "disk.img", "x");
	(void)snprintf(file, sizeof(file), "%s",
		       sysfs_fake_path(tree, "disk.img"));
	request.name = file;
	assert_int_equal(truncate(file, 65536), 0);
	struct target *target =
		refind_open(&request, TARGET_READ, &where, &err);
	if (target == NULL)
		fail_msg("%s", err.text);
	target_close(target);
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p10_a_drive_with_another_name_is_found),
		ROW(p10_none_is_taken_for_one_that_is_not_there),
		ROW(p10_none_of_several_is_taken),
		ROW(p10_a_placeholder_finds_nothing),
		ROW(p10_without_an_identity_nothing_is_looked_for),
		ROW(p10_files_and_exports_stay_where_they_are),
		ROW(p10_an_id_names_exactly_one_drive),
		ROW(p10_an_id_that_is_not_proof_is_marked),
		ROW(a_file_is_opened_as_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
