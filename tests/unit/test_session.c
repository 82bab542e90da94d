/* SPDX-License-Identifier: MIT */
/*
 * A session takes what the protocol allows, in its order, and nothing else; and
 * it confirms what session_confirm() says and not one statement more.
 */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "collector/session.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"

static const uint8_t id[RUN_ID_BYTES] = {7, 1};

static struct run some_run(void)
{
	struct run run = {
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + 64 * 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 1,
		.is_filled = true,
	};

	memcpy(run.id, id, sizeof(id));
	return run;
}

static void feed(struct session *session, const uint8_t *bytes, size_t count)
{
	size_t room;
	uint8_t *to = session_room(session, &room);

	assert_true(room >= count);
	memcpy(to, bytes, count);
	session_fed(session, count);
}

static void feed_frame(struct session *session, enum ackproto_type type,
		       uint64_t number, const uint8_t *payload, uint32_t length)
{
	uint8_t frame[ACKPROTO_HEADER_BYTES + ACKBODY_ENCODED_MAX];

	ackproto_encode(type, number, payload, length, frame);
	feed(session, frame, ACKPROTO_HEADER_BYTES + length);
}

static void feed_hello(struct session *session, enum ackproto_mode mode)
{
	struct ackproto_hello hello = {ACKPROTO_VERSION, mode, {0}};
	uint8_t payload[ACKPROTO_HELLO_BYTES];

	memcpy(hello.run_id, id, sizeof(id));
	ackproto_encode_hello(&hello, payload);
	feed_frame(session, ACKPROTO_HELLO, 0, payload, sizeof(payload));
}

static void feed_body(struct session *session, uint64_t number,
		      const struct ackbody *body)
{
	uint8_t payload[ACKBODY_ENCODED_MAX];
	size_t length = 0;

	assert_int_equal(
		ackbody_encode(body, payload, sizeof(payload), &length), 0);
	feed_frame(session, ACKPROTO_BODIES, number, payload, (uint32_t)length);
}

/* The one answer that must be there, taken out of the buffer. */
static enum ackproto_type answer(struct session *session, uint64_t *number)
{
	struct ackproto_header header;
	struct err err;
	size_t count;
	const uint8_t *bytes = session_output(session, &count);

	assert_true(count >= ACKPROTO_HEADER_BYTES);
	assert_int_equal(ackproto_decode_header(&header, bytes, &err), 0);
	assert_int_equal(count, ACKPROTO_HEADER_BYTES + header.length);
	assert_int_equal(ackproto_check(&header, bytes,
					bytes + ACKPROTO_HEADER_BYTES, &err),
			 0);
	session_sent(session, count);
	*number = header.number;
	return header.type;
}

static struct session *welcomed(enum ackproto_mode mode)
{
	struct ackproto_welcome welcome = {0};
	struct err err;
	uint64_t number;
	struct session *session = session_new(&err);

	assert_non_null(session);
	assert_int_equal(session_need(session), SESSION_BYTES);
	feed_hello(session, mode);
	assert_int_equal(session_need(session), SESSION_CLAIM);
	assert_int_equal(session_hello(session)->mode, mode);
	session_welcome(session, &welcome);
	assert_int_equal(answer(session, &number), ACKPROTO_WELCOME);
	assert_int_equal(session_need(session), SESSION_BYTES);
	return session;
}

static struct ackbody event(void)
{
	struct ackbody body = {.type = ACKBODY_EVENT};

	body.note.event = ACKBODY_EVENT_NOTE;
	strcpy(body.note.text, "here");
	return body;
}

static struct ackbody reserve(void)
{
	struct ackbody body = {.type = ACKBODY_RESERVE};

	body.limit.sequence = 5;
	return body;
}

static void expect_refused(struct session *session)
{
	uint64_t number;

	assert_int_equal(session_need(session), SESSION_OVER);
	assert_true(session_reason(session)[0] != '\0');
	assert_int_equal(answer(session, &number), ACKPROTO_REFUSE);
	session_free(session);
}

