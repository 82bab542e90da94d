/* SPDX-License-Identifier: MIT */
/*
 * seen - what the probe was answered, so that the scan judges that as well.
 *
 * The probe reads the first logical block of some slots before the bounds are
 * known. A drive may answer such a first read otherwise than the scan's; then
 * both answers are judged, and the one that breaks more counts: trouble never
 * acquits (P9). Bounded by SEEN_SLOTS_MAX.
 *
 * Filled by one thread, before the scan; then each slot by one thread at a
 * time.
 */
#ifndef VERIFIER_SEEN_H
#define VERIFIER_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verifier/judge.h"

struct err;
struct seen;
struct seen_answer;

#define SEEN_SLOTS_MAX 65536

/* For SLOTS slots at most; BLOCK_ATOMS: atoms of a logical block. */
struct seen *seen_new(uint64_t slots, size_t block_atoms, struct err *err);
void seen_free(struct seen *seen);

/* A place for the answer about SLOT; NULL where it was asked for already. There
 * must be room. */
struct seen_answer *seen_add(struct seen *seen, uint64_t slot);
uint64_t seen_slot(const struct seen_answer *answer);

/* The answer: block_atoms atoms, or why they could not be read. An answer that
 * is never taken says nothing. */
void seen_take(const struct seen *seen, struct seen_answer *answer,
	       const enum record_state *states, const struct record *found);
void seen_take_error(struct seen_answer *answer, enum judge_read read);

/* Room for a slot that is judged with another first block. */
struct seen_slot {
	enum record_state *states;
	struct record *found;
	enum judge_read *reads;
	enum verdict *classes;
};

int seen_slot_init(struct seen_slot *slot, size_t atoms, struct err *err);
void seen_slot_free(struct seen_slot *slot);

/*
 * INPUT has been judged: CLASSES, OUTCOME. Where the probe was answered
 * otherwise and that breaks more, they and INPUT become the probe's; INPUT then
 * points into SECOND. True, once for each slot, where the answers differ.
 */
bool seen_judge(struct seen *seen, struct seen_slot *second,
		struct judge_input *input, enum verdict *classes,
		struct judge_outcome *outcome);

#endif
