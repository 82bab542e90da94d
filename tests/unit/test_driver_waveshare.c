/* SPDX-License-Identifier: MIT */
/* The board's own clock, in steps of 100 ms; all else is modbus-rtu's. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

static struct outlet board(void)
{
	return (struct outlet){.driver = &driver_waveshare, .channel = 1};
}

static void pulse(const struct vector *row, enum relay_state state)
{
	const struct port_fake_step steps[] = {{row->sent, row->reply}, {0}};
	const struct outlet outlet = board();
	struct err err = {""};

	assert_int_equal(driver_bench_pulse(&outlet, state, 700, steps, &err),
			 0);
}

/* Toggles and commands for all relays are never sent; nor is a board told
 * another address, or asked for its version. */
static void every_documented_pulse(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("waveshare-modbus", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (vectors_is(&rows[i], "flash-on-700ms"))
			pulse(&rows[i], RELAY_ON);
		else if (vectors_is(&rows[i], "flash-off-700ms"))
			pulse(&rows[i], RELAY_OFF);
		else
			continue;
		played++;
	}
	assert_int_equal(played, 2);
}

static void a_pulse_must_be_repeated_by_the_board(void **state)
{
	const struct port_fake_step steps[] = {
		{"01 05 04 00 00 07 8D 38", "01 05 02 00 00 07 8D B0"}, {0}};
	const struct outlet outlet = board();
	struct err err = {""};

	(void)state;
	assert_int_equal(
		driver_bench_pulse(&outlet, RELAY_OFF, 700, steps, &err), -1);
	assert_non_null(strstr(err.text, "makes no sense"));
}

static void it_switches_and_reads_as_modbus_rtu_does(void **state)
{
	const struct port_fake_step off[] = {
		{"01 05 00 00 00 00 CD CA", "01 05 00 00 00 00 CD CA"}, {0}};
	const struct port_fake_step ask[] = {
		{"01 01 00 00 00 08 3D CC", "01 01 01 05 91 8B"}, {0}};
	const struct outlet outlet = board();
	struct err err = {""};

	(void)state;
	assert_int_equal(driver_bench_set(&outlet, RELAY_OFF, off, &err), 0);
	driver_bench_expect(&outlet, ask, RELAY_ON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_pulse),
		cmocka_unit_test(a_pulse_must_be_repeated_by_the_board),
		cmocka_unit_test(it_switches_and_reads_as_modbus_rtu_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