static void p2_nothing_is_confirmed_before_it_is_told_to(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = reserve();
	uint64_t number;
	uint32_t length;
	size_t count;

	(void)state;
	feed_body(session, 1, &body);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	assert_non_null(session_payload(session, &length));
	session_take(session);
	assert_true(session_is_waiting(session));
	(void)session_output(session, &count);
	assert_int_equal(count, 0);
	session_confirm(session);
	assert_false(session_is_waiting(session));
	assert_int_equal(answer(session, &number), ACKPROTO_CONFIRM);
	assert_int_equal(number, 1);
	assert_true(session_is_idle(session));
	session_free(session);
}

static void p2_one_confirmation_covers_what_was_taken_and_no_more(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = reserve();
	uint64_t number;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		feed_body(session, i, &body);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(session_need(session), SESSION_PAYLOAD);
		session_take(session);
	}
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	session_confirm(session);
	assert_int_equal(answer(session, &number), ACKPROTO_CONFIRM);
	assert_int_equal(number, 2);
	session_free(session);
}

static void p2_a_refused_payload_is_never_confirmed(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = reserve();

	(void)state;
	feed_body(session, 1, &body);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	session_refuse(session, "the disk is full");
	assert_false(session_is_waiting(session));
	assert_string_equal(session_reason(session), "the disk is full");
	expect_refused(session);
}

static void hello_comes_first(void **state)
{
	struct ackbody body = event();
	struct err err;
	struct session *session = session_new(&err);

	(void)state;
	feed_body(session, 1, &body);
	expect_refused(session);
}

static void a_second_hello_is_refused(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);

	(void)state;
	feed_hello(session, ACKPROTO_RESUME);
	expect_refused(session);
}

static void a_client_cannot_answer_itself(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);

	(void)state;
	feed_frame(session, ACKPROTO_CONFIRM, 1, NULL, 0);
	expect_refused(session);
}

static void numbers_leave_nothing_out(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = reserve();

	(void)state;
	feed_body(session, 2, &body);
	expect_refused(session);
}

static void numbers_do_not_repeat(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = reserve();

	(void)state;
	feed_body(session, 1, &body);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	session_take(session);
	feed_body(session, 1, &body);
	expect_refused(session);
}

static void p11_an_observer_reports_events(void **state)
{
	struct session *session = welcomed(ACKPROTO_OBSERVE);
	struct ackbody body = event();

	(void)state;
	feed_body(session, 1, &body);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	session_free(session);
}

static void an_observer_reports_nothing_else(void **state)
{
	struct session *session = welcomed(ACKPROTO_OBSERVE);
	struct ackbody body = reserve();

	(void)state;
	feed_body(session, 1, &body);
	expect_refused(session);
}

static void a_new_run_describes_itself_first(void **state)
{
	struct session *session = welcomed(ACKPROTO_NEW);
	struct ackbody body = {.type = ACKBODY_RUN, .run = some_run()};

	(void)state;
	feed_body(session, 1, &body);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	session_take(session);
	body = reserve();
	feed_body(session, 2, &body);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	session_free(session);

	session = welcomed(ACKPROTO_NEW);
	feed_body(session, 1, &body);
	expect_refused(session);
}

static void p9_the_description_of_another_run_is_refused(void **state)
{
	struct session *session = welcomed(ACKPROTO_NEW);
	struct ackbody body = {.type = ACKBODY_RUN, .run = some_run()};

	(void)state;
	body.run.id[3] ^= 1;
	feed_body(session, 1, &body);
	expect_refused(session);
}

static void p9_a_damaged_message_is_refused(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = reserve();
	uint8_t payload[ACKBODY_ENCODED_MAX];
	uint8_t frame[ACKPROTO_HEADER_BYTES + ACKBODY_ENCODED_MAX];
	size_t length = 0;

	(void)state;
	assert_int_equal(
		ackbody_encode(&body, payload, sizeof(payload), &length), 0);
	ackproto_encode(ACKPROTO_BODIES, 1, payload, (uint32_t)length, frame);
	frame[ACKPROTO_HEADER_BYTES + length - 1] ^= 1;
	feed(session, frame, ACKPROTO_HEADER_BYTES + length);
	expect_refused(session);
}

