/* SPDX-License-Identifier: MIT */
/*
 * ackfile - the ack log as a file: append, make durable, repair a torn tail.
 *
 * The collector and a writer with --acklog append; reading alone is
 * ackreader.h. A file open for appending is locked (flock), so that two cannot
 * append.
 */
#ifndef COMMON_ACKFILE_ACKFILE_H
#define COMMON_ACKFILE_ACKFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ackfile/ackreader.h"
#include "common/format/acklog.h"

struct err;
struct ledger;
struct ackfile;

/*
 * Creates PATH (it must not exist) and makes its name durable in its directory.
 */
struct ackfile *ackfile_create(const char *path, struct err *err);

/*
 * Opens PATH to append. Folds everything in it into LEDGER. A torn tail (an
 * incomplete or damaged last frame with no good frame behind it) is cut off;
 * *REPAIRED_BYTES says how much (0: none). Damage before the tail is an error,
 * and so is a file without a single whole frame ("it holds no run"); neither is
 * changed. On success all that was folded is durable.
 */
struct ackfile *ackfile_resume(const char *path, struct ledger *ledger,
			       uint64_t *repaired_bytes, struct err *err);

/* Appends one frame; durable only after ackfile_sync(). After an error nothing
 * more may be appended: every later call fails with the same error. */
int ackfile_append(struct ackfile *file, const uint8_t *payload,
		   uint32_t length, uint64_t arrival_ns, struct err *err);

/* fdatasync; after an error the file is dead (a later sync repairs nothing). */
int ackfile_sync(struct ackfile *file, struct err *err);

/* Closes; -1 where close() reported an error. NULL is allowed. */
int ackfile_close(struct ackfile *file, struct err *err);

#endif
