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

static struct outlet board(unsigned int channel, const char *timed)
{
	struct outlet outlet = {.driver = &driver_devantech,
				.address = "/dev/null",
				.channel = channel};
	struct err err = {""};

	if (timed != NULL)
		assert_int_equal(
			outlet_take_option(&outlet, "timed", timed, &err), 0);
	return outlet;
}

/* Never sent: all-on, all-off and set-all switch what is another outlet's; the
 * supply says nothing of a contact. */
static bool is_never_sent(const struct vector *row)
{
	return vectors_is(row, "all-on") || vectors_is(row, "all-off") ||
	       vectors_is(row, "set-all") || vectors_is(row, "supply-volts");
}

static void every_documented_byte_is_sent_and_its_answer_taken(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("devantech-usb-rly", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct outlet outlet = board(1, NULL), other = board(2, NULL);

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
	assert_int_equal(played, count - 4);
}

/* "serial" of the RLY16B is never asked for: no contact depends on it. */
static void the_clock_is_set_as_documented(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("devantech-usb-rly16b", rows);
	const struct outlet outlet = board(1, "yes");
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct port_fake_step steps[] = {{rows[i].sent, NULL},
						       {0}};
		struct err err = {""};

		if (!vectors_is(&rows[i], "pulse-1s"))
			continue;
		assert_int_equal(driver_bench_pulse(&outlet, RELAY_ON, 1000,
						    steps, &err),
				 0);
		played++;
	}
	assert_int_equal(played, 1);
}

static void a_time_has_two_bytes(void **state)
{
	const struct port_fake_step longest[] = {{"5E 08 FF FF", NULL}, {0}};
	const struct port_fake_step shortest[] = {{"5E 08 00 05", NULL}, {0}};
	const struct outlet outlet = board(8, "yes");
	struct err err = {""};

	(void)state;
	assert_int_equal(
		driver_bench_pulse(&outlet, RELAY_ON, 655350, longest, &err),
		0);
	assert_int_equal(
		driver_bench_pulse(&outlet, RELAY_ON, 50, shortest, &err), 0);
}

static struct port *open_none(const struct outlet *outlet, struct err *err)
{
	(void)outlet;
	(void)err_set(err, "there is no board");
	return NULL;
}

static bool can_pulse(struct outlet outlet, bool is_inverted, uint64_t ms)
{
	struct err err = {""};
	struct relay *relay = NULL;
	bool can = false;

	outlet.is_inverted = is_inverted;
	relay = relay_new(&outlet, open_none, &err);
	can = relay_can_pulse(relay, ms);
	relay_free(relay);
	return can;
}

/* 5E 01 00 64 is "all on" to a board without the clock. */
static void the_clock_is_used_only_where_the_key_says_so(void **state)
{
	(void)state;
	assert_true(can_pulse(board(1, "yes"), true, 1000));
	assert_false(can_pulse(board(1, "yes"), true, 1005));
	assert_false(can_pulse(board(1, "yes"), true, 655360));
	assert_false(can_pulse(board(1, "yes"), false, 1000));
	assert_false(can_pulse(board(1, "no"), true, 1000));
	assert_false(can_pulse(board(1, NULL), true, 1000));
}

static void the_key_is_yes_or_no(void **state)
{
	struct outlet outlet = board(1, "maybe");
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&outlet, &err), -1);
	assert_non_null(strstr(err.text, "timed: maybe"));
	outlet = board(1, "yes");
	assert_int_equal(outlet_check(&outlet, &err), 0);
	outlet = board(1, NULL);
	assert_int_equal(outlet_check(&outlet, &err), 0);
}

/* All models of the table answer 5A with two bytes: vectors
 * devantech-usb-rly02, 08, 16, 16l, whose second byte is any. */
static void an_echo_of_the_question_is_no_state(void **state)
{
	static const char *const models[] = {"08 01", "09 05", "0A 02",
					     "0F 01"};
	const struct outlet first = board(1, NULL), third = board(3, NULL);
	const struct port_fake_step echo[] = {{"5B", "5B"}, {"5A", "5A"}, {0}};
	enum relay_state told = RELAY_ON;
	struct err err = {""};

	(void)state;
	assert_int_equal(
		driver_bench_get(&first, echo, NULL, 1, &told, NULL, &err), -1);
	for (size_t i = 0; i < 4; i++) {
		const struct port_fake_step real[] = {
			{"5B", "5B"}, {"5A", models[i]}, {0}};

		driver_bench_expect(&first, real, RELAY_ON);
		driver_bench_expect(&third, real, RELAY_OFF);
	}
}

static int get(const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {{"5B", answer}, {0}};
	const struct outlet outlet = board(1, NULL);
	enum relay_state told = RELAY_ON;

	return driver_bench_get(&outlet, steps, "01", 1, &told, NULL, err);
}

static void what_tells_no_state_is_an_error_and_silence_is_silence(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(get(NULL, &err), 0);
	assert_int_equal(get("5B 01", &err), -1);
	assert_int_equal(get("00 01", &err), -1);
	assert_int_equal(get("'$GPGGA,123519,4807.038,N\r\n", &err), -1);
	assert_int_equal(get("", &err), -1);
	assert_non_null(strstr(err.text, "gone"));
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	if (count != 1 || answer[0] == 0x5B)
		return false; /* the script has no second question */
	*state = (answer[0] & 1 << (outlet->channel - 1)) != 0;
	return true;
}

/* One byte of noise cannot be told from one byte of states. */
static void no_garbage_of_another_length_becomes_a_state(void **state)
{
	const struct port_fake_step steps[] = {{"5B", NULL}, {0}};
	const struct outlet outlet = board(6, NULL);

	(void)state;
	driver_bench_garbage(&outlet, steps, "20", judge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_documented_byte_is_sent_and_its_answer_taken),
		cmocka_unit_test(the_clock_is_set_as_documented),
		cmocka_unit_test(a_time_has_two_bytes),
		cmocka_unit_test(the_clock_is_used_only_where_the_key_says_so),
		cmocka_unit_test(the_key_is_yes_or_no),
		cmocka_unit_test(an_echo_of_the_question_is_no_state),
		cmocka_unit_test(
			what_tells_no_state_is_an_error_and_silence_is_silence),
		cmocka_unit_test(no_garbage_of_another_length_becomes_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
