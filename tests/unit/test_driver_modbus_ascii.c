/* SPDX-License-Identifier: MIT */
/* The same coils in lines of digits. The frames are those of the
 * specification's rules; the LRC of the first is SainSmart's, too (relay.tsv).
 */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/unit/cmocka_all.h"

static struct outlet board(unsigned int channel)
{
	struct outlet outlet = {.driver = &driver_modbus_ascii,
				.channel = channel};
	struct err err = {""};

	assert_int_equal(outlet_take_option(&outlet, "unit", "254", &err), 0);
	return outlet;
}

static void lines_are_written_and_repeated(void **state)
{
	const struct port_fake_step on[] = {
		{"':FE050000FF00FE\r\n", "':FE050000FF00FE\r\n"}, {0}};
	const struct port_fake_step off[] = {
		{"':FE0500010000FC\r\n", "':FE0500010000FC\r\n"}, {0}};
	const struct outlet one = board(1), two = board(2);
	struct err err = {""};

	(void)state;
	assert_int_equal(driver_bench_set(&one, RELAY_ON, on, &err), 0);
	assert_int_equal(driver_bench_set(&two, RELAY_OFF, off, &err), 0);
}

static void states_are_read(void **state)
{
	const struct port_fake_step ask[] = {
		{"':FE0100000008F9\r\n", "':FE010104FC\r\n"}, {0}};
	const struct outlet two = board(2), three = board(3);

	(void)state;
	driver_bench_expect(&three, ask, RELAY_ON);
	driver_bench_expect(&two, ask, RELAY_OFF);
}

static void what_is_no_echo_is_an_error(void **state)
{
	static const struct {
		const char *answer, *why;
	} cases[] = {
		{NULL, "did not answer"},
		{"':FE050000FF00FD\r\n", "makes no sense"}, /* checksum */
		{"':FE050000FF00FE\n", "makes no sense"},
		{"':fe050000ff00fe\r\n", "makes no sense"}, /* not its digits */
		{"'FE050000FF00FE\r\n", "makes no sense"},
		{"':01050000FF00FB\r\n", "makes no sense"},
		{"':FE85027B\r\n", "no such relay (exception 2"},
		{"':\r\n", "makes no sense"},
		{"", "gone"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct port_fake_step steps[] = {
			{"':FE050000FF00FE\r\n", cases[i].answer}, {0}};
		const struct outlet outlet = board(1);
		struct err err = {""};

		assert_int_equal(
			driver_bench_set(&outlet, RELAY_ON, steps, &err), -1);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("%zu: %s", i, err.text);
	}
}

static void checksums_are_the_standard_s(void **state)
{
	/* Known answers: their LRC is 60h, their CRC 80B8h. */
	static const uint8_t bytes[] = {0xf7, 0x03, 0x13, 0x89, 0x00, 0x0a};
	static const uint8_t registers[] = {0x01, 0x04, 0x02, 0xff, 0xff};

	(void)state;
	assert_int_equal(modbus_lrc(bytes, sizeof(bytes)), 0x60);
	assert_int_equal(modbus_crc(registers, sizeof(registers)), 0x80b8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_written_and_repeated),
		cmocka_unit_test(states_are_read),
		cmocka_unit_test(what_is_no_echo_is_an_error),
		cmocka_unit_test(checksums_are_the_standard_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
