/* SPDX-License-Identifier: MIT */
/* Frames with a checksum, some of them unasked: the newest states count, and
 * none of a damaged answer do. */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

#define ASK  "04 18 00 00 00 E4 0F"
#define HAS3 "04 51 01 15 80 15 0F" /* relays 1, 3 and 5 are on */

static struct outlet board(unsigned int channel)
{
	return (struct outlet){.driver = &driver_k8090, .channel = channel};
}

/* Two relays at a time and all of them would switch what is another outlet's;
 * nobody asks for the version. That of "toggle" is unverified, and left out. */
static bool is_never_sent(const struct vector *row)
{
	return strncmp(row->sent, "04 11 05", 8) == 0 ||
	       vectors_is(row, "all-off") || vectors_is(row, "version");
}

static void every_documented_frame(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("k8090", rows);
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct outlet five = board(5), two = board(2);

		if (is_never_sent(&rows[i]))
			continue;
		played++;
		if (!vectors_is(&rows[i], "status")) {
			vectors_switch(&rows[i], &two);
			continue;
		}
		assert_int_equal(vectors_read(&rows[i], &five), RELAY_ON);
		assert_int_equal(vectors_read(&rows[i], &two), RELAY_OFF);
	}
	assert_int_equal(played, count - 3);
}

/* Somebody presses a button while the board is asked. */
static void the_newest_states_count(void **state)
{
	const struct port_fake_step steps[] = {
		{ASK, HAS3 " 04 51 15 11 80 05 0F"}, {0}};
	const struct outlet three = board(3), five = board(5);

	(void)state;
	driver_bench_expect(&three, steps, RELAY_OFF);
	driver_bench_expect(&five, steps, RELAY_ON);
}

static bool judge(const uint8_t *answer, size_t count,
		  const struct outlet *outlet, enum relay_state *state)
{
	if (count == 0 || count % 7 != 0)
		return false;
	for (size_t i = 0; i < count; i += 7) {
		unsigned int sum = 0;

		for (size_t k = 0; k < 6; k++)
			sum += answer[i + k];
		if (answer[i] != 4 || answer[i + 1] != 0x51 ||
		    answer[i + 6] != 15 || (sum & 255) != 0)
			return false;
		*state = answer[i + 3] >> (outlet->channel - 1) & 1 ? RELAY_ON
								    : RELAY_OFF;
	}
	return true;
}

static void no_state_is_made_up(void **state)
{
	const struct outlet outlet = board(5);
	const struct port_fake_step steps[] = {{ASK, NULL}, {0}};
	enum relay_state told = RELAY_OFF;
	struct err err = {""};

	(void)state;
	driver_bench_garbage(&outlet, steps, HAS3, judge);
	assert_int_equal(
		driver_bench_get(&outlet, steps, HAS3, 7, &told, NULL, &err),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_frame),
		cmocka_unit_test(the_newest_states_count),
		cmocka_unit_test(no_state_is_made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
