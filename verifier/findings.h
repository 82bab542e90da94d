/* SPDX-License-Identifier: MIT */
/*
 * findings - what a scan adds up to: counts of every verdict, the lowest lost
 * numbers of each stream, and the first findings by offset.
 *
 * Pure. Bounded: FINDINGS_MAX findings are kept, always the ones with the
 * lowest offsets, so that the outcome does not depend on which thread was
 * faster. Each thread has its own tally; tally_merge() adds them up in any
 * order to the same result.
 */
#ifndef VERIFIER_FINDINGS_H
#define VERIFIER_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/run.h"
#include "verifier/judge.h"

#define FINDINGS_MAX 1000

struct finding {
	enum verdict class;
	bool is_information; /* nothing was promised here: breaks nothing */
	bool is_label;       /* a copy of the label, not a slot */
	bool is_unstable;    /* a second read answered something else */
	bool has_found;      /* found_* are filled: an atom of this run */
	bool is_missed;      /* misdirected: its own place misses it too (P7) */
	int stream;          /* of the slot; -1 for slots left over */
	uint64_t slot;
	uint64_t offset_bytes; /* of the first bad atom on the target */
	uint64_t atoms;
	uint64_t expected; /* newest promised sequence; 0: generation 0 */
	uint64_t found;
	uint16_t found_stream;
	uint64_t found_offset; /* misdirected: where it was meant to be */
	uint64_t generations;  /* passes over the slot that it is behind */
	/* From the log, by logpass_ages(); cycle 0: not in the log. */
	uint32_t cycle;
	uint64_t flush;
	uint64_t flush_index; /* counts the stream's flushes over all cycles */
	uint64_t acknowledged_ns;
};

struct tally_stream {
	uint64_t missing;        /* slots whose promised write is not there */
	uint64_t missing_lowest; /* its lowest number; 0: none */
	uint64_t lost_oldest;    /* of lost, torn and blank; 0: none */
};

struct tally {
	uint64_t atoms[VERDICT_COUNT];
	uint64_t writes[VERDICT_COUNT];      /* slots with such an atom */
	uint64_t information[VERDICT_COUNT]; /* atoms that break nothing */
	uint64_t judged_writes;
	uint64_t completed_lost;
	uint64_t shadow_lost;
	uint64_t capped;   /* slots given up by expect_slot() */
	uint64_t unjudged; /* atoms that were not asked for often enough (P9) */
	bool has_claimed;  /* writes of the run whose claim the run is (P9) */
	bool has_bad;
	uint64_t first_bad, last_bad; /* byte addresses */
	bool has_impossible;
	struct finding impossible; /* the one with the lowest offset */
	struct tally_stream streams[RUN_STREAMS_MAX];
};

struct findings {
	size_t count;
	uint64_t total; /* offered, kept or not */
	struct finding kept[FINDINGS_MAX];
};

/* Every judged slot goes through here, once. */
void tally_slot(struct tally *tally, const struct judge_input *input,
		const enum verdict *classes,
		const struct judge_outcome *outcome);
/* Something in this slot must be told; FINDINGS may be shared, so that only
 * then a lock is needed for findings_slot(). */
bool findings_has_news(const enum verdict *classes, size_t count);
void findings_slot(struct findings *findings, const struct judge_input *input,
		   const enum verdict *classes);

void tally_finding(struct tally *tally, const struct finding *finding);
void findings_add(struct findings *findings, const struct finding *finding);

void tally_merge(struct tally *to, const struct tally *from);

/* What an earlier scan found (sorted) and TO does not have stands all the same:
 * it is added as unstable, and counted in TALLY. Before findings_sort() of TO.
 */
void findings_join(struct findings *to, struct tally *tally,
		   const struct findings *earlier,
		   const struct tally *earlier_tally);

/* By offset; call once, after the last addition. */
void findings_sort(struct findings *findings);

/* P7: marks every misdirected finding whose own place misses it. Sorted. */
void findings_link(struct findings *findings, const struct run *run);

/* Not one block could be read: what was unreadable or hung is gone. */
void findings_all_gone(struct findings *findings, struct tally *tally);

uint64_t tally_broken_atoms(const struct tally *tally);

#endif
