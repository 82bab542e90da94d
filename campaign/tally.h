/* SPDX-License-Identifier: MIT */
/*
 * tally - what the cycles of a campaign have shown together.
 *
 * Pure: outcomes in, one verdict out. Only cycles that count speak. A promise
 * broken in one of them convicts whatever else happened; trouble never
 * acquits (P9): a campaign that stopped early, or whose drive looked broken in
 * a cycle that does not count, has no verdict.
 */
#ifndef CAMPAIGN_TALLY_H
#define CAMPAIGN_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "campaign/outcome.h"

enum tally_verdict {
	TALLY_NO_VERDICT,
	TALLY_FAIL,
	TALLY_PASS,
	TALLY_PROTECTED,    /* kept even what was never flushed */
	TALLY_INCONCLUSIVE, /* kept, but nothing shows a loss could be seen */
};

struct tally_arm {
	uint64_t cycles;  /* all of them */
	uint64_t counted; /* whose gates held */
	uint64_t broken;  /* of those counted */
	uint64_t lossy;   /* of those counted: completed writes were lost */
};

struct tally {
	struct tally_arm test, control;
	uint64_t void_cycles;
	uint64_t void_broken; /* looked broken, but do not count */
	uint64_t intact, newer, completed_lost, shadow_lost; /* counted */
	/* Counted, by what proves the cut; one cut may have several proofs. */
	uint64_t gone, new_device, power_cycles, unsafe_shutdowns, host;
	uint64_t not_by_drive; /* counted, of which the drive shows nothing */
	uint64_t damaged;      /* any cycle behind which damage counters rose */
	uint64_t unread;       /* any whose counters could not be read again */
};

void tally_init(struct tally *tally);
void tally_add(struct tally *tally, const struct outcome *outcome);

/* IS_COMPLETE: every planned cycle was done, or the campaign ended as the
 * settings said. */
enum tally_verdict tally_judge(const struct tally *tally, bool is_complete);

/* "PASS"; one sentence on what that means; the exit status (design 6). */
const char *tally_verdict_name(enum tally_verdict verdict);
const char *tally_verdict_meaning(enum tally_verdict verdict);
int tally_exit_status(enum tally_verdict verdict);

#endif
