/* SPDX-License-Identifier: MIT */
#include "verifier/seen.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/ledger.h"
#include "verifier/changes.h"

#define NONE UINT32_MAX
/* One bit for each remainder of slots: a scan goes through them in order. */
#define MARKS     (1ULL << 20)
#define MARK_BITS 64

struct seen_answer {
	uint64_t slot;
	uint64_t hash;
	struct record first; /* of its first atom, where that is good */
	enum record_state state;
	enum judge_read read;
	bool is_taken;
	bool is_told; /* as different */
};

/* The slot is here, too, so that a search stays within the table. */
struct place {
	uint64_t slot;
	uint32_t index; /* of its answer, or NONE */
};

struct seen {
	struct seen_answer *answers;
	struct place *table;
	uint64_t *marks; /* a slot that has none is not in the table */
	size_t room, count, entries;
	size_t block_atoms;
};

struct seen *seen_new(uint64_t slots, size_t block_atoms, struct err *err)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	size_t i;

	if (seen == NULL)
		goto fail;
	seen->room = slots < SEEN_SLOTS_MAX ? (size_t)slots : SEEN_SLOTS_MAX;
	seen->block_atoms = block_atoms;
	for (seen->entries = 16; seen->entries < 2 * seen->room;)
		seen->entries *= 2;
	seen->answers = calloc(seen->room + 1, sizeof(*seen->answers));
	seen->table = calloc(seen->entries, sizeof(*seen->table));
	seen->marks = calloc(MARKS / MARK_BITS, sizeof(*seen->marks));
	if (seen->answers == NULL || seen->table == NULL || seen->marks == NULL)
		goto fail;
	for (i = 0; i < seen->entries; i++)
		seen->table[i].index = NONE;
	return seen;
fail:
	err_sys(err, errno, "cannot keep what the drive answered");
	seen_free(seen);
	return NULL;
}

void seen_free(struct seen *seen)
{
	if (seen == NULL)
		return;
	free(seen->answers);
	free(seen->table);
	free(seen->marks);
	free(seen);
}

/* Where SLOT stands in the table, or would. */
static size_t place_of(const struct seen *seen, uint64_t slot)
{
	size_t at = (size_t)prng_mix(slot) & (seen->entries - 1);

	while (seen->table[at].index != NONE && seen->table[at].slot != slot)
		at = (at + 1) & (seen->entries - 1);
	return at;
}

static uint64_t *mark_of(const struct seen *seen, uint64_t slot)
{
	return &seen->marks[slot % MARKS / MARK_BITS];
}

/* NULL: the probe did not ask for SLOT. */
static struct seen_answer *find(const struct seen *seen, uint64_t slot)
{
	uint32_t index;

	if ((*mark_of(seen, slot) >> slot % MARK_BITS & 1) == 0)
		return NULL;
	index = seen->table[place_of(seen, slot)].index;
	return index == NONE ? NULL : &seen->answers[index];
}

struct seen_answer *seen_add(struct seen *seen, uint64_t slot)
{
	size_t at = place_of(seen, slot);
	struct seen_answer *answer;

	if (seen->table[at].index != NONE)
		return NULL;
	assert(seen->count < seen->room);
	seen->table[at] = (struct place){slot, (uint32_t)seen->count};
	*mark_of(seen, slot) |= 1ULL << slot % MARK_BITS;
	answer = &seen->answers[seen->count++];
	answer->slot = slot;
	return answer;
}

uint64_t seen_slot(const struct seen_answer *answer)
{
	return answer->slot;
}

/* Atom I of the version of which FIRST is the first atom. */
static struct record shifted(const struct record *first, size_t i)
{
	struct record record = *first;

	record.offset_bytes += i * RUN_ATOM_BYTES;
	if (first->sequence != 0)
		record.index = (uint16_t)(first->index + i);
	return record;
}

static bool is_of(const struct record *first, size_t i,
		  const struct record *record)
{
	struct record wanted = shifted(first, i);
	const enum record_state state = RECORD_GOOD;

	return changes_hash(&state, &wanted, NULL, 1) ==
	       changes_hash(&state, record, NULL, 1);
}

/* Of what the atoms are all alike; a block that is a mix is corrupt (P8). */
static enum record_state state_of(const enum record_state *states,
				  const struct record *found, size_t count)
{
	size_t i;

	for (i = 1; i < count; i++)
		if (states[i] != states[0] ||
		    (states[0] == RECORD_GOOD && !is_of(found, i, &found[i])))
			return RECORD_CORRUPT;
	return states[0];
}

