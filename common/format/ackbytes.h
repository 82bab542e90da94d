/* SPDX-License-Identifier: MIT */
/*
 * ackbytes - the bytes and varints of which statements are made.
 *
 * A varint is LEB128 below 2^64 in its shortest form (docs/FORMATS.md). Nothing
 * is ever written or read beyond the given memory; who writes or reads asks
 * once, at the end, whether all was well. Pure; no allocation.
 */
#ifndef COMMON_FORMAT_ACKBYTES_H
#define COMMON_FORMAT_ACKBYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACKBYTES_VARINT_MAX 10

/* Content being written; is_short once something did not fit. */
struct ackbytes_sink {
	uint8_t *bytes;
	size_t room, used;
	bool is_short;
};

/* Content being read; is_bad once something was not there or not canonical. */
struct ackbytes_source {
	const uint8_t *bytes;
	size_t length, at;
	bool is_bad;
};

void ackbytes_put_byte(struct ackbytes_sink *sink, uint8_t value);
void ackbytes_put_varint(struct ackbytes_sink *sink, uint64_t value);

/* 0 where the source is bad. */
uint8_t ackbytes_get_byte(struct ackbytes_source *source);
uint64_t ackbytes_get_varint(struct ackbytes_source *source);
/* A number above MAX is bad. */
uint64_t ackbytes_get_varint_max(struct ackbytes_source *source, uint64_t max);

#endif
