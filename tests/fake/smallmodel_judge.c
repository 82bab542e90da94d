/* SPDX-License-Identifier: MIT */
#include "tests/fake/smallmodel_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ledger.h"
#include "verifier/conclude.h"
#include "verifier/evidence.h"
#include "verifier/findings.h"
#include "verifier/judge.h"

static void say_cycle(const struct small_world *world,
		      const struct small_past *past, unsigned int number,
		      void (*say)(void *, const struct ackbody *),
		      void *context)
{
	const struct small_cycle *cycle = &world->bounds->cycle[number];
	struct ackbody body = {.type = ACKBODY_CYCLE};
	unsigned int all = (1u << cycle->writes) - 1;
	uint16_t k;

	body.cycle.cycle = number + 1;
	body.cycle.sync = ACKBODY_SYNC_FLUSH_COUNT;
	body.cycle.sync_value = 1;
	if (cycle->is_unsynced || (cycle->fua == all && cycle->flushes == 0)) {
		body.cycle.sync = cycle->is_unsynced ? ACKBODY_SYNC_NONE
						     : ACKBODY_SYNC_FUA;
		body.cycle.sync_value = 0;
	}
	body.cycle.queue_depth = 8;
	body.cycle.streams = world->run.streams;
	for (k = 0; k < world->run.streams; k++)
		body.cycle.first_sequence[k] = past->first[number][k];
	say(context, &body);
	for (k = 0; k < world->run.streams; k++) {
		body = (struct ackbody){.type = ACKBODY_RESERVE};
		body.limit.stream = k;
		body.limit.sequence = past->early[number][k];
		say(context, &body);
	}
}

static void say_tell(const struct small_tell *tell,
		     void (*say)(void *, const struct ackbody *), void *context)
{
	struct ackbody body = {.type = tell->type};

	if (tell->type == ACKBODY_EVENT) {
		body.note.event = (enum ackbody_event)tell->last;
	} else if (tell->type == ACKBODY_ISSUED ||
		   tell->type == ACKBODY_RESERVE) {
		body.limit.stream = tell->stream;
		body.limit.sequence = tell->last;
	} else {
		body.ranges.stream = tell->stream;
		body.ranges.count = 1;
		body.ranges.ranges[0].first = tell->first;
		body.ranges.ranges[0].last = tell->last;
	}
	say(context, &body);
}

void smallmodel_judge_tell(
	const struct small_world *world, const struct small_past *past,
	const struct small_log *log,
	void (*say)(void *context, const struct ackbody *body), void *context)
{
	struct ackbody body = {.type = ACKBODY_RUN};

	body.run = world->run;
	say(context, &body);
	for (unsigned int c = 0; c < log->cycles; c++) {
		unsigned int end =
			c + 1 < log->cycles ? past->begins[c + 1] : log->tells;

		say_cycle(world, past, c, say, context);
		for (unsigned int i = past->begins[c]; i < end; i++)
			say_tell(&log->tell[i], say, context);
	}
}

static void apply(void *context, const struct ackbody *body)
{
	struct err err;

	if (ledger_apply(context, body, &err) < 0) {
		(void)fprintf(stderr, "the ledger refuses: %s\n", err.text);
		abort();
	}
}

struct ledger *smallmodel_judge_ledger(const struct small_world *world,
				       const struct small_past *past,
				       const struct small_log *log)
{
	struct err err;
	struct ledger *ledger = ledger_new(&err);

	if (ledger == NULL)
		abort();
	if (log->is_missing)
		ledger_begin_without_log(ledger, &world->run);
	else
		smallmodel_judge_tell(world, past, log, apply, ledger);
	return ledger;
}

static uint8_t durable_in(const struct small_world *world,
			  const struct ledger *ledger)
{
	uint64_t count = 0;
	uint16_t k;

	for (k = 0; k < world->run.streams; k++)
		count += ledger_durable_count(ledger, k);
	return (uint8_t)count;
}

void smallmodel_judge_open(struct small_scene *scene,
			   const struct small_world *world,
			   struct ledger *ledger,
			   const struct evidence *evidence)
{
	scene->ledger = ledger;
	scene->by_log = durable_in(world, ledger);
	scene->by_media = (uint8_t)evidence_durable(evidence);
	(void)evidence_apply(evidence, ledger); /* new or not */
	for (unsigned int slot = 0; slot < world->bounds->slots; slot++)
		expect_slot(ledger, world->schedules, slot,
			    &scene->promises[slot]);
}

void smallmodel_judge_close(struct small_scene *scene)
{
	ledger_free(scene->ledger);
}

