/* SPDX-License-Identifier: MIT */
#include "relay/httptext.h"

#include <string.h>

#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"

static int check(const char *address)
{
	struct err err = {""};

	return httptext_check_address(address, &err);
}

static void an_address_is_a_host_and_nothing_secret(void **state)
{
	(void)state;
	assert_int_equal(check("http://box"), 0);
	assert_int_equal(check("https://box:8443/under/"), 0);
	assert_int_equal(check("http://[::1]:8080"), 0);
	assert_int_equal(check("http://"), -1);
	assert_int_equal(check("http:///x"), -1);
	assert_int_equal(check("http://:80"), -1);
	assert_int_equal(check("http://admin:secret@box"), -1);
	assert_int_equal(check("http://box/?user=x"), -1);
	assert_int_equal(check("http://box/#x"), -1);
	assert_int_equal(check("http://bo x"), -1);
	assert_int_equal(check("http://box\r\nX-Evil: 1"), -1);
	assert_int_equal(check("http://b\xc3\xb6x"), -1);
}

static void a_refused_password_in_an_address_is_not_told(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(
		httptext_check_address("http://admin:sesame@box", &err), -1);
	assert_null(strstr(err.text, "sesame"));
}

static void encoding_leaves_nothing_that_has_a_meaning(void **state)
{
	char to[32] = "/x?";
	char small[8] = "";
	struct err err = {""};

	(void)state;
	assert_int_equal(httptext_encode("aZ9-._~ /&%", to, sizeof(to), &err),
			 0);
	assert_string_equal(to, "/x?aZ9-._~%20%2F%26%25");
	assert_int_equal(httptext_encode("1234567", small, sizeof(small), &err),
			 0);
	assert_int_equal(httptext_encode("8", small, sizeof(small), &err), -1);
	small[5] = '\0';
	assert_int_equal(httptext_encode(" ", small, sizeof(small), &err), -1);
	assert_string_equal(small, "12345");
}

static void templates_have_three_parts(void **state)
{
	static char long_template[3 * HTTPTEXT_BYTES] = "GET /";
	struct httptext_made made;
	struct err err = {""};

	(void)state;
	assert_int_equal(
		httptext_make("PUT  /{channel}{channel}  a b {chan} {channel}",
			      7, &made, &err),
		0);
	assert_string_equal(made.method, "PUT");
	assert_string_equal(made.path, "/77");
	assert_string_equal(made.body, "a b {chan} 7");
	assert_int_equal(httptext_make("", 1, &made, &err), -1);
	assert_int_equal(httptext_make(" ", 1, &made, &err), -1);
	assert_int_equal(httptext_make("GET/x", 1, &made, &err), -1);
	assert_int_equal(httptext_make("GETGETGETGET /x", 1, &made, &err), -1);
	memset(long_template + 5, 'x', HTTPTEXT_BYTES);
	assert_int_equal(httptext_make(long_template, 1, &made, &err), -1);
	long_template[5 + HTTPTEXT_BYTES - 2] = '\0';
	assert_int_equal(httptext_make(long_template, 1, &made, &err), 0);
}

static void a_query_is_never_told(void **state)
{
	const struct http_request request = {.method = "GET",
					     .path = "/hook?token=sesame"};
	const struct http_reply reply = {.status = 500, .text = ""};
	struct err err = {""};

	(void)state;
	assert_int_equal(httptext_check_status(&request, &reply, &err), -1);
	assert_non_null(strstr(err.text, "GET /hook: HTTP status 500"));
	assert_null(strstr(err.text, "sesame"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_a_host_and_nothing_secret),
		cmocka_unit_test(a_refused_password_in_an_address_is_not_told),
		cmocka_unit_test(encoding_leaves_nothing_that_has_a_meaning),
		cmocka_unit_test(templates_have_three_parts),
		cmocka_unit_test(a_query_is_never_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
