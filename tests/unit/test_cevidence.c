/* SPDX-License-Identifier: MIT */
/* cevidence: what the kernel says of a device, and of a part of one. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "campaign/cevidence.h"

static char root[64];
static uint64_t diskseq;
static char cache[OUTCOME_WORD_BYTES];

static void put(const char *name, const char *text)
{
	char path[160];
	FILE *file = NULL;

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* A drive 8:0 whose part 8:1 lies below it, as in sysfs. */
static int set_up(void **state)
{
	char command[400];

	(void)state;
	strcpy(root, "/tmp/test_cevidence.XXXXXX");
	if (mkdtemp(root) == NULL)
		return -1;
	(void)snprintf(command, sizeof(command),
		       "mkdir -p %s/sda/queue %s/sda/sda1 && ln -s sda %s/8:0 "
		       "&& ln -s sda/sda1 %s/8:1",
		       root, root, root, root);
	return system(command);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void read_device(unsigned int minor_number)
{
	cevidence_read_device(root, makedev(8, minor_number), &diskseq, cache);
}

static void a_part_has_its_drives(void **state)
{
	(void)state;
	put("8:0/diskseq", "23\n");
	put("8:0/queue/write_cache", "write back\n");
	for (unsigned int i = 0; i < 2; i++) {
		read_device(i);
		assert_int_equal(diskseq, 23);
		assert_string_equal(cache, "write back");
	}
}

static void p9_what_cannot_be_read_is_unknown(void **state)
{
	static const char *const bad[] = {
		"", "\n", "x", "-1\n", "12x\n", "99999999999999999999\n"};

	(void)state;
	read_device(0);
	assert_int_equal(diskseq, 0);
	assert_string_equal(cache, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("8:0/diskseq", bad[i]);
		read_device(0);
		assert_int_equal(diskseq, 0);
	}
	put("8:0/queue/write_cache",
	    "\033[2J and much more than there is room");
	read_device(0);
	assert_int_equal(strlen(cache), OUTCOME_WORD_BYTES - 1);
	assert_int_equal(cache[0], '?');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_part_has_its_drives, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			p9_what_cannot_be_read_is_unknown, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
