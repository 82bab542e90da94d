/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <regex.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define RETURN "0D"
#define PROMPT "'\n\r>"

static struct outlet module(unsigned int channel, const char *relays,
			    const char *token)
{
	struct outlet outlet = {.driver = &driver_numato,
				.address = "/dev/null",
				.channel = channel};
	struct err err = {""};

	if (relays != NULL)
		assert_int_equal(
			outlet_take_option(&outlet, "relays", relays, &err), 0);
	if (token != NULL)
		assert_int_equal(
			outlet_take_option(&outlet, "token", token, &err), 0);
	return outlet;
}

/* Never sent: all at once is other outlets' business, and nothing depends on
 * version and id. "resync" goes in front of every command. */
static bool is_never_sent(const struct vector *row)
{
	static const char *const actions[] = {"status-all", "set-all-off",
					      "version",    "id",
					      "resync",     "reset-all-off"};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (vectors_is(row, actions[i]))
			return true;
	return false;
}

static size_t play(const struct vector *row, const struct outlet *outlet)
{
	struct port_fake_step steps[] = {
		{RETURN, "3E"}, {row->sent, row->reply}, {0}};
	const bool is_question =
		vectors_is(row, "status") || vectors_is(row, "read");
	enum relay_state told = RELAY_ON;
	struct err err = {""};
	bool is_done = false;

	if (is_never_sent(row))
		return 0;
	if (row->reply[0] == '\0')
		steps[1].gives = NULL; /* the source does not say it */
	if (is_question && row->reply[0] != '\0') {
		driver_bench_expect(outlet, steps, RELAY_ON);
	} else if (is_question) {
		(void)driver_bench_get(outlet, steps, NULL, 9, &told, &is_done,
				       &err);
		assert_true(is_done);
	} else {
		assert_int_equal(
			driver_bench_set(outlet,
					 strncmp(row->action, "on", 2) == 0,
					 steps, &err),
			row->reply[0] == '\0' ? -1 : 0);
	}
	return 1;
}

static void every_documented_line_is_sent_and_its_answer_taken(void **state)
{
	static const struct {
		const char *protocol, *relays, *token;
		size_t played;
	} tables[] = {
		{"numato", NULL, NULL, 9},      {"numato-16ch", "16", NULL, 3},
		{"numato-32ch", "32", NULL, 1}, {"numato-64ch", "64", NULL, 1},
		{"numato-8ch", "8", NULL, 0},
	};
	struct vector rows[VECTORS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const size_t count = vectors_of(tables[i].protocol, rows);
		size_t played = 0;

		for (size_t k = 0; k < count; k++) {
			/* One source writes its letters small. */
			const bool is_small = strcmp(tables[i].protocol,
						     "numato-16ch") == 0 &&
					      vectors_is(&rows[k], "on");
			const struct outlet outlet =
				module(rows[k].channel, tables[i].relays,
				       is_small ? "lower" : tables[i].token);

			played += play(&rows[k], &outlet);
		}
		assert_int_equal(played, tables[i].played);
	}
}

static void a_relay_is_written_as_the_module_wants_it(void **state)
{
	static const struct {
		unsigned int channel;
		const char *relays, *token, *line;
	} cases[] = {
		{15, "16", NULL, "'relay off F\r"},
		{15, NULL, "upper", "'relay off F\r"},
		{15, "16", "lower", "'relay off f\r"},
		{9, "32", NULL, "'relay off 9\r"},
		{16, "32", NULL, "'relay off G\r"},
		{31, "32", "lower", "'relay off v\r"},
		{3, "32", "decimal", "'relay off 03\r"},
		{3, "64", NULL, "'relay off 03\r"},
		{63, "64", "decimal", "'relay off 63\r"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct outlet outlet = module(
			cases[i].channel, cases[i].relays, cases[i].token);
		const struct port_fake_step steps[] = {
			{RETURN, PROMPT}, {cases[i].line, NULL}, {0}};
		struct err err = {""};

		(void)driver_bench_set(&outlet, RELAY_OFF, steps, &err);
	}
}

static void refuse(unsigned int channel, const char *relays, const char *token,
		   const char *why)
{
	const struct outlet outlet = module(channel, relays, token);
	struct err err = {""};

	assert_int_equal(outlet_check(&outlet, &err), -1);
	assert_non_null(strstr(err.text, why));
}

static void what_the_module_cannot_have_is_refused(void **state)
{
	const struct outlet good = module(31, "32", "lower");
	struct err err = {""};

	(void)state;
	refuse(16, NULL, NULL, "relays: 16, counted from 0");
	refuse(8, "8", NULL, "relays: 8, counted from 0");
	refuse(0, "20", NULL, "relays: 20 is not");
	refuse(0, "65", NULL, "relays: 65 is not");
	refuse(0, "0", NULL, "relays: 0 is not");
	refuse(0, "8", "hex", "token: hex");
	refuse(0, "64", "upper", "no single signs");
	assert_int_equal(outlet_check(&good, &err), 0);
}

static int set(const char *prompt, const char *answer, struct err *err)
{
	const struct port_fake_step both[] = {
		{RETURN, prompt}, {"'relay off 3\r", answer}, {0}};
	const struct port_fake_step one[] = {{RETURN, prompt}, {0}};
	const struct outlet outlet = module(3, NULL, NULL);

	return driver_bench_set(&outlet, RELAY_OFF,
				answer != NULL && *answer == '-' ? one : both,
				err);
}

static void a_line_must_be_repeated_and_prompted_for(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set(PROMPT, "'relay off 3\n\r>", &err), 0);
	assert_int_equal(set("'\r\n\r\n>", "'relay off 3\r\n>", &err), 0);
	assert_int_equal(set(NULL, "-", &err), -1);
	assert_non_null(strstr(err.text, "does not prompt"));
	assert_int_equal(set("'login: ", "-", &err), -1);
	assert_int_equal(set("", "-", &err), -1);
	assert_non_null(strstr(err.text, "gone"));
	assert_int_equal(set(PROMPT, NULL, &err), -1);
	assert_int_equal(set(PROMPT, "", &err), -1);
	assert_int_equal(set(PROMPT, "'relay off 3", &err), -1);
	assert_int_equal(set(PROMPT, "'relay off 3\r", &err), -1); /* an echo */
	assert_int_equal(set(PROMPT, "'\n\r>", &err), -1);
	assert_int_equal(set(PROMPT, "'relay off 31\n\r>", &err), -1);
	assert_int_equal(set(PROMPT, "'relay on 3\n\r>", &err), -1);
	assert_int_equal(
		set(PROMPT, "'relay off 3\n\rno such relay\n\r>", &err), -1);
	assert_non_null(strstr(err.text, "does not take \"relay off 3\": no "
					 "such relay"));
}

