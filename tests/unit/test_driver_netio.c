/* SPDX-License-Identifier: MIT */
/* Requests and answers: NETIO application note AN21; netioproducts/PyNetio,
 * Netio/Device.py and README.md; pdudaemon/pdudaemon, netiojson.py. The table
 * of vectors has no rows of this protocol. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/http_fake.h"
#include "tests/unit/cmocka_all.h"

#define BOX                                                                    \
	"{\"Agent\":{\"Model\":\"NETIO 4All\",\"NumOutputs\":4},\"Outputs\":[" \
	"{\"ID\":1,\"Name\":\"out_1\",\"State\":1,\"Action\":1,\"Delay\":500}" \
	",{\"ID\":2,\"Name\":\"out_2\",\"State\":0,\"Action\":0,"              \
	"\"Delay\":500}]}"

static const struct outlet first = {
	.driver = &driver_netio, .address = "http://netio0", .channel = 1};
static const struct outlet second = {.driver = &driver_netio, .channel = 2};
static const struct outlet third = {.driver = &driver_netio, .channel = 3};

static int set(const struct outlet *outlet, enum relay_state to,
	       const char *body, long status, const char *reply,
	       struct err *err)
{
	const struct http_fake_step script[] = {
		{"POST", "/netio.json", body, status, reply, 0, false}, {0}};

	return http_fake_set(outlet, to, script, err);
}

static void requests_are_the_documented_ones(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set(&first, RELAY_OFF,
			     "{\"Outputs\":[{\"ID\":1,\"Action\":0}]}", 200,
			     BOX, &err),
			 0);
	assert_int_equal(set(&second, RELAY_ON,
			     "{\"Outputs\":[{\"ID\":2,\"Action\":1}]}", 200,
			     BOX, &err),
			 0);
}

static void a_command_that_is_not_taken_has_failed(void **state)
{
	static const char body[] = "{\"Outputs\":[{\"ID\":1,\"Action\":0}]}";
	struct err err = {""};

	(void)state;
	assert_int_equal(set(&first, RELAY_OFF, body, 401, "", &err), -1);
	assert_non_null(strstr(err.text, "hint: "));
	assert_int_equal(set(&first, RELAY_OFF, body, 403, BOX, &err), -1);
	assert_int_equal(set(&first, RELAY_OFF, body, 400, BOX, &err), -1);
	assert_int_equal(
		set(&first, RELAY_OFF, body, 200, "<html></html>", &err), -1);
	assert_non_null(strstr(err.text, "<html>"));
	assert_int_equal(
		set(&first, RELAY_OFF, body, HTTP_FAKE_SILENT, NULL, &err), -1);
	assert_int_equal(
		set(&first, RELAY_OFF, body, HTTP_FAKE_GONE, NULL, &err), -1);
}

static int get(const struct outlet *outlet, const char *reply,
	       enum relay_state *told)
{
	const struct http_fake_step script[] = {
		{"GET", "/netio.json", NULL,
		 reply == NULL ? HTTP_FAKE_SILENT : 200, reply, 0, false},
		{0}};
	struct err err = {""};

	return http_fake_get(outlet, told, script, &err);
}

static void tells_the_output_that_was_asked(void **state)
{
	enum relay_state told = RELAY_OFF;

	(void)state;
	assert_int_equal(get(&first, BOX, &told), 1);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(get(&second, BOX, &told), 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get(&third, BOX, &told), -1);
	assert_int_equal(
		get(&first, "{\"Outputs\":[{\"ID\":1,\"State\":2}]}", &told),
		-1);
	assert_int_equal(
		get(&first, "{\"Outputs\":[{\"ID\":1,\"State\":true}]}", &told),
		-1);
	assert_int_equal(
		get(&first, "{\"Outputs\":{\"ID\":1,\"State\":1}}", &told), -1);
	assert_int_equal(get(&first, "{\"Outputs\":[1,null,[]]}", &told), -1);
	assert_int_equal(told, RELAY_OFF);
}

static void silence_is_told_and_nonsense_is_no_state(void **state)
{
	static const struct http_fake_step good = {
		.method = "GET", .path = "/netio.json", .reply = BOX};
	enum relay_state told = RELAY_ON;

	(void)state;
	assert_int_equal(get(&first, NULL, &told), 0);
	http_fake_expect_nonsense(&first, &good);
}

/* Action 2 takes as long as the box is set to: see the driver. */
static void no_time_is_left_to_the_box(void **state)
{
	(void)state;
	assert_null(driver_netio.pulse_for);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_the_documented_ones),
		cmocka_unit_test(a_command_that_is_not_taken_has_failed),
		cmocka_unit_test(tells_the_output_that_was_asked),
		cmocka_unit_test(silence_is_told_and_nonsense_is_no_state),
		cmocka_unit_test(no_time_is_left_to_the_box),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
