/* SPDX-License-Identifier: MIT */
/*
 * Byte for byte what is documented for LCUS boards. Sources of the frames:
 * Pebble94464/lcus-usb-relay-module-controller, __init__.py (rule of the frame,
 * one line a relay in the answer), infocyde/NOYITO2ChannelMicroUSBRelayDemo,
 * USBPowerSwitch.cs; of the answers: the same and the AscomSwitchDriver readme.
 */
#include "relay/driver.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/port_fake.h"
#include "tests/unit/cmocka_all.h"

static const char *const frames_on[] = {
	"A0 01 01 A2", "A0 02 01 A3", "A0 03 01 A4", "A0 04 01 A5",
	"A0 05 01 A6", "A0 06 01 A7", "A0 07 01 A8", "A0 08 01 A9",
};
static const char *const frames_off[] = {
	"A0 01 00 A1", "A0 02 00 A2", "A0 03 00 A3", "A0 04 00 A4",
	"A0 05 00 A5", "A0 06 00 A6", "A0 07 00 A7", "A0 08 00 A8",
};

static void assert_set(unsigned int channel, enum relay_state to,
		       const char *frame)
{
	const struct port_fake_step script[] = {{frame, NULL}, {0}};
	struct port_fake *fake = port_fake_new(script, NULL);
	const struct outlet outlet = {.driver = &driver_lcus,
				      .channel = channel};
	struct err err = {""};

	assert_int_equal(
		driver_lcus.set(port_fake_port(fake), &outlet, to, 0, &err), 0);
	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
}

static void frames_are_the_documented_ones(void **state)
{
	(void)state;
	for (unsigned int channel = 1; channel <= 8; channel++) {
		assert_set(channel, RELAY_ON, frames_on[channel - 1]);
		assert_set(channel, RELAY_OFF, frames_off[channel - 1]);
	}
}

/* Returns what get() returns for a board that answers ANSWER. */
static int get(const char *answer, unsigned int channel, enum relay_state *told,
	       struct err *err)
{
	const struct port_fake_step script[] = {{"FF", answer}, {0}};
	struct port_fake *fake = port_fake_new(script, "'CH1: ON\r\n");
	const struct outlet outlet = {.driver = &driver_lcus,
				      .channel = channel};
	int rc = 0;

	port_fake_set_chunk(fake, 3);
	rc = driver_lcus.get(port_fake_port(fake), &outlet, told, 0, err);
	assert_true(port_fake_is_done(fake));
	port_fake_free(fake);
	return rc;
}

static void assert_told(const char *answer, unsigned int channel,
			enum relay_state expected)
{
	enum relay_state told = !expected;
	struct err err = {""};

	assert_int_equal(get(answer, channel, &told, &err), 1);
	assert_int_equal(told, expected);
}

static void answers_in_text_in_any_spacing(void **state)
{
	/* CH1: OFF CR LF CH2: ON CR LF */
	static const char vendor[] = "43 48 31 3A 20 4F 46 46 0D 0A "
				     "43 48 32 3A 20 4F 4E 0D 0A";
	/* CH1:OFF CR LF CH2:OFF CR LF, each with a space behind */
	static const char tight[] = "43 48 31 3A 4F 46 46 20 0D 0A "
				    "43 48 32 3A 4F 46 46 20 0D 0A";

	(void)state;
	assert_told(vendor, 1, RELAY_OFF);
	assert_told(vendor, 2, RELAY_ON);
	assert_told(tight, 1, RELAY_OFF);
	assert_told(tight, 2, RELAY_OFF);
	assert_told("'ch3 :  on", 3, RELAY_ON);
	assert_told("'\r\nCH8 : OFF\r\n", 8, RELAY_OFF);
}

static void answers_in_raw_bytes(void **state)
{
	(void)state;
	assert_told("01", 1, RELAY_ON);
	assert_told("00", 1, RELAY_OFF);
	assert_told("00 01 00 01", 2, RELAY_ON);
	assert_told("00 01 00 01", 3, RELAY_OFF);
	assert_told("00 00 00 00 00 00 00 01", 8, RELAY_ON);
}

static void what_does_not_tell_the_channel_is_an_error(void **state)
{
	static const char *const answers[] = {
		"'CH1: OFF\r\nCH2: ON\r\n", /* two relays, the third asked */
		"'CH3: OFFICE\r\n",
		"'CH3: ONE\r\n",
		"'CH3 ON\r\n",
		"'CH3:\r\n",
		"'CH33: ON\r\n",
		"00 01",
		"04",
		"00 01 02 00",
		"00 00 00 00 00 00 00 00 00",
		"FF",
	};
	enum relay_state told = RELAY_ON;

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct err err = {""};

		assert_int_equal(get(answers[i], 3, &told, &err), -1);
		assert_non_null(strstr(err.text, "channel 3"));
	}
}

/* get() has found "CH1: ON" left over in the port every time: never used. */
static void silence_is_told_and_leftovers_are_not_answers(void **state)
{
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	assert_int_equal(get(NULL, 1, &told, &err), 0);
	assert_told("'CH1: OFF\r\n", 1, RELAY_OFF);
}

static void a_lost_board_is_an_error(void **state)
{
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	assert_int_equal(get("", 1, &told, &err), -1);
	assert_non_null(strstr(err.text, "gone"));
}

static void an_endless_answer_is_an_error(void **state)
{
	char answer[2 + 400];
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	memset(answer, 'x', sizeof(answer));
	answer[0] = '\'';
	answer[sizeof(answer) - 1] = '\0';
	assert_int_equal(get(answer, 1, &told, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_the_documented_ones),
		cmocka_unit_test(answers_in_text_in_any_spacing),
		cmocka_unit_test(answers_in_raw_bytes),
		cmocka_unit_test(what_does_not_tell_the_channel_is_an_error),
		cmocka_unit_test(silence_is_told_and_leftovers_are_not_answers),
		cmocka_unit_test(a_lost_board_is_an_error),
		cmocka_unit_test(an_endless_answer_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
