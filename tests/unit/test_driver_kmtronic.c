/* SPDX-License-Identifier: MIT */
/*
 * Of kmtronic-rs485 nothing is played: two sources say the opposite of each
 * other about what its states mean, and no driver speaks it.
 */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

static struct outlet board(unsigned int channel, const char *relays)
{
	struct outlet outlet = {.driver = &driver_kmtronic,
				.address = "/dev/null",
				.channel = channel};
	struct err err = {""};

	if (relays != NULL)
		assert_int_equal(
			outlet_take_option(&outlet, "relays", relays, &err), 0);
	return outlet;
}

static void every_documented_frame_is_sent(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("kmtronic", rows);
	struct outlet outlet = board(1, NULL);

	(void)state;
	assert_int_equal(count, 16);
	for (size_t i = 0; i < count; i++)
		vectors_switch(&rows[i], &outlet);
}

static void every_documented_answer_is_understood(void **state)
{
	struct vector rows[VECTORS_MAX];
	struct outlet four = board(1, "4"), eight = board(1, NULL);
	struct outlet second = board(2, "4"), two = board(1, "2");

	(void)state;
	assert_int_equal(vectors_of("kmtronic-4ch", rows), 1);
	assert_int_equal(vectors_read(&rows[0], &four), RELAY_ON);
	assert_int_equal(vectors_read(&rows[0], &second), RELAY_OFF);
	assert_int_equal(vectors_of("kmtronic-8ch", rows), 1);
	assert_int_equal(vectors_read(&rows[0], &eight), RELAY_ON);
	eight.channel = 8;
	assert_int_equal(vectors_read(&rows[0], &eight), RELAY_OFF);
	assert_int_equal(vectors_of("kmtronic-1or2ch", rows), 2);
	for (size_t i = 0; i < 2; i++) {
		two.channel = rows[i].channel;
		assert_int_equal(vectors_read(&rows[i], &two), RELAY_ON);
	}
}

static int get(const struct outlet *outlet, const char *question,
	       const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {{question, answer}, {0}};
	enum relay_state told = RELAY_ON;

	return driver_bench_get(outlet, steps, "01 01 01 01", 2, &told, NULL,
				err);
}

static void what_tells_no_state_is_an_error_and_silence_is_silence(void **state)
{
	const struct outlet four = board(1, "4"), eight = board(5, NULL);
	const struct outlet two = board(2, "2");
	struct err err = {""};

	(void)state;
	assert_int_equal(get(&four, "FF 09 00", NULL, &err), 0);
	assert_int_equal(get(&four, "FF 09 00", "01 00", &err), -1);
	assert_int_equal(get(&four, "FF 09 00", "FF 09 00", &err), -1);
	assert_int_equal(get(&four, "FF 09 00", "FF 09 00 01 00 00 00", &err),
			 -1);
	assert_int_equal(
		get(&four, "FF 09 00", "01 00 00 00 00 00 00 00", &err), -1);
	assert_int_equal(get(&eight, "FF 09 00", "01 00 00 00", &err), -1);
	assert_non_null(strstr(err.text, "hint: a board with 8 relays"));
	assert_int_equal(get(&eight, "FF 09 00", "", &err), -1);
	assert_non_null(strstr(err.text, "gone"));

	assert_int_equal(get(&two, "FF 02 03", NULL, &err), 0);
	assert_int_equal(get(&two, "FF 02 03", "FF 01 01", &err), -1);
	assert_int_equal(get(&two, "FF 02 03", "FF 02 03", &err), -1);
	assert_int_equal(get(&two, "FF 02 03", "FF 02", &err), -1);
	assert_int_equal(get(&two, "FF 02 03", "FF 02 01 00", &err), -1);
	assert_int_equal(get(&two, "FF 02 03", "", &err), -1);
}

static bool judge_states(const uint8_t *answer, size_t count,
			 const struct outlet *outlet, enum relay_state *state)
{
	for (size_t i = 0; i < count; i++)
		if (answer[i] > 1)
			return false;
	if (count != (outlet->option_count > 0 ? 4 : 8))
		return false;
	*state = answer[outlet->channel - 1] != 0;
	return true;
}

static bool judge_one(const uint8_t *answer, size_t count,
		      const struct outlet *outlet, enum relay_state *state)
{
	*state = count == 3 && answer[2] == 1 ? RELAY_ON : RELAY_OFF;
	return count == 3 && answer[0] == 0xFF &&
	       answer[1] == outlet->channel && answer[2] < 2;
}

static void no_garbage_becomes_a_state(void **state)
{
	const struct port_fake_step all[] = {{"FF 09 00", NULL}, {0}};
	const struct port_fake_step one[] = {{"FF 02 03", NULL}, {0}};
	const struct outlet four = board(3, "4"), eight = board(3, NULL);
	const struct outlet two = board(2, "2");

	(void)state;
	driver_bench_garbage(&four, all, "00 01 01 00", judge_states);
	driver_bench_garbage(&eight, all, "00 01 00 00 01 00 00 01",
			     judge_states);
	driver_bench_garbage(&two, one, "FF 02 01", judge_one);
}

static void a_channel_that_the_board_has_not_is_refused(void **state)
{
	struct outlet outlet = board(5, "4");
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&outlet, &err), -1);
	assert_non_null(strstr(err.text, "relays: 4"));
	outlet = board(1, "3");
	assert_int_equal(outlet_check(&outlet, &err), -1);
	outlet = board(8, NULL);
	assert_int_equal(outlet_check(&outlet, &err), 0);
	outlet = board(2, "2");
	assert_int_equal(outlet_check(&outlet, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_frame_is_sent),
		cmocka_unit_test(every_documented_answer_is_understood),
		cmocka_unit_test(
			what_tells_no_state_is_an_error_and_silence_is_silence),
		cmocka_unit_test(no_garbage_becomes_a_state),
		cmocka_unit_test(a_channel_that_the_board_has_not_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