static int get(const char *prompt, const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {
		{RETURN, prompt}, {"'relay read 3\r", answer}, {0}};
	const struct outlet outlet = module(3, NULL, NULL);
	enum relay_state told = RELAY_ON;

	return driver_bench_get(&outlet, steps, "'relay read 3\n\ron\n\r>", 1,
				&told, NULL, err);
}

static void what_tells_no_state_is_an_error_and_silence_is_silence(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(get(NULL, "", &err), 0);
	assert_int_equal(get("", "", &err), -1);
	assert_int_equal(get("'$GPGGA,1\r\n", "", &err), -1);
	assert_int_equal(get(PROMPT, NULL, &err), -1);
	assert_int_equal(get(PROMPT, "'relay read 3\r", &err), -1);
	assert_int_equal(get(PROMPT, "'relay read 3\n\r>", &err), -1);
	assert_int_equal(get(PROMPT, "'relay read 3\n\ron", &err), -1);
	assert_int_equal(get(PROMPT, "'relay read 2\n\ron\n\r>", &err), -1);
	assert_int_equal(get(PROMPT, "'relay read 3\n\rone\n\r>", &err), -1);
	assert_int_equal(get(PROMPT, "'relay read 3\n\ron off\n\r>", &err), -1);
	assert_int_equal(get(PROMPT, "'on\n\r>", &err), -1);
	assert_int_equal(get(PROMPT, "'>relay read 3\n\ron\n\r>", &err), -1);
	assert_int_equal(get(PROMPT,
			     "'relay read 3\n\ron\n\r>relay read 3\n\roff\n\r>",
			     &err),
			 -1);
	assert_int_equal(get("'relay read 3\n\ron\n\r>", NULL, &err), -1);
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	char text[200] = "";
	regmatch_t found[2];
	regex_t form;
	bool is_state = false;

	(void)outlet;
	memcpy(text, answer, count);
	if (regcomp(&form,
		    "^[ \t\r\n]*relay read 3[\r\n][ \t\r\n]*(on|off)[ "
		    "\t\r\n]*>",
		    REG_EXTENDED) != 0)
		fail_msg("the form is wrong");
	is_state =
		strlen(text) == count && regexec(&form, text, 2, found, 0) == 0;
	*state = is_state && found[1].rm_eo - found[1].rm_so == 2 ? RELAY_ON
								  : RELAY_OFF;
	regfree(&form);
	return is_state;
}

static void no_garbage_becomes_a_state(void **state)
{
	const struct port_fake_step steps[] = {
		{RETURN, PROMPT}, {"'relay read 3\r", NULL}, {0}};
	const struct outlet outlet = module(3, NULL, NULL);

	(void)state;
	driver_bench_garbage(&outlet, steps, "'relay read 3\n\roff\n\r>",
			     judge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_documented_line_is_sent_and_its_answer_taken),
		cmocka_unit_test(a_relay_is_written_as_the_module_wants_it),
		cmocka_unit_test(what_the_module_cannot_have_is_refused),
		cmocka_unit_test(a_line_must_be_repeated_and_prompted_for),
		cmocka_unit_test(
			what_tells_no_state_is_an_error_and_silence_is_silence),
		cmocka_unit_test(no_garbage_becomes_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
