/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define ETH008  "13 01 07"
#define ETH8020 "15 01 05"

static struct outlet board(unsigned int channel)
{
	return (struct outlet){.driver = &driver_devantech_eth,
			       .address = "tcp://192.0.2.1",
			       .channel = channel};
}

static void play_question(const struct vector *rows, size_t count)
{
	struct port_fake_step steps[3] = {{NULL, ETH008}, {NULL, "02"}, {0}};
	const struct outlet second = board(2), first = board(1);

	for (size_t i = 0; i < count; i++) {
		if (vectors_is(&rows[i], "id"))
			steps[0].wants = rows[i].sent;
		if (vectors_is(&rows[i], "status"))
			steps[1].wants = rows[i].sent;
	}
	assert_non_null(steps[0].wants);
	assert_non_null(steps[1].wants);
	driver_bench_expect(&second, steps, RELAY_ON);
	driver_bench_expect(&first, steps, RELAY_OFF);
}

static void every_documented_command_is_sent_and_its_answer_taken(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("devantech-eth-tcp17494", rows);
	size_t played = 2; /* id and status, as one */

	(void)state;
	play_question(rows, count);
	for (size_t i = 0; i < count; i++) {
		const struct port_fake_step steps[] = {
			{rows[i].sent, rows[i].reply}, {0}};
		struct outlet outlet = board(rows[i].channel);
		struct err err = {""};

		if (vectors_is(&rows[i], "on") || vectors_is(&rows[i], "off")) {
			vectors_switch(&rows[i], &outlet);
			played++;
		}
		if (vectors_is(&rows[i], "pulse-5s")) {
			assert_int_equal(driver_bench_pulse(&outlet, RELAY_ON,
							    5000, steps, &err),
					 0);
			played++;
		}
	}
	assert_int_equal(played, count);
}

/* The manual of ETH008: 21, relay, time in steps of 100 ms. */
static void it_can_be_off_for_a_time(void **state)
{
	const struct port_fake_step steps[] = {{"21 03 FF", "00"}, {0}};
	const struct outlet outlet = board(3);
	struct err err = {""};

	(void)state;
	assert_int_equal(
		driver_bench_pulse(&outlet, RELAY_OFF, 25500, steps, &err), 0);
}

static void each_model_has_its_bytes_and_relays(void **state)
{
	static const struct {
		const char *model, *answer;
		unsigned int channel;
	} cases[] = {
		{"12 01 01", "02", 2},     {ETH008, "80", 8},
		{"14 01 01", "08 00", 4},  {"14 01 01", "00 01", 9},
		{ETH8020, "00 00 08", 20}, {ETH8020, "00 80 00", 16},
	};
	static const struct {
		const char *model;
		unsigned int channel;
	} none[] = {{"12 01 01", 3},
		    {ETH008, 9},
		    {"14 01 01", 5},
		    {"14 01 01", 17}};
	struct err err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct port_fake_step steps[] = {
			{"10", cases[i].model}, {"24", cases[i].answer}, {0}};
		const struct outlet outlet = board(cases[i].channel);
		const struct outlet other = board(1);

		driver_bench_expect(&outlet, steps, RELAY_ON);
		driver_bench_expect(&other, steps, RELAY_OFF);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		const struct port_fake_step steps[] = {{"10", none[i].model},
						       {0}};
		const struct outlet outlet = board(none[i].channel);
		enum relay_state told = RELAY_ON;

		assert_int_equal(driver_bench_get(&outlet, steps, NULL, 9,
						  &told, NULL, &err),
				 -1);
		assert_non_null(strstr(err.text, "has no relay"));
	}
}

static int set(const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {{"21 02 00", answer}, {0}};
	const struct outlet outlet = board(2);

	return driver_bench_set(&outlet, RELAY_OFF, steps, err);
}

static void only_00_says_that_it_is_done(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set("00", &err), 0);
	assert_int_equal(set("01", &err), -1);
	assert_non_null(strstr(err.text, "refuses \"off\" of relay 2"));
	assert_int_equal(set("21 02 00", &err), -1); /* an echo */
	assert_int_equal(set(NULL, &err), -1);
	assert_non_null(strstr(err.text, "in time"));
	assert_int_equal(set("", &err), -1);
	assert_non_null(strstr(err.text, "gone"));
}

