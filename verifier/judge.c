/* SPDX-License-Identifier: MIT */
#include "verifier/judge.h"

#include <assert.h>
#include <stdlib.h>

#include "common/format/ledger.h"

static const struct {
	const char *word, *rule, *meaning;
	bool is_broken;
} verdicts[VERDICT_COUNT] = {
#define VERDICT(symbol, word, is_broken, rule, meaning) \
	[VERDICT_##symbol] = {word, rule, meaning, is_broken},
#include "verifier/verdicts.def"
#undef VERDICT
};

const char *verdict_word(enum verdict verdict)
{
	return verdicts[verdict].word;
}

const char *verdict_rule(enum verdict verdict)
{
	return verdicts[verdict].rule;
}

const char *verdict_meaning(enum verdict verdict)
{
	return verdicts[verdict].meaning;
}

bool verdict_is_broken(enum verdict verdict)
{
	return verdicts[verdict].is_broken;
}

static uint64_t atom_offset(const struct judge_input *input, size_t atom)
{
	return run_slot_offset(ledger_run(input->ledger), input->slot) +
	       (uint64_t)atom * RUN_ATOM_BYTES;
}

/* P9: a record that dates itself otherwise than the log does was written under
 * a log that had gone on from here: this one is a shorter copy, taken up again.
 */
static bool fits_cycle(const struct judge_input *input, const struct record *r)
{
	const struct ackbody_cycle *cycle = ledger_cycle(input->ledger);
	uint64_t first;

	if (cycle == NULL)
		return true;
	first = cycle->first_sequence[r->stream];
	if (r->sequence < first)
		return r->cycle < cycle->cycle;
	return r->cycle == cycle->cycle && r->first_sequence == first;
}

/* P9: no number above the limit can have been issued, nor by a stream that the
 * run does not have, nor with a media proof that reaches itself. */
static bool can_exist(const struct judge_input *input, const struct record *r)
{
	const struct run *run = ledger_run(input->ledger);

	if (r->stream >= run->streams)
		return false;
	if (r->sequence == 0)
		return run->is_filled;
	return r->sequence <= ledger_limit(input->ledger, r->stream) &&
	       r->durable_sequence < r->sequence && fits_cycle(input, r);
}

/* The atom before is a part of the same write and has been found possible. */
static bool continues(const struct judge_input *input,
		      const enum verdict *classes, size_t atom)
{
	const struct record *r = &input->found[atom];

	if (atom == 0 || input->states[atom - 1] != RECORD_GOOD)
		return false;
	return r[-1].sequence == r->sequence && r[-1].stream == r->stream &&
	       (classes[atom - 1] == VERDICT_INTACT ||
		classes[atom - 1] == VERDICT_NEWER ||
		classes[atom - 1] == VERDICT_LOST);
}

/* P9: the writer sends this number to this place and to no other. */
static bool belongs_here(const struct judge_input *input,
			 const enum verdict *classes, size_t atom)
{
	const struct record *r = &input->found[atom];
	const struct promise *promise = input->promise;

	if (r->sequence == 0)
		return true;
	if (promise->stream < 0 || r->stream != promise->stream)
		return false;
	if (r->index != atom || r->atoms != input->count)
		return false;
	/* expect_slot() has found this number by way of the slot. */
	if (r->sequence == promise->durable_sequence)
		return true;
	return continues(input, classes, atom) ||
	       schedule_slot(&input->schedules[r->stream], r->sequence) ==
		       promise->stream_slot;
}

static enum verdict judge_good(const struct judge_input *input,
			       const enum verdict *classes, size_t atom)
{
	const struct record *r = &input->found[atom];
	const struct promise *promise = input->promise;

	if (!can_exist(input, r))
		return VERDICT_IMPOSSIBLE;
	if (r->offset_bytes != atom_offset(input, atom))
		return VERDICT_MISDIRECTED; /* P7 */
	if (!belongs_here(input, classes, atom))
		return VERDICT_IMPOSSIBLE;
	if (!promise->has_promise)
		return VERDICT_NEWER;
	if (r->sequence < promise->durable_sequence)
		return VERDICT_LOST; /* P4, P6 */
	return r->sequence == promise->durable_sequence ? VERDICT_INTACT
							: VERDICT_NEWER;
}

static enum verdict judge_read_error(enum judge_read read)
{
	switch (read) {
	case JUDGE_READ_UNREADABLE:
		return VERDICT_UNREADABLE;
	case JUDGE_READ_HUNG:
		return VERDICT_HUNG;
	case JUDGE_READ_GONE:
		return VERDICT_GONE;
	case JUDGE_READ_UNJUDGED: /* P9: tally_slot() counts it apart */
		return VERDICT_UNPROMISED;
	case JUDGE_READ_OK:
		break;
	}
	abort();
}

static bool is_read(const struct judge_input *input, size_t atom)
{
	return input->reads == NULL || input->reads[atom] == JUDGE_READ_OK;
}

/* CLASSES holds what is known of the atoms before. */
static enum verdict judge_atom(const struct judge_input *input,
			       const enum verdict *classes, size_t atom)
{
	bool has_promise = input->promise->has_promise;

	if (!is_read(input, atom))
		return judge_read_error(input->reads[atom]);
	switch (input->states[atom]) {
	case RECORD_GOOD:
		return judge_good(input, classes, atom);
	case RECORD_FOREIGN:
		return has_promise ? VERDICT_FOREIGN : VERDICT_UNPROMISED;
	case RECORD_BLANK:
		return has_promise ? VERDICT_BLANK : VERDICT_UNPROMISED;
	case RECORD_CORRUPT:
		return has_promise ? VERDICT_CORRUPT : VERDICT_UNPROMISED;
	}
	abort();
}

/* The rest of a promised write of which a part is there is torn, not lost. */
static void tell_torn(const struct judge_input *input, enum verdict *classes)
{
	size_t atom;
	bool has_part = false;

	if (input->promise->durable_sequence == 0)
		return;
	for (atom = 0; atom < input->count; atom++)
		if (classes[atom] == VERDICT_INTACT)
			has_part = true;
	for (atom = 0; has_part && atom < input->count; atom++)
		if (classes[atom] == VERDICT_LOST)
			classes[atom] = VERDICT_TORN;
}

static bool is_version(enum verdict verdict)
{
	return verdict == VERDICT_INTACT || verdict == VERDICT_NEWER;
}

/*
 * P8: is the logical block ATOM ... END a mix of versions that would each be
 * acceptable? Content that nobody promised is a version as well: a write that
 * replaced only a part of the block has torn it.
 */
static bool is_mixed(const struct judge_input *input,
		     const enum verdict *classes, size_t atom, size_t end)
{
	const struct record *version = NULL;
	bool has_other = false;

	for (; atom < end; atom++) {
		if (classes[atom] == VERDICT_UNPROMISED)
			has_other = true;
		if (!is_version(classes[atom]))
			continue;
		if (version == NULL)
			version = &input->found[atom];
		if (version->sequence != input->found[atom].sequence)
			has_other = true;
	}
	return version != NULL && has_other;
}

static void tell_mixed(const struct judge_input *input, enum verdict *classes)
{
	const struct run *run = ledger_run(input->ledger);
	size_t step = run->logical_block_bytes / RUN_ATOM_BYTES;
	size_t start, atom;

	for (start = 0; start < input->count; start += step) {
		size_t end = start + step;

		if (end > input->count)
			end = input->count;
		if (!is_mixed(input, classes, start, end))
			continue;
		for (atom = start; atom < end; atom++)
			if (is_version(classes[atom]) ||
			    classes[atom] == VERDICT_UNPROMISED)
				classes[atom] = VERDICT_CORRUPT;
	}
}

/* No atom of SEQUENCE or a newer write is here, and every atom was read. */
static bool is_missing(const struct judge_input *input, uint64_t sequence)
{
	size_t atom;

	if (sequence == 0)
		return false;
	for (atom = 0; atom < input->count; atom++) {
		if (!is_read(input, atom))
			return false;
		if (input->states[atom] == RECORD_GOOD &&
		    input->found[atom].offset_bytes ==
			    atom_offset(input, atom) &&
		    input->found[atom].sequence >= sequence)
			return false;
	}
	return true;
}

static void judge_each(const struct judge_input *input, enum verdict *classes,
		       struct judge_outcome *outcome)
{
	const struct promise *promise = input->promise;
	size_t atom;

	for (atom = 0; atom < input->count; atom++)
		classes[atom] = judge_atom(input, classes, atom);
	tell_torn(input, classes);
	tell_mixed(input, classes);
	for (atom = 0; atom < input->count; atom++) {
		outcome->is_broken |= judge_breaks(promise, classes[atom]);
		outcome->is_impossible |= classes[atom] == VERDICT_IMPOSSIBLE;
		outcome->has_newer |= classes[atom] == VERDICT_NEWER;
	}
}

/*
 * The same in one look, where all atoms are alike: none is a part of what the
 * others are not, so nothing is torn or mixed. False, and nothing done, where
 * there is anything to tell.
 */
static bool judge_alike(const struct judge_input *input, enum verdict *classes,
			struct judge_outcome *outcome)
{
	enum verdict verdict = judge_atom(input, classes, 0);
	size_t atom;

	if (!is_version(verdict) && verdict != VERDICT_UNPROMISED)
		return false;
	for (atom = 0; atom < input->count; atom++)
		classes[atom] = verdict;
	outcome->is_alike = true;
	outcome->has_newer = verdict == VERDICT_NEWER;
	return true;
}

void judge_slot(const struct judge_input *input, enum verdict *classes,
		struct judge_outcome *outcome)
{
	const struct promise *promise = input->promise;

	assert(input->count > 0);
	*outcome = (struct judge_outcome){0};
	if (!input->is_alike || !judge_alike(input, classes, outcome))
		judge_each(input, classes, outcome);
	outcome->is_completed_lost =
		is_missing(input, promise->completed_sequence);
	outcome->is_shadow_lost = is_missing(input, promise->shadow_sequence);
}

bool judge_breaks(const struct promise *promise, enum verdict verdict)
{
	if (!verdict_is_broken(verdict))
		return false;
	return promise->has_promise || verdict == VERDICT_CORRUPT;
}

uint64_t judge_generations(const struct schedule *schedule, uint64_t expected,
			   uint64_t found)
{
	uint64_t newest;

	if (expected == 0 || found >= expected)
		return 0;
	newest = (expected - 1) / schedule->slots;
	if (found == 0)
		return newest + 1;
	return newest - (found - 1) / schedule->slots;
}
