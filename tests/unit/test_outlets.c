/* SPDX-License-Identifier: MIT */
/* A file of outlets decides which machine is cut: what is doubtful in it is
 * refused by line, also where another outlet is asked for. */
#include "relay/outlets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "tests/unit/cmocka_all.h"

#define SIM  "driver = sim\naddress = /run/a\n"
#define LCUS "driver = lcus\naddress = /dev/ttyUSB0\n"

static struct outlet found[OUTLETS_MEMBERS_MAX];

static size_t find(const char *text, const char *name, struct err *err)
{
	struct outlets *outlets = outlets_of(text, "o.ini", err);
	size_t count = 0;

	if (outlets == NULL)
		return 0;
	count = outlets_find(outlets, name, found, err);
	outlets_free(outlets);
	return count;
}

static void expect_one(const char *text, const char *name)
{
	struct err err = {""};

	if (find(text, name, &err) != 1)
		fail_msg("%s", err.text);
}

static void expect_refused(const char *text, const char *why)
{
	struct err err = {""};

	assert_int_equal(find(text, "a", &err), 0);
	if (strstr(err.text, why) == NULL)
		fail_msg("%s", err.text);
}

static void every_key_is_taken(void **state)
{
	(void)state;
	expect_one("; bench 3\n[outlet slot3]\n" LCUS "channel = 4\n"
		   "baud = 19200\ncontact = nc\nwhen_lost = on\n"
		   "drain_time = 2s\nsettle_time = 150ms\n"
		   "min_interval = 1s\noperations_max = 50000\n",
		   "slot3");
	assert_string_equal(found[0].name, "slot3");
	assert_ptr_equal(found[0].driver, &driver_lcus);
	assert_string_equal(found[0].address, "/dev/ttyUSB0");
	assert_int_equal(found[0].channel, 4);
	assert_int_equal(found[0].baud, 19200);
	assert_true(found[0].is_inverted);
	assert_int_equal(found[0].when_lost, OUTLET_LOST_ON);
	assert_int_equal(found[0].drain_ms, 2000);
	assert_int_equal(found[0].settle_ms, 150);
	assert_int_equal(found[0].interval_ms, 1000);
	assert_int_equal(found[0].operations_max, 50000);
	expect_one("[outlet a]\n" LCUS, "a");
	assert_int_equal(found[0].channel, 1);
	assert_false(found[0].is_inverted);
	assert_int_equal(found[0].when_lost, OUTLET_LOST_KEEP);
}

static void members_are_switched_as_one(void **state)
{
	static const char text[] = "[outlet drive1]\nmembers = rail5, rail12\n"
				   "[outlet rail5]\n" LCUS
				   "[outlet rail12]\n" LCUS "channel = 2\n";
	struct err err = {""};

	(void)state;
	assert_int_equal(find(text, "drive1", &err), 2);
	assert_string_equal(found[0].name, "rail5");
	assert_string_equal(found[1].name, "rail12");
	assert_int_equal(found[1].channel, 2);
}

static void what_is_doubtful_is_refused_by_line(void **state)
{
	(void)state;
	expect_refused("[outlet a]\n" SIM "chanel = 1\n", "o.ini:4: chanel: "
							  "sim has no such");
	expect_refused("[outlet a]\n" SIM "address = /run/b\n",
		       "o.ini:4: address: given twice");
	expect_refused("[outlet a]\n" SIM "channel = 1\nchannel = 1\n",
		       "o.ini:5: channel: given twice");
	expect_refused("[outlet a]\nchannel = 1\n" SIM, "o.ini:2: channel: "
							"driver must stand");
	expect_refused("[outlet a]\ndriver = nonsense\n", "o.ini:2: there is "
							  "no driver");
	expect_refused("[outlet a]\n" LCUS "channel = 9\n",
		       "o.ini:4: lcus has channels 1 to 8, not 9");
	expect_refused("[outlet a]\n" LCUS "contact = open\n",
		       "o.ini:4: contact: open is neither no");
	expect_refused("[outlet a]\n" LCUS "drain_time = 2d\n", "o.ini:4: ");
	expect_refused("[outlet a]\n" LCUS "drain_time = 90000s\n",
		       "more than a day");
	expect_refused("[outlet a]\n" LCUS "when_lost = dark\n", "when_lost");
	expect_refused("[outlet a]\n" LCUS "baud = 12\n", "from 50");
	expect_refused("[outlet a]\n" SIM "channel =\n", "has no value");
	expect_refused("[outlet a]\ndriver = sim\n", "o.ini:2: [outlet a]: "
						     "address: is missing");
	expect_refused("[outlet a]\nmin_interval = 1s\n", "driver: is missing");
	expect_refused("[relay a]\n" SIM, "a section is [outlet NAME]");
	expect_refused("[outlet a/b]\n" SIM, "a section is [outlet NAME]");
	expect_refused("[outlet .a]\n" SIM, "a section is [outlet NAME]");
	expect_refused("[outlet a]\n" SIM "nonsense\n", "o.ini:4: ");
	expect_refused("[outlet a]\n" SIM " channel = 1\n", "o.ini:4: a line "
							    "must not begin");
	/* Also where it is of another outlet. */
	expect_refused("[outlet a]\n" SIM "[outlet b]\n" SIM "x = 1\n",
		       "o.ini:7: x");
	expect_refused("[outlet b]\n" SIM, "there is no [outlet a]");
}

