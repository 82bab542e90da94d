/* SPDX-License-Identifier: MIT */
/*
 * P9: of a payload that is refused nothing is left, neither in the log nor in
 * what the collector knows of the run, also where somebody keeps the run open.
 */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/base/err.h"
#include "tests/fake/collector_rig.h"

static void p9_a_refused_reservation_is_forgotten(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_begin_run(1);
	struct ackwire *observer = rig_must_open(1, ACKPROTO_OBSERVE, &answer);
	struct rig_payload bad = {0}, good = {0};
	struct err err;

	(void)state;
	rig_add_reserve(&bad, 500);
	rig_add_durable(&bad, 1, 7);
	rig_add_durable(&bad, 501, 501);
	assert_int_equal(rig_tell(wire, &bad, &err), -1);
	assert_true(ackwire_is_refused(wire));
	ackwire_close(wire);
	assert_string_equal(rig_log_letters(1), "RCr");

	wire = rig_must_open(1, ACKPROTO_RESUME, &answer);
	assert_int_equal(answer.welcome.reserved[0], 100);
	assert_int_equal(answer.welcome.durable[0], 0);
	rig_add_durable(&good, 101, 101); /* still above the reservation */
	assert_int_equal(rig_tell(wire, &good, &err), -1);
	ackwire_close(wire);
	ackwire_close(observer);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(p9_a_refused_reservation_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
