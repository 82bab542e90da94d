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

/*
 * FINDINGS are sorted. Labels and what hung or is gone are not asked again.
 * Ends early, without an error, where the rig fails or the drive hangs.
 */
int recheck_findings(struct reader *reader, const struct ledger *ledger,
		     const struct schedule *schedules,
		     struct findings *findings, struct err *err);

uint64_t recheck_unstable(const struct findings *findings);

#endif
