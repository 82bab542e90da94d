/* SPDX-License-Identifier: MIT */
/* Which mount options send no FLUSH is read from lines that anybody may have
 * had a part in. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "common/target/mountfacts.h"

static bool take(const char *text, uint64_t id, struct mountfacts *facts)
{
	char line[1024];

	memset(facts, 0, sizeof(*facts));
	(void)snprintf(line, sizeof(line), "%s", text);
	return mountfacts_take(line, id, facts);
}

static void a_line_is_known_by_its_number(void **state)
{
	static const char *const line =
		"36 35 98:0 / /mnt/a\\040b rw,noatime master:1 shared:2 - ext4 "
		"/dev/sda1 rw,errors=continue\n";
	struct mountfacts facts;

	(void)state;
	assert_true(take(line, 36, &facts));
	assert_true(facts.is_known);
	assert_string_equal(facts.type, "ext4");
	assert_string_equal(facts.point, "/mnt/a\\040b");
	assert_string_equal(facts.options, "rw,errors=continue");
	assert_false(facts.is_barrierless);
	assert_true(facts.flushes_always);
	assert_false(take(line, 35, &facts));
	assert_false(take(line, 3, &facts));
	assert_false(facts.is_known);
}

static void p9_a_mount_without_barriers_is_seen(void **state)
{
	static const struct {
		const char *options;
		bool is_barrierless;
	} rows[] = {
		{"rw", false},
		{"rw,barrier", false},
		{"rw,barrier=1", false},
		{"nobarrier", true},
		{"rw,nobarrier,data=ordered", true},
		{"rw,barrier=0", true},
		{"barrier=none", true},
		{"rw,subvol=/nobarrier", false},
		{"rw,xnobarrier", false},
		{"rw,nobarrierx", false},
	};
	struct mountfacts facts;
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "1 2 8:1 / /mnt rw - btrfs /dev/sdb %s\n",
			       rows[i].options);
		assert_true(take(line, 1, &facts));
		assert_int_equal(facts.is_barrierless, rows[i].is_barrierless);
		assert_false(facts.flushes_always);
	}
	/* The options of the mount point are not the file system's. */
	assert_true(take("1 2 8:1 / /m rw,nobarrier - ext4 /dev/sdb rw", 1,
			 &facts));
	assert_false(facts.is_barrierless);
}

static void what_is_no_line_is_nothing(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"1",
		"1\n",
		"x 2 8:1 / /m rw - ext4 d rw",
		"1x 2 8:1 / /m rw - ext4 d rw",
		"1 2 8:1 / /m rw",
		"1 2 8:1 / /m rw -",
		"1 2 8:1 / /m rw - ext4 d",
		"-1 2 8:1 / /m rw - ext4 d rw",
	};
	struct mountfacts facts;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_false(take(lines[i], 1, &facts));
		assert_false(facts.is_known);
	}
}

static void names_are_cut_and_cleaned(void **state)
{
	struct mountfacts facts;
	char line[900], long_name[400];

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	(void)snprintf(line, sizeof(line), "1 2 8:1 / /%s rw - a\033b d %s",
		       long_name, long_name);
	assert_true(take(line, 1, &facts));
	assert_in_range(strlen(facts.point), 200, MOUNTFACTS_TEXT_BYTES - 1);
	assert_in_range(strlen(facts.options), 200, MOUNTFACTS_TEXT_BYTES - 1);
	assert_string_equal(facts.type, "a b");
}

static void this_very_system_is_known(void **state)
{
	struct mountfacts facts;

	(void)state;
	mountfacts_read("/proc/self", &facts);
	assert_true(facts.is_known);
	assert_string_equal(facts.type, "proc");
	mountfacts_read("/none/at/all", &facts);
	assert_false(facts.is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_known_by_its_number),
		cmocka_unit_test(p9_a_mount_without_barriers_is_seen),
		cmocka_unit_test(what_is_no_line_is_nothing),
		cmocka_unit_test(names_are_cut_and_cleaned),
		cmocka_unit_test(this_very_system_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