struct slot_view {
	enum record_state states[SMALL_ATOMS_MAX];
	struct record found[SMALL_ATOMS_MAX];
	enum judge_read reads[SMALL_ATOMS_MAX];
	enum verdict classes[SMALL_ATOMS_MAX];
};

static void look(const struct small_world *world,
		 const struct small_media *media, unsigned int slot,
		 struct slot_view *view)
{
	unsigned int atoms = world->bounds->atoms;

	for (unsigned int i = 0; i < atoms; i++) {
		const struct small_atom *atom = &media->at[slot * atoms + i];
		const struct small_content *content =
			&world->contents[atom->number];

		view->reads[i] = JUDGE_READ_OK;
		if (atom->kind == SMALL_UNREADABLE)
			view->reads[i] = JUDGE_READ_UNREADABLE;
		if (atom->kind == SMALL_HUNG)
			view->reads[i] = JUDGE_READ_HUNG;
		if (atom->kind == SMALL_GONE)
			view->reads[i] = JUDGE_READ_GONE;
		view->states[i] = content->state;
		view->found[i] = content->found;
	}
}

/* P7, and that every finding covers its atoms and no others. */
static void note_findings(const struct small_world *world,
			  struct findings *findings,
			  struct small_outcome *outcome)
{
	uint64_t start = run_slot_offset(&world->run, 0);

	findings_sort(findings);
	findings_link(findings, &world->run);
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->kept[i];
		uint64_t at = (finding->offset_bytes - start) / RUN_ATOM_BYTES;

		outcome->told = (uint8_t)(outcome->told + finding->atoms);
		for (uint64_t k = at; k < at + finding->atoms; k++)
			if (finding->is_missed)
				outcome->missed |= (uint8_t)(1u << k);
	}
}

/* In the order of SMALL_CLASSES; no other verdict may be given. */
static const enum verdict verdicts[SMALL_CLASSES_COUNT] = {
	VERDICT_INTACT,      VERDICT_NEWER,      VERDICT_UNPROMISED,
	VERDICT_IMPOSSIBLE,  VERDICT_LOST,       VERDICT_BLANK,
	VERDICT_FOREIGN,     VERDICT_TORN,       VERDICT_CORRUPT,
	VERDICT_MISDIRECTED, VERDICT_UNREADABLE, VERDICT_HUNG,
	VERDICT_GONE};

static char letter_of(enum verdict verdict)
{
	for (size_t i = 0; i < SMALL_CLASSES_COUNT; i++)
		if (verdicts[i] == verdict)
			return SMALL_CLASSES[i];
	return '?';
}

static void note_result(struct result *result, struct small_outcome *outcome)
{
	const struct tally *tally = &result->tally;

	for (size_t i = 0; i < SMALL_CLASSES_COUNT; i++) {
		outcome->atoms[i] = (uint8_t)tally->atoms[verdicts[i]];
		outcome->writes[i] = (uint8_t)tally->writes[verdicts[i]];
	}
	outcome->completed_lost = (uint8_t)tally->completed_lost;
	outcome->shadow_lost = (uint8_t)tally->shadow_lost;
	outcome->judged = (uint8_t)tally->judged_writes;
	conclude(result);
	outcome->status = (uint8_t)result->status;
}

void smallmodel_judge(const struct small_world *world,
		      const struct small_scene *scene,
		      const struct small_media *media,
		      struct small_outcome *outcome)
{
	static struct result result; /* large, and most of it never touched */
	unsigned int atoms = world->bounds->atoms;
	char *class = outcome->classes;

	memset(outcome, 0, sizeof(*outcome));
	memset(&result.tally, 0, sizeof(result.tally));
	result.findings.count = 0;
	result.findings.total = 0;
	result.was_promised = true;
	for (unsigned int slot = 0; slot < world->bounds->slots; slot++) {
		struct slot_view view;
		struct judge_outcome judged;
		struct judge_input input = {
			.ledger = scene->ledger,
			.schedules = world->schedules,
			.promise = &scene->promises[slot],
			.slot = slot,
			.count = atoms,
			.states = view.states,
			.found = view.found,
			.reads = view.reads,
		};

		look(world, media, slot, &view);
		judge_slot(&input, view.classes, &judged);
		tally_slot(&result.tally, &input, view.classes, &judged);
		if (findings_has_news(view.classes, atoms))
			findings_slot(&result.findings, &input, view.classes);
		for (unsigned int i = 0; i < atoms; i++)
			*class ++ = letter_of(view.classes[i]);
	}
	outcome->by_log = scene->by_log;
	outcome->by_media = scene->by_media;
	note_result(&result, outcome);
	note_findings(world, &result.findings, outcome);
}
