/* SPDX-License-Identifier: MIT */
/*
 * A log frame says what was put in it, and every changed bit is seen (P9).
 */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/acklog.h"
#include "tests/fake/golden.h"

static const uint8_t payload[] = "123456789";
static struct acklog_frame frame = {
	.length = sizeof(payload) - 1,
	.index = 0x1122334455667788,
	.arrival_ns = 0x99aabbccddeeff00,
	.previous_crc = 0xdeadbeef,
};
static struct err err;

static void fields_survive(void **state)
{
	uint8_t header[ACKLOG_HEADER_BYTES];
	struct acklog_frame back;

	(void)state;
	acklog_encode(&frame, payload, header);
	assert_int_equal(acklog_decode_header(&back, header, &err), 0);
	assert_int_equal(back.length, frame.length);
	assert_true(back.index == frame.index);
	assert_true(back.arrival_ns == frame.arrival_ns);
	assert_int_equal(back.previous_crc, frame.previous_crc);
	assert_int_equal(back.crc, frame.crc);
	assert_int_equal(acklog_check(&back, header, payload, &err), 0);
}

static void header_is_little_endian_in_the_written_order(void **state)
{
	static const uint8_t expected[28] = {
		'P',  'P',  'L',  '1',  9,    0,    0,    0,    0x88, 0x77,
		0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00, 0xff, 0xee, 0xdd,
		0xcc, 0xbb, 0xaa, 0x99, 0xef, 0xbe, 0xad, 0xde};
	uint8_t header[ACKLOG_HEADER_BYTES];

	(void)state;
	acklog_encode(&frame, payload, header);
	assert_memory_equal(header, expected, sizeof(expected));
}

static bool is_taken(const uint8_t *header, const uint8_t *content)
{
	struct acklog_frame back;

	return acklog_decode_header(&back, header, &err) == 0 &&
	       back.length == frame.length &&
	       acklog_check(&back, header, content, &err) == 0;
}

static void p9_every_changed_bit_is_seen(void **state)
{
	uint8_t bytes[ACKLOG_HEADER_BYTES + sizeof(payload)];

	(void)state;
	acklog_encode(&frame, payload, bytes);
	memcpy(bytes + ACKLOG_HEADER_BYTES, payload, sizeof(payload));
	assert_true(is_taken(bytes, bytes + ACKLOG_HEADER_BYTES));
	for (size_t bit = 0; bit < 8 * (sizeof(bytes) - 1); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(is_taken(bytes, bytes + ACKLOG_HEADER_BYTES));
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void p9_impossible_lengths_are_refused(void **state)
{
	static const uint32_t bad[] = {0, ACKLOG_PAYLOAD_MAX + 1, 0x80000000,
				       UINT32_MAX};
	uint8_t header[ACKLOG_HEADER_BYTES];
	struct acklog_frame back;

	(void)state;
	acklog_encode(&frame, payload, header);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (int k = 0; k < 4; k++)
			header[4 + k] = (uint8_t)(bad[i] >> 8 * k);
		assert_int_equal(acklog_decode_header(&back, header, &err), -1);
	}
}

/* test_ackfile reads the whole of it; here its first header is made again. */
static void golden_header_is_made_again(void **state)
{
	uint8_t bytes[4096], header[ACKLOG_HEADER_BYTES];
	size_t size = golden_read("acklog.hex", bytes, sizeof(bytes));
	struct acklog_frame first;

	(void)state;
	assert_true(size > ACKLOG_HEADER_BYTES);
	assert_int_equal(acklog_decode_header(&first, bytes, &err), 0);
	assert_int_equal(first.index, 0);
	assert_int_equal(first.previous_crc, 0);
	acklog_encode(&first, bytes + ACKLOG_HEADER_BYTES, header);
	assert_memory_equal(header, bytes, sizeof(header));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_survive),
		cmocka_unit_test(header_is_little_endian_in_the_written_order),
		cmocka_unit_test(p9_every_changed_bit_is_seen),
		cmocka_unit_test(p9_impossible_lengths_are_refused),
		cmocka_unit_test(golden_header_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
