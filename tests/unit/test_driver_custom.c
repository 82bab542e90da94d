/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/outlets.h"
#include "tests/fake/driver_bench.h"
#include "tests/unit/cmocka_all.h"

struct words {
	const char *on, *off, *query, *reply_on, *reply_off, *match;
};

static const struct words lcus = {"A0 01 01 A2", "A0 01 00 A1", NULL,
				  NULL,          NULL,          NULL};
static const struct words telling = {"'on\\r'",    "'off\\r'",    "'?\\r'",
				     "'ON\\r\\n'", "'OFF\\r\\n'", NULL};

static void take(struct outlet *outlet, const char *key, const char *value)
{
	struct err err = {""};

	if (value != NULL)
		assert_int_equal(outlet_take_option(outlet, key, value, &err),
				 0);
}

static struct outlet board(const struct words *words)
{
	struct outlet outlet = {
		.driver = &driver_custom, .address = "/dev/null", .channel = 1};

	take(&outlet, "on", words->on);
	take(&outlet, "off", words->off);
	take(&outlet, "query", words->query);
	take(&outlet, "reply_on", words->reply_on);
	take(&outlet, "reply_off", words->reply_off);
	take(&outlet, "match", words->match);
	return outlet;
}

static void its_user_says_what_is_sent(void **state)
{
	const struct port_fake_step on[] = {{"A0 01 01 A2", NULL}, {0}};
	const struct port_fake_step off[] = {{"'off\r", "'done\r"}, {0}};
	const struct outlet bytes = board(&lcus), text = board(&telling);
	struct err err = {""};

	(void)state;
	assert_int_equal(outlet_check(&bytes, &err), 0);
	assert_int_equal(outlet_check(&text, &err), 0);
	assert_int_equal(driver_bench_set(&bytes, RELAY_ON, on, &err), 0);
	assert_int_equal(driver_bench_set(&text, RELAY_OFF, off, &err), 0);
}

static int get(const struct words *words, const char *question,
	       const char *answer, enum relay_state *told)
{
	const struct port_fake_step steps[] = {{question, answer}, {0}};
	const struct outlet outlet = board(words);
	struct err err = {""};
	int rc = 0;

	assert_int_equal(outlet_check(&outlet, &err), 0);
	rc = driver_bench_get(&outlet, steps, "'ON\r\n", 2, told, NULL, &err);
	assert_true(rc >= 0 || err.text[0] != '\0');
	return rc;
}

static void a_whole_answer_is_one_of_the_two(void **state)
{
	enum relay_state told = RELAY_OFF;

	(void)state;
	assert_int_equal(get(&telling, "'?\r", "'ON\r\n", &told), 1);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(get(&telling, "'?\r", "'OFF\r\n", &told), 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get(&telling, "'?\r", NULL, &told), 0);
	assert_int_equal(get(&telling, "'?\r", "'ON\r", &told), -1);
	assert_int_equal(get(&telling, "'?\r", "'?\rON\r\n", &told), -1);
	assert_int_equal(get(&telling, "'?\r", "'?\r", &told), -1);
	assert_int_equal(get(&telling, "'?\r", "'ON\r\nON\r\n", &told), -1);
	assert_int_equal(get(&telling, "'?\r", "", &told), -1);
}

static void a_containing_answer_has_one_and_not_the_other(void **state)
{
	const struct words words = {"'on\\r'",   "'off\\r'",  "'st\\r'",
				    "'relay=1'", "'relay=0'", "contains"};
	enum relay_state told = RELAY_OFF;

	(void)state;
	assert_int_equal(get(&words, "'st\r", "'st\r\nrelay=1\r\n>", &told), 1);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(get(&words, "'st\r", "'relay=0", &told), 1);
	assert_int_equal(told, RELAY_OFF);
	assert_int_equal(get(&words, "'st\r", "'relay=0 relay=1", &told), -1);
	assert_int_equal(get(&words, "'st\r", "'relay=2", &told), -1);
	assert_int_equal(get(&words, "'st\r", "'relay=", &told), -1);
	assert_int_equal(get(&words, "'st\r", NULL, &told), 0);
}

/* A board that cannot be asked is one that says nothing. */
static void without_a_question_nothing_is_sent(void **state)
{
	const struct port_fake_step nothing[] = {{0}};
	const struct outlet outlet = board(&lcus);
	enum relay_state told = RELAY_ON;
	struct err err = {""};
	bool is_done = false;

	(void)state;
	assert_int_equal(driver_bench_get(&outlet, nothing, "01", 1, &told,
					  &is_done, &err),
			 0);
	assert_true(is_done);
}

static void refuse(struct words words, const char *why)
{
	const struct outlet outlet = board(&words);
	struct err err = {""};

	if (outlet_check(&outlet, &err) == 0)
		fail_msg("taken: %s", why);
	if (strstr(err.text, why) == NULL)
		fail_msg("%s, not: %s", err.text, why);
}

