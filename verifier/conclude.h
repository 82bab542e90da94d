/* SPDX-License-Identifier: MIT */
/*
 * conclude - from everything that was seen to one verdict and its reason.
 *
 * Pure. Doubt about the log or the identity outweighs all (P9); then a solid
 * finding convicts, whatever else went wrong; then trouble forbids to acquit;
 * and an acquittal is worth something only where this rig showed that it can
 * see a loss.
 */
#ifndef VERIFIER_CONCLUDE_H
#define VERIFIER_CONCLUDE_H

#include <stdbool.h>
#include <stdint.h>

#include "verifier/depth.h"
#include "verifier/findings.h"
#include "verifier/logpass.h"

enum answer { ANSWER_KEPT, ANSWER_BROKEN, ANSWER_NONE };

enum conclude_status { /* the program's exit status, design section 6 */
		       CONCLUDE_KEPT = 0,
		       CONCLUDE_BROKEN = 1,
		       CONCLUDE_NONE = 2,
		       CONCLUDE_NOT_SHOWN = 3,
};

/* All that a report tells. Filled by main(), step by step. */
struct result {
	enum answer answer;
	int status;
	char reason[512];

	const char *target_name;
	bool has_log, has_run;
	struct run run;
	uint32_t cycle; /* 0 unknown */
	struct logpass log;
	uint64_t durable_log, durable_media, durable_all;
	uint64_t forgotten;    /* of the ledger */
	bool is_marked_unsent; /* by the run or its label */
	bool was_promised;     /* anything at all */
	bool was_promised_now; /* a write of the last cycle, firmly */
	bool has_log_grown;  /* by a writer's words, while the drive was read */
	char log_doubt[256]; /* what else became of it meanwhile; or "" */
	bool is_cut_asked, is_cut_seen; /* in the log of this cycle (P11) */
	uint64_t dropped;  /* media proof that there was no room for */
	bool is_unsettled; /* media proof still grew after the last scan */
	struct tally tally;
	struct findings findings;
	uint64_t unstable;      /* findings */
	uint64_t changed;       /* places where two reads were answered */
	uint64_t changed_first; /* differently; the lowest, as a byte */
	struct logpass_ages ages;
	struct depth depth;
	uint64_t unscanned_bytes;
	int rig_error; /* errno; 0: none */
	bool is_stuck; /* reads were given up; their buffers stay behind */
	uint64_t read_bytes;
	double seconds;
	unsigned int scans;
};

/* After a whole scan: fills answer, status and reason. */
void conclude(struct result *result);

/* No verdict, for REASON. */
void conclude_none(struct result *result, const char *reason);

/* Why its flushes do not count (P9), NULL where they do. */
const char *conclude_unsent(const struct result *result);

const char *conclude_answer_word(enum answer answer);
const char *conclude_bound_word(const struct result *result);

#endif
