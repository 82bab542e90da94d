/* SPDX-License-Identifier: MIT */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

static struct outlet board(unsigned int channel)
{
	return (struct outlet){.driver = &driver_lcus_ext, .channel = channel};
}

/* Never sent: what "toggle" does depends on what was before, and how long
 * "momentary" lasts is not known. */
static bool is_never_sent(const struct vector *row)
{
	return vectors_is(row, "toggle-with-reply") ||
	       vectors_is(row, "momentary");
}

static void every_documented_frame_is_sent_and_its_answer_taken(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("lcus-ext", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct outlet outlet = board(rows[i].channel);

		if (is_never_sent(&rows[i]))
			continue;
		if (vectors_is(&rows[i], "query"))
			assert_int_equal(vectors_read(&rows[i], &outlet),
					 RELAY_ON);
		else
			vectors_switch(&rows[i], &outlet);
		played++;
	}
	assert_int_equal(played, count - 2);
}

static int set(const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {{"A0 02 02 A4", answer}, {0}};
	const struct outlet outlet = board(2);

	return driver_bench_set(&outlet, RELAY_OFF, steps, err);
}

static void only_the_right_answer_says_that_it_is_done(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(set("A0 02 00 A2", &err), 0);
	assert_int_equal(set(NULL, &err), -1);
	assert_non_null(strstr(err.text, "does not answer \"off\" in time"));
	assert_int_equal(set("A0 02", &err), -1);
	assert_int_equal(set("A0 02 00 A3", &err), -1); /* wrong sum */
	assert_int_equal(set("A0 01 00 A1", &err), -1); /* another channel */
	assert_int_equal(set("A0 02 01 A3", &err), -1); /* still on */
	assert_int_equal(set("A0 02 02 A4", &err), -1); /* an echo */
	assert_int_equal(set("", &err), -1);
	assert_non_null(strstr(err.text, "gone"));
}

static int get(const char *answer, struct err *err)
{
	const struct port_fake_step steps[] = {{"A0 02 05 A7", answer}, {0}};
	const struct outlet outlet = board(2);
	enum relay_state told = RELAY_ON;

	return driver_bench_get(&outlet, steps, "A0 02 01 A3", 1, &told, NULL,
				err);
}

static void what_tells_no_state_is_an_error_and_silence_is_silence(void **state)
{
	struct err err = {""};

	(void)state;
	assert_int_equal(get(NULL, &err), 0);
	assert_int_equal(get("A0 02", &err), -1);
	assert_int_equal(get("A0 02 01 A4", &err), -1);
	assert_int_equal(get("A0 01 01 A2", &err), -1);
	assert_int_equal(get("A0 02 05 A7", &err), -1);
	assert_int_equal(get("A0 02 01 A3 A0 02 00 A2", &err), -1);
	assert_int_equal(get("A0 02 05 A7 A0 02 01 A3", &err), -1);
	assert_int_equal(get("", &err), -1);
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	*state = count == 4 && answer[2] == 1 ? RELAY_ON : RELAY_OFF;
	return count == 4 && answer[0] == 0xA0 &&
	       answer[1] == outlet->channel && answer[2] < 2 &&
	       answer[3] == 0xA0 + answer[1] + answer[2];
}

static void no_garbage_becomes_a_state(void **state)
{
	const struct port_fake_step steps[] = {{"A0 08 05 AD", NULL}, {0}};
	const struct outlet outlet = board(8);

	(void)state;
	driver_bench_garbage(&outlet, steps, "A0 08 01 A9", judge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_documented_frame_is_sent_and_its_answer_taken),
		cmocka_unit_test(only_the_right_answer_says_that_it_is_done),
		cmocka_unit_test(
			what_tells_no_state_is_an_error_and_silence_is_silence),
		cmocka_unit_test(no_garbage_becomes_a_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
