/* SPDX-License-Identifier: MIT */
/*
 * ledger - what an ack log adds up to: which sequence numbers were promised.
 *
 * Folds bodies in log order. Pure: no I/O, no clock; memory has a fixed upper
 * limit whatever the length of the log. Where the limit would be passed the
 * OLDEST durable ranges are forgotten: they turn into doubt, which can never
 * convict, nor acquit (ledger_floor() tells where).
 *
 * For each stream it keeps
 *   - durable ranges: promised by a DURABLE body that stands before the cycle's
 *     "cut asked" event, or by media proof (P5) that is firm;
 *   - shadow ranges (this cycle only): promised behind "cut asked" (P11), or
 *     by media proof that is not firm;
 *   - completed ranges (this cycle only): done, but never made durable;
 *   - the limit: no number above it can have been issued (last RESERVE, or
 *     ISSUED once the stream has stopped).
 * Every number up to the limit that is not durable is in doubt: it may be on
 * the drive or not (P3). That holds for all earlier cycles too (P6).
 *
 * P11: media proof of a cycle is not firm where "cut asked" stands in its log
 * and "cut seen" does not stand behind it, before any "restored" and behind the
 * last word of the writer: it may have gone on when the power was back.
 *
 * Statements that cannot be true (durable above the reservation, a cycle that
 * starts inside an earlier one's numbers, a body of a stream that the run does
 * not have) are errors: the log is not to be believed (P9).
 */
#ifndef COMMON_FORMAT_LEDGER_H
#define COMMON_FORMAT_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "common/format/run.h"

struct err;
struct ledger;

/* Ranges kept for one stream, and of each kind for all streams together, which
 * have equal shares. */
#define LEDGER_RANGES_MAX       65536
#define LEDGER_DURABLE_ALL_MAX  (512 * 1024)
#define LEDGER_EVIDENCE_ALL_MAX (128 * 1024) /* completed, shadow, unfirm */

struct ledger *ledger_new(struct err *err);
void ledger_free(struct ledger *ledger);

int ledger_apply(struct ledger *ledger, const struct ackbody *body,
		 struct err *err);

/*
 * For a drive without a log: begins with RUN and an unknown limit
 * (UINT64_MAX), and knows only what media proof adds.
 */
void ledger_begin_without_log(struct ledger *ledger, const struct run *run);

/*
 * P5: an intact record of STREAM proves FIRST ... LAST, numbers of one cycle,
 * durable. Where that is not firm (P11) they become shadow in this cycle and
 * stay in doubt in earlier ones. Returns true where anything was new. LAST <
 * FIRST proves nothing.
 */
bool ledger_prove(struct ledger *ledger, uint16_t stream, uint64_t first,
		  uint64_t last);

/* Generation 0, where the run has one, was promised or not; at first it is. */
void ledger_promise_fill(struct ledger *ledger, bool is_promised);
bool ledger_is_fill_promised(const struct ledger *ledger);

bool ledger_has_run(const struct ledger *ledger);
const struct run *ledger_run(const struct ledger *ledger);
/* The last CYCLE body; NULL before the first. */
const struct ackbody_cycle *ledger_cycle(const struct ledger *ledger);
uint64_t ledger_limit(const struct ledger *ledger, uint16_t stream);
/* Highest number ever reserved; a new cycle starts above it. */
uint64_t ledger_reserved(const struct ledger *ledger, uint16_t stream);
/* Highest number promised; 0 if none. */
uint64_t ledger_durable_last(const struct ledger *ledger, uint16_t stream);
/* How many numbers are promised, by the log alone and with media proof. */
uint64_t ledger_durable_count(const struct ledger *ledger, uint16_t stream);
uint64_t ledger_forgotten(const struct ledger *ledger);
/* At or below this number a promise may have been forgotten; 0: none was. */
uint64_t ledger_floor(const struct ledger *ledger, uint16_t stream);
/* "cut asked" stands in the log of the current cycle. */
bool ledger_is_cut_asked(const struct ledger *ledger);
/* "cut seen" counts in it: media proof is firm (P11). */
bool ledger_is_cut_seen(const struct ledger *ledger);

enum ledger_state {
	LEDGER_DOUBT,     /* issued perhaps, promised never */
	LEDGER_COMPLETED, /* done in this cycle, never made durable */
	LEDGER_SHADOW,    /* promised by what is not firm (P11) */
	LEDGER_DURABLE,
};

/* SEQUENCE from 1. Numbers above the limit are LEDGER_DOUBT here. */
enum ledger_state ledger_state(const struct ledger *ledger, uint16_t stream,
			       uint64_t sequence);

/*
 * The last number of the newest durable range that ends at or below SEQUENCE;
 * SEQUENCE itself where it is durable; 0 if nothing is. Lets a caller walk down
 * from pass to pass without touching the doubtful numbers one by one.
 */
uint64_t ledger_durable_at_or_below(const struct ledger *ledger,
				    uint16_t stream, uint64_t sequence);

/* The same for the numbers that were promised, promised behind "cut asked", or
 * completed in this cycle: whatever the log says something of. */
uint64_t ledger_known_at_or_below(const struct ledger *ledger, uint16_t stream,
				  uint64_t sequence);

#endif
