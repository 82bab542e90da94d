/* SPDX-License-Identifier: MIT */
/* Requests and answers: tasmota/docs, docs/Commands.md; the warning:
 * arendst/Tasmota, xdrv_01_9_webserver.ino. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/http_fake.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

static const struct outlet plug = {
	.driver = &driver_tasmota, .address = "http://plug0", .channel = 1};

/* All rows are "on" and "off". */
static void requests_are_the_documented_ones(void **state)
{
	static struct vector rows[VECTORS_MAX];
	static struct http_fake_row row;
	const size_t count = vectors_of("tasmota-http", rows);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct http_fake_step script[2] = {{0}};
		struct err err = {""};

		http_fake_row_init(&row, &rows[i]);
		script[0] = row.step;
		assert_int_equal(rows[i].channel, plug.channel);
		assert_int_equal(http_fake_set(&plug,
					       vectors_is(&rows[i], "on")
						       ? RELAY_ON
						       : RELAY_OFF,
					       script, &err),
				 0);
	}
}

static int get(const struct outlet *outlet, const char *path, const char *reply,
	       enum relay_state *told, struct err *err)
{
	const struct http_fake_step script[] = {
		{"GET", path, NULL, 200, reply, 0, false}, {0}};

	return http_fake_get(outlet, told, script, err);
}

static void tells_the_relay_that_was_asked(void **state)
{
	const struct outlet third = {.driver = &driver_tasmota, .channel = 3};
	enum relay_state told = RELAY_OFF;
	struct err err = {""};

	(void)state;
	assert_int_equal(get(&plug, "/cm?cmnd=Power1", "{\"POWER1\":\"ON\"}",
			     &told, &err),
			 1);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(get(&plug, "/cm?cmnd=Power1",
			     "{\"POWER\":\"OFF\"}\r\n", &told, &err),
			 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get(&third, "/cm?cmnd=Power3",
			     "{\"POWER1\":\"OFF\",\"POWER3\":\"ON\"}", &told,
			     &err),
			 1);
	assert_int_equal(told, RELAY_ON);
	/* Another relay's answer, and that of a device with one. */
	assert_int_equal(get(&third, "/cm?cmnd=Power3", "{\"POWER1\":\"OFF\"}",
			     &told, &err),
			 -1);
	assert_int_equal(get(&third, "/cm?cmnd=Power3", "{\"POWER\":\"OFF\"}",
			     &told, &err),
			 -1);
	assert_int_equal(told, RELAY_ON);
}

static int set(enum relay_state to, long status, const char *reply,
	       struct err *err)
{
	const struct http_fake_step script[] = {
		{"GET",
		 to == RELAY_ON ? "/cm?cmnd=Power1%20On"
				: "/cm?cmnd=Power1%20Off",
		 NULL, status, reply, 0, false},
		{0}};

	return http_fake_set(&plug, to, script, err);
}

static void a_command_that_is_not_confirmed_has_failed(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set(RELAY_OFF, 200, "{\"POWER1\":\"ON\"}", &err), -1);
	assert_non_null(strstr(err.text, "stays on"));
	assert_int_equal(set(RELAY_OFF, 200, "{\"Command\":\"Unknown\"}", &err),
			 -1);
	assert_int_equal(set(RELAY_OFF, 200, "{\"POWER1\":\"BLINK\"}", &err),
			 -1);
	assert_int_equal(set(RELAY_ON, HTTP_FAKE_SILENT, NULL, &err), -1);
	assert_non_null(strstr(err.text, "in time"));
	assert_int_equal(set(RELAY_ON, HTTP_FAKE_GONE, NULL, &err), -1);
}

static void a_missing_password_is_said(void **state)
{
	static const char warning[] = "{\"WARNING\":\"Need user=<username>&"
				      "password=<password>\"}";
	struct err err = {""};

	(void)state;
	assert_int_equal(set(RELAY_OFF, 200, warning, &err), -1);
	assert_non_null(strstr(err.text, "password"));
	assert_int_equal(set(RELAY_OFF, 401, warning, &err), -1);
	assert_non_null(strstr(err.text, "hint: see the keys user and "
					 "password"));
}

static void silence_is_told_and_nonsense_is_no_state(void **state)
{
	static const struct http_fake_step good = {
		.method = "GET",
		.path = "/cm?cmnd=Power1",
		.reply = "{\"POWER1\":\"ON\"}"};
	const struct http_fake_step silent[] = {{"GET", "/cm?cmnd=Power1", NULL,
						 HTTP_FAKE_SILENT, NULL, 0,
						 false},
						{0}};
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	assert_int_equal(http_fake_get(&plug, &told, silent, &err), 0);
	http_fake_expect_nonsense(&plug, &good);
}

/* PulseTime is a setting that stays: see the driver. */
static void no_time_is_left_to_the_device(void **state)
{
	(void)state;
	assert_null(driver_tasmota.pulse_for);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_the_documented_ones),
		cmocka_unit_test(tells_the_relay_that_was_asked),
		cmocka_unit_test(a_command_that_is_not_confirmed_has_failed),
		cmocka_unit_test(a_missing_password_is_said),
		cmocka_unit_test(silence_is_told_and_nonsense_is_no_state),
		cmocka_unit_test(no_time_is_left_to_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
