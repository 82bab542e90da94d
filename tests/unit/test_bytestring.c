/* SPDX-License-Identifier: MIT */
#include "relay/bytestring.h"

#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "tests/unit/cmocka_all.h"

static void expect(const char *text, const void *bytes, size_t count)
{
	struct bytestring parsed;
	struct err err = {""};

	if (bytestring_parse(text, "on", &parsed, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_true(bytestring_is(&parsed, bytes, count));
}

static void refuse(const char *text, const char *why)
{
	struct bytestring parsed;
	struct err err = {""};

	if (bytestring_parse(text, "on", &parsed, &err) == 0)
		fail_msg("%s was taken", text);
	if (strncmp(err.text, "on: ", 4) != 0 || strstr(err.text, why) == NULL)
		fail_msg("%s: %s", text, err.text);
}

static void two_digits_are_a_byte_with_blanks_between(void **state)
{
	(void)state;
	expect("A0 01 01 A2", "\xA0\x01\x01\xA2", 4);
	expect("a00101a2", "\xA0\x01\x01\xA2", 4);
	expect(" \tff  00 ", "\xFF\x00", 2);
}

static void text_stands_in_quotes_with_escapes(void **state)
{
	(void)state;
	expect("'abc\\r\\n'", "abc\r\n", 5);
	expect("'it\\'s \\\\ \\t'", "it's \\ \t", 8);
	expect("'\\x00\\0\\xfF\\x3b'", "\x00\x00\xFF;", 4);
	expect("'A0 01'", "A0 01", 5);
	expect("'\xC3\xA4'", "\xC3\xA4", 2);
}

static void what_is_neither_is_refused(void **state)
{
	(void)state;
	refuse("", "no bytes");
	refuse("  ", "no bytes");
	refuse("''", "no bytes");
	refuse("A", "neither");
	refuse("A0 1", "neither");
	refuse("A 0", "neither");
	refuse("0xA0", "neither");
	refuse("A0,01", "neither");
	refuse("on", "neither");
	refuse("'on", "closing quote");
	refuse("'on\\", "none of");
	refuse("'on\\'", "closing quote");
	refuse("'\\q'", "none of");
	refuse("'\\x4'", "none of");
	refuse("'\\x'", "none of");
	refuse("'on' A0", "behind the text");
}

static void more_than_the_most_is_refused(void **state)
{
	char text[2 * BYTESTRING_BYTES_MAX + 3];
	struct bytestring parsed;
	struct err err = {""};

	(void)state;
	memset(text, 'A', sizeof(text));
	text[2 * BYTESTRING_BYTES_MAX] = '\0';
	assert_int_equal(bytestring_parse(text, "on", &parsed, &err), 0);
	assert_int_equal(parsed.count, BYTESTRING_BYTES_MAX);
	text[2 * BYTESTRING_BYTES_MAX] = 'A';
	text[2 * BYTESTRING_BYTES_MAX + 2] = '\0';
	refuse(text, "longer than");
}

static void no_text_is_too_strange(void **state)
{
	static const char signs[] = "'\\xrn0aF g;";
	struct prng prng;

	(void)state;
	prng_init(&prng, 1);
	for (unsigned int i = 0; i < 50000; i++) {
		char text[24] = "";
		struct bytestring parsed;
		struct err err = {""};
		size_t length = prng_below(&prng, sizeof(text));
		int rc = 0;

		for (size_t k = 0; k < length; k++)
			text[k] = signs[prng_below(&prng, sizeof(signs) - 1)];
		rc = bytestring_parse(text, "on", &parsed, &err);
		assert_true(rc == 0 ? parsed.count >= 1 &&
					      parsed.count <= length
				    : err.text[0] != '\0');
	}
}

static void it_is_found_whole(void **state)
{
	struct bytestring parsed;
	struct err err = {""};

	(void)state;
	assert_int_equal(bytestring_parse("00 01", "on", &parsed, &err), 0);
	assert_true(bytestring_is_in(&parsed, "\x05\x00\x01\x07", 4));
	assert_true(bytestring_is_in(&parsed, "\x00\x01", 2));
	assert_false(bytestring_is_in(&parsed, "\x00\x02\x01", 3));
	assert_false(bytestring_is_in(&parsed, "\x00", 1));
	assert_false(bytestring_is(&parsed, "\x00\x01\x07", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_digits_are_a_byte_with_blanks_between),
		cmocka_unit_test(text_stands_in_quotes_with_escapes),
		cmocka_unit_test(what_is_neither_is_refused),
		cmocka_unit_test(more_than_the_most_is_refused),
		cmocka_unit_test(no_text_is_too_strange),
		cmocka_unit_test(it_is_found_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
