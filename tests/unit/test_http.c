/* SPDX-License-Identifier: MIT */
/* Without a server: tests/e2e/relay-http.sh has some. */
#include "relay/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "tests/unit/cmocka_all.h"

/* Nothing listens on port 1, and whoever does is not asked for long. */
static struct outlet nobody(void)
{
	return (struct outlet){.driver = &driver_tasmota,
			       .address = "http://127.0.0.1:1/",
			       .channel = 1};
}

static void take(struct outlet *outlet, const char *key, const char *value)
{
	struct err err = {""};

	assert_int_equal(outlet_take_option(outlet, key, value, &err), 0);
}

#ifdef HAVE_LIBCURL

static void who_cannot_be_reached_is_named(void **state)
{
	struct outlet outlet = nobody();
	const struct http_request request = {.method = "GET",
					     .path = "/cm?cmnd=Power1"};
	struct http_reply reply;
	struct err err = {""};
	struct port *port = NULL;

	(void)state;
	take(&outlet, "timeout", "1s");
	port = http_open(&outlet, HTTP_AUTH_BASIC, NULL, &err);
	assert_non_null(port);
	assert_int_equal(http_ask(port, &outlet, &request, &reply,
				  clock_monotonic_ns() + 5 * CLOCK_NS_PER_S,
				  &err),
			 -1);
	assert_non_null(strstr(err.text, "GET /cm: "));
	assert_non_null(strstr(err.text, "127.0.0.1"));
	port_close(port);
}

static void a_deadline_that_has_passed_is_no_request(void **state)
{
	const struct outlet outlet = nobody();
	const struct http_request request = {.method = "GET", .path = "/"};
	struct http_reply reply;
	struct err err = {""};
	struct port *port = http_open(&outlet, HTTP_AUTH_BASIC, NULL, &err);

	(void)state;
	assert_non_null(port);
	assert_int_equal(http_ask(port, &outlet, &request, &reply,
				  clock_monotonic_ns() - 1, &err),
			 -1);
	assert_non_null(strstr(err.text, "no time is left"));
	port_close(port);
}

static void a_password_others_can_read_is_not_used(void **state)
{
	char path[] = "/tmp/plugpull-test-http.XXXXXX";
	struct outlet outlet = nobody();
	struct err err = {""};
	struct port *port = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "sesame\n", 7), 7);
	assert_int_equal(fchmod(fd, 0644), 0);
	take(&outlet, "password", path);
	assert_null(http_open(&outlet, HTTP_AUTH_DIGEST, NULL, &err));
	assert_non_null(strstr(err.text, "chmod 600"));
	assert_null(strstr(err.text, "sesame"));
	assert_int_equal(fchmod(fd, 0600), 0);
	port = http_open(&outlet, HTTP_AUTH_DIGEST, "X-Token: sesame", &err);
	assert_non_null(port);
	port_close(port);
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
}

#else

static void without_libcurl_it_says_so(void **state)
{
	const struct outlet outlet = nobody();
	struct err err = {""};

	(void)state;
	assert_null(http_open(&outlet, HTTP_AUTH_BASIC, NULL, &err));
	assert_non_null(strstr(err.text, "this plugpull-relay was built "
					 "without libcurl"));
}

#endif

static void the_keys_of_all_boxes_are_checked(void **state)
{
	static const struct {
		const char *key, *value;
	} wrong[] = {{"ca", "x.pem"},  {"proxy", "proxy"}, {"user", "a:b"},
		     {"timeout", "0"}, {"timeout", "1m"},  {"timeout", "soon"}};
	struct outlet right = nobody();
	struct err err = {""};

	(void)state;
	take(&right, "proxy", "http://proxy:3128");
	take(&right, "ca", "/etc/ca.pem");
	assert_int_equal(http_check(&right, &err), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct outlet outlet = nobody();

		take(&outlet, wrong[i].key, wrong[i].value);
		assert_int_equal(http_check(&outlet, &err), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef HAVE_LIBCURL
		cmocka_unit_test(who_cannot_be_reached_is_named),
		cmocka_unit_test(a_deadline_that_has_passed_is_no_request),
		cmocka_unit_test(a_password_others_can_read_is_not_used),
#else
		cmocka_unit_test(without_libcurl_it_says_so),
#endif
		cmocka_unit_test(the_keys_of_all_boxes_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
