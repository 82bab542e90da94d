/* SPDX-License-Identifier: MIT */
/*
 * alike - do all atoms of a place say the same?
 *
 * Nearly every slot holds one whole write, or nothing at all. What is true of
 * its first atom is then true of each, so that one look judges them all. Pure.
 */
#ifndef VERIFIER_ALIKE_H
#define VERIFIER_ALIKE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/format/record.h"

/*
 * True where COUNT atoms (at least 1) are all blank, or all good and parts of
 * one write in a row: nothing differs but offset and index, and those count up.
 * Other states are never alike.
 */
bool alike_atoms(const enum record_state *states, const struct record *found,
		 size_t count);

#endif
