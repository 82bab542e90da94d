/* SPDX-License-Identifier: MIT */
/* Coils by Modbus RTU, as documented; an answer of another unit, of another
 * function or with a wrong checksum is none. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define ASK_8 "01 01 00 00 00 08 3D CC"

static struct outlet board(const char *unit, const char *relays,
			   unsigned int channel)
{
	struct outlet outlet = {.driver = &driver_modbus_rtu,
				.channel = channel};
	struct err err = {""};

	assert_int_equal(outlet_take_option(&outlet, "unit", unit, &err), 0);
	assert_int_equal(outlet_take_option(&outlet, "relays", relays, &err),
			 0);
	assert_int_equal(driver_modbus_rtu.check(&outlet, &err), 0);
	return outlet;
}

/* They would switch what is another outlet's; 32 states are not asked for with
 * 8 relays, and that row has no answer. */
static bool is_never_sent(const struct vector *row)
{
	return vectors_is(row, "write8-all-on") ||
	       vectors_is(row, "write8-all-off") || vectors_is(row, "status32");
}

static void every_documented_frame_of_unit_1(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("modbus-rtu-addr01", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct outlet outlet = board("1", "8", 3);

		if (is_never_sent(&rows[i]))
			continue;
		played++;
		if (!vectors_is(&rows[i], "status8")) {
			vectors_switch(&rows[i], &outlet);
			continue;
		}
		/* One has relays 1 and 3 on, the other none. */
		assert_int_equal(vectors_read(&rows[i], &outlet),
				 strstr(rows[i].reply, "05") != NULL
					 ? RELAY_ON
					 : RELAY_OFF);
		outlet.channel = 2;
		assert_int_equal(vectors_read(&rows[i], &outlet), RELAY_OFF);
	}
	assert_int_equal(played, count - 3);
}

static void every_documented_frame_of_unit_254(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("modbus-rtu-addrFE", rows);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct outlet four = board("254", "4", 1);
		struct outlet one = board("0xfe", "1", 1);

		if (vectors_is(&rows[i], "status4"))
			assert_int_equal(vectors_read(&rows[i], &four),
					 RELAY_ON);
		else if (vectors_is(&rows[i], "status1"))
			assert_int_equal(vectors_read(&rows[i], &one),
					 RELAY_ON);
		else
			vectors_switch(&rows[i], &four);
	}
}

static int set(const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {
		{"01 05 00 00 FF 00 8C 3A", answer}, {0}};
	const struct outlet outlet = board("1", "8", 1);

	return driver_bench_set(&outlet, RELAY_ON, steps, err);
}

static void expect_set_refused(const char *answer, const char *why)
{
	struct err err = {""};

	assert_int_equal(set(answer, &err), -1);
	if (strstr(err.text, why) == NULL)
		fail_msg("%s", err.text);
}

static void what_is_no_echo_is_an_error(void **state)
{
	(void)state;
	expect_set_refused(NULL, "unit 1 did not answer");
	expect_set_refused("", "gone");
	expect_set_refused("01 05 00 00", "makes no sense");
	expect_set_refused("01 05 00 00 FF 00 8C 3B", "makes no sense");
	/* Off, another relay, another unit, another function. */
	expect_set_refused("01 05 00 00 00 00 CD CA", "makes no sense");
	expect_set_refused("01 05 00 01 FF 00 DD FA", "makes no sense");
	expect_set_refused("FE 05 00 00 FF 00 98 35", "makes no sense");
	/* Exceptions: function 85h. */
	expect_set_refused("01 85 02 C3 51", "has no such relay (exception 2");
	expect_set_refused("01 85 01 83 50", "does not know this function");
	expect_set_refused("01 85 07 03 52", "the board refuses (exception 7");
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	if (count != 6 || answer[0] != 1 || answer[1] != 1 || answer[2] != 1 ||
	    modbus_crc(answer, 6) != 0)
		return false;
	*state = answer[3] >> (outlet->channel - 1) & 1 ? RELAY_ON : RELAY_OFF;
	return true;
}

static void no_state_is_made_up(void **state)
{
	const struct outlet outlet = board("1", "8", 3);
	const struct port_fake_step steps[] = {{ASK_8, NULL}, {0}};
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	driver_bench_garbage(&outlet, steps, "01 01 01 05 91 8B", judge);
	assert_int_equal(
		driver_bench_get(&outlet, steps, NULL, 1, &told, NULL, &err),
		-1);
	assert_non_null(strstr(err.text, "driver r421a08"));
}

static void stale_bytes_are_no_answer(void **state)
{
	const struct outlet outlet = board("1", "8", 3);
	const struct port_fake_step steps[] = {{ASK_8, "01 01 01 05 91 8B"},
					       {0}};

	(void)state;
	driver_bench_expect(&outlet, steps, RELAY_ON);
}

static void expect_bad_keys(const char *key, const char *value, const char *why)
{
	struct outlet outlet = {.driver = &driver_modbus_rtu, .channel = 9};
	struct err err = {""};

	assert_int_equal(outlet_take_option(&outlet, key, value, &err), 0);
	assert_int_equal(driver_modbus_rtu.check(&outlet, &err), -1);
	if (strstr(err.text, why) == NULL)
		fail_msg("%s", err.text);
}

static void keys_have_their_limits(void **state)
{
	(void)state;
	expect_bad_keys("unit", "0", "unit: 0");
	expect_bad_keys("unit", "255", "unit: 255");
	expect_bad_keys("unit", "x", "unit");
	expect_bad_keys("relays", "33", "relays: 33");
	expect_bad_keys("relays", "8", "channel 9: the board has 8 relays");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_frame_of_unit_1),
		cmocka_unit_test(every_documented_frame_of_unit_254),
		cmocka_unit_test(what_is_no_echo_is_an_error),
		cmocka_unit_test(no_state_is_made_up),
		cmocka_unit_test(stale_bytes_are_no_answer),
		cmocka_unit_test(keys_have_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
