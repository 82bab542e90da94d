/* SPDX-License-Identifier: MIT */
#include "common/format/keystream.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "common/base/crc32c.h"
#include "common/base/err.h"

#define ROUNDS 10 /* of AES-128, FIPS 197 */

struct keystream {
	EVP_CIPHER_CTX *context;
	bool is_wide;
	uint8_t round_keys[(ROUNDS + 1) * KEYSTREAM_BLOCK_BYTES];
};

/*
 * CTR keystream is its counters, encrypted: done by hand, since units of many
 * places share a call then, and no call sets up a counter. With a key that was
 * taken and a valid length libcrypto has no reason left to refuse; if it does,
 * nothing may leave half built.
 */
static void encrypt(struct keystream *keystream, uint8_t *counters,
		    size_t count)
{
	int done = 0;

	if (EVP_EncryptUpdate(keystream->context, counters, &done, counters,
			      (int)count) != 1 ||
	    done != (int)count)
		abort();
}

static void put_counters(struct keystream_at at, uint8_t *buffer, size_t count)
{
	uint64_t high = htobe64(at.high);

	for (; count > 0; count -= KEYSTREAM_BLOCK_BYTES) {
		uint64_t low = htobe64(at.low++);

		memcpy(buffer, &high, sizeof(high));
		memcpy(buffer + sizeof(high), &low, sizeof(low));
		buffer += KEYSTREAM_BLOCK_BYTES;
	}
}

#if defined(__x86_64__)

#define TARGET_WIDE __attribute__((target("vaes,avx2,aes,sse4.2")))

/* Registers of two counters each: an AES round takes four cycles, and two of
 * them can begin in each. */
#define WIDE       8
#define WIDE_BYTES (WIDE * 2UL * KEYSTREAM_BLOCK_BYTES)

static_assert(KEYSTREAM_UNIT_BYTES % WIDE_BYTES == 0, "whole turns");
static_assert(KEYSTREAM_BESIDE * KEYSTREAM_UNIT_BYTES / WIDE_BYTES ==
		      KEYSTREAM_UNIT_BYTES / (WIDE * sizeof(uint64_t)),
	      "both end at once");
static_assert(KEYSTREAM_BESIDE == 4, "checksums by name");

/* FIPS 197 section 5.2, one step: ASSIST is what AESKEYGENASSIST says of the
 * round key before. */
TARGET_WIDE static __m128i next_key(__m128i key, __m128i assist)
{
	key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
	return _mm_xor_si128(key, _mm_shuffle_epi32(assist, 0xff));
}

TARGET_WIDE static void expand_key(struct keystream *keystream,
				   const uint8_t key[KEYSTREAM_KEY_BYTES])
{
	__m128i keys[ROUNDS + 1];

	keys[0] = _mm_loadu_si128((const __m128i_u *)key);
#define STEP(round, constant)             \
	keys[round] =                     \
		next_key(keys[(round)-1], \
			 _mm_aeskeygenassist_si128(keys[(round)-1], constant))
	STEP(1, 0x01);
	STEP(2, 0x02);
	STEP(3, 0x04);
	STEP(4, 0x08);
	STEP(5, 0x10);
	STEP(6, 0x20);
	STEP(7, 0x40);
	STEP(8, 0x80);
	STEP(9, 0x1b);
	STEP(10, 0x36);
#undef STEP
	memcpy(keystream->round_keys, keys, sizeof(keys));
}

TARGET_WIDE static inline __m256i round_key(const uint8_t *keys, size_t round)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128(
		(const __m128i_u *)(keys + round * KEYSTREAM_BLOCK_BYTES)));
}