static void bytes_may_come_one_by_one(void **state)
{
	struct ackproto_hello hello = {ACKPROTO_VERSION, ACKPROTO_RESUME, {1}};
	uint8_t payload[ACKPROTO_HELLO_BYTES];
	uint8_t frame[ACKPROTO_HEADER_BYTES + ACKPROTO_HELLO_BYTES];
	struct err err;
	struct session *session = session_new(&err);

	(void)state;
	ackproto_encode_hello(&hello, payload);
	ackproto_encode(ACKPROTO_HELLO, 0, payload, sizeof(payload), frame);
	for (size_t i = 0; i < sizeof(frame); i++) {
		assert_int_equal(session_need(session), SESSION_BYTES);
		feed(session, frame + i, 1);
	}
	assert_int_equal(session_need(session), SESSION_CLAIM);
	session_free(session);
}

static void the_largest_payload_fits_and_a_larger_one_is_refused(void **state)
{
	static uint8_t frame[ACKPROTO_HEADER_BYTES + ACKPROTO_PAYLOAD_MAX];
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = event();
	size_t used = 0;

	(void)state;
	while (ackbody_encode(&body, frame + ACKPROTO_HEADER_BYTES,
			      ACKPROTO_PAYLOAD_MAX, &used) == 0)
		;
	ackproto_encode(ACKPROTO_BODIES, 1, frame + ACKPROTO_HEADER_BYTES,
			(uint32_t)used, frame);
	feed(session, frame, ACKPROTO_HEADER_BYTES + used);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	session_free(session);

	session = welcomed(ACKPROTO_RESUME);
	frame[8] = 1; /* the length, by hand: one more than can be */
	frame[9] = 0;
	frame[10] = 1;
	feed(session, frame, ACKPROTO_HEADER_BYTES);
	expect_refused(session);
}

static void who_does_not_read_is_not_read_from(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	struct ackbody body = reserve();
	uint64_t number;
	size_t room;

	(void)state;
	feed_body(session, 1, &body);
	assert_int_equal(session_need(session), SESSION_PAYLOAD);
	assert_null(session_room(session, &room));
	session_take(session);
	session_confirm(session);
	assert_null(session_room(session, &room));
	assert_int_equal(room, 0);
	assert_int_equal(answer(session, &number), ACKPROTO_CONFIRM);
	assert_non_null(session_room(session, &room));
	session_free(session);
}

static void the_first_refusal_counts(void **state)
{
	struct session *session = welcomed(ACKPROTO_RESUME);
	static char text[3 * ACKPROTO_TEXT_BYTES];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	session_refuse(session, text);
	session_refuse(session, "again");
	assert_int_equal(strlen(session_reason(session)),
			 ACKPROTO_TEXT_BYTES - 1);
	expect_refused(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p2_nothing_is_confirmed_before_it_is_told_to),
		cmocka_unit_test(
			p2_one_confirmation_covers_what_was_taken_and_no_more),
		cmocka_unit_test(p2_a_refused_payload_is_never_confirmed),
		cmocka_unit_test(hello_comes_first),
		cmocka_unit_test(a_second_hello_is_refused),
		cmocka_unit_test(a_client_cannot_answer_itself),
		cmocka_unit_test(numbers_leave_nothing_out),
		cmocka_unit_test(numbers_do_not_repeat),
		cmocka_unit_test(p11_an_observer_reports_events),
		cmocka_unit_test(an_observer_reports_nothing_else),
		cmocka_unit_test(a_new_run_describes_itself_first),
		cmocka_unit_test(p9_the_description_of_another_run_is_refused),
		cmocka_unit_test(p9_a_damaged_message_is_refused),
		cmocka_unit_test(bytes_may_come_one_by_one),
		cmocka_unit_test(
			the_largest_payload_fits_and_a_larger_one_is_refused),
		cmocka_unit_test(who_does_not_read_is_not_read_from),
		cmocka_unit_test(the_first_refusal_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
