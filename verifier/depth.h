/* SPDX-License-Identifier: MIT */
/*
 * depth - how deep a loss reaches, and what a log replay would drop.
 *
 * Pure. The depth counts lost, torn and blank writes; the first hole counts
 * every promised write that is not there, since a replay stops at any of them.
 */
#ifndef VERIFIER_DEPTH_H
#define VERIFIER_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "verifier/logpass.h"

/* Numbers behind a hole that are looked at one by one. */
#define DEPTH_SEQUENCES_MAX (1ULL << 24)

struct depth {
	uint64_t writes;  /* newest promised - oldest lost + 1; 0: no loss */
	bool has_flushes; /* known from the log */
	uint64_t flushes;
	bool has_ms; /* known: both were acknowledged in one cycle */
	uint64_t ms;
	bool has_hole;
	uint16_t hole_stream;
	uint64_t hole_sequence;
	uint64_t survivors_behind; /* 0: a lost tail */
	bool is_at_least;          /* DEPTH_SEQUENCES_MAX was reached */
};

/* The deepest of all streams; AGES may be NULL. */
void depth_of_loss(const struct ledger *ledger, const struct tally *tally,
		   const struct logpass_ages *ages, struct depth *depth);

/* The first hole of the lowest stream that has one. */
void depth_of_hole(const struct ledger *ledger,
		   const struct schedule *schedules, const struct tally *tally,
		   struct depth *depth);

#endif
