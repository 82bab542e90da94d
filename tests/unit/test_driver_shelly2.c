/* SPDX-License-Identifier: MIT */
/* Requests and answers: labgrid-project/labgrid, shelly_gen2.py;
 * shelly-api-docs.shelly.cloud/gen2, Switch and RPC Protocol. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/http_fake.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define WAS_ON      "{\"id\":1,\"src\":\"shelly\",\"result\":{\"was_on\":true}}"
#define RESULT(...) "{\"id\":1,\"src\":\"shelly\",\"result\":{" __VA_ARGS__ "}}"
#define SET(on)                                                               \
	"{\"id\":1,\"method\":\"Switch.Set\",\"params\":{\"id\":0,\"on\":" on \
	"}}"
#define SET_TIMED                                                   \
	"{\"id\":1,\"method\":\"Switch.Set\",\"params\":{\"id\":0," \
	"\"on\":false,\"toggle_after\":5}}"
#define STATUS \
	"{\"id\":1,\"method\":\"Switch.GetStatus\",\"params\":{\"id\":0}}"

static const struct outlet plug = {
	.driver = &driver_shelly2, .address = "http://shelly0", .channel = 0};

static int pulse(const struct http_fake_step *first, const char *set_reply,
		 const char *status_reply, struct err *err)
{
	struct http_fake_step script[] = {
		*first,
		{"POST", "/rpc", STATUS, 200, status_reply, 0, false},
		{0}};

	script[0].reply = set_reply;
	script[0].is_once = true;
	if (status_reply == NULL)
		script[1].method = NULL;
	return http_fake_pulse(&plug, RELAY_OFF, 5000, script, err);
}

/* There is one row. */
static void requests_are_the_documented_ones(void **state)
{
	static struct vector rows[VECTORS_MAX];
	static struct http_fake_row row;
	struct err err = {""};

	(void)state;
	assert_int_equal(vectors_of("shelly-gen2-rpc", rows), 1);
	assert_true(vectors_is(&rows[0], "off-then-auto-on-5s"));
	http_fake_row_init(&row, &rows[0]);
	assert_int_equal(pulse(&row.step, WAS_ON,
			       RESULT("\"id\":0,\"output\":false,"
				      "\"timer_duration\":5.00"),
			       &err),
			 0);
}

static void a_timer_is_believed_only_where_it_is_told(void **state)
{
	static const struct http_fake_step first = {
		"POST", "/rpc", SET_TIMED, 200, NULL, 0, true};
	static const char *const replies[] = {
		RESULT("\"id\":0,\"output\":false"),
		RESULT("\"id\":0,\"output\":false,\"timer_duration\":60"),
		RESULT("\"id\":0,\"output\":false,\"timer_duration\":1e300"),
		RESULT("\"id\":0,\"output\":false,\"timer_duration\":-5"),
		RESULT("\"id\":0,\"output\":true,\"timer_duration\":5"),
		RESULT("\"id\":1,\"output\":false,\"timer_duration\":5"),
	};
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
		assert_int_equal(pulse(&first, WAS_ON, replies[i], &err), -1);
	assert_int_equal(pulse(&first, RESULT(""), NULL, &err), -1);
}

static int set(enum relay_state to, long status, const char *reply,
	       struct err *err)
{
	const struct http_fake_step script[] = {
		{"POST", "/rpc", to == RELAY_ON ? SET("true") : SET("false"),
		 status, reply, 0, false},
		{0}};

	return http_fake_set(&plug, to, script, err);
}

static void only_a_result_is_an_answer_to_a_command(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set(RELAY_ON, 200, WAS_ON, &err), 0);
	assert_int_equal(set(RELAY_OFF, 200, WAS_ON, &err), 0);
	assert_int_equal(set(RELAY_OFF, 200, RESULT(""), &err), -1);
	assert_int_equal(set(RELAY_OFF, 200,
			     "{\"id\":1,\"error\":{\"code\":-105,"
			     "\"message\":\"no switch\"}}",
			     &err),
			 -1);
	assert_non_null(strstr(err.text, "no switch"));
	assert_int_equal(set(RELAY_OFF, 200,
			     "{\"id\":2,\"result\":{\"was_on\":true}}", &err),
			 -1);
	assert_int_equal(set(RELAY_OFF, 404, WAS_ON, &err), -1);
	assert_int_equal(set(RELAY_OFF, HTTP_FAKE_SILENT, NULL, &err), -1);
	assert_int_equal(set(RELAY_OFF, HTTP_FAKE_GONE, NULL, &err), -1);
}

static int get(const char *reply, enum relay_state *told)
{
	const struct http_fake_step script[] = {
		{"POST", "/rpc", STATUS, reply == NULL ? HTTP_FAKE_SILENT : 200,
		 reply, 0, false},
		{0}};
	struct err err = {""};

	return http_fake_get(&plug, told, script, &err);
}

static void silence_is_told_and_nonsense_is_no_state(void **state)
{
	static const struct http_fake_step good = {
		.method = "POST",
		.path = "/rpc",
		.body = STATUS,
		.reply = RESULT("\"id\":0,\"output\":true")};
	enum relay_state told = RELAY_OFF;

	(void)state;
	assert_int_equal(get(NULL, &told), 0);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get(RESULT("\"id\":0,\"output\":true"), &told), 1);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(get(RESULT("\"id\":0,\"output\":false"), &told), 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get(RESULT("\"id\":1,\"output\":true"), &told), -1);
	assert_int_equal(get(RESULT("\"id\":0,\"output\":1"), &told), -1);
	assert_int_equal(get(RESULT("\"id\":0,\"output\":\"true\""), &told),
			 -1);
	http_fake_expect_nonsense(&plug, &good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_the_documented_ones),
		cmocka_unit_test(a_timer_is_believed_only_where_it_is_told),
		cmocka_unit_test(only_a_result_is_an_answer_to_a_command),
		cmocka_unit_test(silence_is_told_and_nonsense_is_no_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
