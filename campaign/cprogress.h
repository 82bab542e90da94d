/* SPDX-License-Identifier: MIT */
/*
 * cprogress - what a person sees while a campaign runs: on a terminal the
 * phase of the cycle in a line that is written over again, everywhere a line a
 * finished cycle.
 */
#ifndef CAMPAIGN_CPROGRESS_H
#define CAMPAIGN_CPROGRESS_H

#include <stdint.h>
#include <stdio.h>

#include "campaign/outcome.h"

struct cprogress;

/* TO stays the caller's. NULL without memory. */
struct cprogress *cprogress_new(FILE *to, uint64_t total_cycles);
void cprogress_free(struct cprogress *progress);

void cprogress_phase(struct cprogress *progress, const struct outcome *outcome,
		     const char *what);
void cprogress_cycle(struct cprogress *progress, const struct outcome *outcome);

/* "kept (intact 8123, newer 14, unacknowledged lost 9)", for one line. */
void cprogress_describe(const struct outcome *outcome, char *text, size_t room);

#endif
