/* SPDX-License-Identifier: MIT */
#include "verifier/findings.h"

#include <stdlib.h>

#include "common/format/ledger.h"

/* ---- counts ---- */

static uint64_t lower(uint64_t a, uint64_t b) /* 0 is none */
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

static void note_bad(struct tally *tally, uint64_t first, uint64_t last)
{
	if (!tally->has_bad || first < tally->first_bad)
		tally->first_bad = first;
	if (!tally->has_bad || last > tally->last_bad)
		tally->last_bad = last;
	tally->has_bad = true;
}

static uint64_t offset_of(const struct judge_input *input, size_t atom)
{
	return run_slot_offset(ledger_run(input->ledger), input->slot) +
	       (uint64_t)atom * RUN_ATOM_BYTES;
}

static void note_missing(struct tally *tally, const struct promise *promise,
			 bool is_lost)
{
	struct tally_stream *stream;

	if (promise->stream < 0 || promise->durable_sequence == 0)
		return;
	stream = &tally->streams[promise->stream];
	stream->missing++;
	stream->missing_lowest =
		lower(stream->missing_lowest, promise->durable_sequence);
	if (is_lost)
		stream->lost_oldest =
			lower(stream->lost_oldest, promise->durable_sequence);
}

/* A slot counts once for each way in which it is broken, and as intact or
 * newer only where nothing is wrong with it. */
static void count_writes(struct tally *tally, const struct promise *promise,
			 const bool *has, bool is_broken)
{
	size_t verdict;

	for (verdict = 0; verdict < VERDICT_COUNT; verdict++) {
		if (!has[verdict])
			continue;
		if (verdict == VERDICT_INTACT &&
		    (is_broken || has[VERDICT_NEWER]))
			continue;
		if (verdict == VERDICT_NEWER && is_broken)
			continue;
		if (verdict_is_broken((enum verdict)verdict) &&
		    !judge_breaks(promise, (enum verdict)verdict))
			continue;
		tally->writes[verdict]++;
	}
}

static void note_impossible(struct tally *tally, const struct finding *finding)
{
	if (!tally->has_impossible ||
	    finding->offset_bytes < tally->impossible.offset_bytes)
		tally->impossible = *finding;
	tally->has_impossible = true;
}

static struct finding finding_of(const struct judge_input *input,
				 enum verdict verdict, size_t atom)
{
	const struct promise *promise = input->promise;
	const struct record *record = &input->found[atom];
	struct finding finding = {
		.class = verdict,
		.is_information = !judge_breaks(promise, verdict),
		.stream = promise->stream,
		.slot = input->slot,
		.offset_bytes = offset_of(input, atom),
		.atoms = 1,
		.expected = promise->durable_sequence,
	};

	if (input->reads != NULL && input->reads[atom] != JUDGE_READ_OK)
		return finding;
	if (input->states[atom] != RECORD_GOOD)
		return finding;
	finding.has_found = true;
	finding.found = record->sequence;
	finding.found_stream = record->stream;
	finding.found_offset = record->offset_bytes;
	if (promise->stream >= 0 &&
	    (verdict == VERDICT_LOST || verdict == VERDICT_TORN))
		finding.generations =
			judge_generations(&input->schedules[promise->stream],
					  finding.expected, finding.found);
	return finding;
}

/* Nothing to be told: most slots of most drives. */
static bool is_calm(const struct judge_input *input,
		    const struct judge_outcome *outcome)
{
	return input->promise->has_promise && !outcome->is_broken &&
	       !outcome->is_impossible;
}

static bool is_unjudged(const struct judge_input *input, size_t atom)
{
	return input->reads != NULL &&
	       input->reads[atom] == JUDGE_READ_UNJUDGED;
}

