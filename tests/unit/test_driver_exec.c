/* SPDX-License-Identifier: MIT */
/* A program is believed as far as its status and its first word go, and one
 * that hangs switches nothing later. */
#include "relay/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "tests/unit/cmocka_all.h"

static char folder[64], program[96], trace[96];
static struct outlet outlet;
static struct err err;

static void write_program(const char *body)
{
	FILE *file = fopen(program, "we");

	assert_non_null(file);
	(void)fprintf(file, "#!/bin/sh\necho \"$@\" >>%s\n%s\n", trace, body);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(program, 0700), 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test_driver_exec.XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(program, sizeof(program), "%s/switch", folder);
	(void)snprintf(trace, sizeof(trace), "%s/trace", folder);
	memset(&outlet, 0, sizeof(outlet));
	memset(&err, 0, sizeof(err));
	outlet.driver = &driver_exec;
	outlet.channel = 7;
	(void)snprintf(outlet.address, sizeof(outlet.address), "%s", program);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(program); /* not each test has each */
	(void)unlink(trace);
	return rmdir(folder);
}

static uint64_t in_ms(uint64_t ms)
{
	return clock_monotonic_ns() + ms * CLOCK_NS_PER_MS;
}

static int set(enum relay_state to, uint64_t limit_ms)
{
	return driver_exec.set(NULL, &outlet, to, in_ms(limit_ms), &err);
}

static int get(enum relay_state *told)
{
	return driver_exec.get(NULL, &outlet, told, in_ms(10000), &err);
}

static void expect_trace(const char *wanted)
{
	char text[256] = "";
	FILE *file = fopen(trace, "re");

	assert_non_null(file);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file); /* was only read */
	assert_string_equal(text, wanted);
}

static void words_and_channel_are_passed_on(void **state)
{
	enum relay_state told = RELAY_OFF;

	(void)state;
	write_program("[ $1 != status ] || echo on");
	assert_int_equal(set(RELAY_ON, 10000), 0);
	assert_int_equal(set(RELAY_OFF, 10000), 0);
	assert_int_equal(get(&told), 1);
	assert_int_equal(told, RELAY_ON);
	expect_trace("on 7\noff 7\nstatus 7\n");
}

static void a_status_is_its_first_word(void **state)
{
	enum relay_state told = RELAY_ON;

	(void)state;
	write_program("echo 'off since noon'");
	assert_int_equal(get(&told), 1);
	assert_int_equal(told, RELAY_OFF);
	write_program("echo unknown");
	assert_int_equal(get(&told), 0);
	write_program("echo offline");
	assert_int_equal(get(&told), -1);
	assert_non_null(strstr(err.text, "none of on, off, unknown"));
	write_program("true");
	assert_int_equal(get(&told), -1);
	write_program("head -c 100000 /dev/zero | tr '\\0' x");
	assert_int_equal(get(&told), -1);
	assert_int_equal(told, RELAY_OFF);
}

static void a_program_that_fails_has_not_switched(void **state)
{
	enum relay_state told = RELAY_ON;

	(void)state;
	write_program("echo on; echo 'no such rack' >&2; exit 4");
	assert_int_equal(set(RELAY_OFF, 10000), -1);
	assert_non_null(strstr(err.text, "status 4: no such rack"));
	assert_int_equal(get(&told), -1);
	write_program("kill -9 $$");
	assert_int_equal(set(RELAY_OFF, 10000), -1);
	assert_non_null(strstr(err.text, "status 137"));
}

static void one_that_hangs_is_ended_with_all_it_started(void **state)
{
	char late[160];

	(void)state;
	(void)snprintf(late, sizeof(late),
		       "(sleep 1; echo late >>%s) &\nsleep 9", trace);
	write_program(late);
	assert_int_equal(set(RELAY_OFF, 200), -1);
	assert_non_null(strstr(err.text, "did not end in time"));
	clock_sleep_ms(1500); /* what was started would have been through */
	expect_trace("off 7\n");
}

static void what_is_no_program_is_refused(void **state)
{
	struct port *port;

	(void)state;
	assert_null(driver_exec.open(&outlet, 0, &err));
	assert_non_null(strstr(err.text, "is no program"));
	write_program("true");
	port = driver_exec.open(&outlet, 0, &err);
	assert_non_null(port);
	port_close(port);
	assert_int_equal(chmod(program, 0600), 0);
	(void)snprintf(outlet.address, sizeof(outlet.address), "%s/nobody",
		       folder);
	assert_int_equal(set(RELAY_OFF, 1000), -1);
	assert_non_null(strstr(err.text, "cannot run"));
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(words_and_channel_are_passed_on),
		ROW(a_status_is_its_first_word),
		ROW(a_program_that_fails_has_not_switched),
		ROW(one_that_hangs_is_ended_with_all_it_started),
		ROW(what_is_no_program_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
