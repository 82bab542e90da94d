/* SPDX-License-Identifier: MIT */
/*
 * reader - reads that name exactly the blocks that cannot be read, and tell
 * the drive's trouble from the rig's (P9).
 *
 * A read that failed is repeated in halves down to the logical block; one that
 * was not answered in time, block by block. READER_HUNG_MAX unanswered reads
 * are waited for in all, so that the tool ends whatever the drive does; what
 * was then not asked for is unjudged. Where a read failed and its parts do not,
 * the drive's answers have changed. Shared by all threads of a scan.
 *
 *   first question --- reader_ask_second() --> second question
 *        ^                                          |
 *        +------------- reader_ask_first() ---------+
 *
 * P9: a drive that once kept silent may have been held up by the rig. A block
 * that does not answer the first question is hung for the time being, and its
 * caller asks a second one when all else has been read. Only where that is not
 * answered either, with READER_PATIENCE times the time, it is a finding.
 */
#ifndef VERIFIER_READER_H
#define VERIFIER_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verifier/judge.h"

struct changes;
struct leash;
struct target;

#define READER_HUNG_MAX     16
#define READER_SUSPECTS_MAX 512 /* blocks that did not answer a question */
#define READER_PATIENCE     2   /* times the timeout, at the second question */

struct reader {
	struct target *target;
	uint32_t block_bytes;    /* the smallest piece: the logical block */
	unsigned int timeout_ms; /* of one read */
	atomic_uint hung;        /* reads that were waited for in vain */
	atomic_bool is_gone;     /* the drive says that it is dead */
	atomic_int rig_error;    /* errno of the rig's trouble; 0: none */
	atomic_uint_fast64_t read_bytes;
	struct changes *changes; /* where trouble went away; NULL: not told */
	struct leash *leash;     /* on which calls are marked; NULL */
	bool is_second;          /* question */
	atomic_uint suspects;    /* offered, kept or not */
	uint64_t suspect_at[READER_SUSPECTS_MAX]; /* byte addresses */
};

void reader_init(struct reader *reader, struct target *target,
		 uint32_t block_bytes, unsigned int timeout_ms);

/* While no other thread reads: READER_HUNG_MAX reads more are waited for. The
 * suspects stay. */
void reader_ask_first(struct reader *reader);
void reader_ask_second(struct reader *reader);

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

/* Of the first question: some of COUNT atoms did not answer. */
bool reader_has_hung(const enum judge_read *reads, size_t count);

/*
 * Reads RANGE; ERROR is how a first read of the whole range failed (errno), or
 * 0 where none was tried yet. False where the rig failed: nothing in reads
 * counts then.
 */
bool reader_read(struct reader *reader, const struct reader_range *range,
		 int error);

#endif
