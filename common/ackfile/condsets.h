/* SPDX-License-Identifier: MIT */
/*
 * condsets - what a log told of its numbers, as condense.c needs it to say the
 * same with fewer words.
 *
 * The sets are those of common/format/ledger, with its limits, so that they
 * forget what it forgets. Beside them: the last promises of the last cycle one
 * by one (recent), and all other promises of that cycle (older). Bodies come in
 * log order and a ledger has believed each of them before. Pure.
 */
#ifndef COMMON_ACKFILE_CONDSETS_H
#define COMMON_ACKFILE_CONDSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "common/format/rangeset.h"

struct err;

/* Kept one by one, of all streams: some seconds of a very fast drive. */
#define CONDSETS_RECENT_MAX 65536

struct condsets_recent {
	uint16_t stream;
	struct ackbody_flush flush;
};

struct condsets_stream {
	struct rangeset durable;           /* of all cycles */
	struct rangeset shadow, completed; /* of the last cycle */
	struct rangeset older;             /* of the last cycle, not recent */
	uint64_t older_ns; /* when the last of them completed; 0: none */
	uint64_t first;    /* number of the last cycle */
};

struct condsets {
	uint16_t streams;
	struct ackbody_cycle cycle; /* the last one; number 0: none */
	bool is_cut_asked;
	size_t recent_start, recent_count;
	struct condsets_recent *recent; /* a ring, CONDSETS_RECENT_MAX */
	struct condsets_stream of[RUN_STREAMS_MAX];
};

struct condsets *condsets_new(struct err *err);
void condsets_free(struct condsets *sets); /* NULL is allowed */

void condsets_take(struct condsets *sets, const struct ackbody *body);

/* Number I of the recent ones, the oldest first; NULL behind the last. */
const struct condsets_recent *condsets_recent_at(const struct condsets *sets,
						 size_t i);

/* The limits of the ledger for each of STREAMS streams. */
size_t condsets_durable_max(uint16_t streams);
size_t condsets_evidence_max(uint16_t streams);

#endif
