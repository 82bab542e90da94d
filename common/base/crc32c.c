/* SPDX-License-Identifier: MIT */
#include "common/base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#define CRC32C_POLYNOMIAL 0x82f63b78U /* reflected 0x1edc6f41 */

/* Four bits at a time: small, and only for processors without SSE 4.2. */
static uint32_t extend_portable(uint32_t crc, const uint8_t *bytes,
				size_t count)
{
	uint32_t table[16];

	for (uint32_t i = 0; i < 16; i++) {
		uint32_t entry = i;

		for (int bit = 0; bit < 4; bit++)
			entry = entry >> 1 ^
				(entry & 1 ? CRC32C_POLYNOMIAL : 0);
		table[i] = entry;
	}
	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
extend_hardware(uint32_t crc, const uint8_t *bytes, size_t count)
{
	uint64_t wide = crc;

	for (; count >= 8; count -= 8, bytes += 8) {
		uint64_t word;

		memcpy(&word, bytes, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	for (; count > 0; count--, bytes++)
		crc = __builtin_ia32_crc32qi(crc, *bytes);
	return crc;
}

static bool has_hardware(void)
{
	return __builtin_cpu_supports("sse4.2") != 0;
}
#else
static uint32_t extend_hardware(uint32_t crc, const uint8_t *bytes,
				size_t count)
{
	return extend_portable(crc, bytes, count);
}

static bool has_hardware(void)
{
	return false;
}
#endif

uint32_t crc32c_extend(uint32_t crc, const void *bytes, size_t count)
{
	crc = ~crc;
	crc = has_hardware() ? extend_hardware(crc, bytes, count)
			     : extend_portable(crc, bytes, count);
	return ~crc;
}
