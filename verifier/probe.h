/* SPDX-License-Identifier: MIT */
/*
 * probe - reads the places of the numbers in doubt first, so that the media
 * proof (P5) is known before the region is scanned and one scan is enough.
 *
 * It is a short cut and decides nothing: what it misses, the scan finds, and
 * the scan is then repeated.
 */
#ifndef VERIFIER_PROBE_H
#define VERIFIER_PROBE_H

#include <stdint.h>

#include "common/format/schedule.h"

struct err;
struct evidence;
struct ledger;
struct reader;

#define PROBE_SLOTS_MAX 65536 /* of all streams together */
#define PROBE_MISSES_MAX                                    \
	2048 /* in a row: the stream was not issued further \
	      */
#define PROBE_DEPTH 32

/* Adds to EVIDENCE. Read errors are left to the scan. */
int probe_doubt(struct reader *reader, const struct ledger *ledger,
		const struct schedule *schedules, struct evidence *evidence,
		struct err *err);

#endif
