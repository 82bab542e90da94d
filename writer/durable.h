/* SPDX-License-Identifier: MIT */
/*
 * durable - which writes of one stream are on stable media, by the drive's own
 * word (P1), and how far that holds without a gap (P5).
 *
 * Events in, ranges out. It is pure: no I/O, no clock, no printing, and no
 * allocation after durable_new(). It is told what happened, in the order in
 * which it was reaped, and never looks at a drive itself.
 *
 * A flush credits exactly the writes that were reaped before it was submitted;
 * a FUA write credits itself; nothing else makes a write durable. After
 * durable_fail() nothing becomes durable any more.
 *
 * Ranges wait inside until they are taken, so that a caller whose own queue is
 * full can take them later; they merge meanwhile.
 */
#ifndef WRITER_DURABLE_H
#define WRITER_DURABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackbody.h"

struct err;
struct durable;

#define DURABLE_WINDOW      65536 /* numbers that can be without a promise */
#define DURABLE_FLUSHES_MAX 8     /* in flight at once */

/*
 * FIRST_SEQUENCE (from 1) is the first number of this cycle. HAS_PROMISES is
 * false for a workload that neither flushes nor uses FUA: W then stays
 * FIRST_SEQUENCE - 1 for ever and the window moves on over writes that have
 * completed and were taken.
 */
struct durable *durable_new(uint64_t first_sequence, bool has_promises,
			    struct err *err);
void durable_free(struct durable *durable);

/* False while the window is full: the next number must not be issued yet. */
bool durable_can_issue(const struct durable *durable);
/* Issues the next number and returns it; asserts durable_can_issue(). */
uint64_t durable_issue(struct durable *durable);

/* SEQUENCE, in flight until now, has completed in full and without error. */
void durable_complete(struct durable *durable, uint64_t sequence, bool is_fua);

/* Writes that are completed, not durable, and covered by no flush yet. */
uint64_t durable_uncovered(const struct durable *durable);

/* False while DURABLE_FLUSHES_MAX are in flight. */
bool durable_can_flush(const struct durable *durable);
/*
 * A flush goes to the system now. Returns its number, from 1. To be called
 * before the submission and with no completion processed in between: what is
 * reaped later is not covered.
 */
uint64_t durable_flush_submit(struct durable *durable);
/* FLUSH, in flight until now, has completed without error. */
void durable_flush_complete(struct durable *durable, uint64_t flush);

/* A write or flush failed, was short, or its fate is unknown (P1). */
void durable_fail(struct durable *durable);

/*
 * The next range, ascending, of writes that became durable (were completed but
 * are not durable) and were not taken before; false where there is none.
 */
bool durable_take(struct durable *durable, struct ackbody_range *range);
bool durable_take_completed(struct durable *durable,
			    struct ackbody_range *range);

/* P5: every number from the first up to and including this one is durable; the
 * first number - 1 where none is. */
uint64_t durable_w(const struct durable *durable);
/* The highest number issued; the first number - 1 where none was. */
uint64_t durable_issued(const struct durable *durable);
/* How many numbers are durable. */
uint64_t durable_count(const struct durable *durable);

#endif
