/* SPDX-License-Identifier: MIT */
/* The checksum is the one that the world calls CRC-32C, in any alignment. */
#include "common/base/crc32c.h"

#include <string.h>

#include "tests/unit/cmocka_all.h"

static uint32_t bit_by_bit(const uint8_t *bytes, size_t count)
{
	uint32_t crc = 0xffffffffU;

	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
	}
	return ~crc;
}

/* RFC 3720, appendix B.4 */
static void known_answers(void **state)
{
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(crc32c_extend(0, "123456789", 9), 0xe3069283U);
	assert_int_equal(crc32c_extend(0, "", 0), 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c_extend(0, bytes, 32), 0x8a9136aaU);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c_extend(0, bytes, 32), 0x62a8ab43U);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(crc32c_extend(0, bytes, 32), 0x46dd794eU);
}

static void every_length_and_alignment(void **state)
{
	uint8_t bytes[600];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i + 7 * i + 1);
	for (size_t at = 0; at < 8; at++) {
		for (size_t count = 0; count + at <= sizeof(bytes); count++)
			assert_int_equal(crc32c_extend(0, bytes + at, count),
					 bit_by_bit(bytes + at, count));
	}
}

static void pieces_give_the_same_as_the_whole(void **state)
{
	uint8_t bytes[100];

	(void)state;
	memset(bytes, 0xa5, sizeof(bytes));
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		uint32_t crc = crc32c_extend(0, bytes, cut);

		crc = crc32c_extend(crc, bytes + cut, sizeof(bytes) - cut);
		assert_int_equal(crc, bit_by_bit(bytes, sizeof(bytes)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(every_length_and_alignment),
		cmocka_unit_test(pieces_give_the_same_as_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
