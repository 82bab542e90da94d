/* SPDX-License-Identifier: MIT */
/*
 * What one end encodes the other end decodes; whatever else comes is refused.
 */
#include "tests/unit/cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/err.h"
#include "common/format/agentwire.h"

static struct agentwire_words decoded;
static uint8_t payload[AGENTWIRE_PAYLOAD_MAX];

static int decode_header(uint8_t version, uint8_t type, uint32_t length,
			 struct err *err)
{
	uint8_t bytes[AGENTWIRE_HEADER_BYTES] = {'G', version, type, 0};
	struct agentwire_header header;

	bytes_put32(bytes + 4, length);
	return agentwire_decode_header(&header, bytes, err);
}

static void the_bytes_of_a_header(void **state)
{
	const struct agentwire_header header = {AGENTWIRE_STDOUT, 0x1234};
	const uint8_t expected[] = {'G', 1, 4, 0, 0x34, 0x12, 0, 0};
	uint8_t bytes[AGENTWIRE_HEADER_BYTES];
	struct agentwire_header back;
	struct err err;

	(void)state;
	agentwire_encode_header(&header, bytes);
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_int_equal(agentwire_decode_header(&back, bytes, &err), 0);
	assert_int_equal(back.type, header.type);
	assert_int_equal(back.length, header.length);
}

static void impossible_headers_are_refused(void **state)
{
	uint8_t bytes[AGENTWIRE_HEADER_BYTES] = {'X', 1, 1, 0};
	struct agentwire_header header;
	struct err err;

	(void)state;
	assert_int_equal(agentwire_decode_header(&header, bytes, &err), -1);
	assert_non_null(strstr(err.text, "no plugpull-agent"));
	assert_int_equal(decode_header(2, AGENTWIRE_HELLO, 0, &err), -1);
	assert_non_null(strstr(err.text, "speaks version 2"));
	for (unsigned int type = 0; type < 256; type++) {
		bool is_known =
			type >= AGENTWIRE_HELLO && type <= AGENTWIRE_ALIVE;
		uint32_t length =
			type == AGENTWIRE_CREDIT                          ? 5
			: type == AGENTWIRE_RUN || type == AGENTWIRE_EXIT ? 2
									  : 0;

		assert_int_equal(decode_header(1, (uint8_t)type, length, &err),
				 is_known ? 0 : -1);
	}
	assert_int_equal(
		decode_header(1, AGENTWIRE_STDIN, AGENTWIRE_DATA_MAX + 1, &err),
		-1);
	assert_int_equal(decode_header(1, AGENTWIRE_RUN,
				       AGENTWIRE_PAYLOAD_MAX + 1, &err),
			 -1);
	assert_int_equal(decode_header(1, AGENTWIRE_ALIVE, 1, &err), -1);
	assert_int_equal(decode_header(1, AGENTWIRE_EXIT, 3, &err), -1);
	assert_int_equal(decode_header(1, AGENTWIRE_CREDIT, 4, &err), -1);
}

