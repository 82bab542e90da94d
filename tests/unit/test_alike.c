/* SPDX-License-Identifier: MIT */
/*
 * The short way of the judge: it is taken only for atoms that are all alike,
 * and comes to what the long way comes to, whatever a slot holds. Random slots,
 * whole and damaged, go both ways.
 */
#include "verifier/alike.h"

#include <string.h>

#include "common/base/prng.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/slotworld.h"
#include "verifier/changes.h"
#include "verifier/findings.h"

#define SLOTS   4
#define ROUNDS  60000
#define LIMIT   401 /* numbers that can have been issued */
#define FIRST_2 201 /* of the second cycle */

static struct record *hold(struct world *world)
{
	world->slot = 2;
	world_holds(world, 0, WORLD_ATOMS, 3);
	return world->found;
}

static bool are_alike(const struct world *world, size_t count)
{
	return alike_atoms(world->states, world->found, count);
}

static void parts_of_one_write_are_alike(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_run(SLOTS, 1));
	hold(&w);
	assert_true(are_alike(&w, WORLD_ATOMS));
	world_holds(&w, 0, WORLD_ATOMS, 0); /* generation 0 */
	assert_true(are_alike(&w, WORLD_ATOMS));
	world_holds_state(&w, 0, WORLD_ATOMS, RECORD_BLANK);
	assert_true(are_alike(&w, WORLD_ATOMS));
	world_free(&w);
}

/* Each field by itself, in the last atom and in the second one. */
static void p8_one_field_that_differs_is_seen(void **state)
{
	size_t field, at;
	struct world w;

	(void)state;
	world_init(&w, world_run(SLOTS, 1));
	for (field = 0; field < 9; field++) {
		for (at = 1; at < WORLD_ATOMS; at += WORLD_ATOMS - 2) {
			struct record *record = hold(&w) + at;

			record->cycle += field == 0;
			record->stream ^= (uint16_t)(field == 1);
			record->sequence += (uint64_t)(field == 2) << 63;
			record->offset_bytes += (uint64_t)(field == 3) << 40;
			record->index ^= (uint16_t)(field == 4);
			record->atoms ^= (uint16_t)(field == 5);
			record->first_sequence += field == 6;
			record->durable_sequence += field == 7;
			record->issued_ns += field == 8;
			assert_false(are_alike(&w, WORLD_ATOMS));
			assert_true(are_alike(&w, at));
		}
	}
	world_free(&w);
}

static void p8_one_state_that_differs_is_seen(void **state)
{
	static const enum record_state others[] = {RECORD_FOREIGN, RECORD_BLANK,
						   RECORD_CORRUPT};
	struct world w;
	size_t i, at;

	(void)state;
	world_init(&w, world_run(SLOTS, 1));
	for (i = 0; i < 3; i++) {
		for (at = 0; at < WORLD_ATOMS; at++) {
			hold(&w);
			w.states[at] = others[i];
			assert_false(are_alike(&w, WORLD_ATOMS));
		}
		world_holds_state(&w, 0, WORLD_ATOMS, others[i]);
		assert_int_equal(are_alike(&w, WORLD_ATOMS),
				 others[i] == RECORD_BLANK);
	}
	world_free(&w);
}

/* ---- both ways */

static uint64_t below(struct prng *prng, uint64_t limit)
{
	return prng_below(prng, limit);
}

/* Two cycles with gaps, completed and shadow numbers; or no promise at all. */
static void draw_world(struct world *world, struct prng *prng)
{
	struct run run = world_run(SLOTS + below(prng, 2),
				   (uint16_t)(1 + below(prng, 2)));
	uint64_t first, last = 0;
	int cycle;

	run.is_filled = below(prng, 4) > 0;
	run.pattern =
		below(prng, 2) ? RUN_PATTERN_RANDOM : RUN_PATTERN_SEQUENTIAL;
	run.seed = below(prng, 1000);
	world_init(world, run);
	ledger_promise_fill(world->ledger, below(prng, 4) > 0);
	for (cycle = 1; cycle <= 2; cycle++) {
		world_cycle(world, (uint32_t)cycle, cycle == 1 ? 1 : FIRST_2,
			    cycle == 1 ? FIRST_2 - 1 : LIMIT);
		last = cycle == 1 ? 0 : FIRST_2 - 1;
		while (below(prng, 5) > 0 &&
		       last + 40 < FIRST_2 * (uint64_t)cycle) {
			first = last + 1 + below(prng, 20);
			last = first + below(prng, 20);
			if (below(prng, 12) == 0)
				world_cut_asked(world);
			world_say(world,
				  below(prng, 4) ? ACKBODY_DURABLE
						 : ACKBODY_COMPLETED,
				  0, first, last);
		}
	}
}

/* A number that goes to the slot, or nearly one. */
static uint64_t draw_sequence(const struct world *world, struct prng *prng)
{
	const struct promise *promise = &world->promise;
	uint64_t sequence = below(prng, LIMIT + 20);

	if (below(prng, 4) == 0)
		return promise->durable_sequence;
	if (below(prng, 6) == 0)
		return 0;
	if (promise->stream < 0 || below(prng, 8) == 0)
		return sequence;
	return schedule_newest(&world->schedules[promise->stream],
			       promise->stream_slot, sequence);
}

static void hold_write(struct world *world, size_t first, size_t end,
		       struct prng *prng)
{
	uint64_t sequence = draw_sequence(world, prng), begin, durable;
	uint32_t cycle = sequence >= FIRST_2 ? 2 : 1;
	size_t i;

