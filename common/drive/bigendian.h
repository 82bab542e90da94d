/* SPDX-License-Identifier: MIT */
/*
 * bigendian - the numbers of SCSI, whose first byte is the highest. The caller
 * vouches for the room.
 */
#ifndef COMMON_DRIVE_BIGENDIAN_H
#define COMMON_DRIVE_BIGENDIAN_H

#include <stdint.h>

static inline void bigendian_put16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

static inline void bigendian_put32(uint8_t *to, uint32_t value)
{
	bigendian_put16(to, (uint16_t)(value >> 16));
	bigendian_put16(to + 2, (uint16_t)value);
}

static inline void bigendian_put64(uint8_t *to, uint64_t value)
{
	bigendian_put32(to, (uint32_t)(value >> 32));
	bigendian_put32(to + 4, (uint32_t)value);
}

static inline uint16_t bigendian_get16(const uint8_t *from)
{
	return (uint16_t)((unsigned int)from[0] << 8 | from[1]);
}

static inline uint32_t bigendian_get32(const uint8_t *from)
{
	return (uint32_t)bigendian_get16(from) << 16 |
	       bigendian_get16(from + 2);
}

static inline uint64_t bigendian_get64(const uint8_t *from)
{
	return (uint64_t)bigendian_get32(from) << 32 |
	       bigendian_get32(from + 4);
}

#endif