static void words_come_back(void **state)
{
	char one[] = "plugpull-writer", two[] = "", three[] = "a b\n\xff";
	char *const words[] = {one, two, three};
	uint32_t length = 0;
	struct err err;

	(void)state;
	assert_int_equal(
		agentwire_encode_words(words, 3, payload, &length, &err), 0);
	assert_int_equal(
		agentwire_decode_words(&decoded, payload, length, &err), 0);
	assert_int_equal(decoded.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(decoded.words[i], words[i]);
	assert_null(decoded.words[3]);
	/* one word more or less than it says, or no end */
	payload[0] = 2;
	assert_int_equal(
		agentwire_decode_words(&decoded, payload, length, &err), -1);
	payload[0] = 4;
	assert_int_equal(
		agentwire_decode_words(&decoded, payload, length, &err), -1);
	payload[0] = 3;
	assert_int_equal(
		agentwire_decode_words(&decoded, payload, length - 1, &err),
		-1);
	assert_int_equal(agentwire_decode_words(&decoded, payload, 2, &err),
			 -1);
}

static void words_are_bounded(void **state)
{
	static char long_word[AGENTWIRE_TEXT_MAX];
	static char *words[AGENTWIRE_WORDS_MAX + 1];
	char empty[] = "";
	uint32_t length = 0;
	struct err err;

	(void)state;
	for (size_t i = 0; i <= AGENTWIRE_WORDS_MAX; i++)
		words[i] = empty;
	assert_int_equal(agentwire_encode_words(words, AGENTWIRE_WORDS_MAX,
						payload, &length, &err),
			 0);
	assert_int_equal(
		agentwire_decode_words(&decoded, payload, length, &err), 0);
	assert_int_equal(decoded.count, AGENTWIRE_WORDS_MAX);
	assert_int_equal(agentwire_encode_words(words, AGENTWIRE_WORDS_MAX + 1,
						payload, &length, &err),
			 -1);
	assert_int_equal(
		agentwire_encode_words(words, 0, payload, &length, &err), -1);
	/* a peer that does not keep to it */
	memset(payload, 0, 2 + AGENTWIRE_WORDS_MAX + 1);
	bytes_put16(payload, AGENTWIRE_WORDS_MAX + 1);
	assert_int_equal(agentwire_decode_words(&decoded, payload,
						2 + AGENTWIRE_WORDS_MAX + 1,
						&err),
			 -1);
	memset(long_word, 'x', sizeof(long_word) - 1);
	words[0] = long_word;
	assert_int_equal(
		agentwire_encode_words(words, 1, payload, &length, &err), 0);
	assert_int_equal(length, 2 + AGENTWIRE_TEXT_MAX);
	assert_int_equal(
		agentwire_decode_words(&decoded, payload, length, &err), 0);
	assert_int_equal(
		agentwire_encode_words(words, 2, payload, &length, &err), -1);
	memset(payload + 2, 'x', AGENTWIRE_TEXT_MAX);
	payload[2 + AGENTWIRE_TEXT_MAX] = '\0';
	assert_int_equal(agentwire_decode_words(&decoded, payload,
						3 + AGENTWIRE_TEXT_MAX, &err),
			 -1);
}

static void ends_and_credits_come_back(void **state)
{
	const struct agentwire_exit killed = {AGENTWIRE_KILLED, 9};
	const struct agentwire_credit credit = {AGENTWIRE_STDERR,
						AGENTWIRE_WINDOW};
	struct agentwire_credit credit_back;
	struct agentwire_exit back;
	struct err err;

	(void)state;
	agentwire_encode_exit(&killed, payload);
	assert_int_equal(agentwire_decode_exit(&back, payload, &err), 0);
	assert_int_equal(back.ending, AGENTWIRE_KILLED);
	assert_int_equal(back.code, 9);
	payload[0] = 2;
	assert_int_equal(agentwire_decode_exit(&back, payload, &err), -1);
	agentwire_encode_credit(&credit, payload);
	assert_int_equal(agentwire_decode_credit(&credit_back, payload, &err),
			 0);
	assert_int_equal(credit_back.stream, AGENTWIRE_STDERR);
	assert_int_equal(credit_back.bytes, AGENTWIRE_WINDOW);
	bytes_put32(payload + 1, AGENTWIRE_WINDOW + 1);
	assert_int_equal(agentwire_decode_credit(&credit_back, payload, &err),
			 -1);
	bytes_put32(payload + 1, 0);
	assert_int_equal(agentwire_decode_credit(&credit_back, payload, &err),
			 -1);
	bytes_put32(payload + 1, 1);
	payload[0] = AGENTWIRE_RUN;
	assert_int_equal(agentwire_decode_credit(&credit_back, payload, &err),
			 -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_of_a_header),
		cmocka_unit_test(impossible_headers_are_refused),
		cmocka_unit_test(words_come_back),
		cmocka_unit_test(words_are_bounded),
		cmocka_unit_test(ends_and_credits_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
