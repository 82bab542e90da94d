/* SPDX-License-Identifier: MIT */
/*
 * crc32c - the Castagnoli CRC (RFC 3720, appendix B.4), in hardware where the
 * processor has SSE 4.2.
 */
#ifndef COMMON_BASE_CRC32C_H
#define COMMON_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * The CRC of COUNT bytes that follow bytes whose CRC is CRC; start with 0.
 * crc32c_extend(0, "123456789", 9) is 0xe3069283.
 */
uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t count);

/*
 * The same for STRINGS strings of COUNT bytes, each STRIDE bytes behind the one
 * before it; CRCS has one CRC for each. Faster than one by one: the processor
 * works on several at once.
 */
void crc32c_extend_many(uint32_t *crcs, size_t strings, const void *bytes,
			size_t stride, size_t count);

#endif
