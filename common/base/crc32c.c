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

__attribute__((target("sse4.2"))) static inline uint64_t
step(uint64_t crc, const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return __builtin_ia32_crc32di(crc, word);
}

/* One step takes three cycles and another can begin in each: four strings side
 * by side leave none idle. COUNT is a multiple of 8. */
__attribute__((target("sse4.2"))) static void
extend_four(uint32_t *crcs, const uint8_t *bytes, size_t stride, size_t count)
{
	uint64_t a = crcs[0], b = crcs[1], c = crcs[2], d = crcs[3];

	for (const uint8_t *end = bytes + count; bytes < end; bytes += 8) {
		a = step(a, bytes);
		b = step(b, bytes + stride);
		c = step(c, bytes + 2 * stride);
		d = step(d, bytes + 3 * stride);
	}
	crcs[0] = (uint32_t)a;
	crcs[1] = (uint32_t)b;
	crcs[2] = (uint32_t)c;
	crcs[3] = (uint32_t)d;
}

static bool has_hardware(void)
{
	return __builtin_cpu_supports("sse4.2") != 0;
}
#else
static void extend_four(uint32_t *crcs, const uint8_t *bytes, size_t stride,
			size_t count)
{
	for (size_t i = 0; i < 4; i++)
		crcs[i] = extend_portable(crcs[i], bytes + i * stride, count);
}

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

void crc32c_extend_many(uint32_t *crcs, size_t strings, const void *bytes,
			size_t stride, size_t count)
{
	const uint8_t *string = bytes;
	size_t words = has_hardware() ? count / 8 * 8 : 0;
	size_t i = 0, j;

	for (; words > 0 && i + 4 <= strings; i += 4, string += 4 * stride) {
		for (j = i; j < i + 4; j++)
			crcs[j] = ~crcs[j];
		extend_four(&crcs[i], string, stride, words);
		for (j = i; j < i + 4; j++)
			crcs[j] = ~crcs[j];
		for (j = i; count > words && j < i + 4; j++)
			crcs[j] = crc32c_extend(
				crcs[j], string + (j - i) * stride + words,
				count - words);
	}
	for (; i < strings; i++, string += stride)
		crcs[i] = crc32c_extend(crcs[i], string, count);
}
