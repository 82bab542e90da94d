/* SPDX-License-Identifier: MIT */
/* The simulated drive's control socket: one line out, one line in. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/port_fake.h"
#include "tests/unit/cmocka_all.h"

static const struct outlet outlet = {.driver = &driver_sim, .channel = 1};

static int set(enum relay_state to, const char *wants, const char *gives,
	       struct err *err)
{
	const struct port_fake_step script[] = {{wants, gives}, {0}};
	struct port_fake *fake = port_fake_new(script, NULL);
	int rc = 0;

	port_fake_set_chunk(fake, 2);
	rc = driver_sim.set(port_fake_port(fake), &outlet, to, 0, err);
	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
	return rc;
}

static int get(const char *gives, enum relay_state *told, struct err *err)
{
	const struct port_fake_step script[] = {{"'status\n", gives}, {0}};
	struct port_fake *fake = port_fake_new(script, NULL);
	int rc = driver_sim.get(port_fake_port(fake), &outlet, told, 0, err);

	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
	return rc;
}

static void off_cuts_and_on_restores(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set(RELAY_OFF, "'cut\n", "'ok\n", &err), 0);
	assert_int_equal(set(RELAY_ON, "'restore\n", "'ok state=on\n", &err),
			 0);
}

static void a_refusal_is_passed_on(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set(RELAY_OFF, "'cut\n", "'error is dead\n", &err),
			 -1);
	assert_non_null(strstr(err.text, "refuses: is dead"));
	assert_int_equal(set(RELAY_OFF, "'cut\n", "'okay\n", &err), -1);
	assert_int_equal(set(RELAY_OFF, "'cut\n", "'ok", &err), -1);
	assert_int_equal(set(RELAY_OFF, "'cut\n", NULL, &err), -1);
	assert_int_equal(set(RELAY_OFF, "'cut\n", "", &err), -1);
}

static void status_is_a_word_of_the_answer(void **state)
{
	enum relay_state told = RELAY_OFF;
	struct err err = {""};

	(void)state;
	assert_int_equal(get("'ok state=on dirty_bytes=0 writes=1 cuts=2\n",
			     &told, &err),
			 1);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(get("'ok cuts=2 state=off\n", &told, &err), 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get("'ok state=once\n", &told, &err), -1);
	assert_int_equal(get("'ok old_state=on\n", &told, &err), -1);
	assert_int_equal(get("'ok\n", &told, &err), -1);
	assert_int_equal(get(NULL, &told, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_cuts_and_on_restores),
		cmocka_unit_test(a_refusal_is_passed_on),
		cmocka_unit_test(status_is_a_word_of_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
