/* SPDX-License-Identifier: MIT */
/* Requests and answers: pdudaemon/pdudaemon, httplistener.py, listener.py. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/http_fake.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define OK "OK - accepted request\n"

static struct outlet outlet_with(const char *key, const char *value)
{
	struct outlet outlet = {.driver = &driver_pdudaemon,
				.address = "http://daemon:16421",
				.channel = 1};
	struct err err = {""};

	assert_int_equal(outlet_take_option(&outlet, key, value, &err), 0);
	return outlet;
}

static int set(const struct outlet *outlet, enum relay_state to,
	       const char *path, long status, const char *reply,
	       struct err *err)
{
	const struct http_fake_step script[] = {
		{"GET", path, NULL, status, reply, 0, false}, {0}};

	return http_fake_set(outlet, to, script, err);
}

/* "reboot" is left out: how long it keeps power away is the daemon's. */
static void requests_are_the_documented_ones(void **state)
{
	static struct vector rows[VECTORS_MAX];
	static struct http_fake_row row;
	const struct outlet outlet = outlet_with("hostname", "pdu0");
	const size_t count = vectors_of("pdudaemon-http16421", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct http_fake_step script[2] = {{0}};
		struct err err = {""};

		if (vectors_is(&rows[i], "reboot"))
			continue;
		http_fake_row_init(&row, &rows[i]);
		script[0] = row.step;
		assert_int_equal(rows[i].channel, outlet.channel);
		assert_int_equal(http_fake_set(&outlet,
					       vectors_is(&rows[i], "on")
						       ? RELAY_ON
						       : RELAY_OFF,
					       script, &err),
				 0);
		played++;
	}
	assert_int_equal(played, count - 1);
}

static void names_are_encoded_and_an_alias_stands_alone(void **state)
{
	struct outlet outlet = outlet_with("hostname", "pdu 1&x=\xc3\xa4");
	const struct outlet alias = outlet_with("alias", "slot#3");
	struct err err = {""};

	(void)state;
	assert_int_equal(set(&outlet, RELAY_ON,
			     "/power/control/on?hostname="
			     "pdu%201%26x%3D%C3%A4&port=1",
			     200, OK, &err),
			 0);
	assert_int_equal(outlet_take_option(&outlet, "port", "0", &err), 0);
	assert_int_equal(set(&outlet, RELAY_OFF,
			     "/power/control/off?hostname="
			     "pdu%201%26x%3D%C3%A4&port=0",
			     200, OK, &err),
			 0);
	assert_int_equal(set(&alias, RELAY_OFF,
			     "/power/control/off?alias=slot%233", 200, OK,
			     &err),
			 0);
}

static void what_is_not_ok_has_failed(void **state)
{
	const struct outlet outlet = outlet_with("alias", "x");
	static const char path[] = "/power/control/off?alias=x";
	struct err err = {""};

	(void)state;
	assert_int_equal(
		set(&outlet, RELAY_OFF, path, 500, "Invalid request\n", &err),
		-1);
	assert_non_null(strstr(err.text, "500"));
	assert_int_equal(set(&outlet, RELAY_OFF, path, 503, OK, &err), -1);
	assert_int_equal(set(&outlet, RELAY_OFF, path, 200, "", &err), -1);
	assert_int_equal(set(&outlet, RELAY_OFF, path, 200, "O", &err), -1);
	assert_int_equal(set(&outlet, RELAY_OFF, path, 200, "<html>OK", &err),
			 -1);
	assert_int_equal(
		set(&outlet, RELAY_OFF, path, HTTP_FAKE_SILENT, NULL, &err),
		-1);
	assert_int_equal(
		set(&outlet, RELAY_OFF, path, HTTP_FAKE_GONE, NULL, &err), -1);
}

static void either_a_host_or_an_alias_is_given(void **state)
{
	struct outlet both = outlet_with("hostname", "pdu0");
	struct outlet port = outlet_with("alias", "x");
	const struct outlet neither = outlet_with("port", "3");
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&both, &err), 0);
	assert_int_equal(outlet_check(&port, &err), 0);
	assert_int_equal(outlet_take_option(&both, "alias", "x", &err), 0);
	assert_int_equal(outlet_take_option(&port, "port", "1", &err), 0);
	assert_int_equal(outlet_check(&both, &err), -1);
	assert_int_equal(outlet_check(&port, &err), -1);
	assert_int_equal(outlet_check(&neither, &err), -1);
}

/* The daemon says "OK" to a job that has failed, too. */
static void nothing_is_read_back(void **state)
{
	(void)state;
	assert_null(driver_pdudaemon.get);
	assert_null(driver_pdudaemon.pulse_for);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_the_documented_ones),
		cmocka_unit_test(names_are_encoded_and_an_alias_stands_alone),
		cmocka_unit_test(what_is_not_ok_has_failed),
		cmocka_unit_test(either_a_host_or_an_alias_is_given),
		cmocka_unit_test(nothing_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