static void tally_each(struct tally *tally, const struct judge_input *input,
		       const enum verdict *classes,
		       const struct judge_outcome *outcome)
{
	bool has[VERDICT_COUNT] = {false};
	bool calm = is_calm(input, outcome);
	size_t atom;

	for (atom = 0; atom < input->count; atom++) {
		enum verdict verdict = classes[atom];
		uint64_t offset;

		if (is_unjudged(input, atom)) {
			tally->unjudged++;
			continue;
		}
		has[verdict] = true;
		if (calm) {
			tally->atoms[verdict]++;
			continue;
		}
		offset = offset_of(input, atom);
		if (judge_breaks(input->promise, verdict)) {
			note_bad(tally, offset, offset + RUN_ATOM_BYTES - 1);
		} else if (verdict_is_broken(verdict)) {
			tally->information[verdict]++;
			continue;
		}
		tally->atoms[verdict]++;
		if (verdict == VERDICT_IMPOSSIBLE) {
			struct finding finding =
				finding_of(input, verdict, atom);

			note_impossible(tally, &finding);
		}
	}
	count_writes(tally, input->promise, has, outcome->is_broken);
	if (outcome->is_broken)
		note_missing(tally, input->promise,
			     has[VERDICT_LOST] || has[VERDICT_TORN] ||
				     has[VERDICT_BLANK]);
}

void tally_slot(struct tally *tally, const struct judge_input *input,
		const enum verdict *classes,
		const struct judge_outcome *outcome)
{
	tally->judged_writes += input->promise->has_promise;
	tally->completed_lost += outcome->is_completed_lost;
	tally->shadow_lost += outcome->is_shadow_lost;
	tally->capped += input->promise->is_capped;
	if (outcome->is_alike) {
		tally->atoms[classes[0]] += input->count;
		tally->writes[classes[0]]++;
		return;
	}
	tally_each(tally, input, classes, outcome);
}

void tally_finding(struct tally *tally, const struct finding *finding)
{
	tally->atoms[finding->class] += finding->atoms;
	tally->writes[finding->class]++;
	note_bad(tally, finding->offset_bytes,
		 finding->offset_bytes + finding->atoms * RUN_ATOM_BYTES - 1);
}

void tally_merge(struct tally *to, const struct tally *from)
{
	size_t i;

	for (i = 0; i < VERDICT_COUNT; i++) {
		to->atoms[i] += from->atoms[i];
		to->writes[i] += from->writes[i];
		to->information[i] += from->information[i];
	}
	to->judged_writes += from->judged_writes;
	to->completed_lost += from->completed_lost;
	to->shadow_lost += from->shadow_lost;
	to->capped += from->capped;
	to->unjudged += from->unjudged;
	to->has_claimed |= from->has_claimed;
	if (from->has_bad)
		note_bad(to, from->first_bad, from->last_bad);
	if (from->has_impossible)
		note_impossible(to, &from->impossible);
	for (i = 0; i < RUN_STREAMS_MAX; i++) {
		struct tally_stream *stream = &to->streams[i];

		stream->missing += from->streams[i].missing;
		stream->missing_lowest = lower(stream->missing_lowest,
					       from->streams[i].missing_lowest);
		stream->lost_oldest = lower(stream->lost_oldest,
					    from->streams[i].lost_oldest);
	}
}

uint64_t tally_broken_atoms(const struct tally *tally)
{
	uint64_t atoms = 0;
	size_t i;

	for (i = 0; i < VERDICT_COUNT; i++)
		if (verdict_is_broken((enum verdict)i))
			atoms += tally->atoms[i];
	return atoms;
}

/* ---- the findings themselves: a heap with the highest offset on top ---- */

static void sift_down(struct finding *heap, size_t count, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		struct finding swap;

		if (child >= count)
			return;
		if (child + 1 < count &&
		    heap[child + 1].offset_bytes > heap[child].offset_bytes)
			child++;
		if (heap[at].offset_bytes >= heap[child].offset_bytes)
			return;
		swap = heap[at];
		heap[at] = heap[child];
		heap[child] = swap;
		at = child;
	}
}

static void sift_up(struct finding *heap, size_t at)
{
	while (at > 0) {
		size_t parent = (at - 1) / 2;
		struct finding swap = heap[at];

		if (heap[parent].offset_bytes >= swap.offset_bytes)
			return;
		heap[at] = heap[parent];
		heap[parent] = swap;
		at = parent;
	}
}

void findings_add(struct findings *findings, const struct finding *finding)
{
	struct finding *heap = findings->kept;

	findings->total++;
	if (findings->count < FINDINGS_MAX) {
		heap[findings->count] = *finding;
		sift_up(heap, findings->count++);
	} else if (finding->offset_bytes < heap[0].offset_bytes) {
		heap[0] = *finding;
		sift_down(heap, findings->count, 0);
	}
}

