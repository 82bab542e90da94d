/* SPDX-License-Identifier: MIT */
/*
 * judge - decide whether one slot on the drive breaks a promise.
 *
 * This is the heart of the verifier and it is pure: no I/O, no clock, no
 * allocation, no printing. It compares what was promised about a slot
 * (expect.h) with what was found there after the power came back, and gives
 * each 512-byte atom one verdict. Every verdict has a line in verdicts.def and
 * a section in docs/VERDICTS.md.
 *
 *   P3  A write that was never promised can be there or not, also in part, but
 *       torn only between logical blocks.
 *   P4  A promised write must be found, or a newer one that was issued.
 *   P6  That holds for data at rest of any age, generation 0 included.
 *   P7  A good atom at a place that is not its own is misdirected.
 *   P8  Within one logical block all atoms are of one version.
 *   P9  A number that cannot have been issued blames the tester.
 */
#ifndef VERIFIER_JUDGE_H
#define VERIFIER_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/record.h"
#include "verifier/expect.h"

enum verdict {
#define VERDICT(symbol, word, is_broken, rule, meaning) VERDICT_##symbol,
#include "verifier/verdicts.def"
#undef VERDICT
	VERDICT_COUNT
};

const char *verdict_word(enum verdict verdict);
const char *verdict_rule(enum verdict verdict); /* "P4"; "" where none */
const char *verdict_meaning(enum verdict verdict);
bool verdict_is_broken(enum verdict verdict);

enum judge_read {
	JUDGE_READ_OK,
	JUDGE_READ_UNREADABLE,
	JUDGE_READ_HUNG,
	JUDGE_READ_GONE,
	JUDGE_READ_UNJUDGED, /* P9: not asked, or not often enough */
};

struct judge_input {
	const struct ledger *ledger;
	const struct schedule *schedules; /* by stream */
	const struct promise *promise;    /* of expect_slot() */
	uint64_t slot;
	size_t count; /* atoms of the slot: block_bytes / 512 */
	const enum record_state *states;
	const struct record *found;
	const enum judge_read *reads; /* NULL: every atom could be read */
	/* alike_atoms() says so and every atom could be read. Saves time; false
	 * is always right. */
	bool is_alike;
};

struct judge_outcome {
	bool is_broken;         /* at least one atom breaks a promise */
	bool is_impossible;     /* P9: at least one atom cannot exist */
	bool has_newer;         /* an unpromised write survived here */
	bool is_completed_lost; /* evidence that this rig can see a loss */
	bool is_shadow_lost;    /* P11: told, convicts nobody */
	bool is_alike; /* all atoms have one class, which breaks nothing */
};

/* CLASSES has COUNT entries. */
void judge_slot(const struct judge_input *input, enum verdict *classes,
		struct judge_outcome *outcome);

/*
 * Where nothing was promised, a misdirected or unreadable atom is information
 * and breaks nothing; a torn logical block does everywhere (P8).
 */
bool judge_breaks(const struct promise *promise, enum verdict verdict);

/* How many passes over the slot FOUND is older than EXPECTED. */
uint64_t judge_generations(const struct schedule *schedule, uint64_t expected,
			   uint64_t found);

#endif
