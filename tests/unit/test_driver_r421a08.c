/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define ASK_8 "01 03 00 08 00 01 05 C8"

static struct outlet board(unsigned int channel)
{
	return (struct outlet){.driver = &driver_r421a08, .channel = channel};
}

/* What switches others as well, or back by itself, is never sent. */
static void every_documented_command(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("r421a08", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct outlet outlet = board(rows[i].channel);

		if (vectors_is(&rows[i], "toggle") ||
		    vectors_is(&rows[i], "momentary-1s") ||
		    vectors_is(&rows[i], "delay-5s"))
			continue;
		played++;
		if (vectors_is(&rows[i], "status"))
			assert_int_equal(vectors_read(&rows[i], &outlet),
					 RELAY_ON);
		else
			vectors_switch(&rows[i], &outlet);
	}
	assert_int_equal(played, count - 6);
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	(void)outlet;
	if (count != 7 || modbus_crc(answer, 7) != 0 ||
	    memcmp(answer, "\1\3\2\0", 4) != 0 || answer[4] > 1)
		return false;
	*state = answer[4] == 1 ? RELAY_ON : RELAY_OFF;
	return true;
}

static void no_state_is_made_up(void **state)
{
	const struct outlet outlet = board(8);
	const struct port_fake_step steps[] = {{ASK_8, NULL}, {0}};

	(void)state;
	driver_bench_garbage(&outlet, steps, "01 03 02 00 01 79 84", judge);
}

static void refusals_and_silence_are_told(void **state)
{
	static const struct {
		const char *answer, *why;
	} cases[] = {
		{NULL, "did not answer"},
		{"01 86 02 C3 A1", "no such relay"},
		{"01 06 00 08 02 00 09 68", "makes no sense"}, /* "off" */
		{"01 06 00 08", "makes no sense"},
		{"", "gone"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct port_fake_step steps[] = {
			{"01 06 00 08 01 00 09 98", cases[i].answer}, {0}};
		const struct outlet outlet = board(8);
		struct err err = {""};

		assert_int_equal(
			driver_bench_set(&outlet, RELAY_ON, steps, &err), -1);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("%s", err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_command),
		cmocka_unit_test(no_state_is_made_up),
		cmocka_unit_test(refusals_and_silence_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
