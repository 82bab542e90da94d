/* SPDX-License-Identifier: MIT */
/*
 * bytestring - bytes as people write them in a file: hexadecimal, "A0 01", or
 * text in single quotes, 'pump on\r\n'.
 *
 * Two digits are a byte; blanks may stand between bytes, never within one. In
 * the quotes any printable sign stands for itself but the quote and the
 * backslash: \' \\ \r \n \t \0, and \x with two digits for any byte.
 *
 * Pure.
 */
#ifndef RELAY_BYTESTRING_H
#define RELAY_BYTESTRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define BYTESTRING_BYTES_MAX 64

struct bytestring {
	size_t count;
	uint8_t bytes[BYTESTRING_BYTES_MAX];
};

/* 0 with one byte at least, or -1; WHAT names the thing in the message. */
int bytestring_parse(const char *text, const char *what,
		     struct bytestring *bytestring, struct err *err);

bool bytestring_is(const struct bytestring *bytestring, const void *bytes,
		   size_t count);
/* Does it stand anywhere in BYTES, whole? */
bool bytestring_is_in(const struct bytestring *bytestring, const void *bytes,
		      size_t count);

#endif
