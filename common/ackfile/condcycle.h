/* SPDX-License-Identifier: MIT */
/*
 * condcycle - all that one cycle of a log said but its ranges, in fixed memory;
 * for condense.c only. Before the first cycle there may be events alone.
 *
 * It follows common/format/ledger in what counts: the first "cut asked", the
 * "cut seen" that stands at the end of the cycle if it counts there (P11), and
 * on which side of "cut asked" the first "restored" was.
 */
#ifndef COMMON_ACKFILE_CONDCYCLE_H
#define COMMON_ACKFILE_CONDCYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ackfile/condense.h"
#include "common/format/ackbody.h"

struct condcycle_note {
	bool is_there, is_before_cut;
	struct ackbody_note note;
};

struct condcycle {
	struct ackbody_cycle cycle;         /* number 0: before the first */
	uint64_t reserved[RUN_STREAMS_MAX]; /* 0: nothing was */
	bool is_issued[RUN_STREAMS_MAX];
	uint64_t issued[RUN_STREAMS_MAX];
	struct condcycle_note asked, seen, restored, unsent, end;
	size_t notes; /* other events, the first ones */
	struct condcycle_note note[CONDENSE_NOTES_MAX];
};

/* CYCLE NULL: before the first. */
void condcycle_begin(struct condcycle *of, const struct ackbody_cycle *cycle);
/* Does BODY begin another cycle than OF? */
bool condcycle_ends(const struct condcycle *of, const struct ackbody *body);
/* Bodies of this cycle in log order, believed by a ledger before. */
void condcycle_take(struct condcycle *of, const struct ackbody *body);

#endif
