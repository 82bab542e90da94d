/* SPDX-License-Identifier: MIT */
/* Lines: labgrid-project/labgrid, netio_kshell.py; NETIO manual. */
#include "relay/driver.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "relay/drivers.h"
#include "relay/kshell.h"
#include "relay/outlet.h"
#include "tests/fake/port_fake.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define HELLO "'100 HELLO 1A2B3C4D - KSHELL V1.5\r\n"
#define LOGIN "'login admin admin\r\n"

static int log_in(const char *greeting, const char *sent, const char *reply,
		  struct err *err)
{
	const struct port_fake_step script[] = {{sent, reply}, {0}};
	struct port_fake *fake = port_fake_new(script, greeting);
	int rc = 0;

	port_fake_set_chunk(fake, 5);
	rc = kshell_log_in(port_fake_port(fake), "admin", "admin", 0, err);
	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
	return rc;
}

/* "banner" and "login" are of the opening, the others of set() and get(). */
static void lines_are_the_documented_ones(void **state)
{
	static struct vector rows[VECTORS_MAX];
	struct outlet outlet = {.driver = &driver_netio_kshell};
	const size_t count = vectors_of("netio-kshell-tcp1234", rows);
	char greeting[VECTORS_HEX_BYTES + 16] = "";
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (vectors_is(&rows[i], "banner"))
			(void)snprintf(greeting, sizeof(greeting),
				       "%s 31 0D 0A", rows[i].reply);
		else if (vectors_is(&rows[i], "login"))
			assert_int_equal(log_in(greeting, rows[i].sent,
						rows[i].reply, &err),
					 0);
		else if (vectors_is(&rows[i], "status"))
			assert_int_equal(vectors_read(&rows[i], &outlet),
					 RELAY_ON);
		else
			vectors_switch(&rows[i], &outlet);
	}
}

static void a_login_that_fails_never_tells_the_password(void **state)
{
	static const char *const replies[] = {"'501 admin is wrong\r\n",
					      "'login admin admin\r\n",
					      "'250 OK",
					      "'251 OK\r\n",
					      NULL,
					      ""};
	const struct port_fake_step nothing[] = {{0}};
	struct port_fake *fake = port_fake_new(nothing, "'220 FTP\r\n");
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		assert_int_equal(log_in(HELLO, LOGIN, replies[i], &err), -1);
		assert_null(strstr(err.text, "admin"));
	}
	/* Who is no KSHELL is not told the password at all. */
	assert_int_equal(kshell_log_in(port_fake_port(fake), "u", "p", 0, &err),
			 -1);
	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
}

static int get(const char *answer, enum relay_state *told, struct err *err)
{
	const struct port_fake_step script[] = {{"'port 3\r\n", answer}, {0}};
	struct port_fake *fake = port_fake_new(script, "'250 1\r\n");
	const struct outlet outlet = {.driver = &driver_netio_kshell,
				      .channel = 3};
	int rc = driver_netio_kshell.get(port_fake_port(fake), &outlet, told, 0,
					 err);

	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
	return rc;
}

static void what_is_no_state_is_an_error(void **state)
{
	static const char *const answers[] = {
		"'250 OK\r\n",
		"'250 2\r\n",
		"'250 10\r\n",
		"'250 \r\n",
		"'250 1",
		"'port 3\r\n",
		"'502 UNKNOWN\r\n",
		"'250 1\r\n250",
		"'\r\n250 1\r\n",
		"32 35 30 20 31 00 0A",
		"",
	};
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		enum relay_state told = RELAY_OFF;

		assert_int_equal(get(answers[i], &told, &err), -1);
		assert_int_equal(told, RELAY_OFF);
	}
}

static void silence_is_told_and_leftovers_are_not_answers(void **state)
{
	enum relay_state told = RELAY_OFF;
	struct err err = {""};

	(void)state;
	assert_int_equal(get(NULL, &told, &err), 0);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get("'250 0\n", &told, &err), 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get("'250 1\r\n", &told, &err), 1);
	assert_int_equal(told, RELAY_ON);
}

static int set(const char *answer, struct err *err)
{
	const struct port_fake_step script[] = {{"'port 3 0\r\n", answer}, {0}};
	struct port_fake *fake = port_fake_new(script, "'250 OK\r\n");
	const struct outlet outlet = {.driver = &driver_netio_kshell,
				      .channel = 3};
	int rc = driver_netio_kshell.set(port_fake_port(fake), &outlet,
					 RELAY_OFF, 0, err);

	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
	return rc;
}

static void only_ok_is_an_answer_to_a_command(void **state)
{
	static const char *const answers[] = {
		"'250 0\r\n",
		"'505 FORBIDDEN\r\n",
		"'port 3 0\r\n",
		"'250 O",
		NULL,
		"",
	};
	struct err err = {""};

	(void)state;
	assert_int_equal(set("'250 OK\r\n", &err), 0);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		assert_int_equal(set(answers[i], &err), -1);
	assert_int_equal(set("'505 FORBIDDEN\r\n", &err), -1);
	assert_non_null(strstr(err.text, "505 FORBIDDEN"));
}

static void noise_is_no_state(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 20261201);
	for (size_t count = 1; count <= 300; count++) {
		enum relay_state told = RELAY_ON;
		struct err err = {""};
		char hex[3 * 300 + 1] = "";

		for (size_t i = 0; i < count; i++)
			(void)snprintf(hex + 3 * i, 4, "%02x ",
				       (unsigned int)prng_below(&prng, 256));
		assert_int_equal(get(hex, &told, &err), -1);
		assert_int_equal(told, RELAY_ON);
	}
}

static void a_user_is_one_word(void **state)
{
	struct outlet outlet = {.driver = &driver_netio_kshell,
				.address = "tcp://netio0"};
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&outlet, &err), -1); /* no password */
	assert_int_equal(outlet_take_option(&outlet, "password", "/x", &err),
			 0);
	assert_int_equal(outlet_check(&outlet, &err), 0);
	assert_int_equal(outlet_take_option(&outlet, "user", "a b", &err), 0);
	assert_int_equal(outlet_check(&outlet, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_the_documented_ones),
		cmocka_unit_test(a_login_that_fails_never_tells_the_password),
		cmocka_unit_test(what_is_no_state_is_an_error),
		cmocka_unit_test(silence_is_told_and_leftovers_are_not_answers),
		cmocka_unit_test(only_ok_is_an_answer_to_a_command),
		cmocka_unit_test(noise_is_no_state),
		cmocka_unit_test(a_user_is_one_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
