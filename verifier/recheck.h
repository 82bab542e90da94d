/* SPDX-License-Identifier: MIT */
/*
 * recheck - reads the findings a second time. An answer that has changed makes
 * a finding unstable: it stays one, and is told as such.
 */
#ifndef VERIFIER_RECHECK_H
#define VERIFIER_RECHECK_H

#include <stdint.h>

#include "verifier/findings.h"

struct err;
struct reader;

struct recheck_order {
	struct reader *reader;
	const struct ledger *ledger;
	const struct schedule *schedules;
	struct findings *findings; /* sorted; marked as unstable */
	struct tally *tally;       /* learns of what cannot exist */
};

/*
 * Labels and what hung or is gone are not asked again. What cannot have been
 * issued is told as such even where it came only now (P9: a writer is at work).
 * Ends early, without an error, where the rig fails or the drive hangs.
 */
int recheck_findings(const struct recheck_order *order, struct err *err);

uint64_t recheck_unstable(const struct findings *findings);

#endif
