/* SPDX-License-Identifier: MIT */
/*
 * verify - one verification from the log and the drive to the result.
 *
 *   load log -> know the drive again -> probe the doubt -> scan and judge
 *        -> more was proved by the media? scan again -> read findings again
 *        -> ages and depth -> conclude
 *
 * It only puts the parts in order; each of them decides for itself.
 */
#ifndef VERIFIER_VERIFY_H
#define VERIFIER_VERIFY_H

#include <stdint.h>

#include "verifier/conclude.h"

struct err;
struct leash;

#define VERIFY_SCANS_MAX 4 /* with growing media proof */

struct verify_options {
	const char *target;
	const char *acklog;    /* NULL: the drive alone */
	uint64_t offset_bytes; /* of the region; only where there is no log */
	unsigned int threads;
	unsigned int timeout_ms; /* of one read */
	/* One line for people, in between; NULL: nobody wants to know. */
	void (*note)(const char *text);
	/* On which calls that may wait are marked; NULL. Closing the drive is
	 * left to the end of the process then. */
	struct leash *leash;
};

/*
 * 0: RESULT holds a verdict. -1: none can be given, ERR says why; what is known
 * (the run) is in RESULT all the same.
 */
int verify_run(const struct verify_options *options, struct result *result,
	       struct err *err);

#endif
