/* SPDX-License-Identifier: MIT */
/*
 * What cannot be true or cannot be stored is refused by name, nothing of it is
 * in the log, and the run goes on from what the log says.
 */
#include "tests/unit/cmocka_all.h"

#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "tests/fake/collector_rig.h"

static void p9_nothing_of_an_impossible_payload_is_appended(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_begin_run(1);
	struct ackwire *other = rig_begin_run(2);
	struct rig_payload payload = {0}, good = {0};
	struct err err;

	(void)state;
	rig_add_durable(&payload, 1, 5);
	rig_add_durable(&payload, 90, 101); /* 100 are reserved */
	assert_int_equal(rig_tell(wire, &payload, &err), -1);
	assert_true(ackwire_is_refused(wire));
	assert_non_null(strstr(err.text, "above the limit"));
	ackwire_close(wire);
	assert_string_equal(rig_log_letters(1), "RCr");

	/* Nor does the ledger remember the part that could have been true. */
	wire = rig_must_open(1, ACKPROTO_RESUME, &answer);
	assert_int_equal(answer.welcome.durable[0], 0);
	rig_add_durable(&good, 1, 5);
	rig_must_tell(wire, &good);
	rig_must_tell(other, &good);
	ackwire_close(wire);
	ackwire_close(other);
}

static void p9_a_refused_observer_leaves_the_writer_its_ledger(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_begin_run(1);
	struct ackwire *observer = rig_must_open(1, ACKPROTO_OBSERVE, &answer);
	struct rig_payload bad = {0}, good = {0};
	struct err err;

	(void)state;
	rig_add_reserve(&bad, 500);
	assert_int_equal(rig_tell(observer, &bad, &err), -1);
	assert_true(ackwire_is_refused(observer));
	ackwire_close(observer);
	rig_add_durable(&good, 1, 100);
	rig_must_tell(wire, &good);
	assert_string_equal(rig_log_letters(1), "RCrD");
	ackwire_close(wire);
}

static void p2_a_full_disk_confirms_nothing_and_stops_its_run_only(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_begin_run(1);
	struct ackwire *other = rig_begin_run(2);
	struct rig_payload big = {0}, small = {0};
	struct err err;

	(void)state;
	for (int i = 0; i < 400; i++)
		rig_add_event(&big, ACKBODY_EVENT_NOTE);
	rig_add_durable(&small, 1, 3);
	rig_must_tell(wire, &small);
	rig_set_file_limit(2000);
	assert_int_equal(rig_tell(wire, &big, &err), -1);
	assert_true(ackwire_is_refused(wire));
	assert_non_null(strstr(err.text, "cannot append to "));
	assert_non_null(
		strstr(err.text, "everything confirmed so far is safe"));
	assert_true(rig_was_said("cannot append to "));
	rig_must_tell(other, &small);
	ackwire_close(other);
	ackwire_close(wire);
	rig_set_file_limit(RLIM_INFINITY);

	wire = rig_must_open(1, ACKPROTO_RESUME, &answer);
	assert_int_equal(answer.welcome.durable[0], 3);
	assert_true(rig_was_said("cut a torn tail of "));
	rig_must_tell(wire, &big);
	ackwire_close(wire);
}

static void a_new_run_can_be_tried_again_after_a_full_disk(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_must_open(1, ACKPROTO_NEW, &answer);
	struct rig_payload payload = {0};
	struct err err;

	(void)state;
	rig_add_run(&payload, 1);
	rig_set_file_limit(100);
	assert_int_equal(rig_tell(wire, &payload, &err), -1);
	assert_true(ackwire_is_refused(wire));
	rig_set_file_limit(RLIM_INFINITY);
	ackwire_close(wire);
	ackwire_close(rig_begin_run(1));
	assert_string_equal(rig_log_letters(1), "RCr");
}

static void two_collectors_do_not_share_a_log(void **state)
{
	struct ackwire *wire = rig_begin_run(1);
	struct ackwire_answer answer;
	struct err err;
	struct ackfile *file;
	uint64_t repaired;
	char path[128];

	(void)state;
	rig_acklog_path(1, path);
	file = ackfile_resume(path, NULL, &repaired, &err);
	assert_null(file);
	assert_non_null(strstr(err.text, "another program"));
	ackwire_close(wire);
	ackwire_close(rig_must_open(1, ACKPROTO_RESUME, &answer));
}

static void no_log_before_the_run_has_described_itself(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_must_open(1, ACKPROTO_NEW, &answer);
	char path[128];

	(void)state;
	rig_acklog_path(1, path);
	assert_int_equal(access(path, F_OK), -1);
	ackwire_close(wire);
}

static void a_new_run_whose_first_answer_was_lost_may_begin_again(void **state)
{
	struct ackwire_answer answer;
	struct rig_payload payload = {0};
	struct err err;

	(void)state;
	ackwire_close(rig_begin_run(1));
	ackwire_close(rig_begin_run(1));
	ackwire_close(rig_must_open(1, ACKPROTO_RESUME, &answer));
	struct ackwire *wire = rig_begin_run(1);

	rig_add_durable(&payload, 1, 1);
	rig_must_tell(wire, &payload);
	ackwire_close(wire);
	assert_null(rig_open_wire(1, ACKPROTO_NEW, &answer, &err));
	assert_true(answer.is_refused);
	assert_non_null(strstr(err.text, "is here already"));
}

static void an_unknown_run_is_refused_by_name(void **state)
{
	struct ackwire_answer answer;
	struct err err;

	(void)state;
	assert_null(rig_open_wire(9, ACKPROTO_OBSERVE, &answer, &err));
	assert_true(answer.is_refused);
	assert_non_null(strstr(err.text, "09000000000000000000000000000000"));
	assert_null(rig_open_wire(9, ACKPROTO_RESUME, &answer, &err));
	assert_true(answer.is_refused);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(p9_nothing_of_an_impossible_payload_is_appended),
		TEST(p9_a_refused_observer_leaves_the_writer_its_ledger),
		TEST(p2_a_full_disk_confirms_nothing_and_stops_its_run_only),
		TEST(a_new_run_can_be_tried_again_after_a_full_disk),
		TEST(two_collectors_do_not_share_a_log),
		TEST(no_log_before_the_run_has_described_itself),
		TEST(a_new_run_whose_first_answer_was_lost_may_begin_again),
		TEST(an_unknown_run_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