/* WIDE_BYTES of keystream; the counter behind them. */
TARGET_WIDE static inline __m256i turn(const uint8_t *keys, __m256i counter,
				       uint8_t *buffer)
{
	const __m256i swap = _mm256_broadcastsi128_si256(_mm_set_epi8(
		8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
	const __m256i two = _mm256_set_epi64x(2, 0, 2, 0);
	__m256i key = round_key(keys, 0), wide[WIDE];

#pragma GCC unroll 8
	for (size_t i = 0; i < WIDE; i++) {
		wide[i] = _mm256_xor_si256(_mm256_shuffle_epi8(counter, swap),
					   key);
		counter = _mm256_add_epi64(counter, two);
	}
#pragma GCC unroll 9
	for (size_t round = 1; round < ROUNDS; round++) {
		key = round_key(keys, round);
#pragma GCC unroll 8
		for (size_t i = 0; i < WIDE; i++)
			wide[i] = _mm256_aesenc_epi128(wide[i], key);
	}
	key = round_key(keys, ROUNDS);
#pragma GCC unroll 8
	for (size_t i = 0; i < WIDE; i++)
		_mm256_storeu_si256((__m256i_u *)(buffer + i * sizeof(key)),
				    _mm256_aesenclast_epi128(wide[i], key));
	return counter;
}

TARGET_WIDE static __m256i counter_of(struct keystream_at at)
{
	return _mm256_set_epi64x((long long)(at.low + 1), (long long)at.high,
				 (long long)at.low, (long long)at.high);
}

TARGET_WIDE static void make_wide(const struct keystream *keystream,
				  struct keystream_at at, uint8_t *buffer,
				  size_t count)
{
	__m256i counter = counter_of(at);

	for (; count > 0; count -= WIDE_BYTES, buffer += WIDE_BYTES)
		counter = turn(keystream->round_keys, counter, buffer);
}

TARGET_WIDE static inline uint64_t step(uint64_t crc, const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return _mm_crc32_u64(crc, word);
}

/* A turn, and a share of each checksum: the units for AES and those for whole
 * numbers work side by side. */
TARGET_WIDE static void make_beside_wide(const struct keystream *keystream,
					 struct keystream_at at,
					 uint8_t *buffer, const uint8_t *done,
					 uint32_t crcs[KEYSTREAM_BESIDE])
{
	__m256i counter = counter_of(at);
	uint64_t crc[KEYSTREAM_BESIDE] = {~crcs[0], ~crcs[1], ~crcs[2],
					  ~crcs[3]};

	for (const uint8_t *end = done + KEYSTREAM_UNIT_BYTES; done < end;) {
		counter = turn(keystream->round_keys, counter, buffer);
		buffer += WIDE_BYTES;
#pragma GCC unroll 8
		for (size_t i = 0; i < WIDE; i++, done += sizeof(crc[0])) {
#pragma GCC unroll 4
			for (size_t k = 0; k < KEYSTREAM_BESIDE; k++)
				crc[k] = step(crc[k],
					      done + k * KEYSTREAM_UNIT_BYTES);
		}
	}
	for (size_t k = 0; k < KEYSTREAM_BESIDE; k++)
		crcs[k] = ~(uint32_t)crc[k];
}

/* CPUID leaf 7 tells VAES; clang 14 has no name for it. */
static bool has_wide(void)
{
	unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;

	return __builtin_cpu_supports("sse4.2") &&
	       __builtin_cpu_supports("aes") &&
	       __builtin_cpu_supports("avx2") &&
	       __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
	       (ecx & bit_VAES) != 0;
}
#else
static void expand_key(struct keystream *keystream,
		       const uint8_t key[KEYSTREAM_KEY_BYTES])
{
	memcpy(keystream->round_keys, key, KEYSTREAM_KEY_BYTES);
}

static void make_wide(const struct keystream *keystream, struct keystream_at at,
		      uint8_t *buffer, size_t count)
{
	(void)keystream;
	(void)at;
	memset(buffer, 0, count);
}

static void make_beside_wide(const struct keystream *keystream,
			     struct keystream_at at, uint8_t *buffer,
			     const uint8_t *done, uint32_t *crcs)
{
	(void)done;
	(void)crcs;
	make_wide(keystream, at, buffer, 0);
}

static bool has_wide(void)
{
	return false;
}
#endif

void keystream_make(struct keystream *keystream, struct keystream_at at,
		    uint8_t *buffer, size_t count)
{
	assert(count % KEYSTREAM_UNIT_BYTES == 0);

	if (keystream->is_wide) {
		make_wide(keystream, at, buffer, count);
		return;
	}
	put_counters(at, buffer, count);
	encrypt(keystream, buffer, count);
}

void keystream_make_units(struct keystream *keystream,
			  const struct keystream_at *at, size_t units,
			  uint8_t *buffer)
{
	for (size_t i = 0; i < units; i++) {
		uint8_t *unit = buffer + i * KEYSTREAM_UNIT_BYTES;

		if (keystream->is_wide)
			make_wide(keystream, at[i], unit, KEYSTREAM_UNIT_BYTES);
		else
			put_counters(at[i], unit, KEYSTREAM_UNIT_BYTES);
	}
	if (!keystream->is_wide && units > 0)
		encrypt(keystream, buffer, units * KEYSTREAM_UNIT_BYTES);
}

void keystream_make_beside(struct keystream *keystream, struct keystream_at at,
			   uint8_t *buffer, const uint8_t *done,
			   uint32_t crcs[KEYSTREAM_BESIDE])
{
	memset(crcs, 0, KEYSTREAM_BESIDE * sizeof(*crcs));
	if (keystream->is_wide) {
		make_beside_wide(keystream, at, buffer, done, crcs);
		return;
	}
	keystream_make(keystream, at, buffer,
		       KEYSTREAM_BESIDE * (size_t)KEYSTREAM_UNIT_BYTES);
	crc32c_extend_many(crcs, KEYSTREAM_BESIDE, done, KEYSTREAM_UNIT_BYTES,
			   KEYSTREAM_UNIT_BYTES);
}

/* Content or checksums that the reader computes otherwise would accuse an
 * honest drive. */
static bool agrees(struct keystream *keystream)
{
	static const struct keystream_at at = {0x0123456789abcdef,
					       0xfffffffffffffe00};
	uint8_t wide[2][KEYSTREAM_BESIDE * KEYSTREAM_UNIT_BYTES];
	uint8_t library[sizeof(wide[0])];
	uint32_t wide_crcs[KEYSTREAM_BESIDE] = {0};
	uint32_t crcs[KEYSTREAM_BESIDE] = {0};

	make_wide(keystream, at, wide[0], sizeof(wide[0]));
	make_beside_wide(keystream, at, wide[1], wide[0], wide_crcs);
	put_counters(at, library, sizeof(library));
	encrypt(keystream, library, sizeof(library));
	crc32c_extend_many(crcs, KEYSTREAM_BESIDE, library,
			   KEYSTREAM_UNIT_BYTES, KEYSTREAM_UNIT_BYTES);
	return memcmp(wide[0], library, sizeof(library)) == 0 &&
	       memcmp(wide[1], library, sizeof(library)) == 0 &&
	       memcmp(wide_crcs, crcs, sizeof(crcs)) == 0;
}

struct keystream *keystream_new(const uint8_t key[KEYSTREAM_KEY_BYTES],
				struct err *err)
{
	struct keystream *keystream = calloc(1, sizeof(*keystream));

	if (keystream == NULL) {
		(void)err_set(err, "cannot set up the keystream: no memory");
		return NULL;
	}
	keystream->context = EVP_CIPHER_CTX_new();
	if (keystream->context == NULL ||
	    EVP_EncryptInit_ex(keystream->context, EVP_aes_128_ecb(), NULL, key,
			       NULL) != 1 ||
	    EVP_CIPHER_CTX_set_padding(keystream->context, 0) != 1) {
		(void)err_set(err, "cannot set up the keystream: libcrypto "
				   "offers no AES-128");
		keystream_free(keystream);
		return NULL;
	}
	if (!has_wide())
		return keystream;
	expand_key(keystream, key);
	keystream->is_wide = agrees(keystream);
	return keystream;
}

void keystream_free(struct keystream *keystream)
{
	if (keystream == NULL)
		return;
	EVP_CIPHER_CTX_free(keystream->context);
	free(keystream);
}

bool keystream_is_wide(const struct keystream *keystream)
{
	return keystream->is_wide;
}

void keystream_use_library(struct keystream *keystream)
{
	keystream->is_wide = false;
}
