/* SPDX-License-Identifier: MIT */
/*
 * admit - is this the drive and the region that the log speaks of? (P10)
 *
 * A drive is known again by its identity (serial number, WWN, ...) and by the
 * label in its region. What cannot be known again is not judged (P9). The
 * decision is pure; reading the labels is not.
 */
#ifndef VERIFIER_ADMIT_H
#define VERIFIER_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/run.h"
#include "verifier/findings.h"

struct err;
struct reader;
struct target;

enum admit_copy {
	ADMIT_COPY_GOOD,  /* a label; copies[].run is filled */
	ADMIT_COPY_BLANK, /* 00 or FF, no label */
	ADMIT_COPY_DAMAGED,
	ADMIT_COPY_UNREADABLE,
	ADMIT_COPY_HUNG,
	ADMIT_COPY_GONE,
	ADMIT_COPY_UNJUDGED, /* P9: not asked for, or not often enough */
};

struct admit_label {
	bool is_asked; /* read already: the first answer is the one judged */
	enum admit_copy state;
	struct run run;
};

struct admit_drive { /* what is known of the drive that was opened */
	const char *name;
	const char *identity; /* "" unknown */
	uint64_t size_bytes;
	uint32_t logical_block_bytes;
	/* Others have this identity, too: it proves nothing. */
	bool is_shared;
	bool was_labelled; /* the log says that the labels had been flushed */
};

/*
 * 0: RUN's region on DRIVE may be judged. -1: no verdict, err says why. RUN is
 * the log's, or where there is no log the label's own.
 *
 * P9: one label of another run, or its claim, says that the region was begun
 * for that run since; or the drive brought it back, which cannot be told apart.
 * The claim of RUN itself is older than its labels.
 */
int admit_decide(const struct run *run, const struct admit_drive *drive,
		 const struct admit_label labels[2], struct err *err);

/* The drive and the geometry alone; asked before the labels are read. */
int admit_check_drive(const struct run *run, const struct admit_drive *drive,
		      struct err *err);

/* Reads the copies of RUN's label that were not asked for yet. -1: the rig
 * failed. */
int admit_read_labels(struct reader *reader, const struct run *run,
		      struct admit_label labels[2], struct err *err);

/*
 * P9: asks the second question (reader.h) to a copy that did not answer the
 * first; what it answers now takes the place of its silence. Where the rig has
 * failed nobody can ask, and it is unjudged. -1: as above.
 */
int admit_ask_again(struct reader *reader, const struct run *run,
		    struct admit_label labels[2], struct err *err);

/* For a drive without a log: the run of the label whose region begins at
 * OFFSET_BYTES, by its first copy or where that is damaged by its second. What
 * was read of either stays in LABELS. */
int admit_find_run(struct reader *reader, uint64_t offset_bytes,
		   struct run *run, struct admit_label labels[2],
		   struct err *err);

/* What is wrong with copy COPY as a finding; false where nothing is, or nothing
 * is known. Right only where admit_decide() has let LABEL pass. */
bool admit_finding(const struct run *run, const struct admit_label *label,
		   unsigned int copy, struct finding *finding);

/* RUN or a label of it says that its flushes may not have been sent (P9). */
bool admit_is_unsent(const struct run *run, const struct admit_label labels[2]);

/* The label could be read at all (right or wrong). */
bool admit_is_read(const struct admit_label *label);

#endif
