/* SPDX-License-Identifier: MIT */
#include "relay/answer.h"

#include <string.h>

#include "common/base/err.h"
#include "tests/fake/port_fake.h"
#include "tests/unit/cmocka_all.h"

#define ROOM 8

static struct port_fake *board(const struct port_fake_step *script)
{
	struct port_fake *fake = port_fake_new(script, "01 02 03");

	port_fake_set_chunk(fake, 1);
	return fake;
}

static void what_lay_there_before_is_no_answer(void **state)
{
	const struct port_fake_step script[] = {{"AA", NULL}, {0}};
	struct port_fake *fake = board(script);
	uint8_t answer[ROOM];
	struct err err = {""};

	(void)state;
	assert_int_equal(answer_ask(port_fake_port(fake), "\xAA", 1, answer,
				    ROOM, 0, &err),
			 0);
	port_fake_free(fake);
}

static void an_answer_ends_with_silence(void **state)
{
	const struct port_fake_step script[] = {{"AA", "07 08 09"}, {0}};
	struct port_fake *fake = board(script);
	uint8_t answer[ROOM];
	struct err err = {""};

	(void)state;
	assert_int_equal(answer_ask(port_fake_port(fake), "\xAA", 1, answer,
				    ROOM, 0, &err),
			 3);
	assert_memory_equal(answer, "\x07\x08\x09", 3);
	port_fake_free(fake);
}

static void an_answer_ends_when_it_is_long_enough(void **state)
{
	const struct port_fake_step script[] = {{"AA", "07 08 09"}, {0}};
	struct port_fake *fake = board(script);
	uint8_t answer[ROOM];
	struct err err = {""};

	(void)state;
	assert_int_equal(answer_ask_bytes(port_fake_port(fake), "\xAA", 1,
					  answer, 2, 0, &err),
			 2);
	port_fake_free(fake);
}

static void an_answer_ends_with_its_last_byte(void **state)
{
	const struct port_fake_step script[] = {{"AA", "'on>off>"}, {0}};
	struct port_fake *fake = board(script);
	uint8_t answer[ROOM];
	struct err err = {""};

	(void)state;
	assert_int_equal(answer_ask_until(port_fake_port(fake), "\xAA", 1,
					  answer, ROOM, '>', 0, &err),
			 3);
	assert_memory_equal(answer, "on>", 3);
	port_fake_free(fake);
}

static void a_board_that_never_stops_is_an_error(void **state)
{
	const struct port_fake_step script[] = {
		{"AA", "01 02 03 04 05 06 07 08 09"}, {0}};
	struct port_fake *fake = board(script);
	uint8_t answer[ROOM];
	struct err err = {""};

	(void)state;
	assert_int_equal(answer_ask(port_fake_port(fake), "\xAA", 1, answer,
				    ROOM, 0, &err),
			 -1);
	assert_non_null(strstr(err.text, "does not stop"));
	port_fake_free(fake);
}

static int want(const char *gives, struct err *err)
{
	const struct port_fake_step script[] = {{"AA", gives}, {0}};
	struct port_fake *fake = board(script);
	int rc = answer_want(port_fake_port(fake), "\xAA", 1, "\x01\x02", 2,
			     "\"on\"", 0, err);

	port_fake_free(fake);
	return rc;
}

static void a_command_wants_its_reply_and_no_other(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(want("01 02", &err), 0);
	assert_int_equal(want("01", &err), -1);
	assert_string_equal(err.text,
			    "the answer to \"on\" makes no sense: 01");
	assert_int_equal(want("01 03", &err), -1);
	assert_int_equal(want(NULL, &err), -1);
	assert_string_equal(err.text,
			    "the board does not answer \"on\" in time");
	assert_int_equal(want("", &err), -1);
	assert_non_null(strstr(err.text, "gone"));
}

static void a_long_answer_is_shown_in_part(void **state)
{
	static const uint8_t answer[20] = {0xAB};
	struct err err = {""};

	(void)state;
	assert_int_equal(answer_refuse(answer, sizeof(answer), "it", &err), -1);
	assert_non_null(strstr(err.text, ": ab 00 "));
	assert_non_null(strstr(err.text, "00 ..."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lay_there_before_is_no_answer),
		cmocka_unit_test(an_answer_ends_with_silence),
		cmocka_unit_test(an_answer_ends_when_it_is_long_enough),
		cmocka_unit_test(an_answer_ends_with_its_last_byte),
		cmocka_unit_test(a_board_that_never_stops_is_an_error),
		cmocka_unit_test(a_command_wants_its_reply_and_no_other),
		cmocka_unit_test(a_long_answer_is_shown_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
