/* SPDX-License-Identifier: MIT */
/*
 * logbounds - may a log that was condensed (common/ackfile/condense.h) be
 * judged by? Pure.
 *
 * Two things that a log's own file would show are asked of its bounds: that
 * they are all there, and that the writer had ended when they were taken, since
 * nobody sees here how the log grows (P9).
 */
#ifndef VERIFIER_LOGBOUNDS_H
#define VERIFIER_LOGBOUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct ackbody;
struct ledger;

struct logbounds {
	uint64_t bodies;
	uint64_t issued; /* streams that have stopped in this cycle, as bits */
	bool is_condensed, is_whole;
};

void logbounds_take(struct logbounds *bounds, const struct ackbody *body);

/* Behind the last body; LEDGER has taken all of them. 0 for any other log. */
int logbounds_check(const struct logbounds *bounds, const struct ledger *ledger,
		    struct err *err);

#endif
