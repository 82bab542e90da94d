/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/relay.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

static void every_documented_byte_is_sent(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("hw667-one-byte", rows);
	struct outlet outlet = {.driver = &driver_hw667, .channel = 1};

	(void)state;
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		const struct port_fake_step steps[] = {{rows[i].sent, NULL},
						       {0}};
		struct err err = {""};

		if (vectors_is(&rows[i], "pulse-1s"))
			assert_int_equal(driver_bench_pulse(&outlet, RELAY_ON,
							    1000, steps, &err),
					 0);
		else
			vectors_switch(&rows[i], &outlet);
	}
}

static struct port *open_none(const struct outlet *outlet, struct err *err)
{
	(void)outlet;
	(void)err_set(err, "there is no board");
	return NULL;
}

/* On for a second is power off for a second on a contact that is closed at
 * rest, and on no other. */
static void its_clock_knows_one_second_of_on(void **state)
{
	struct outlet outlet = {
		.driver = &driver_hw667, .channel = 1, .is_inverted = true};
	struct err err = {""};
	struct relay *relay = relay_new(&outlet, open_none, &err);

	(void)state;
	assert_true(relay_can_pulse(relay, 1000));
	assert_false(relay_can_pulse(relay, 2000));
	assert_false(relay_can_pulse(relay, 500));
	outlet.is_inverted = false;
	assert_false(relay_can_pulse(relay, 1000));
	relay_free(relay);
}

static void a_lost_board_is_an_error_and_it_cannot_be_asked(void **state)
{
	const struct outlet outlet = {.driver = &driver_hw667, .channel = 1};
	const struct port_fake_step lost[] = {{"AA", ""}, {0}};
	struct port_fake *fake = port_fake_new(lost, NULL);
	struct err err = {""};

	(void)state;
	assert_null(driver_hw667.get);
	assert_int_equal(driver_hw667.set(port_fake_port(fake), &outlet,
					  RELAY_ON, 0, &err),
			 0);
	assert_int_equal(driver_hw667.set(port_fake_port(fake), &outlet,
					  RELAY_OFF, 0, &err),
			 -1);
	assert_non_null(strstr(err.text, "gone"));
	port_fake_free(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_byte_is_sent),
		cmocka_unit_test(its_clock_knows_one_second_of_on),
		cmocka_unit_test(
			a_lost_board_is_an_error_and_it_cannot_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
