/* SPDX-License-Identifier: MIT */
#include "verifier/alike.h"

#include <assert.h>

static bool are_all(const enum record_state *states, size_t count,
		    enum record_state state)
{
	unsigned int others = 0;
	size_t i;

	for (i = 0; i < count; i++)
		others |= states[i] ^ state;
	return others == 0;
}

/* The fields that no atom of a write has of its own; 0: the same. The run's id
 * is that of every good atom. */
static uint64_t differs(const struct record *a, const struct record *b)
{
	return (a->sequence ^ b->sequence) |
	       (a->first_sequence ^ b->first_sequence) |
	       (a->durable_sequence ^ b->durable_sequence) |
	       (a->issued_ns ^ b->issued_ns) | (a->cycle ^ b->cycle) |
	       (uint64_t)(a->stream ^ b->stream) |
	       (uint64_t)(a->atoms ^ b->atoms);
}

bool alike_atoms(const enum record_state *states, const struct record *found,
		 size_t count)
{
	/* Each atom of generation 0 is a write of its own. */
	size_t step, i;

	assert(count > 0);
	if (!are_all(states, count, states[0]))
		return false;
	if (states[0] != RECORD_GOOD)
		return states[0] == RECORD_BLANK;
	step = found[0].sequence != 0;
	for (i = 1; i < count; i++) {
		const struct record *record = &found[i];

		if ((differs(record, found) |
		     (record->offset_bytes ^
		      (found->offset_bytes + i * RUN_ATOM_BYTES)) |
		     (record->index ^ (found->index + i * step))) != 0)
			return false;
	}
	return true;
}