static bool continues(const struct finding *a, const struct finding *b)
{
	if (a->class != b->class || a->has_found != b->has_found)
		return false;
	if (!a->has_found)
		return true;
	if (a->found != b->found || a->found_stream != b->found_stream)
		return false;
	return a->class != VERDICT_MISDIRECTED ||
	       a->found_offset + a->atoms * RUN_ATOM_BYTES == b->found_offset;
}

bool findings_has_news(const enum verdict *classes, size_t count)
{
	size_t atom;

	for (atom = 0; atom < count; atom++)
		if (verdict_is_broken(classes[atom]))
			return true;
	return false;
}

void findings_slot(struct findings *findings, const struct judge_input *input,
		   const enum verdict *classes)
{
	struct finding run = {.atoms = 0};
	size_t atom;

	for (atom = 0; atom < input->count; atom++) {
		struct finding next;

		if (!verdict_is_broken(classes[atom])) {
			if (run.atoms > 0)
				findings_add(findings, &run);
			run.atoms = 0;
			continue;
		}
		next = finding_of(input, classes[atom], atom);
		if (run.atoms > 0 && continues(&run, &next)) {
			run.atoms++;
			continue;
		}
		if (run.atoms > 0)
			findings_add(findings, &run);
		run = next;
	}
	if (run.atoms > 0)
		findings_add(findings, &run);
}

static bool misses(const struct findings *findings, uint64_t slot)
{
	size_t i;

	for (i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->kept[i];

		if (!finding->is_label && !finding->is_information &&
		    finding->slot == slot)
			return true;
	}
	return false;
}

/* BEFORE: the last one that was joined, perhaps of the same slot. */
static void tally_earlier(struct tally *tally, const struct finding *finding,
			  const struct finding *before)
{
	const struct promise promise = {
		.stream = finding->stream,
		.durable_sequence = finding->expected,
	};
	bool is_same_slot = before != NULL && before->slot == finding->slot;

	tally_finding(tally, finding);
	if (is_same_slot && before->class == finding->class)
		tally->writes[finding->class]--;
	if (!is_same_slot)
		note_missing(tally, &promise,
			     finding->class == VERDICT_LOST ||
				     finding->class == VERDICT_TORN ||
				     finding->class == VERDICT_BLANK);
}

/* Where not all can be kept any more, enough is. */
void findings_join(struct findings *to, struct tally *tally,
		   const struct findings *earlier,
		   const struct tally *earlier_tally)
{
	const struct finding *before = NULL;
	size_t i;

	if (earlier_tally->has_impossible)
		note_impossible(tally, &earlier_tally->impossible);
	for (i = 0; i < earlier->count && to->total < FINDINGS_MAX; i++) {
		struct finding finding = earlier->kept[i];

		if (finding.is_information)
			continue;
		if ((before == NULL || before->slot != finding.slot) &&
		    misses(to, finding.slot))
			continue;
		finding.is_unstable = true;
		findings_add(to, &finding);
		tally_earlier(tally, &finding, before);
		before = &earlier->kept[i];
	}
}

static int compare_offsets(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;

	return (a->offset_bytes > b->offset_bytes) -
	       (a->offset_bytes < b->offset_bytes);
}

void findings_sort(struct findings *findings)
{
	qsort(findings->kept, findings->count, sizeof(findings->kept[0]),
	      compare_offsets);
}

void findings_link(struct findings *findings, const struct run *run)
{
	uint64_t start = run_slot_offset(run, 0);
	size_t i;

	for (i = 0; i < findings->count; i++) {
		struct finding *finding = &findings->kept[i];
		uint64_t slot;

		if (finding->class != VERDICT_MISDIRECTED)
			continue;
		if (finding->found_offset < start)
			continue;
		slot = (finding->found_offset - start) / run->block_bytes;
		finding->is_missed =
			slot != finding->slot && misses(findings, slot);
	}
}

void findings_all_gone(struct findings *findings, struct tally *tally)
{
	static const enum verdict from[] = {VERDICT_UNREADABLE, VERDICT_HUNG};
	size_t i;

	for (i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		tally->atoms[VERDICT_GONE] += tally->atoms[from[i]];
		tally->writes[VERDICT_GONE] += tally->writes[from[i]];
		tally->atoms[from[i]] = 0;
		tally->writes[from[i]] = 0;
	}
	for (i = 0; i < findings->count; i++)
		if (findings->kept[i].class == VERDICT_UNREADABLE ||
		    findings->kept[i].class == VERDICT_HUNG)
			findings->kept[i].class = VERDICT_GONE;
}
