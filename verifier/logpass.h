/* SPDX-License-Identifier: MIT */
/*
 * logpass - the ack log read from front to back: once to learn what was
 * promised, once more to tell when a lost write had been acknowledged.
 *
 * Memory does not grow with the log. Damage and statements that cannot be true
 * are errors: such a log convicts nobody (P9).
 */
#ifndef VERIFIER_LOGPASS_H
#define VERIFIER_LOGPASS_H

#include <stdbool.h>
#include <stdint.h>

#include "verifier/findings.h"

struct err;
struct ledger;

struct logpass {
	uint64_t bodies;
	uint64_t torn_bytes; /* of an unfinished last frame */
	uint64_t size_bytes; /* of all that was there, torn tail included */
	bool has_cycle;      /* so the fill and the labels had been flushed */
	uint64_t durable[RUN_STREAMS_MAX]; /* numbers, by the log alone */
};

int logpass_load(const char *path, struct ledger *ledger, struct logpass *facts,
		 struct err *err);

/* P9: somebody has written to the log since it was loaded, so the writer lives
 * and the drive was read while it changed. */
bool logpass_has_grown(const char *path, const struct logpass *facts);

/* When a promise was made; cycle 0: not in the log. */
struct logpass_mark {
	uint32_t cycle;
	uint64_t flush;
	uint64_t flush_index;     /* of the stream's flushes, over all cycles */
	uint64_t acknowledged_ns; /* writer's host; one cycle, one clock */
};

struct logpass_ages {
	struct findings *findings; /* sorted; lost ones get their marks */
	const struct tally *tally; /* names the oldest lost of each stream */
	struct logpass_mark oldest[RUN_STREAMS_MAX];
	struct logpass_mark last[RUN_STREAMS_MAX]; /* last promise made */
};

int logpass_find_ages(const char *path, struct logpass_ages *ages,
		      struct err *err);

#endif
