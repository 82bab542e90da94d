/* SPDX-License-Identifier: MIT */
/*
 * record - what is written to the drive: every 512 bytes an atom that says
 * whose, which, where and when it is, and fills itself with a keystream that
 * can be regenerated and compared byte by byte.
 *
 * An atom is an 80-byte header (docs/FORMATS.md) over AES-128-CTR keystream.
 * The key comes from the run id alone, the counter block from (sequence,
 * stream, position within the write), or for generation 0 from the position on
 * the target; so no two atoms of a run share content, and none compresses.
 *
 * Pure apart from libcrypto's own state in struct record_cipher: no I/O, no
 * clock. One cipher object per thread.
 */
#ifndef COMMON_FORMAT_RECORD_H
#define COMMON_FORMAT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/run.h"

#define RECORD_HEADER_BYTES 80

/* What the header of one atom says. */
struct record {
	uint8_t run_id[RUN_ID_BYTES];
	uint32_t cycle; /* from 1; 0 for generation 0 */
	uint16_t stream;
	uint64_t sequence;     /* from 1; 0 is generation 0 */
	uint64_t offset_bytes; /* of this atom on the target */
	uint16_t index;        /* of this atom within its write, from 0 */
	uint16_t atoms;        /* length of the write in atoms, 1 ... 8192 */
	/*
	 * P5: every write of this stream and cycle, from first_sequence up to
	 * and including durable_sequence, was durable when this write was
	 * issued. durable_sequence == first_sequence - 1 says: none yet.
	 */
	uint64_t first_sequence;
	uint64_t durable_sequence;
	uint64_t issued_ns; /* monotonic clock of the writer's host */
};

struct record_cipher;

struct record_cipher *record_cipher_new(const uint8_t run_id[RUN_ID_BYTES],
					struct err *err);
void record_cipher_free(struct record_cipher *cipher);

/*
 * Builds a whole write of WRITE->atoms atoms in BUFFER: WRITE is the record of
 * its first atom (index 0, offset of the write); index and offset count up
 * from there. BUFFER has atoms * 512 bytes. WRITE->run_id must be the
 * cipher's.
 */
void record_build(struct record_cipher *cipher, const struct record *write,
		  uint8_t *buffer);

/* The same for COUNT writes, each in its own buffer; faster than one by one. */
void record_build_many(struct record_cipher *cipher,
		       const struct record *writes, uint8_t *const *buffers,
		       size_t count);

/*
 * Builds COUNT generation-0 atoms for the target range that starts at
 * OFFSET_BYTES (a multiple of 512); each is a write of one atom.
 */
void record_build_fill(struct record_cipher *cipher, uint64_t offset_bytes,
		       size_t count, uint8_t *buffer);

enum record_state {
	RECORD_GOOD, /* of this run, checksum and every byte of content right */
	RECORD_FOREIGN, /* checksum right, another run's id */
	RECORD_BLANK,   /* all bytes 00, or all bytes FF */
	RECORD_CORRUPT, /* anything else */
};

/*
 * Examines one atom. FOUND counts for GOOD and FOREIGN only. The offset is
 * not judged here: whether a GOOD atom stands where it belongs is the caller's
 * question (P7). Content is compared against the keystream for GOOD.
 */
enum record_state record_examine(struct record_cipher *cipher,
				 const uint8_t atom[RUN_ATOM_BYTES],
				 struct record *found);

/*
 * The same for COUNT atoms that lie one behind another; faster, since
 * they share cipher calls. STATES and FOUND have COUNT entries.
 */
void record_examine_many(struct record_cipher *cipher, const uint8_t *buffer,
			 size_t count, enum record_state *states,
			 struct record *found);

#endif
