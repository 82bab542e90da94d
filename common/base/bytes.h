/* SPDX-License-Identifier: MIT */
/*
 * bytes - little-endian numbers in byte strings.
 *
 * Every format of plugpull is encoded and decoded through these, byte by byte;
 * no struct is ever cast to or from bytes. The caller vouches for the room.
 */
#ifndef COMMON_BASE_BYTES_H
#define COMMON_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void bytes_put16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)value;
	to[1] = (uint8_t)(value >> 8);
}

static inline void bytes_put32(uint8_t *to, uint32_t value)
{
	bytes_put16(to, (uint16_t)value);
	bytes_put16(to + 2, (uint16_t)(value >> 16));
}

static inline void bytes_put64(uint8_t *to, uint64_t value)
{
	bytes_put32(to, (uint32_t)value);
	bytes_put32(to + 4, (uint32_t)(value >> 32));
}

static inline uint16_t bytes_get16(const uint8_t *from)
{
	return (uint16_t)(from[0] | (unsigned int)from[1] << 8);
}

static inline uint32_t bytes_get32(const uint8_t *from)
{
	return bytes_get16(from) | (uint32_t)bytes_get16(from + 2) << 16;
}

static inline uint64_t bytes_get64(const uint8_t *from)
{
	return bytes_get32(from) | (uint64_t)bytes_get32(from + 4) << 32;
}

#endif