	world_holds(world, first, end, sequence);
	begin = cycle == 2 ? FIRST_2 : 1;
	durable = sequence < begin ? 0 : begin - 1 + below(prng, 3);
	for (i = first; sequence > 0 && i < end; i++) {
		world->found[i].cycle = cycle;
		world->found[i].first_sequence = begin;
		world->found[i].durable_sequence = durable;
	}
}

static void damage(struct world *world, struct prng *prng)
{
	struct record *record = &world->found[below(prng, WORLD_ATOMS)];
	size_t at = below(prng, WORLD_ATOMS), i;
	uint64_t shift = RUN_ATOM_BYTES * (1 + below(prng, 3 * WORLD_ATOMS));

	switch (below(prng, 9)) {
	case 0:
		world->states[at] = (enum record_state)below(prng, 4);
		return;
	case 1:
		record->sequence = draw_sequence(world, prng);
		return;
	case 2:
		record->stream = (uint16_t)below(prng, 3);
		return;
	case 3:
		record->cycle = (uint32_t)below(prng, 3);
		return;
	case 4:
		record->index = (uint16_t)below(prng, WORLD_ATOMS);
		return;
	case 5:
		record->offset_bytes += shift;
		return;
	case 6: /* as a whole: each of them alike, and none at home */
		for (i = 0; i < WORLD_ATOMS; i++)
			world->found[i].offset_bytes += shift;
		return;
	case 7:
		for (i = 0; i < WORLD_ATOMS; i++)
			world->found[i].stream = (uint16_t)below(prng, 3);
		return;
	default:
		for (i = 0; i < WORLD_ATOMS; i++)
			world->found[i].index++;
		return;
	}
}

static void draw_slot(struct world *world, struct prng *prng)
{
	size_t cut = WORLD_ATOMS;

	memset(world->found, 0, sizeof(world->found));
	world_expect(world, below(prng, run_slots_total(&world->run)));
	if (below(prng, 4) == 0)
		cut = below(prng, WORLD_ATOMS + 1);
	hold_write(world, 0, cut, prng);
	hold_write(world, cut, WORLD_ATOMS, prng);
	if (below(prng, 8) == 0)
		world_holds_state(world, 0, WORLD_ATOMS,
				  (enum record_state)below(prng, 4));
	while (below(prng, 3) == 0)
		damage(world, prng);
}

/* How often the short way was taken, by what it said. */
static struct {
	unsigned int classes[VERDICT_COUNT];
	unsigned int refused, long_only;
} taken;

static void count_taken(const struct world *world, bool is_alike)
{
	if (!is_alike)
		taken.long_only++;
	else if (!world->outcome.is_alike)
		taken.refused++;
	else
		taken.classes[world->classes[0]]++;
}

static void go_both_ways(struct world *world)
{
	struct judge_input input = world_input(world);
	struct judge_outcome outcome;
	enum verdict classes[WORLD_ATOMS];
	struct tally tally = {.capped = 0}, other = {.capped = 0};
	uint64_t hash = changes_hash(world->states, world->found, world->reads,
				     WORLD_ATOMS);

	judge_slot(&input, classes, &outcome);
	assert_false(outcome.is_alike);
	tally_slot(&tally, &input, classes, &outcome);
	input.reads = NULL;
	input.is_alike = are_alike(world, WORLD_ATOMS);
	judge_slot(&input, world->classes, &world->outcome);
	tally_slot(&other, &input, world->classes, &world->outcome);
	count_taken(world, input.is_alike);
	assert_memory_equal(classes, world->classes, sizeof(classes));
	assert_memory_equal(&tally, &other, sizeof(tally));
	if (world->outcome.is_alike)
		assert_false(findings_has_news(classes, WORLD_ATOMS) ||
			     outcome.is_broken || outcome.is_impossible);
	world->outcome.is_alike = false;
	assert_memory_equal(&outcome, &world->outcome, sizeof(outcome));
	/* Nor does a digest depend on how a slot was read. */
	assert_true(hash == changes_hash(world->states, world->found, NULL,
					 WORLD_ATOMS));
	if (input.is_alike)
		assert_true(hash == changes_hash_alike(world->states,
						       world->found,
						       WORLD_ATOMS));
}

static void p4_both_ways_come_to_the_same(void **state)
{
	struct prng prng;
	struct world w;
	size_t round, slot;

	(void)state;
	prng_init(&prng, 4);
	memset(&taken, 0, sizeof(taken));
	for (round = 0; round < ROUNDS / 20; round++) {
		draw_world(&w, &prng);
		for (slot = 0; slot < 20; slot++) {
			draw_slot(&w, &prng);
			go_both_ways(&w);
		}
		world_free(&w);
	}
	/* All of it has been tried. */
	assert_true(taken.classes[VERDICT_INTACT] > ROUNDS / 100);
	assert_true(taken.classes[VERDICT_NEWER] > ROUNDS / 100);
	assert_true(taken.classes[VERDICT_UNPROMISED] > ROUNDS / 1000);
	assert_true(taken.refused > ROUNDS / 100);
	assert_true(taken.long_only > ROUNDS / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_one_write_are_alike),
		cmocka_unit_test(p8_one_field_that_differs_is_seen),
		cmocka_unit_test(p8_one_state_that_differs_is_seen),
		cmocka_unit_test(p4_both_ways_come_to_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
