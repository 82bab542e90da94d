/* SPDX-License-Identifier: MIT */
/* creturn: every SCSI host and the PCI bus are asked to look again; a bus that
 * refuses is told, and one that is not there is no trouble. */
#include "campaign/creturn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cmocka_all.h"

static char top[] = "/tmp/test_creturn.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void make_folder(const char *name)
{
	assert_int_equal(mkdir(path_of(name), 0700), 0);
}

static void make_file(const char *name)
{
	FILE *file = fopen(path_of(name), "we");

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *name, const char *wanted)
{
	FILE *file = fopen(path_of(name), "re");
	char text[64] = "";

	assert_non_null(file);
	(void)fread(text, 1, sizeof(text) - 1, file);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(text, wanted);
}

static int scan(void)
{
	char script[CRETURN_SCRIPT_BYTES];

	creturn_script(top, script);
	return system(script);
}

static void every_bus_is_scanned(void **state)
{
	(void)state;
	assert_int_equal(scan(), 0); /* nothing is there */
	make_folder("class");
	make_folder("class/scsi_host");
	make_folder("class/scsi_host/host0");
	make_file("class/scsi_host/host0/scan");
	make_folder("class/scsi_host/host17");
	make_file("class/scsi_host/host17/scan");
	make_folder("bus");
	make_folder("bus/pci");
	make_file("bus/pci/rescan");
	assert_int_equal(scan(), 0);
	expect_text("class/scsi_host/host0/scan", "- - -\n");
	expect_text("class/scsi_host/host17/scan", "- - -\n");
	expect_text("bus/pci/rescan", "1\n");
}

static void a_bus_that_refuses_is_told(void **state)
{
	(void)state;
	/* Not even root writes into a folder. */
	assert_int_equal(unlink(path_of("class/scsi_host/host0/scan")), 0);
	make_folder("class/scsi_host/host0/scan");
	make_file("class/scsi_host/host17/scan");
	assert_int_not_equal(scan(), 0);
	expect_text("class/scsi_host/host17/scan", "- - -\n");
}

static void what_was_done_is_told(void **state)
{
	struct creturn wait = {.rescans = 0};
	char text[256];

	(void)state;
	assert_false(creturn_tell(&wait, text, sizeof(text)));
	wait.rescans = 2;
	assert_true(creturn_tell(&wait, text, sizeof(text)));
	assert_string_equal(text, "the drive was missing: SCSI hosts and PCI "
				  "were scanned again, 2 times");
	(void)err_set(&wait.trouble, "hook rescan ended with status 1");
	assert_true(creturn_tell(&wait, text, sizeof(text)));
	assert_non_null(strstr(text, ": hook rescan ended with status 1"));
}

static int make_top(void **state)
{
	(void)state;
	return mkdtemp(top) == NULL ? -1 : 0;
}

static int remove_top(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bus_is_scanned),
		cmocka_unit_test(a_bus_that_refuses_is_told),
		cmocka_unit_test(what_was_done_is_told),
	};

	return cmocka_run_group_tests(tests, make_top, remove_top);
}
