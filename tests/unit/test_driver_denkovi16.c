/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define ASK "'ask//"

static struct outlet board(unsigned int channel)
{
	return (struct outlet){.driver = &driver_denkovi16, .channel = channel};
}

/* Never sent: they would switch what is another outlet's. */
static bool is_never_sent(const struct vector *row)
{
	return vectors_is(row, "set-all") || vectors_is(row, "all-on") ||
	       vectors_is(row, "all-off");
}

static void every_documented_command_is_sent_and_its_answer_taken(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("denkovi16", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct outlet outlet = board(16), other = board(2);

		if (is_never_sent(&rows[i]))
			continue;
		if (vectors_is(&rows[i], "status")) {
			assert_int_equal(vectors_read(&rows[i], &outlet),
					 RELAY_ON);
			assert_int_equal(vectors_read(&rows[i], &other),
					 RELAY_OFF);
		} else {
			vectors_switch(&rows[i], &outlet);
		}
		played++;
	}
	assert_int_equal(played, count - 3);
}

static void the_highest_bit_is_relay_1(void **state)
{
	static const struct {
		const char *answer;
		unsigned int channel;
	} cases[] = {{"80 00", 1}, {"01 00", 8}, {"00 80", 9}, {"00 01", 16}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct port_fake_step steps[] = {{ASK, cases[i].answer},
						       {0}};

		for (unsigned int channel = 1; channel <= 16; channel++) {
			const struct outlet outlet = board(channel);

			driver_bench_expect(&outlet, steps,
					    channel == cases[i].channel);
		}
	}
}

static int set(const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {{"'07-//", answer}, {0}};
	const struct outlet outlet = board(7);

	return driver_bench_set(&outlet, RELAY_OFF, steps, err);
}

static void a_command_must_be_repeated_by_the_board(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set("'07-//", &err), 0);
	assert_int_equal(set(NULL, &err), -1);
	assert_non_null(strstr(err.text, "does not answer \"off\" in time"));
	assert_int_equal(set("'07", &err), -1);
	assert_int_equal(set("'07+//", &err), -1);
	assert_int_equal(set("'06-//", &err), -1);
	assert_int_equal(set("80 00", &err), -1);
	assert_int_equal(set("", &err), -1);
	assert_non_null(strstr(err.text, "gone"));
}

static int get(const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {{ASK, answer}, {0}};
	const struct outlet outlet = board(7);
	enum relay_state told = RELAY_ON;

	return driver_bench_get(&outlet, steps, "FF FF", 1, &told, NULL, err);
}

static void what_tells_no_state_is_an_error_and_silence_is_silence(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(get(NULL, &err), 0);
	assert_int_equal(get("80", &err), -1);
	assert_int_equal(get("80 00 00", &err), -1);
	assert_int_equal(get(ASK, &err), -1);
	assert_int_equal(get("61 73 6B 2F 2F 80 00", &err), -1);
	assert_int_equal(get("", &err), -1);
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	if (count != 2)
		return false;
	*state = outlet->channel <= 8
			 ? (answer[0] & 0x80 >> (outlet->channel - 1)) != 0
			 : (answer[1] & 0x80 >> (outlet->channel - 9)) != 0;
	return true;
}

/* Two bytes of noise cannot be told from two bytes of states. */
static void no_garbage_of_another_length_becomes_a_state(void **state)
{
	const struct port_fake_step steps[] = {{ASK, NULL}, {0}};
	const struct outlet low = board(3), high = board(12);

	(void)state;
	driver_bench_garbage(&low, steps, "20 01", judge);
	driver_bench_garbage(&high, steps, "00 10", judge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_documented_command_is_sent_and_its_answer_taken),
		cmocka_unit_test(the_highest_bit_is_relay_1),
		cmocka_unit_test(a_command_must_be_repeated_by_the_board),
		cmocka_unit_test(
			what_tells_no_state_is_an_error_and_silence_is_silence),
		cmocka_unit_test(no_garbage_of_another_length_becomes_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
