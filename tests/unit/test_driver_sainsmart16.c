/* SPDX-License-Identifier: MIT */
/* The vendor's lines as they stand in its list, its wrong checksums included.
 */
#include "relay/driver.h"

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "tests/fake/driver_bench.h"
#include "tests/fake/vectors.h"
#include "tests/unit/cmocka_all.h"

/* They would switch what is another outlet's, or ask what nobody can decode. */
static bool is_never_sent(const struct vector *row)
{
	return vectors_is(row, "all-on") || vectors_is(row, "all-off") ||
	       vectors_is(row, "status") || vectors_is(row, "vendor-status");
}

static void every_documented_line_is_sent(void **state)
{
	struct vector rows[VECTORS_MAX];
	const size_t count = vectors_of("sainsmart16-ch340", rows);
	struct outlet outlet = {.driver = &driver_sainsmart16};
	size_t played = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (is_never_sent(&rows[i]))
			continue;
		vectors_switch(&rows[i], &outlet);
		played++;
	}
	assert_int_equal(played, 32);
	assert_int_equal(played, count - 4);
}

static void a_board_that_is_gone_is_an_error(void **state)
{
	const struct port_fake_step steps[] = {{"':FE050000FF00FE\r\n", ""},
					       {0}};
	const struct outlet outlet = {.driver = &driver_sainsmart16,
				      .channel = 1};
	struct port_fake *fake = port_fake_new(steps, NULL);
	struct err err = {""};

	(void)state;
	assert_null(driver_sainsmart16.get);
	assert_int_equal(driver_sainsmart16.set(port_fake_port(fake), &outlet,
						RELAY_ON, 0, &err),
			 0);
	assert_int_equal(driver_sainsmart16.set(port_fake_port(fake), &outlet,
						RELAY_ON, 0, &err),
			 -1);
	port_fake_free(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_line_is_sent),
		cmocka_unit_test(a_board_that_is_gone_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
