/* SPDX-License-Identifier: MIT */
/*
 * leash - the verifier's work in a process of its own, which can be left to a
 * drive that does not answer.
 *
 * Whoever waits in the kernel for a drive (in an open, in handing over a read
 * when all of the queue's places are taken, at the end with reads in flight)
 * can neither go on nor end, and no signal helps. So a child does the work. The
 * parent, for which everybody waits, passes on what the child says and ends
 * with its status as soon as that is told, however long the child takes to end.
 * A child that sits in one and the same call for too long is left behind: then
 * there is no verdict (P9), for what could not be asked is no finding.
 *
 *   leash_start() --- child: leash_is_child(), work, leash_tell()
 *                 \-- parent: leash_follow()
 *
 * Calls are marked by leash_begin() and leash_end(), by any thread. A NULL
 * leash marks nothing. What was left behind only reads; it ends with the
 * kernel's wait.
 */
#ifndef VERIFIER_LEASH_H
#define VERIFIER_LEASH_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct leash;

#define LEASH_PATIENCE 4    /* times the timeout of a read, for one call */
#define LEASH_LEAST_MS 5000 /* and this beside it */

enum leash_call {
	LEASH_OPEN,   /* opening the drive and asking what it is */
	LEASH_SUBMIT, /* handing a read to the kernel */
	LEASH_READ,   /* reading a place by itself */
	LEASH_CALLS,
};

/* Forks. NULL with err where the system gives no process; call it before there
 * are threads, with nothing in the buffers of stdio. */
struct leash *leash_start(struct err *err);
/* In either process; the parent's after leash_follow(). */
void leash_free(struct leash *leash);

bool leash_is_child(const struct leash *leash);

/* Of the child: a call begins at byte OFFSET_BYTES of the target (of an open:
 * 0), and what to give to leash_end(). */
unsigned int leash_begin(struct leash *leash, enum leash_call call,
			 uint64_t offset_bytes);
void leash_end(struct leash *leash, unsigned int mark);

/* Of the child: all has been said and written, and STATUS (0 ... 255) is how to
 * end. */
void leash_tell(struct leash *leash, int status);

/*
 * Of the parent: passes on what the child says. The child's status; where that
 * died of a signal this process does, too. -1 with err where it sat in one call
 * for LIMIT_MS, or the rig failed.
 */
int leash_follow(struct leash *leash, uint64_t limit_ms, struct err *err);

#endif
