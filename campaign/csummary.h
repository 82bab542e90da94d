/* SPDX-License-Identifier: MIT */
/*
 * csummary - what a campaign has shown, as text and as JSON.
 *
 * Both forms say the same and are made from the same facts, so `report` can
 * print again from the journal what `run` printed.
 */
#ifndef CAMPAIGN_CSUMMARY_H
#define CAMPAIGN_CSUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "campaign/csettings.h"
#include "campaign/outcome.h"
#include "campaign/tally.h"

struct csummary {
	const struct csettings *settings;
	const char *dir;
	const char *log_dir;
	uint64_t seed;
	uint64_t planned_cycles;
	const struct outcome *outcomes;
	uint64_t count;
	bool is_complete;
	const char *stopped; /* why not; "" */
};

enum tally_verdict csummary_verdict(const struct csummary *summary);

void csummary_print(const struct csummary *summary, FILE *to);

/* A new object, NULL without memory. */
json_t *csummary_encode(const struct csummary *summary);

#endif