static int get(const char *model, const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {
		{"10", model}, {"24", answer}, {0}};
	const struct outlet outlet = board(1);
	enum relay_state told = RELAY_ON;

	return driver_bench_get(&outlet, steps, "01", 1, &told, NULL, err);
}

static void what_tells_no_state_is_an_error_and_silence_is_silence(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(get(NULL, "01", &err), 0);
	assert_int_equal(get(ETH008, NULL, &err), 0);
	assert_int_equal(get("13 01", "01", &err), -1);
	assert_int_equal(get("7F 01 01", "01", &err), -1);
	assert_int_equal(get("10", "24", &err), -1); /* an echo */
	assert_int_equal(get(ETH008, "24 01", &err), -1);
	assert_int_equal(get(ETH008, "01 00", &err), -1);
	assert_int_equal(get(ETH8020, "01", &err), -1);
	assert_int_equal(get("", NULL, &err), -1);
	assert_int_equal(get(ETH008, "", &err), -1);
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	if (count != 3)
		return false;
	*state = (answer[(outlet->channel - 1) / 8] &
		  1 << (outlet->channel - 1) % 8) != 0;
	return true;
}

static void no_garbage_becomes_a_state(void **state)
{
	const struct port_fake_step states[] = {
		{"10", ETH8020}, {"24", NULL}, {0}};
	const struct outlet outlet = board(18);

	(void)state;
	driver_bench_garbage(&outlet, states, "00 00 02", judge);
}

/* A model alone is never a state. */
static bool judge_never(const uint8_t *answer, size_t count,
			const struct outlet *outlet, enum relay_state *state)
{
	(void)answer;
	(void)count;
	(void)outlet;
	(void)state;
	return false;
}

static void no_garbage_becomes_a_model(void **state)
{
	const struct port_fake_step model[] = {{"10", NULL}, {0}};
	const struct outlet outlet = board(1);

	(void)state;
	driver_bench_garbage(&outlet, model, ETH008, judge_never);
}

/* ---- the password, which lies in a file ---- */

static struct outlet guarded_board(char *path)
{
	struct outlet outlet = board(1);
	struct err err = {""};
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "apple\n", 6), 6);
	assert_int_equal(close(fd), 0);
	assert_int_equal(outlet_take_option(&outlet, "password", path, &err),
			 0);
	return outlet;
}

static int unlock(const char *answer, const char *then, struct err *err)
{
	char path[] = "/tmp/plugpull-test-XXXXXX";
	const struct outlet outlet = guarded_board(path);
	const struct port_fake_step both[] = {
		{"'yapple", answer}, {"20 01 00", then}, {0}};
	const struct port_fake_step one[] = {{"'yapple", answer}, {0}};
	int rc = driver_bench_set(&outlet, RELAY_ON, then == NULL ? one : both,
				  err);

	(void)unlink(path); /* nobody else's */
	return rc;
}

/* The manual of ETH008: 79 ('y'), the password; 1 right, 2 wrong. */
static void the_password_comes_first_and_must_be_right(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(unlock("01", "00", &err), 0);
	assert_int_equal(unlock("02", NULL, &err), -1);
	assert_non_null(strstr(err.text, "does not take the password"));
	assert_int_equal(unlock(NULL, NULL, &err), -1);
	assert_int_equal(unlock("'yapple", NULL, &err), -1);
	assert_null(strstr(err.text, "apple"));
	assert_null(strstr(err.text, "61 70")); /* nor in other words */
	assert_int_equal(unlock("", NULL, &err), -1);
}

static void a_password_that_cannot_be_read_sends_nothing(void **state)
{
	const struct port_fake_step nothing[] = {{0}};
	struct outlet outlet = board(1);
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_take_option(&outlet, "password",
					    "/nonexistent/file", &err),
			 0);
	assert_int_equal(driver_bench_set(&outlet, RELAY_ON, nothing, &err),
			 -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_documented_command_is_sent_and_its_answer_taken),
		cmocka_unit_test(it_can_be_off_for_a_time),
		cmocka_unit_test(each_model_has_its_bytes_and_relays),
		cmocka_unit_test(only_00_says_that_it_is_done),
		cmocka_unit_test(
			what_tells_no_state_is_an_error_and_silence_is_silence),
		cmocka_unit_test(no_garbage_becomes_a_state),
		cmocka_unit_test(no_garbage_becomes_a_model),
		cmocka_unit_test(the_password_comes_first_and_must_be_right),
		cmocka_unit_test(a_password_that_cannot_be_read_sends_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
