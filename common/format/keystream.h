/* SPDX-License-Identifier: MIT */
/*
 * keystream - AES-128 in counter mode, the content of every atom.
 *
 * libcrypto makes it. Where the processor has VAES with AVX2, the same bytes
 * are made here, four times as fast as OpenSSL 3.0, which drives AES units 128
 * bits at a time in this mode; keystream_new() believes that path only once it
 * has agreed with libcrypto under this very key. Content must not cost more
 * than the drive: a tester that is busy with itself tests an idle drive.
 *
 * Pure apart from libcrypto's own state: no I/O, no clock. One object a thread.
 */
#ifndef COMMON_FORMAT_KEYSTREAM_H
#define COMMON_FORMAT_KEYSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct keystream;

#define KEYSTREAM_KEY_BYTES   16
#define KEYSTREAM_BLOCK_BYTES 16  /* one counter's */
#define KEYSTREAM_UNIT_BYTES  512 /* lengths are multiples of it */
#define KEYSTREAM_BESIDE      4   /* units that a checksum is hidden in */
#define KEYSTREAM_HEAD_BYTES  80  /* of a unit that is checked: no keystream */
#define KEYSTREAM_CRC_AT      8   /* in them: counts as zero, 4 bytes */
#define KEYSTREAM_CRC_BYTES   4

/* The 16 bytes of a counter block: both halves big endian. */
struct keystream_at {
	uint64_t high;
	uint64_t low; /* counts up; may not pass 2^64 within a call */
};

struct keystream *keystream_new(const uint8_t key[KEYSTREAM_KEY_BYTES],
				struct err *err);
void keystream_free(struct keystream *keystream);

/* COUNT bytes, a multiple of KEYSTREAM_UNIT_BYTES, from AT on. */
void keystream_make(struct keystream *keystream, struct keystream_at at,
		    uint8_t *buffer, size_t count);

/* UNITS times KEYSTREAM_UNIT_BYTES, each from a place of its own. */
void keystream_make_units(struct keystream *keystream,
			  const struct keystream_at *at, size_t units,
			  uint8_t *buffer);

/* KEYSTREAM_BESIDE units at BUFFER, from AT on; and meanwhile, at hardly any
 * cost, the CRC-32C of as many finished ones that begin at DONE. */
void keystream_make_beside(struct keystream *keystream, struct keystream_at at,
			   uint8_t *buffer, const uint8_t *done,
			   uint32_t crcs[KEYSTREAM_BESIDE]);

/*
 * Of KEYSTREAM_BESIDE units in a row, each with a head over its keystream: a
 * bit for each whose other bytes are not the keystream from its AT on, and the
 * CRC-32C of each, its own field counting as zero. All in one pass where the
 * wide path is in use; else keystream_make_units() for many is faster.
 */
unsigned int keystream_check(struct keystream *keystream,
			     const struct keystream_at *at,
			     const uint8_t *units,
			     uint32_t crcs[KEYSTREAM_BESIDE]);

/* Whether the processor's wide path is in use. */
bool keystream_is_wide(const struct keystream *keystream);
/* Leaves everything to libcrypto: for tests and measurements. */
void keystream_use_library(struct keystream *keystream);

#endif
