/* SPDX-License-Identifier: MIT */
/*
 * smallmodel_naive - the promises P1 to P11 in the plainest words, for a few
 * writes: one flag a write instead of ranges, a search through all writes
 * instead of a schedule, and no code of the verifier's.
 */
#ifndef TESTS_FAKE_SMALLMODEL_NAIVE_H
#define TESTS_FAKE_SMALLMODEL_NAIVE_H

#include "tests/fake/smallmodel.h"

enum small_told { SMALL_NOTHING, SMALL_COMPLETED, SMALL_SHADOW, SMALL_DURABLE };

/* What a log says of every write. */
struct small_knowledge {
	bool has_log;
	bool is_cut_asked, is_cut_seen, is_restored; /* in the last cycle */
	bool is_late[SMALL_CYCLES_MAX]; /* its media proof is doubtful (P11) */
	unsigned int cycles;
	uint8_t told[SMALL_WRITES_MAX];           /* enum small_told */
	uint64_t limit[SMALL_STREAMS_MAX];        /* nothing above was issued */
	uint64_t limit_before[SMALL_STREAMS_MAX]; /* by the cycle before */
};

/* The highest W that a write of STREAM may claim now (P5). */
uint64_t smallmodel_naive_w(const struct small_past *past, uint16_t stream);

void smallmodel_naive_know(const struct small_bounds *bounds,
			   const struct small_past *past,
			   const struct small_log *log,
			   struct small_knowledge *knowledge);

/* P9: an old copy, on which some writes cannot have been issued. */
bool smallmodel_naive_is_short(const struct small_past *past,
			       const struct small_knowledge *knowledge);

/* Set of writes whose records can be seen and can exist: they bear witness. */
unsigned int smallmodel_naive_seen(const struct small_bounds *bounds,
				   const struct small_past *past,
				   const struct small_knowledge *knowledge,
				   const struct small_media *media);

void smallmodel_naive_judge(const struct small_bounds *bounds,
			    const struct small_past *past,
			    const struct small_knowledge *knowledge,
			    const struct small_media *media,
			    struct small_outcome *outcome);

/* Can a drive that keeps every promise leave MEDIA after PAST? */
bool smallmodel_naive_is_honest(const struct small_bounds *bounds,
				const struct small_past *past,
				const struct small_media *media);

#endif
