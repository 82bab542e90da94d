/* SPDX-License-Identifier: MIT */
/*
 * A file is known by its file system and inode. What xfs says is in
 * tests/kernel/file-identity.sh, since it takes root.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "common/target/fileid.h"
#include "common/target/identity.h"

static int new_file(void)
{
	char path[] = "/tmp/plugpull-test-XXXXXX";
	int fd = mkstemp(path);

	assert_int_not_equal(fd, -1);
	assert_int_equal(unlink(path), 0);
	return fd;
}

static void p10_one_file_is_itself_and_no_other(void **state)
{
	int one = new_file(), two = new_file();
	char first[IDENTITY_TEXT_BYTES], again[IDENTITY_TEXT_BYTES];
	char other[IDENTITY_TEXT_BYTES];

	(void)state;
	assert_int_equal(fileid_tell(one, first, sizeof(first)), 0);
	assert_int_equal(fileid_tell(one, again, sizeof(again)), 0);
	assert_int_equal(fileid_tell(two, other, sizeof(other)), 0);
	assert_int_equal(identity_compare(first, again), IDENTITY_SAME);
	assert_int_equal(identity_compare(first, other), IDENTITY_OTHER);
	assert_int_equal(close(one), 0);
	assert_int_equal(close(two), 0);
}

/* What logs of former versions say must not change where it was right. */
static void p10_a_number_that_is_no_devices_stays_as_it_was(void **state)
{
	char text[IDENTITY_TEXT_BYTES], former[IDENTITY_TEXT_BYTES];
	int fd = new_file();
	struct statfs system;
	struct stat status;

	(void)state;
	assert_int_equal(fstatfs(fd, &system), 0);
	assert_int_equal(fstat(fd, &status), 0);
	(void)snprintf(former, sizeof(former), "file:%08x%08x:%llu",
		       (unsigned int)system.f_fsid.__val[0],
		       (unsigned int)system.f_fsid.__val[1],
		       (unsigned long long)status.st_ino);
	assert_int_equal(fileid_tell(fd, text, sizeof(text)), 0);
	if (system.f_fsid.__val[1] != 0)
		assert_string_equal(text, former);
	else
		assert_int_not_equal(identity_compare(former, text),
				     IDENTITY_OTHER);
	assert_int_equal(close(fd), 0);
}

static void what_is_not_open_has_no_identity(void **state)
{
	char text[IDENTITY_TEXT_BYTES];

	(void)state;
	assert_int_equal(fileid_tell(-1, text, sizeof(text)), -1);
	assert_int_equal(errno, EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p10_one_file_is_itself_and_no_other),
		cmocka_unit_test(
			p10_a_number_that_is_no_devices_stays_as_it_was),
		cmocka_unit_test(what_is_not_open_has_no_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
