/* SPDX-License-Identifier: MIT */
/*
 * smallmodel_ends - from one moment of the cut to every end that can follow:
 * each log that may have survived, times each content that the drive may have.
 * Every end is judged by the verifier's code and by the naive model; where they
 * differ the test fails and prints the history.
 *
 * Three laws hold besides, whatever the classes are called:
 *   - what a drive that keeps its promises can leave accuses nobody;
 *   - with the whole log of a filled region everything else accuses;
 *   - doubt about the log gives no verdict (P9).
 */
#ifndef TESTS_FAKE_SMALLMODEL_ENDS_H
#define TESTS_FAKE_SMALLMODEL_ENDS_H

#include <stdio.h>

#include "tests/fake/smallmodel.h"

struct evidence;

struct small_check {
	struct small_world world;
	unsigned int worlds;
	struct small_set cuts, logs, scenes, ends;
	uint64_t paths, judged, honest, broken, exported;
	FILE *export;       /* NULL: ends are not exported */
	unsigned int share; /* one distinct end in SHARE is exported */
	/* The evidence that the records of the writes in SEEN make up; never
	 * two at once. Evidence that proves the same has one SIGNATURE. */
	const struct evidence *(*prove)(const struct small_check *check,
					const struct small_past *past,
					unsigned int seen, uint64_t *signature);
};

/* PAST is cut here: judges all of its ends, once for each distinct PAST. */
void smallmodel_ends_try(struct small_check *check,
			 const struct small_past *past);

#endif
