/* SPDX-License-Identifier: MIT */
/*
 * expect - what one slot of the region must hold: schedule + bounds -> promise.
 *
 * Pure: no I/O, no clock, no allocation. It needs no table of the region: the
 * newest promised write of a slot is found by walking down from the newest
 * number that can have been issued, pass by pass and from durable range to
 * durable range.
 */
#ifndef VERIFIER_EXPECT_H
#define VERIFIER_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/schedule.h"

struct ledger;

/*
 * A slot that would need more steps counts as never promised (P9: the tester's
 * doubt never convicts); the report tells how many.
 */
#define EXPECT_STEPS_MAX 4096
/* Passes of the current cycle looked at one by one for completed and shadow
 * writes; they are evidence only, so a miss convicts nobody. */
#define EXPECT_PASSES_MAX 1024

struct promise {
	int stream;           /* -1: a slot left over, generation 0 for ever */
	uint64_t stream_slot; /* the stream's own number of the slot */
	bool has_promise;     /* durable_sequence says what must be there */
	/* Gave up after EXPECT_STEPS_MAX, or came down to where promises were
	 * forgotten (ledger.h): whether it was kept cannot be said (P9). */
	bool is_capped;
	uint64_t durable_sequence;   /* newest promised; 0: generation 0 */
	uint64_t completed_sequence; /* newest completed only, above it; or 0 */
	uint64_t shadow_sequence; /* newest promised behind "cut asked" (P11) */
	uint64_t limit;           /* nothing above was issued in this stream */
};

/* One schedule for each stream of RUN; SCHEDULES has RUN_STREAMS_MAX. */
void expect_schedules(const struct run *run, struct schedule *schedules);

/*
 * SLOT is the region's slot number. LEDGER must have its run. Safe from many
 * threads while nobody changes LEDGER.
 */
void expect_slot(const struct ledger *ledger, const struct schedule *schedules,
		 uint64_t slot, struct promise *promise);

#define EXPECT_MANY_MAX SCHEDULE_MANY_MAX

/* Where that begins for COUNT slots from SLOT on, EXPECT_MANY_MAX at most: all
 * at once is faster. */
void expect_newest(const struct ledger *ledger,
		   const struct schedule *schedules, uint64_t slot,
		   unsigned int count, uint64_t *newest);
/* expect_slot(), where NEWEST of the slot is known. */
void expect_slot_from(const struct ledger *ledger,
		      const struct schedule *schedules, uint64_t slot,
		      uint64_t newest, struct promise *promise);

#endif