void seen_take(const struct seen *seen, struct seen_answer *answer,
	       const enum record_state *states, const struct record *found)
{
	answer->is_taken = true;
	answer->hash = changes_hash(states, found, NULL, seen->block_atoms);
	answer->state = state_of(states, found, seen->block_atoms);
	if (answer->state == RECORD_GOOD)
		answer->first = found[0];
}

void seen_take_error(struct seen_answer *answer, enum judge_read read)
{
	answer->is_taken = true;
	answer->read = read;
}

int seen_slot_init(struct seen_slot *slot, size_t atoms, struct err *err)
{
	slot->states = calloc(atoms, sizeof(*slot->states));
	slot->found = calloc(atoms, sizeof(*slot->found));
	slot->reads = calloc(atoms, sizeof(*slot->reads));
	slot->classes = calloc(atoms, sizeof(*slot->classes));
	if (slot->states == NULL || slot->found == NULL ||
	    slot->reads == NULL || slot->classes == NULL)
		return err_sys(err, ENOMEM, "cannot start a scanning thread");
	return 0;
}

void seen_slot_free(struct seen_slot *slot)
{
	free(slot->states);
	free(slot->found);
	free(slot->reads);
	free(slot->classes);
}

/* P9: the scan has nothing to set against the probe's answer. */
static bool is_unasked(const struct seen *seen, const struct judge_input *input)
{
	size_t i;

	for (i = 0; input->reads != NULL && i < seen->block_atoms; i++)
		if (input->reads[i] == JUDGE_READ_UNJUDGED)
			return true;
	return false;
}

/* Was the scan answered otherwise about the first logical block? */
static bool differs(const struct seen *seen, const struct seen_answer *answer,
		    const struct judge_input *input)
{
	size_t i;

	if (answer->read == JUDGE_READ_OK)
		return answer->hash != changes_hash(input->states, input->found,
						    input->reads,
						    seen->block_atoms);
	for (i = 0; i < seen->block_atoms; i++)
		if (input->reads == NULL || input->reads[i] != answer->read)
			return true;
	return false;
}

/* The scan's slot, with the probe's first logical block laid over it. */
static void lay(const struct seen *seen, const struct seen_answer *answer,
		const struct judge_input *input, struct seen_slot *to)
{
	size_t i;

	for (i = 0; i < input->count; i++) {
		to->states[i] = input->states[i];
		to->found[i] = input->found[i];
		to->reads[i] =
			input->reads == NULL ? JUDGE_READ_OK : input->reads[i];
	}
	for (i = 0; i < seen->block_atoms; i++) {
		to->states[i] = answer->state;
		to->reads[i] = answer->read;
		if (answer->state == RECORD_GOOD)
			to->found[i] = shifted(&answer->first, i);
	}
}

/* How bad it is. What cannot exist is doubt about the log, which outweighs
 * all. */
static size_t weight(const struct judge_input *input,
		     const enum verdict *classes,
		     const struct judge_outcome *outcome)
{
	size_t broken = 0, atom;

	if (outcome->is_impossible)
		return SIZE_MAX;
	for (atom = 0; atom < input->count; atom++)
		broken += judge_breaks(input->promise, classes[atom]);
	return broken;
}

/* P9: a first read that failed or came late, where the next one is answered:
 * a link that was reset does that, too. It is a change, and no finding; nor is
 * it one where nobody asked again. */
static bool has_failed_only_then(const struct seen_answer *answer,
				 const struct judge_input *now)
{
	return answer->read != JUDGE_READ_OK &&
	       (now->reads == NULL || now->reads[0] == JUDGE_READ_OK ||
		now->reads[0] == JUDGE_READ_UNJUDGED);
}

bool seen_judge(struct seen *seen, struct seen_slot *second,
		struct judge_input *input, enum verdict *classes,
		struct judge_outcome *outcome)
{
	struct seen_answer *answer = find(seen, input->slot);
	struct judge_input other = *input;
	struct judge_outcome outcome_then;
	bool is_told, is_change;

	if (answer == NULL || !answer->is_taken ||
	    !differs(seen, answer, input))
		return false;
	is_change = !is_unasked(seen, input);
	lay(seen, answer, input, second);
	other.states = second->states;
	other.found = second->found;
	other.reads = second->reads;
	other.is_alike = false;
	judge_slot(&other, second->classes, &outcome_then);
	if (!has_failed_only_then(answer, input) &&
	    weight(&other, second->classes, &outcome_then) >
		    weight(input, classes, outcome)) {
		*input = other;
		*outcome = outcome_then;
		memcpy(classes, second->classes,
		       input->count * sizeof(*classes));
	}
	is_told = answer->is_told;
	answer->is_told |= is_change;
	return is_change && !is_told;
}
