/* SPDX-License-Identifier: MIT */
/*
 * golden - the bytes of a format as they were fixed once, in tests/golden/:
 * hexadecimal digits, white space between them without meaning. They were
 * computed from docs/FORMATS.md by a program that shares no code with ours.
 */
#ifndef TESTS_FAKE_GOLDEN_H
#define TESTS_FAKE_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

/* Reads tests/golden/NAME, from the root of the repository; returns how many
 * bytes there were, 0 where there is no such file or more than ROOM. */
size_t golden_read(const char *name, uint8_t *bytes, size_t room);

#endif
