/* SPDX-License-Identifier: MIT */
/*
 * The whole collector in one thread, its clients in another: what is confirmed
 * is in the log, in the order of arrival, and nobody disturbs anybody else.
 */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/base/err.h"
#include "tests/fake/collector_rig.h"

#define MANY 64

static void p2_what_is_confirmed_is_in_the_log(void **state)
{
	struct ackwire *wire = rig_begin_run(1);
	struct rig_payload payload = {0};

	(void)state;
	assert_string_equal(rig_log_letters(1), "RCr");
	rig_add_durable(&payload, 1, 7);
	rig_must_tell(wire, &payload);
	assert_string_equal(rig_log_letters(1), "RCrD");
	ackwire_close(wire);
}

static void p2_a_collector_that_comes_back_knows_what_it_confirmed(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_begin_run(1);
	struct rig_payload payload = {0};
	struct err err;

	(void)state;
	rig_add_durable(&payload, 1, 7);
	rig_must_tell(wire, &payload);
	rig_end();
	assert_int_equal(rig_tell(wire, &payload, &err), -1);
	assert_false(ackwire_is_refused(wire));
	ackwire_close(wire);
	rig_start();
	wire = rig_must_open(1, ACKPROTO_RESUME, &answer);
	assert_true(answer.welcome.has_run);
	assert_int_equal(answer.welcome.cycle, 1);
	assert_int_equal(answer.welcome.reserved[0], 100);
	assert_int_equal(answer.welcome.durable[0], 7);
	rig_must_tell(wire, &payload); /* said twice: harmless */
	ackwire_close(wire);
}

static void p11_an_event_stands_where_it_arrived(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *wire = rig_begin_run(1);
	struct ackwire *observer = rig_must_open(1, ACKPROTO_OBSERVE, &answer);
	struct rig_payload durable = {0}, event = {0};

	(void)state;
	rig_add_durable(&durable, 1, 1);
	rig_must_tell(wire, &durable);
	rig_add_event(&event, ACKBODY_EVENT_CUT_ASKED);
	rig_must_tell(observer, &event);
	rig_must_tell(wire, &durable);
	assert_string_equal(rig_log_letters(1), "RCrDED");
	ackwire_close(wire);
	ackwire_close(observer);
}

static void an_event_needs_no_writer(void **state)
{
	struct ackwire_answer answer;
	struct rig_payload event = {0};

	(void)state;
	ackwire_close(rig_begin_run(1));
	struct ackwire *observer = rig_must_open(1, ACKPROTO_OBSERVE, &answer);

	assert_true(answer.welcome.has_run);
	rig_add_event(&event, ACKBODY_EVENT_NOTE);
	rig_must_tell(observer, &event);
	assert_string_equal(rig_log_letters(1), "RCrE");
	ackwire_close(observer);
}

static void one_writer_a_run_at_a_time(void **state)
{
	struct ackwire_answer answer;
	struct ackwire *first = rig_begin_run(1);
	struct rig_payload payload = {0};
	struct err err;

	(void)state;
	assert_null(rig_open_wire(1, ACKPROTO_RESUME, &answer, &err));
	assert_true(answer.is_refused);
	assert_non_null(strstr(err.text, "already has a writer"));
	rig_add_durable(&payload, 1, 1);
	rig_must_tell(first, &payload);
	ackwire_close(first);
	ackwire_close(rig_must_open(1, ACKPROTO_RESUME, &answer));
}

static void many_writers_at_once(void **state)
{
	static struct ackwire *wires[MANY];
	struct rig_payload payload = {0};
	uint64_t deadline_ns = clock_monotonic_ns() + RIG_LIMIT_NS;
	struct err err;

	(void)state;
	rig_add_durable(&payload, 1, 100);
	for (uint8_t i = 0; i < MANY; i++)
		wires[i] = rig_begin_run((uint8_t)(i + 1));
	for (int round = 0; round < 10; round++) {
		uint64_t number, confirmed = 0;

		for (uint8_t i = 0; i < MANY; i++)
			assert_int_equal(ackwire_send(wires[i], payload.bytes,
						      (uint32_t)payload.length,
						      &number, &err),
					 1);
		for (uint8_t i = 0; i < MANY; i++)
			assert_int_equal(ackwire_receive(wires[i], &confirmed,
							 -1, deadline_ns, &err),
					 1);
	}
	for (uint8_t i = 0; i < MANY; i++)
		ackwire_close(wires[i]);
	assert_string_equal(rig_log_letters(MANY), "RCrDDDDDDDDDD");
}

/* A window of unanswered frames: none is lost, none is left unconfirmed. */
static void p2_a_window_in_flight_is_confirmed_to_the_last(void **state)
{
	struct ackwire *wire = rig_begin_run(1);
	uint64_t deadline_ns = clock_monotonic_ns() + RIG_LIMIT_NS;
	struct rig_payload big = {0};
	uint64_t number = 0, confirmed = 0;
	struct err err;

	(void)state;
	for (int i = 0; i < 3000; i++)
		rig_add_durable(&big, 1, 100);
	while (number < 40) {
		int sent = ackwire_send(wire, big.bytes, (uint32_t)big.length,
					&number, &err);

		assert_true(sent >= 0);
		if (sent == 0)
			assert_true(ackwire_receive(wire, &confirmed, -1,
						    deadline_ns, &err) >= 0);
	}
	while (confirmed < number)
		assert_int_equal(ackwire_receive(wire, &confirmed, -1,
						 deadline_ns, &err),
				 1);
	ackwire_close(wire);
}

static void p2_what_was_sent_before_the_stop_is_kept(void **state)
{
	struct ackwire *wire = rig_begin_run(1);
	struct rig_payload payload = {0};
	uint64_t number, confirmed = 0;
	struct err err;

	(void)state;
	rig_add_durable(&payload, 1, 9);
	assert_int_equal(ackwire_send(wire, payload.bytes,
				      (uint32_t)payload.length, &number, &err),
			 1);
	rig_end();
	assert_string_equal(rig_log_letters(1), "RCrD");
	assert_int_equal(ackwire_receive(wire, &confirmed, -1,
					 clock_monotonic_ns() + RIG_LIMIT_NS,
					 &err),
			 1);
	assert_int_equal(confirmed, number);
	ackwire_close(wire);
	rig_start();
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(p2_what_is_confirmed_is_in_the_log),
		TEST(p2_a_collector_that_comes_back_knows_what_it_confirmed),
		TEST(p11_an_event_stands_where_it_arrived),
		TEST(an_event_needs_no_writer),
		TEST(one_writer_a_run_at_a_time),
		TEST(many_writers_at_once),
		TEST(p2_a_window_in_flight_is_confirmed_to_the_last),
		TEST(p2_what_was_sent_before_the_stop_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
