/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/http_fake.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

struct pair {
	const char *key, *value;
};

/* With the options in PAIRS, which end with key NULL. */
static struct outlet outlet_with(const struct pair *pairs, unsigned int channel)
{
	struct outlet outlet = {.driver = &driver_http,
				.address = "http://box",
				.channel = channel};
	struct err err = {""};

	for (; pairs->key != NULL; pairs++)
		assert_int_equal(outlet_take_option(&outlet, pairs->key,
						    pairs->value, &err),
				 0);
	return outlet;
}

static const struct pair plain[] = {
	{"on", "POST /relay/{channel} {\"n\":{channel},\"on\":true}"},
	{"off", "GET /relay/{channel}/off?c={channel}"},
	{"status", "GET /relay/{channel}"},
	{"reply_on", "\"on\":true"},
	{"reply_off", "\"on\":false"},
	{0}};

static void templates_become_requests(void **state)
{
	const struct outlet outlet = outlet_with(plain, 12);
	const struct http_fake_step on[] = {{"POST", "/relay/12",
					     "{\"n\":12,\"on\":true}", 200, "x",
					     0, false},
					    {0}};
	const struct http_fake_step off[] = {
		{"GET", "/relay/12/off?c=12", NULL, 200, "", 0, false}, {0}};
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&outlet, &err), 0);
	assert_int_equal(http_fake_set(&outlet, RELAY_ON, on, &err), 0);
	assert_int_equal(http_fake_set(&outlet, RELAY_OFF, off, &err), 0);
}

/* Tasmota's and Shelly's rows as templates: this driver can do it, too. */
static void documented_requests_can_be_made(void **state)
{
	static const struct {
		const char *protocol, *on, *off;
	} boxes[] = {
		{"tasmota-http", "GET /cm?cmnd=Power{channel}%20On",
		 "GET /cm?cmnd=Power{channel}%20Off"},
		{"shelly-gen1-http", "GET /relay/{channel}?turn=on",
		 "GET /relay/{channel}?turn=off"},
	};
	static struct vector rows[VECTORS_MAX];
	static struct http_fake_row row;
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
		const struct pair pairs[] = {
			{"on", boxes[i].on}, {"off", boxes[i].off}, {0}};
		const size_t count = vectors_of(boxes[i].protocol, rows);

		for (size_t at = 0; at < count; at++) {
			const struct outlet outlet =
				outlet_with(pairs, rows[at].channel);
			struct http_fake_step script[2] = {{0}};
			const bool is_on = vectors_is(&rows[at], "on");

			if (!is_on && !vectors_is(&rows[at], "off"))
				continue; /* timed: this driver times nothing */
			http_fake_row_init(&row, &rows[at]);
			script[0] = row.step;
			assert_int_equal(
				http_fake_set(&outlet,
					      is_on ? RELAY_ON : RELAY_OFF,
					      script, &err),
				0);
		}
	}
}

static int get(const struct outlet *outlet, long status, const char *reply,
	       size_t count, enum relay_state *told, struct err *err)
{
	const struct http_fake_step script[] = {
		{"GET", "/relay/0", NULL, status, reply, count, false}, {0}};

	return http_fake_get(outlet, told, script, err);
}

static void exactly_one_of_two_words_is_a_state(void **state)
{
	const struct outlet outlet = outlet_with(plain, 0);
	enum relay_state told = RELAY_OFF;
	struct err err = {""};

	(void)state;
	assert_int_equal(get(&outlet, 200, "{\"on\":true}", 0, &told, &err), 1);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(get(&outlet, 200, "\0\0\"on\":false", 12, &told, &err),
			 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(
		get(&outlet, 200, "\"on\":true\"on\":false", 0, &told, &err),
		-1);
	assert_non_null(strstr(err.text, "reply_on and reply_off"));
	assert_int_equal(get(&outlet, 200, "<html>", 0, &told, &err), -1);
	assert_non_null(strstr(err.text, "<html>"));
	assert_int_equal(get(&outlet, 200, "\"on\":tru", 0, &told, &err), -1);
	assert_int_equal(get(&outlet, 200, "", 0, &told, &err), -1);
	assert_int_equal(get(&outlet, 503, "\"on\":true", 0, &told, &err), -1);
	assert_int_equal(get(&outlet, HTTP_FAKE_GONE, NULL, 0, &told, &err),
			 -1);
	assert_int_equal(get(&outlet, HTTP_FAKE_SILENT, NULL, 0, &told, &err),
			 0);
	assert_int_equal(told, RELAY_OFF);
}

static void noise_is_no_state(void **state)
{
	const struct outlet outlet = outlet_with(plain, 0);
	struct prng prng;
	char noise[301];

	(void)state;
	prng_init(&prng, 1);
	for (size_t count = 1; count < sizeof(noise); count++) {
		enum relay_state told = RELAY_ON;
		struct err err = {""};

		for (size_t i = 0; i < count; i++)
			noise[i] = (char)prng_next(&prng);
		assert_int_equal(get(&outlet, 200, noise, count, &told, &err),
				 -1);
		assert_int_equal(told, RELAY_ON);
	}
}

/* A form that was taken is often answered with 302 or 204. */
static void the_status_is_the_one_that_is_expected(void **state)
{
	static const struct pair pairs[] = {{"on", "POST /f a=1"},
					    {"off", "POST /f a=0"},
					    {"expect", "302"},
					    {0}};
	const struct outlet outlet = outlet_with(pairs, 0);
	struct http_fake_step script[] = {
		{"POST", "/f", "a=0", 302, "", 0, false}, {0}};
	struct err err = {""};

	(void)state;
	assert_int_equal(http_fake_set(&outlet, RELAY_OFF, script, &err), 0);
	script[0].status = 200;
	assert_int_equal(http_fake_set(&outlet, RELAY_OFF, script, &err), -1);
	assert_non_null(strstr(err.text, "HTTP status 200, and 302"));
}

static void without_status_the_box_is_not_asked(void **state)
{
	static const struct pair pairs[] = {
		{"on", "GET /1"}, {"off", "GET /0"}, {0}};
	const struct outlet outlet = outlet_with(pairs, 0);
	const struct http_fake_step script[] = {{0}};
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&outlet, &err), 0);
	assert_int_equal(http_fake_get(&outlet, &told, script, &err), 0);
}

