/* SPDX-License-Identifier: MIT */
/*
 * condense - an ack log said again with fewer words: a valid ack log from which
 * the verifier reaches the same judgement.
 *
 * Made for a host that comes back after its power was cut: the log stays at the
 * collector, its bounds travel. Their size follows the number of cycles and of
 * ranges that do not touch, not the number of flushes. Kept: the run, every
 * cycle with what it reserved, issued, promised, and the order of "cut asked",
 * "cut seen" and "restored" (P11); of the last cycle what was completed or
 * promised behind the cut, and the last CONDSETS_RECENT_MAX promises with their
 * flushes and times. Older promises keep neither flush nor time of their own:
 * in the last cycle they stand under the time of the latest of them, so that a
 * loss is never said to be older than it is. Of notes and errors the first
 * CONDENSE_NOTES_MAX of a cycle are kept.
 *
 * What the ledger forgets for lack of room is forgotten here, too; only the
 * number of such ranges is not kept.
 *
 * The second statement of the outcome is a note that begins with CONDENSE_MARK,
 * the last one is CONDENSE_END: what misses the second has been cut short on
 * its way, and is not to be believed (P9).
 */
#ifndef COMMON_ACKFILE_CONDENSE_H
#define COMMON_ACKFILE_CONDENSE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct ackbody;

#define CONDENSE_NOTES_MAX 16
#define CONDENSE_MARK      "condensed from "
#define CONDENSE_END       "condensed: that was all"

struct condense_facts {
	uint64_t from_bytes, to_bytes;
	uint64_t torn_bytes; /* an unfinished last record, left out */
};

/*
 * Reads the regular file FROM_FD, NAME in messages, which may still grow: what
 * was there at first is read, and made durable before a word of it goes on (P2:
 * it may not have been confirmed yet). Writes to TO_FD, TO in messages. Both
 * stay the caller's. A log that is damaged or contradicts itself is an error
 * before anything was written. Memory: below 64 MiB.
 */
struct condense_order {
	int from_fd, to_fd;
	const char *from, *to;
};

int condense_log(const struct condense_order *order,
		 struct condense_facts *facts, struct err *err);

/* Is BODY, statement INDEX (from 0) of a log, the mark; is it the end? */
bool condense_is_mark(const struct ackbody *body, uint64_t index);
bool condense_is_end(const struct ackbody *body);

#endif
