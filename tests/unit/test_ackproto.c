/* SPDX-License-Identifier: MIT */
/*
 * Frames and greetings survive their encoding; what is damaged, too long, of
 * another version or impossible is refused (P9).
 */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/base/err.h"
#include "common/format/ackproto.h"
#include "tests/fake/golden.h"

static struct err err;

static struct ackproto_hello some_hello(void)
{
	return (struct ackproto_hello){
		.version = ACKPROTO_VERSION,
		.mode = ACKPROTO_RESUME,
		.run_id = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
			   15},
	};
}

static struct ackproto_welcome some_welcome(void)
{
	struct ackproto_welcome welcome = {
		.has_run = true,
		.run = {.id = {1, 2, 3},
			.block_bytes = 4096,
			.logical_block_bytes = 512,
			.streams = 2,
			.seed = 42,
			.identity = "serial",
			.target = "/dev/sdx"},
		.cycle = 3,
		.reserved = {1000, 2000},
		.durable = {900, 0},
	};

	welcome.run.size_bytes =
		run_fit_size(16 * 1024 * 1024, welcome.run.block_bytes);
	return welcome;
}

static void compare_golden(const char *name, const uint8_t *frame, size_t size)
{
	uint8_t bytes[4096];

	assert_int_equal(golden_read(name, bytes, sizeof(bytes)), size);
	assert_memory_equal(bytes, frame, size);
}

static void frames_survive(void **state)
{
	uint8_t frame[ACKPROTO_HEADER_BYTES + 5];
	struct ackproto_header header;

	(void)state;
	ackproto_encode(ACKPROTO_BODIES, UINT64_MAX, (const uint8_t *)"abcde",
			5, frame);
	assert_int_equal(ackproto_decode_header(&header, frame, &err), 0);
	assert_int_equal(header.type, ACKPROTO_BODIES);
	assert_int_equal(header.length, 5);
	assert_true(header.number == UINT64_MAX);
	assert_memory_equal(frame + ACKPROTO_HEADER_BYTES, "abcde", 5);
	assert_int_equal(ackproto_check(&header, frame,
					frame + ACKPROTO_HEADER_BYTES, &err),
			 0);

	ackproto_encode(ACKPROTO_CONFIRM, 7, NULL, 0, frame);
	assert_int_equal(ackproto_decode_header(&header, frame, &err), 0);
	assert_int_equal(ackproto_check(&header, frame, NULL, &err), 0);
	assert_int_equal(header.number, 7);
}

static void payload_may_lie_behind_the_header_already(void **state)
{
	uint8_t apart[ACKPROTO_HEADER_BYTES + 3];
	uint8_t in_place[ACKPROTO_HEADER_BYTES + 3];

	(void)state;
	ackproto_encode(ACKPROTO_REFUSE, 0, (const uint8_t *)"why", 3, apart);
	memcpy(in_place + ACKPROTO_HEADER_BYTES, "why", 3);
	ackproto_encode(ACKPROTO_REFUSE, 0, in_place + ACKPROTO_HEADER_BYTES, 3,
			in_place);
	assert_memory_equal(apart, in_place, sizeof(apart));
}

