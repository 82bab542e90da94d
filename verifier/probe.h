/* SPDX-License-Identifier: MIT */
/*
 * probe - reads the places of the numbers in doubt first, so that the media
 * proof (P5) is known before the region is scanned and one scan is enough.
 *
 * It is a short cut and decides nothing: what it misses, the scan finds, and
 * the scan is then repeated. What it is answered is kept, and judged with the
 * scan's answer (seen.h).
 */
#ifndef VERIFIER_PROBE_H
#define VERIFIER_PROBE_H

#include <stdint.h>

#include "common/format/schedule.h"

struct err;
struct evidence;
struct ledger;
struct reader;
struct seen;
struct target_queue;

/* In a row: the stream was not issued further. */
#define PROBE_MISSES_MAX 2048
#define PROBE_DEPTH      32

struct probe_doubt {
	struct reader *reader; /* an error of the rig is left there */
	const struct ledger *ledger;
	const struct schedule *schedules;
	struct evidence *evidence; /* added to */
	struct seen *seen; /* set to what was answered; the caller frees it */
	/* Set to an idle queue of PROBE_DEPTH for the next who needs one, who
	 * closes it; or NULL. */
	struct target_queue *queue;
};

int probe_doubt(struct probe_doubt *doubt, struct err *err);

#endif