static void words_that_could_mislead_are_refused(void **state)
{
	(void)state;
	refuse((struct words){"01", NULL, NULL, NULL, NULL, NULL},
	       "off: is missing");
	refuse((struct words){NULL, "01", NULL, NULL, NULL, NULL},
	       "on: is missing");
	refuse((struct words){"01", "'\\x01'", NULL, NULL, NULL, NULL},
	       "are the same");
	refuse((struct words){"zz", "02", NULL, NULL, NULL, NULL}, "on: ");
	refuse((struct words){"01", "02", "03", NULL, NULL, NULL}, "all three");
	refuse((struct words){"01", "02", NULL, "04", "05", NULL}, "all three");
	refuse((struct words){"01", "02", "03", "04", "xx", NULL},
	       "reply_off: ");
	refuse((struct words){"01", "02", "03", "04", "05", "maybe"},
	       "match: maybe");
	refuse((struct words){"01", "02", "02", "04", "05", NULL},
	       "would switch");
	refuse((struct words){"01", "02", "03", "04", "04", NULL},
	       "could be both");
	refuse((struct words){"01", "02", "03", "'on'", "'on!'", "contains"},
	       "could be both");
	refuse((struct words){"01", "02", "03", "03", "05", NULL},
	       "echo would be");
	refuse((struct words){"01", "02", "03 04", "04", "05", "contains"},
	       "echo would be");
}

/* The file's own comments and blanks do not spoil them. */
static void they_stand_in_a_file_of_outlets(void **state)
{
	static const char text[] = "[outlet bench]\n"
				   "driver = custom\n"
				   "address = /dev/null\n"
				   "on = A0 01 01 A2 ; relay 1\n"
				   "off = 'relay off\\r\\n'\n"
				   "query = '\\x3b ?'\n"
				   "reply_on = '1 '\n"
				   "reply_off = '0 '\n";
	const struct port_fake_step on[] = {{"A0 01 01 A2", NULL}, {0}};
	const struct port_fake_step off[] = {{"'relay off\r\n", NULL}, {0}};
	const struct port_fake_step ask[] = {{"'; ?", "'1 "}, {0}};
	struct outlet found[OUTLETS_MEMBERS_MAX];
	struct err err = {""};
	struct outlets *outlets = outlets_of(text, "file", &err);

	(void)state;
	if (outlets == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(outlets_find(outlets, "bench", found, &err), 1);
	assert_int_equal(driver_bench_set(&found[0], RELAY_ON, on, &err), 0);
	assert_int_equal(driver_bench_set(&found[0], RELAY_OFF, off, &err), 0);
	driver_bench_expect(&found[0], ask, RELAY_ON);
	outlets_free(outlets);
}

static bool judge_whole(const uint8_t *answer, size_t count,
			const struct outlet *outlet, enum relay_state *state)
{
	(void)outlet;
	*state = count == 4 ? RELAY_ON : RELAY_OFF;
	return count == 4 ? memcmp(answer, "ON\r\n", 4) == 0
			  : count == 5 && memcmp(answer, "OFF\r\n", 5) == 0;
}

static bool judge_part(const uint8_t *answer, size_t count,
		       const struct outlet *outlet, enum relay_state *state)
{
	bool has_0 = false, has_1 = false;

	(void)outlet;
	for (size_t i = 0; i + 1 < count; i++) {
		has_0 = has_0 || (answer[i] == 1 && answer[i + 1] == 0);
		has_1 = has_1 || (answer[i] == 1 && answer[i + 1] == 1);
	}
	*state = has_1 ? RELAY_ON : RELAY_OFF;
	return has_0 != has_1;
}

static void no_garbage_becomes_a_state(void **state)
{
	const struct words part = {"01",    "02",    "03",
				   "01 01", "01 00", "contains"};
	const struct port_fake_step steps[] = {{"'?\r", NULL}, {0}};
	const struct port_fake_step short_steps[] = {{"03", NULL}, {0}};
	const struct outlet whole = board(&telling), parts = board(&part);

	(void)state;
	driver_bench_garbage(&whole, steps, "'OFF\r\n", judge_whole);
	driver_bench_garbage(&parts, short_steps, "02 01 01 02", judge_part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_user_says_what_is_sent),
		cmocka_unit_test(a_whole_answer_is_one_of_the_two),
		cmocka_unit_test(a_containing_answer_has_one_and_not_the_other),
		cmocka_unit_test(without_a_question_nothing_is_sent),
		cmocka_unit_test(words_that_could_mislead_are_refused),
		cmocka_unit_test(they_stand_in_a_file_of_outlets),
		cmocka_unit_test(no_garbage_becomes_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
