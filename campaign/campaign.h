/* SPDX-License-Identifier: MIT */
/*
 * campaign - all cycles one after another, in a folder of their own.
 *
 * The folder holds everything: a copy of the settings, the journal, the ack
 * logs, what writer and verifier said in each cycle, and the summary. What is
 * complete in the journal is never done again.
 */
#ifndef CAMPAIGN_CAMPAIGN_H
#define CAMPAIGN_CAMPAIGN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "campaign/csummary.h"

struct err;
struct campaign;

struct campaign_wishes {
	const char *dir;
	bool has_seed, has_cycles;
	uint64_t seed;
	uint64_t cycles; /* of the test arm, instead of the file's */
};

/* A new campaign from the settings in INI; the folder must not hold one. */
struct campaign *campaign_create(const char *ini,
				 const struct campaign_wishes *wishes,
				 struct err *err);

/* One that is in DIR already: to go on with it, or only to read it. */
struct campaign *campaign_load(const char *dir, bool goes_on, struct err *err);

void campaign_free(struct campaign *campaign);

/* "seed 5eed, 15 cycles (10 test, 5 control), in demo.campaign" */
void campaign_describe(const struct campaign *campaign, char *text,
		       size_t room);

/*
 * Runs what is left, until the end, a reason to stop, or *STOP. The reason is
 * part of the summary; -1 only where not even that could be kept.
 */
int campaign_run(struct campaign *campaign, FILE *progress_to,
		 const volatile sig_atomic_t *stop, struct err *err);

/* What there is to say; points into CAMPAIGN. */
struct csummary campaign_summary(const struct campaign *campaign);

/* Writes summary.txt and summary.json. */
int campaign_write_summary(const struct campaign *campaign, struct err *err);

#endif
