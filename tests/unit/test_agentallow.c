/* SPDX-License-Identifier: MIT */
/*
 * Whoever has the key still cannot run what is not on the list, and nothing
 * that erases without the writer's guard.
 */
#include "tests/unit/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agentallow.h"
#include "common/base/err.h"

static char folder[] = "/tmp/plugpull-allow.XXXXXX";
static char writer[64];
static struct agentwire_words words;
static struct agentallow allow;
static struct err err;

static int set_up(void **state)
{
	int fd;

	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(writer, sizeof(writer), "%s/plugpull-writer", folder);
	fd = open(writer, O_CREAT | O_WRONLY, 0755);
	return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(writer);
	return rmdir(folder);
}

/* LINE is split at its blanks. */
static enum agentallow_answer ask(const char *line)
{
	char *at = words.text;

	(void)snprintf(words.text, sizeof(words.text), "%s", line);
	words.count = 0;
	for (char *word; (word = strsep(&at, " ")) != NULL;)
		words.words[words.count++] = word;
	words.words[words.count] = NULL;
	memset(&allow, 0, sizeof(allow));
	return agentallow_check(&words, folder, &allow, &err);
}

static void ours_run_from_their_folder_alone(void **state)
{
	(void)state;
	assert_int_equal(ask("plugpull-writer --target x"), AGENTALLOW_YES);
	assert_string_equal(allow.path, writer);
	assert_true(allow.uses_drive);
	assert_int_equal(ask("plugpull-verifier"), AGENTALLOW_MISSING);
	assert_int_equal(ask("plugpull-collector"), AGENTALLOW_REFUSED);
	assert_int_equal(ask("plugpull-agent call"), AGENTALLOW_REFUSED);
	assert_int_equal(ask("./plugpull-writer"), AGENTALLOW_REFUSED);
	assert_int_equal(ask(writer), AGENTALLOW_REFUSED);
	assert_int_equal(ask(""), AGENTALLOW_REFUSED);
}

static void only_the_boot_id_is_shown(void **state)
{
	(void)state;
	assert_int_equal(ask("cat /proc/sys/kernel/random/boot_id"),
			 AGENTALLOW_YES);
	assert_false(allow.uses_drive);
	assert_int_equal(allow.path[0], '/');
	assert_int_equal(ask("cat"), AGENTALLOW_REFUSED);
	assert_int_equal(ask("cat /etc/shadow"), AGENTALLOW_REFUSED);
	assert_int_equal(ask("cat /proc/sys/kernel/random/boot_id /etc/shadow"),
			 AGENTALLOW_REFUSED);
	assert_int_equal(ask("cat -n /proc/sys/kernel/random/boot_id"),
			 AGENTALLOW_REFUSED);
}

/* Installed or not: refused is another answer. */
static void drives_are_asked_and_never_changed(void **state)
{
	static const char *const fine[] = {
		"smartctl --json -a /dev/nvme0n1",
		"smartctl --json -a -d sat /dev/disk/by-id/usb-X",
		"nvme smart-log /dev/nvme0n1 -o json",
		"nvme ocp smart-add-log /dev/nvme0n1 -o json",
		"nvme id-ctrl /dev/nvme0 -o json",
	};
	static const char *const bad[] = {
		"smartctl -s off /dev/sda",
		"smartctl --set=wcache,off /dev/sda",
		"smartctl -t long /dev/sda",
		"smartctl -a /etc/shadow",
		"smartctl -a /dev/../etc/shadow",
		"smartctl -d test,/x -a /dev/sda",
		"nvme format /dev/nvme0n1",
		"nvme sanitize /dev/nvme0",
		"nvme write /dev/nvme0n1",
		"nvme smart-log /dev/nvme0n1 --output-file=/etc/x",
		"nvme io-passthru /dev/nvme0n1 -o 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		enum agentallow_answer answer = ask(fine[i]);

		if (answer == AGENTALLOW_REFUSED)
			fail_msg("%s: %s", fine[i], err.text);
		if (answer == AGENTALLOW_YES)
			assert_int_equal(access(allow.path, X_OK), 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (ask(bad[i]) != AGENTALLOW_REFUSED)
			fail_msg("%s was not refused", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_run_from_their_folder_alone),
		cmocka_unit_test(only_the_boot_id_is_shown),
		cmocka_unit_test(drives_are_asked_and_never_changed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
