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
#define INLINE_WIDE TARGET_WIDE __attribute__((always_inline)) static inline

/* Registers of two counters each: an AES round takes four cycles, and two of
 * them can begin in each. */
#define WIDE       8
#define WIDE_BYTES (WIDE * 2UL * KEYSTREAM_BLOCK_BYTES)

/* Registers that a head covers; it covers half of the next. */
#define HEAD_WHOLE (KEYSTREAM_HEAD_BYTES / (2UL * KEYSTREAM_BLOCK_BYTES))

static_assert(KEYSTREAM_HEAD_BYTES ==
		      (2 * HEAD_WHOLE + 1) * KEYSTREAM_BLOCK_BYTES,
	      "half a register");
static_assert(KEYSTREAM_UNIT_BYTES == 2 * WIDE_BYTES, "two turns");
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

/* WIDE_BYTES of keystream in registers; the counter behind them. */
INLINE_WIDE __m256i turn(const uint8_t *keys, __m256i counter,
			 __m256i wide[WIDE])
{
	const __m256i swap = _mm256_broadcastsi128_si256(_mm_set_epi8(
		8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
	const __m256i two = _mm256_set_epi64x(2, 0, 2, 0);
	__m256i key = round_key(keys, 0);

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
		wide[i] = _mm256_aesenclast_epi128(wide[i], key);
	return counter;
}

/* The same, kept. */
INLINE_WIDE __m256i turn_into(const uint8_t *keys, __m256i counter,
			      uint8_t *buffer)
{
	__m256i wide[WIDE];

	counter = turn(keys, counter, wide);
#pragma GCC unroll 8
	for (size_t i = 0; i < WIDE; i++)
		_mm256_storeu_si256((__m256i_u *)(buffer + i * sizeof(wide[0])),
				    wide[i]);
	return counter;
}

/* The bits in which WIDE_BYTES at BYTES are others; at a unit's start what lies
 * over the keystream there is left out. */
INLINE_WIDE __m256i turn_against(const __m256i wide[WIDE], const uint8_t *bytes,
				 bool is_start)
{
	__m256i others = _mm256_setzero_si256();

#pragma GCC unroll 8
	for (size_t i = is_start ? HEAD_WHOLE : 0; i < WIDE; i++) {
		__m256i found = _mm256_loadu_si256(
			(const __m256i_u *)(bytes + i * sizeof(found)));
		__m256i bits = _mm256_xor_si256(found, wide[i]);

		if (is_start && i == HEAD_WHOLE)
			bits = _mm256_blend_epi32(_mm256_setzero_si256(), bits,
						  0xf0);
		others = _mm256_or_si256(others, bits);
	}
	return others;
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
		counter = turn_into(keystream->round_keys, counter, buffer);
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
		counter = turn_into(keystream->round_keys, counter, buffer);
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

/* A share of each checksum, WIDE words; the field in the second word of a unit
 * counts as zero. */
INLINE_WIDE void share(uint64_t crc[KEYSTREAM_BESIDE], const uint8_t *units,
		       bool is_start)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < WIDE; i++) {
		uint64_t kept = is_start && i == 1 ? ~0ULL << 32 : ~0ULL;

#pragma GCC unroll 4
		for (size_t k = 0; k < KEYSTREAM_BESIDE; k++) {
			uint64_t word;

			memcpy(&word,
			       units + k * KEYSTREAM_UNIT_BYTES +
				       i * sizeof(word),
			       sizeof(word));
			crc[k] = _mm_crc32_u64(crc[k], word & kept);
		}
	}
}

/* Half a unit against its keystream, and a share of all checksums, in turn. */
TARGET_WIDE static unsigned int check_wide(const struct keystream *keystream,
					   const struct keystream_at *at,
					   const uint8_t *units,
					   uint32_t crcs[KEYSTREAM_BESIDE])
{
	const uint8_t *keys = keystream->round_keys, *left = units;
	uint64_t crc[KEYSTREAM_BESIDE] = {~0U, ~0U, ~0U, ~0U};
	unsigned int others = 0;

	for (size_t k = 0; k < KEYSTREAM_BESIDE; k++) {
		const uint8_t *unit = units + k * KEYSTREAM_UNIT_BYTES;
		__m256i counter = counter_of(at[k]), wide[WIDE], bits;

		counter = turn(keys, counter, wide);
		bits = turn_against(wide, unit, true);
		share(crc, left, k == 0);
		(void)turn(keys, counter, wide);
		bits = _mm256_or_si256(
			bits, turn_against(wide, unit + WIDE_BYTES, false));
		share(crc, left + WIDE * sizeof(crc[0]), false);
		left += 2 * WIDE * sizeof(crc[0]);
		if (!_mm256_testz_si256(bits, bits))
			others |= 1U << k;
	}
	for (size_t k = 0; k < KEYSTREAM_BESIDE; k++)
		crcs[k] = ~(uint32_t)crc[k];
	return others;
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

static unsigned int check_wide(const struct keystream *keystream,
			       const struct keystream_at *at,
			       const uint8_t *units, uint32_t *crcs)
{
	(void)keystream;
	(void)at;
	(void)units;
	(void)crcs;
	return 0;
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

static unsigned int check_apart(struct keystream *keystream,
				const struct keystream_at *at,
				const uint8_t *units,
				uint32_t crcs[KEYSTREAM_BESIDE])
{
	static const uint8_t zero[KEYSTREAM_CRC_BYTES];
	uint8_t made[KEYSTREAM_BESIDE * KEYSTREAM_UNIT_BYTES];
	unsigned int others = 0;

	keystream_make_units(keystream, at, KEYSTREAM_BESIDE, made);
	for (size_t k = 0; k < KEYSTREAM_BESIDE; k++) {
		const uint8_t *unit = units + k * KEYSTREAM_UNIT_BYTES;
		const size_t behind = KEYSTREAM_CRC_AT + sizeof(zero);

		crcs[k] = crc32c_extend(0, unit, KEYSTREAM_CRC_AT);
		crcs[k] = crc32c_extend(crcs[k], zero, sizeof(zero));
		crcs[k] = crc32c_extend(crcs[k], unit + behind,
					KEYSTREAM_UNIT_BYTES - behind);
		if (memcmp(made + k * KEYSTREAM_UNIT_BYTES +
				   KEYSTREAM_HEAD_BYTES,
			   unit + KEYSTREAM_HEAD_BYTES,
			   KEYSTREAM_UNIT_BYTES - KEYSTREAM_HEAD_BYTES) != 0)
			others |= 1U << k;
	}
	return others;
}

unsigned int keystream_check(struct keystream *keystream,
			     const struct keystream_at *at,
			     const uint8_t *units,
			     uint32_t crcs[KEYSTREAM_BESIDE])
{
	return keystream->is_wide ? check_wide(keystream, at, units, crcs)
				  : check_apart(keystream, at, units, crcs);
}

/* What the verifier computes, against libcrypto's units. */
static bool agrees_checking(struct keystream *keystream,
			    struct keystream_at first, const uint8_t *units)
{
	struct keystream_at at[KEYSTREAM_BESIDE];
	uint32_t wide[KEYSTREAM_BESIDE] = {0}, crcs[KEYSTREAM_BESIDE];

	for (size_t k = 0; k < KEYSTREAM_BESIDE; k++) {
		at[k] = first;
		first.low += KEYSTREAM_UNIT_BYTES / KEYSTREAM_BLOCK_BYTES;
	}
	return check_wide(keystream, at, units, wide) == 0 &&
	       check_apart(keystream, at, units, crcs) == 0 &&
	       memcmp(wide, crcs, sizeof(crcs)) == 0;
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
	       memcmp(wide_crcs, crcs, sizeof(crcs)) == 0 &&
	       agrees_checking(keystream, at, library);
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
