/* SPDX-License-Identifier: MIT */
#include "relay/bytestring.h"

#include <ctype.h>
#include <string.h>

#include "common/base/err.h"

#define QUOTE  '\''
#define BLANKS " \t"

static int digit_of(char sign)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = sign == '\0'
				 ? NULL
				 : strchr(digits, tolower((unsigned char)sign));

	return at == NULL ? -1 : (int)(at - digits);
}

/* -1 where TEXT does not begin with two digits. */
static int byte_of(const char *text)
{
	const int high = digit_of(text[0]);
	const int low = high < 0 ? -1 : digit_of(text[1]);

	return low < 0 ? -1 : high << 4 | low;
}

static int append(struct bytestring *bytestring, int byte, const char *what,
		  struct err *err)
{
	if (bytestring->count == BYTESTRING_BYTES_MAX)
		return err_set(err, "%s: longer than %d bytes", what,
			       BYTESTRING_BYTES_MAX);
	bytestring->bytes[bytestring->count++] = (uint8_t)byte;
	return 0;
}

static int parse_digits(const char *text, const char *what,
			struct bytestring *bytestring, struct err *err)
{
	for (text += strspn(text, BLANKS); *text != '\0';
	     text += strspn(text, BLANKS)) {
		const int byte = byte_of(text);

		if (byte < 0)
			return err_set(err,
				       "%s: \"%.40s\" is neither bytes of two "
				       "hexadecimal digits nor 'text'",
				       what, text);
		if (append(bytestring, byte, what, err) < 0)
			return -1;
		text += 2;
	}
	return 0;
}

/* Of what stands behind a backslash; *TEXT moves behind it. -1: no escape. */
static int take_escape(const char **text)
{
	static const char signs[] = "rnt0'\\", bytes[] = "\r\n\t\0'\\";
	const char *at = **text == '\0' ? NULL : strchr(signs, **text);
	int byte = -1;

	if (at != NULL) {
		*text += 1;
		return bytes[at - signs];
	}
	if (**text != 'x')
		return -1;
	byte = byte_of(*text + 1);
	*text += byte < 0 ? 0 : 3;
	return byte;
}

static int parse_text(const char *text, const char *what,
		      struct bytestring *bytestring, struct err *err)
{
	while (*text != QUOTE) {
		int byte = (unsigned char)*text;

		if (byte == '\0')
			return err_set(
				err,
				"%s: the text has no closing quote\n"
				"hint: \" ;\" begins a comment; \\x3b is "
				"the sign itself",
				what);
		text++;
		if (byte == '\\')
			byte = take_escape(&text);
		if (byte < 0)
			return err_set(err,
				       "%s: \"\\%.3s\" is none of \\r \\n \\t "
				       "\\0 \\' \\\\ and \\x with two digits",
				       what, text);
		if (append(bytestring, byte, what, err) < 0)
			return -1;
	}
	if (text[1] != '\0')
		return err_set(err, "%s: \"%.40s\" stands behind the text",
			       what, text + 1);
	return 0;
}

int bytestring_parse(const char *text, const char *what,
		     struct bytestring *bytestring, struct err *err)
{
	int rc = 0;

	bytestring->count = 0;
	if (*text == QUOTE)
		rc = parse_text(text + 1, what, bytestring, err);
	else
		rc = parse_digits(text, what, bytestring, err);
	if (rc == 0 && bytestring->count == 0)
		rc = err_set(err, "%s: has no bytes", what);
	return rc;
}

bool bytestring_is(const struct bytestring *bytestring, const void *bytes,
		   size_t count)
{
	return bytestring->count == count &&
	       memcmp(bytestring->bytes, bytes, count) == 0;
}

bool bytestring_is_in(const struct bytestring *bytestring, const void *bytes,
		      size_t count)
{
	return memmem(bytes, count, bytestring->bytes, bytestring->count) !=
	       NULL;
}