/* What a box says is quoted only where it was told no secret. */
static void a_secret_never_comes_back_in_a_message(void **state)
{
	static const struct pair secrets[] = {{"header", "/run/token"}, {0}};
	struct outlet outlet = outlet_with(plain, 0);
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_take_option(&outlet, secrets[0].key,
					    secrets[0].value, &err),
			 0);
	assert_int_equal(get(&outlet, 200, "you said: sesame", 0, &told, &err),
			 -1);
	assert_null(strstr(err.text, "sesame"));
	assert_int_equal(get(&outlet, 401, "sesame", 0, &told, &err), -1);
	assert_null(strstr(err.text, "sesame"));
}

static void expect_refused(const char *key, const char *value,
			   const char *message)
{
	static const struct pair pairs[] = {
		{"on", "GET /1"}, {"off", "GET /0"}, {0}};
	const bool is_new = strcmp(key, "on") != 0;
	const struct pair one[] = {{key, value}, {0}};
	const struct pair rest[] = {{"off", "GET /0"}, {key, value}, {0}};
	struct outlet outlet = outlet_with(is_new ? pairs : rest, 0);
	struct err err = {""};

	if (is_new)
		assert_int_equal(outlet_take_option(&outlet, one[0].key,
						    one[0].value, &err),
				 0);
	assert_int_equal(outlet_check(&outlet, &err), -1);
	if (strstr(err.text, message) == NULL)
		fail_msg("%s = %s: %s", key, value, err.text);
}

static void what_cannot_be_is_refused_before_anything_is_sent(void **state)
{
	(void)state;
	expect_refused("on", "FETCH /1", "on: the method");
	expect_refused("on", "get /1", "on: the method");
	expect_refused("on", "GET", "on: it is not");
	expect_refused("on", "GET relay", "on: it is not");
	expect_refused("on", "GET http://other/", "on: it is not");
	expect_refused("on", "GET /1#x", "on: it is not");
	expect_refused("on", "GET /\t1", "on: it is not");
	expect_refused("on", "GET /1 body", "on: GET has no body");
	expect_refused("status", "GET /s", "reply_on");
	expect_refused("reply_on", "x", "status");
	expect_refused("expect", "99", "expect: ");
	expect_refused("expect", "600", "expect: ");
	expect_refused("auth", "ntlm", "auth: ");
	expect_refused("content_type", "a\rb", "content_type: ");
	expect_refused("ca", "ca.pem", "ca: ");
	expect_refused("user", "a:b", "user: ");
	expect_refused("proxy", "http://a:b@proxy", "proxy: ");
	expect_refused("proxy", "proxy:3128", "proxy: ");
	expect_refused("timeout", "50ms", "timeout: ");
	expect_refused("timeout", "11s", "timeout: ");
}

static void one_word_of_two_must_not_be_in_the_other(void **state)
{
	static const struct pair pairs[] = {
		{"on", "GET /1"},  {"off", "GET /0"},   {"status", "GET /s"},
		{"reply_on", "1"}, {"reply_off", "10"}, {0}};
	const struct outlet outlet = outlet_with(pairs, 0);
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&outlet, &err), -1);
	assert_non_null(strstr(err.text, "contains the other"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(templates_become_requests),
		cmocka_unit_test(documented_requests_can_be_made),
		cmocka_unit_test(exactly_one_of_two_words_is_a_state),
		cmocka_unit_test(noise_is_no_state),
		cmocka_unit_test(the_status_is_the_one_that_is_expected),
		cmocka_unit_test(without_status_the_box_is_not_asked),
		cmocka_unit_test(a_secret_never_comes_back_in_a_message),
		cmocka_unit_test(
			what_cannot_be_is_refused_before_anything_is_sent),
		cmocka_unit_test(one_word_of_two_must_not_be_in_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
