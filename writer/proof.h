/* SPDX-License-Identifier: MIT */
/*
 * proof - do the flushes of a cycle reach the driver of the drive? (P9)
 *
 * What the kernel completes without asking the drive (a file system without
 * barriers, a layer that swallows them) looks like a drive that keeps its word,
 * or like one that breaks it. So a FLUSH is sent before the first write, and
 * the drivers' own counts must move; and they must go on moving.
 *
 *   begin -> ask, judge -> (fill) judge -> start -> look ... look -> end
 */
#ifndef WRITER_PROOF_H
#define WRITER_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/target/flushcount.h"

struct err;
struct target;

struct proof {
	struct flushcount *total;  /* since the cycle began */
	struct flushcount *window; /* since it was judged last */
	bool has_base; /* window_flushes is from behind the window's count */
	uint64_t window_flushes;
	uint64_t looked_ns;
	unsigned int streams;
};

/* Opens the counts of what lies below TARGET. proof_end() is always right, also
 * of zeros. */
int proof_begin(struct proof *proof, const struct target *target,
		struct err *err);
void proof_end(struct proof *proof);

/* True where some driver counts what it is sent. */
bool proof_is_counted(const struct proof *proof);

/*
 * Sends one FLUSH, before anything is in flight, and waits at most TIMEOUT_MS.
 * -1: it failed. Does nothing where TARGET takes none, or no driver counts.
 */
int proof_ask(const struct proof *proof, struct target *target, int timeout_ms,
	      struct err *err);

/* Have the FLUSHes since the last time arrived? At least one was asked for. -1:
 * not one, and err says where they ended. */
int proof_judge(struct proof *proof, struct err *err);

/* What is counted from here on is the cycle's, of so many STREAMS. */
void proof_start(struct proof *proof, unsigned int streams);

/*
 * To be called often, with the FLUSHES that the streams have seen complete. -1:
 * those of the last second have not arrived; err as above. A few merge into one
 * where several streams ask at a time. IS_LAST: it does not wait for the second
 * to be over.
 */
int proof_look(struct proof *proof, uint64_t flushes, bool is_last,
	       struct err *err);

/* The counts of the cycle up to now; they live until proof_end(). */
size_t proof_rows(struct proof *proof, const struct flushcount_row **rows);

/*
 * How many of ASKED never reached a driver. False where that cannot be known:
 * no driver counts, one has gone, or they may have MERGED on the way. Pure.
 */
bool proof_elided(const struct flushcount_row *rows, size_t count,
		  uint64_t asked, bool may_have_merged, uint64_t *elided);

/* "loop0 1204, sdb 1205": what each driver has completed; "not counted" where
 * none counts. For people and the log. Pure. */
void proof_tell(const struct flushcount_row *rows, size_t count, char *text,
		size_t room);

#endif