static void p9_every_changed_bit_is_seen(void **state)
{
	uint8_t frame[ACKPROTO_HEADER_BYTES + 5];

	(void)state;
	ackproto_encode(ACKPROTO_BODIES, 9, (const uint8_t *)"abcde", 5, frame);
	for (size_t bit = 0; bit < 8 * sizeof(frame); bit++) {
		struct ackproto_header header;
		int is_good;

		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* A length that changed would read behind the frame. */
		is_good = ackproto_decode_header(&header, frame, &err) == 0 &&
			  header.length == 5 &&
			  ackproto_check(&header, frame,
					 frame + ACKPROTO_HEADER_BYTES,
					 &err) == 0;
		assert_false(is_good);
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void refuse_header(size_t at, uint32_t value)
{
	uint8_t frame[ACKPROTO_HEADER_BYTES + 1];
	struct ackproto_header header;

	ackproto_encode(ACKPROTO_BODIES, 1, (const uint8_t *)"a", 1, frame);
	assert_int_equal(ackproto_decode_header(&header, frame, &err), 0);
	for (size_t i = 0; i < 4; i++)
		frame[at + i] = (uint8_t)(value >> 8 * i);
	assert_int_equal(ackproto_decode_header(&header, frame, &err), -1);
}

static void p9_impossible_headers_are_refused(void **state)
{
	(void)state;
	refuse_header(0, 0x20505448); /* "HTP ": another protocol */
	refuse_header(4, 0);
	refuse_header(4, ACKPROTO_REFUSE + 1);
	refuse_header(4, ACKPROTO_BODIES | 0x10000);
	refuse_header(4, ACKPROTO_CONFIRM); /* with a payload */
	refuse_header(4, ACKPROTO_WELCOME); /* of one byte */
	refuse_header(8, 0);
	refuse_header(8, ACKPROTO_PAYLOAD_MAX + 1);
	refuse_header(8, UINT32_MAX);
	refuse_header(12, 0); /* statements without a number */
}

static void hello_survives(void **state)
{
	struct ackproto_hello hello = some_hello(), back;
	uint8_t frame[ACKPROTO_HEADER_BYTES + ACKPROTO_HELLO_BYTES];
	uint8_t *payload = frame + ACKPROTO_HEADER_BYTES;

	(void)state;
	ackproto_encode_hello(&hello, payload);
	assert_int_equal(ackproto_decode_hello(&back, payload,
					       ACKPROTO_HELLO_BYTES, &err),
			 0);
	assert_int_equal(back.mode, ACKPROTO_RESUME);
	assert_memory_equal(back.run_id, hello.run_id, RUN_ID_BYTES);
	ackproto_encode(ACKPROTO_HELLO, 0, payload, ACKPROTO_HELLO_BYTES,
			frame);
	compare_golden("ackproto-hello.hex", frame, sizeof(frame));
}

static void another_version_is_refused_by_its_number(void **state)
{
	struct ackproto_hello hello = some_hello();
	uint8_t payload[ACKPROTO_HELLO_BYTES + 4] = {0};

	(void)state;
	hello.version = 7;
	ackproto_encode_hello(&hello, payload);
	assert_int_equal(
		ackproto_decode_hello(&hello, payload, sizeof(payload), &err),
		-1);
	assert_non_null(strstr(err.text, "version 7"));
}

static void p9_impossible_hellos_are_refused(void **state)
{
	struct ackproto_hello hello = some_hello(), back;
	uint8_t payload[ACKPROTO_HELLO_BYTES + 1] = {0};

	(void)state;
	ackproto_encode_hello(&hello, payload);
	for (size_t length = 0; length < sizeof(payload) + 1; length++) {
		if (length == ACKPROTO_HELLO_BYTES)
			continue;
		assert_int_equal(
			ackproto_decode_hello(&back, payload, length, &err),
			-1);
	}
	payload[2] = ACKPROTO_OBSERVE + 1;
	assert_int_equal(ackproto_decode_hello(&back, payload,
					       ACKPROTO_HELLO_BYTES, &err),
			 -1);
	payload[2] = 0;
	assert_int_equal(ackproto_decode_hello(&back, payload,
					       ACKPROTO_HELLO_BYTES, &err),
			 -1);
	payload[2] = ACKPROTO_NEW;
	memset(payload + 4, 0, RUN_ID_BYTES);
	assert_int_equal(ackproto_decode_hello(&back, payload,
					       ACKPROTO_HELLO_BYTES, &err),
			 -1);
}

static void welcome_survives(void **state)
{
	struct ackproto_welcome welcome = some_welcome(), back;
	uint8_t frame[ACKPROTO_HEADER_BYTES + ACKPROTO_WELCOME_BYTES];
	uint8_t *payload = frame + ACKPROTO_HEADER_BYTES;

	(void)state;
	ackproto_encode_welcome(&welcome, payload);
	assert_int_equal(ackproto_decode_welcome(&back, payload,
						 ACKPROTO_WELCOME_BYTES, &err),
			 0);
	assert_true(back.has_run);
	assert_int_equal(back.cycle, 3);
	assert_string_equal(back.run.target, "/dev/sdx");
	assert_memory_equal(back.reserved, welcome.reserved,
			    sizeof(back.reserved));
	assert_memory_equal(back.durable, welcome.durable,
			    sizeof(back.durable));
	ackproto_encode(ACKPROTO_WELCOME, 0, payload, ACKPROTO_WELCOME_BYTES,
			frame);
	compare_golden("ackproto-welcome.hex", frame, sizeof(frame));
}

static void welcome_to_a_new_run_is_empty(void **state)
{
	struct ackproto_welcome welcome = some_welcome(), back;
	uint8_t payload[ACKPROTO_WELCOME_BYTES];

	(void)state;
	welcome.has_run = false;
	ackproto_encode_welcome(&welcome, payload);
	assert_int_equal(
		ackproto_decode_welcome(&back, payload, sizeof(payload), &err),
		0);
	assert_false(back.has_run);
	assert_int_equal(back.reserved[0], 0);
	payload[ACKPROTO_WELCOME_BYTES - 1] = 1;
	assert_int_equal(
		ackproto_decode_welcome(&back, payload, sizeof(payload), &err),
		-1);
}

static void refuse_welcome(const struct ackproto_welcome *welcome, size_t at,
			   uint8_t value)
{
	uint8_t payload[ACKPROTO_WELCOME_BYTES];
	struct ackproto_welcome back;

	ackproto_encode_welcome(welcome, payload);
	payload[at] = value;
	assert_int_equal(
		ackproto_decode_welcome(&back, payload, sizeof(payload), &err),
		-1);
}

static void p9_impossible_welcomes_are_refused(void **state)
{
	const struct ackproto_welcome welcome = some_welcome();
	const size_t reserved = 8 + RUN_BODY_BYTES;
	const size_t durable = reserved + 8 * (size_t)RUN_STREAMS_MAX;
	uint8_t payload[ACKPROTO_WELCOME_BYTES];
	struct ackproto_welcome back;

	(void)state;
	refuse_welcome(&welcome, 0, 2);
	refuse_welcome(&welcome, 1, 1);
	refuse_welcome(&welcome, 7 + reserved, 0x80); /* 2^63 and more */
	refuse_welcome(&welcome, 16 + reserved, 1);   /* a third stream */
	refuse_welcome(&welcome, 1 + durable, 0x10);  /* above the reserved */
	ackproto_encode_welcome(&welcome, payload);
	assert_int_equal(ackproto_decode_welcome(&back, payload,
						 sizeof(payload) - 1, &err),
			 -1);
	memset(payload + 8, 0, RUN_ID_BYTES);
	assert_int_equal(
		ackproto_decode_welcome(&back, payload, sizeof(payload), &err),
		-1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_survive),
		cmocka_unit_test(payload_may_lie_behind_the_header_already),
		cmocka_unit_test(p9_every_changed_bit_is_seen),
		cmocka_unit_test(p9_impossible_headers_are_refused),
		cmocka_unit_test(hello_survives),
		cmocka_unit_test(another_version_is_refused_by_its_number),
		cmocka_unit_test(p9_impossible_hellos_are_refused),
		cmocka_unit_test(welcome_survives),
		cmocka_unit_test(welcome_to_a_new_run_is_empty),
		cmocka_unit_test(p9_impossible_welcomes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
