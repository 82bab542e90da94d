/* SPDX-License-Identifier: MIT */
/* Requests and answers: labgrid-project/labgrid, shelly_gen1.py;
 * metacpan.org, Power::Outlet::Shelly; shelly-api-docs.shelly.cloud/gen1. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/http_fake.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define OFF       "{\"ison\":false,\"has_timer\":false,\"source\":\"http\"}"
#define ON        "{\"ison\":true,\"has_timer\":false,\"source\":\"http\"}"
#define OFF_TIMED "{\"ison\":false,\"has_timer\":true,\"timer_remaining\":5}"
#define ON_TIMED  "{\"ison\":true,\"has_timer\":true,\"timer_remaining\":5}"

static const struct outlet plug = {
	.driver = &driver_shelly1, .address = "http://shelly0", .channel = 0};

/* The rows have no answers. */
static void requests_are_the_documented_ones(void **state)
{
	static struct vector rows[VECTORS_MAX];
	static struct http_fake_row row;
	const size_t count = vectors_of("shelly-gen1-http", rows);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct http_fake_step script[2] = {{0}};
		struct err err = {""};
		int rc = -1;

		http_fake_row_init(&row, &rows[i]);
		script[0] = row.step;
		assert_int_equal(rows[i].channel, plug.channel);
		if (vectors_is(&rows[i], "on")) {
			script[0].reply = ON;
			rc = http_fake_set(&plug, RELAY_ON, script, &err);
		} else if (vectors_is(&rows[i], "off")) {
			script[0].reply = OFF;
			rc = http_fake_set(&plug, RELAY_OFF, script, &err);
		} else if (vectors_is(&rows[i], "off-then-auto-on-5s")) {
			script[0].reply = OFF_TIMED;
			script[0].is_once = true;
			rc = http_fake_pulse(&plug, RELAY_OFF, 5000, script,
					     &err);
		}
		assert_int_equal(rc, 0);
	}
}

static int pulse(enum relay_state to, const char *path, const char *reply,
		 struct err *err)
{
	const struct http_fake_step script[] = {
		{"GET", path, NULL, 200, reply, 0, true}, {0}};

	return http_fake_pulse(&plug, to, 2000, script, err);
}

static void a_timer_is_believed_only_where_it_is_told(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(
		pulse(RELAY_OFF, "/relay/0?turn=off&timer=2", OFF_TIMED, &err),
		0);
	assert_int_equal(
		pulse(RELAY_ON, "/relay/0?turn=on&timer=2", ON_TIMED, &err), 0);
	assert_int_equal(
		pulse(RELAY_OFF, "/relay/0?turn=off&timer=2", OFF, &err), -1);
	assert_non_null(strstr(err.text, "timer"));
	assert_int_equal(pulse(RELAY_OFF, "/relay/0?turn=off&timer=2",
			       "{\"ison\":false}", &err),
			 -1);
	assert_int_equal(
		pulse(RELAY_OFF, "/relay/0?turn=off&timer=2", ON_TIMED, &err),
		-1);
	assert_non_null(strstr(err.text, "stays on"));
}

static int set(enum relay_state to, long status, const char *reply,
	       struct err *err)
{
	const struct http_fake_step script[] = {
		{"GET",
		 to == RELAY_ON ? "/relay/0?turn=on" : "/relay/0?turn=off",
		 NULL, status, reply, 0, false},
		{0}};

	return http_fake_set(&plug, to, script, err);
}

static void a_command_that_is_not_confirmed_has_failed(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set(RELAY_OFF, 200, ON, &err), -1);
	assert_int_equal(set(RELAY_ON, 200, OFF, &err), -1);
	assert_int_equal(set(RELAY_ON, 200, "{}", &err), -1);
	assert_int_equal(set(RELAY_ON, 200, "401 Unauthorized", &err), -1);
	assert_int_equal(set(RELAY_ON, 500, ON, &err), -1);
	assert_int_equal(set(RELAY_ON, 302, ON, &err), -1);
	assert_non_null(strstr(err.text, "elsewhere"));
	assert_int_equal(set(RELAY_ON, HTTP_FAKE_SILENT, NULL, &err), -1);
	assert_int_equal(set(RELAY_ON, HTTP_FAKE_GONE, NULL, &err), -1);
}

static void silence_is_told_and_nonsense_is_no_state(void **state)
{
	const struct outlet third = {.driver = &driver_shelly1, .channel = 3};
	static const struct http_fake_step good = {
		.method = "GET", .path = "/relay/0", .reply = ON};
	const struct http_fake_step silent[] = {
		{"GET", "/relay/3", NULL, HTTP_FAKE_SILENT, NULL, 0, false},
		{0}};
	const struct http_fake_step tells[] = {
		{"GET", "/relay/3", NULL, 200, ON_TIMED, 0, false}, {0}};
	enum relay_state told = RELAY_OFF;
	struct err err = {""};

	(void)state;
	assert_int_equal(http_fake_get(&third, &told, silent, &err), 0);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(http_fake_get(&third, &told, tells, &err), 1);
	assert_int_equal(told, RELAY_ON);
	http_fake_expect_nonsense(&plug, &good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_the_documented_ones),
		cmocka_unit_test(a_timer_is_believed_only_where_it_is_told),
		cmocka_unit_test(a_command_that_is_not_confirmed_has_failed),
		cmocka_unit_test(silence_is_told_and_nonsense_is_no_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
