/* SPDX-License-Identifier: MIT */
/*
 * weigher - judges the slots that one thread of a scan has read, and gathers
 * what they prove.
 *
 * It reads nothing itself, but for the slots that did not answer: those are
 * put off, and asked for a second time when the whole region has been read
 * (P9). Only weigher_put_off() and findings are shared with other threads.
 */
#ifndef VERIFIER_WEIGHER_H
#define VERIFIER_WEIGHER_H

#include <stddef.h>
#include <stdint.h>

#include "verifier/changes.h"
#include "verifier/scan.h"
#include "verifier/seen.h"

struct err;
struct evidence_cache;

struct weigher {
	struct scan *scan;
	struct record_cipher *cipher;
	struct evidence_cache *evidence;
	enum record_state *states; /* by atom of a batch of slots */
	struct record *found;
	enum judge_read *reads;  /* by atom; the caller's, to pass on */
	enum verdict *classes;   /* by atom of a slot */
	struct seen_slot second; /* a slot judged by another answer */
	struct tally tally;
	struct changes_part answers;
	uint64_t done_slots;
};

/* weigher->reads gets room for ATOMS atoms. */
int weigher_open(struct weigher *weigher, struct scan *scan, size_t atoms,
		 struct err *err);
void weigher_close(struct weigher *weigher); /* all zero is allowed */

/* What was gathered reaches scan->evidence and scan->answers. */
void weigher_merge(struct weigher *weigher);

/* SLOTS slots from SLOT on were read into BUFFER; READS may be NULL: all were
 * answered. Each slot once, except those put off. */
void weigher_take(struct weigher *weigher, uint64_t slot, uint64_t slots,
		  const uint8_t *buffer, const enum judge_read *reads);

/*
 * The second question to all slots that were put off, of whatever weigher of
 * the scan; no other thread reads. Ends early, without an error, where the rig
 * fails or too much hangs.
 */
int weigher_ask_again(struct weigher *weigher, struct err *err);

#endif