static void groups_that_cannot_be_are_refused(void **state)
{
	(void)state;
	expect_refused("[outlet a]\nmembers = b\n", "there is no [outlet b]");
	expect_refused("[outlet a]\nmembers = a\n", "a has members itself");
	expect_refused("[outlet a]\nmembers = b, b\n[outlet b]\n" SIM,
		       "b stands twice");
	expect_refused("[outlet a]\nmembers = b\n" SIM "[outlet b]\n" SIM,
		       "has members and a driver");
	expect_refused("[outlet a]\nmembers = b/c\n", "not a list of names");
	expect_refused("[outlet a]\nmembers = b,b,b,b,b,b,b,b,b\n",
		       "more than 8");
}

static void a_secret_is_a_file_of_its_owner_alone(void **state)
{
	char text[512], folder[] = "/tmp/test_outlets.XXXXXX", path[64];
	char secret[OUTLET_SECRET_BYTES];
	static const struct driver_key keys[] = {
		{"password", "of the box", "", true}, {0}};
	struct relay_driver driver = driver_sim;
	struct outlet outlet = {.driver = &driver};
	struct err err = {""};
	FILE *file;

	(void)state;
	driver.keys = keys;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/secret", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	(void)fputs("open sesame\r\nmore\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(outlet_secret(&outlet, "password", secret, &err), 0);
	assert_string_equal(secret, "");
	assert_int_equal(outlet_take_option(&outlet, "password", path, &err),
			 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(outlet_secret(&outlet, "password", secret, &err), -1);
	assert_non_null(strstr(err.text, "hint: chmod 600"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(outlet_secret(&outlet, "password", secret, &err), 0);
	assert_string_equal(secret, "open sesame");
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(outlet_secret(&outlet, "password", secret, &err), -1);
	(void)snprintf(text, sizeof(text), "%s", err.text);
	assert_non_null(strstr(text, "holds no secret"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(outlet_secret(&outlet, "password", secret, &err), -1);
	assert_int_equal(rmdir(folder), 0);
}

static void a_file_is_read_whole(void **state)
{
	char path[] = "/tmp/test_outlets.XXXXXX";
	struct outlets *outlets;
	struct err err = {""};
	int fd = mkstemp(path);

	(void)state;
	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, "[outlet a]\n" SIM "[outlet b]\n" SIM, 82),
			 82);
	outlets = outlets_load(path, &err);
	if (outlets == NULL)
		fail_msg("%s", err.text);
	assert_string_equal(outlets_name(outlets, 0), "a");
	assert_string_equal(outlets_name(outlets, 1), "b");
	assert_null(outlets_name(outlets, 2));
	outlets_free(outlets);
	assert_int_equal(pwrite(fd, "", 1, 5), 1);
	assert_null(outlets_load(path, &err));
	assert_non_null(strstr(err.text, "not a text"));
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	assert_null(outlets_load(path, &err));
	assert_non_null(strstr(err.text, "cannot read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(members_are_switched_as_one),
		cmocka_unit_test(what_is_doubtful_is_refused_by_line),
		cmocka_unit_test(groups_that_cannot_be_are_refused),
		cmocka_unit_test(a_secret_is_a_file_of_its_owner_alone),
		cmocka_unit_test(a_file_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
