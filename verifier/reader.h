/* SPDX-License-Identifier: MIT */
/*
 * reader - reads that name exactly the blocks that cannot be read, and tell
 * the drive's trouble from the rig's (P9).
 *
 * A read that failed is repeated in halves down to the logical block; one that
 * was not answered in time, block by block. READER_HUNG_MAX unanswered reads
 * are waited for in all, so that the tool ends whatever the drive does. Where a
 * read failed and its parts do not, the drive's answers have changed.
 * Shared by all threads of a scan.
 */
#ifndef VERIFIER_READER_H
#define VERIFIER_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verifier/judge.h"

struct changes;
struct target;

#define READER_HUNG_MAX 16

struct reader {
	struct target *target;
	uint32_t block_bytes;    /* the smallest piece: the logical block */
	unsigned int timeout_ms; /* of one read */
	atomic_uint hung;        /* reads that were waited for in vain */
	atomic_bool is_gone;     /* the drive says that it is dead */
	atomic_int rig_error;    /* errno of the rig's trouble; 0: none */
	atomic_uint_fast64_t read_bytes;
	struct changes *changes; /* where trouble went away; NULL: not told */
};

void reader_init(struct reader *reader, struct target *target,
		 uint32_t block_bytes, unsigned int timeout_ms);

/* No more reads make sense: the rig is in trouble or too much has hung. */
bool reader_is_over(const struct reader *reader);

/*
 * What the failure ERROR (an errno, positive) of a read at OFFSET_BYTES means.
 * Where it is the rig's, reader->rig_error is set and the result is
 * JUDGE_READ_OK: no verdict may be drawn from it.
 */
enum judge_read reader_classify(struct reader *reader, int error,
				uint64_t offset_bytes);

struct reader_range {
	uint64_t offset_bytes;
	size_t length;   /* a multiple of the logical block */
	uint8_t *buffer; /* of length bytes; what is not read becomes zero */
	enum judge_read *reads; /* an entry for each 512 bytes */
};

/*
 * Reads RANGE; ERROR is how a first read of the whole range failed (errno), or
 * 0 where none was tried yet. False where the rig failed: nothing in reads
 * counts then.
 */
bool reader_read(struct reader *reader, const struct reader_range *range,
		 int error);

#endif
