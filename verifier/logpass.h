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
#include <sys/stat.h>

#include "common/format/ackbody.h"
#include "verifier/findings.h"

struct err;
struct ledger;

struct logpass {
	uint64_t bodies;
	uint64_t torn_bytes; /* of an unfinished last frame */
	bool has_cycle;      /* so the fill and the labels had been flushed */
	uint64_t durable[RUN_STREAMS_MAX]; /* numbers, by the log alone */
	/* The first that says so: flushes were not sent (P9); else "". */
	char unsent[ACKBODY_TEXT_BYTES];
	/* The last that the writer says of flushes that were counted, for
	 * people alone; else "". */
	char flush_proof[ACKBODY_TEXT_BYTES];
	uint64_t frames;
	uint32_t crc;       /* of the last frame */
	struct stat status; /* of the file, just before it was read */
};

int logpass_load(const char *path, struct ledger *ledger, struct logpass *facts,
		 struct err *err);

/*
 * P9: what has become of the log since it was loaded. A statement about writes
 * says that the writer was at work while the drive was read. An event does not,
 * since anybody may put one on record; nor does the end of a cycle, before
 * which each stream has said that it stopped. What cannot be understood may
 * have been said by a writer; and that flushes were not sent is unclear, too.
 */
enum logpass_news {
	LOGPASS_NOTHING, /* that matters; a log that has vanished says nothing
			  */
	LOGPASS_WRITER,
	LOGPASS_UNCLEAR, /* err says what */
};

enum logpass_news logpass_look_again(const char *path,
				     const struct logpass *facts,
				     struct err *err);

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
