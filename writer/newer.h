/* SPDX-License-Identifier: MIT */
/*
 * newer - is the log that a run is resumed with the whole one?
 *
 * A log that was cut off, or an old copy of it, ends below numbers that are on
 * the drive already. Gone on with, it would give them out a second time, and
 * the old records would speak against the new ones. The first numbers above the
 * log's reservation were never given out, so no record may have one (P9).
 */
#ifndef WRITER_NEWER_H
#define WRITER_NEWER_H

#include <stdint.h>

#include "common/format/run.h"

struct err;
struct target;

#define NEWER_PROBES 64 /* places looked at in a stream */

/*
 * RESERVED has the highest reserved number of each stream. -1: some record is
 * newer, or memory is short; a place that cannot be read proves nothing.
 */
int newer_check(struct target *target, const struct run *run,
		const uint64_t *reserved, struct err *err);

#endif
