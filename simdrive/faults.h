/* SPDX-License-Identifier: MIT */
/*
 * faults - which lies a drive tells, and when: the list of faults.def and the
 * decisions that are made while the power is on. Pure. What is done to the
 * media at a cut is in damage.h.
 */
#ifndef SIMDRIVE_FAULTS_H
#define SIMDRIVE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define FAULTS_MAX 4 /* told at once by one drive */

enum fault_kind {
#define FAULT(symbol, name, does, arg, flush, fua, also) FAULT_##symbol,
#include "simdrive/faults.def"
#undef FAULT
	FAULT_KINDS /* how many there are */
};

struct fault_row {
	const char *name, *does;
	uint64_t arg; /* where none is given; 0: takes none */
	const char *earns_flush, *earns_fua, *also; /* words of faults.def */
};

const struct fault_row *faults_row(enum fault_kind kind);

struct fault {
	enum fault_kind kind;
	uint64_t arg;
};

struct faults {
	unsigned int count;
	struct fault list[FAULTS_MAX];
	uint64_t every; /* bites at every N-th cut only; 0 and 1: at all */
	uint64_t first_cut, last_cut; /* and only from, up to this one; 0: at
					 all */
};

/* Adds what "NAME" or "NAME=ARG" says; "none" adds nothing. */
int faults_add(struct faults *faults, const char *text, struct err *err);

/* The cuts at which they bite: "A", "A-B" or "A-", from 1. */
int faults_set_cuts(struct faults *faults, const char *text, struct err *err);

/* The fault of that kind, or NULL where the drive does not have it. */
const struct fault *faults_find(const struct faults *faults,
				enum fault_kind kind);

/* Do they bite in the power-on period that follows after CUTS cuts? */
bool faults_bite(const struct faults *faults, uint64_t cuts);

enum fault_flush {
	FAULT_FLUSH_HONEST, /* everything to the media */
	FAULT_FLUSH_IGNORE, /* nothing is done */
	FAULT_FLUSH_LATE,   /* everything, ARG ms later */
	FAULT_FLUSH_FORGET, /* nothing, and later flushes skip it too */
	FAULT_FLUSH_HALF,   /* the newer half; the rest is forgotten */
};

/* What a biting drive does at its FLUSH_NUMBER-th FLUSH (from 1). */
enum fault_flush faults_flush(const struct faults *faults,
			      uint64_t flush_number, uint64_t *arg);

/* Does a biting drive keep FUA writes in its cache? */
bool faults_cache_fua(const struct faults *faults);

/* How many bytes of its cache a biting drive can save at a cut. */
uint64_t faults_saved_bytes(const struct faults *faults);

#endif
