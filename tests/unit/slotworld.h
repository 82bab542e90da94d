/* SPDX-License-Identifier: MIT */
/*
 * slotworld - a run, its ledger and the found content of one slot, all in
 * memory: what the tests of the verifier's pure parts are built from.
 *
 * Unless a test says otherwise: one stream of 4 slots, a slot is a write of
 * 8192 bytes, that is 2 logical blocks or 16 atoms; sequential, so that write
 * s goes to slot (s - 1) % 4; filled.
 */
#ifndef TESTS_UNIT_SLOTWORLD_H
#define TESTS_UNIT_SLOTWORLD_H

#include <string.h>

#include "common/base/err.h"
#include "common/format/ledger.h"
#include "verifier/expect.h"
#include "verifier/judge.h"

#define WORLD_ATOMS       16
#define WORLD_BLOCK_ATOMS 8

struct world {
	struct run run;
	struct ledger *ledger;
	struct schedule schedules[RUN_STREAMS_MAX];
	struct promise promise;
	uint64_t slot;
	enum record_state states[WORLD_ATOMS];
	struct record found[WORLD_ATOMS];
	enum judge_read reads[WORLD_ATOMS];
	enum verdict classes[WORLD_ATOMS];
	struct judge_outcome outcome;
};

static inline struct run world_run(uint64_t slots, uint16_t streams)
{
	struct run run = {.id = {1, 2, 3},
			  .block_bytes = WORLD_ATOMS * RUN_ATOM_BYTES,
			  .logical_block_bytes =
				  WORLD_BLOCK_ATOMS * RUN_ATOM_BYTES,
			  .streams = streams,
			  .pattern = RUN_PATTERN_SEQUENTIAL,
			  .is_filled = true,
			  .identity = "serial-1"};

	run.size_bytes = 2 * RUN_LABEL_AREA_BYTES + slots * run.block_bytes;
	return run;
}

static inline void world_apply(struct world *world, const struct ackbody *body)
{
	struct err err;

	if (ledger_apply(world->ledger, body, &err) < 0)
		fail_msg("%s", err.text);
}

static inline void world_init(struct world *world, struct run run)
{
	struct ackbody body = {.type = ACKBODY_RUN};
	struct err err;

	memset(world, 0, sizeof(*world));
	world->run = run;
	assert_int_equal(run_check(&run, &err), 0);
	world->ledger = ledger_new(&err);
	assert_non_null(world->ledger);
	body.run = run;
	world_apply(world, &body);
	expect_schedules(&run, world->schedules);
}

static inline void world_free(struct world *world)
{
	ledger_free(world->ledger);
}

/* A cycle in which every stream begins at FIRST and may go up to LIMIT. */
static inline void world_cycle(struct world *world, uint32_t cycle,
			       uint64_t first, uint64_t limit)
{
	struct ackbody body = {.type = ACKBODY_CYCLE};
	uint16_t stream;

	body.cycle.cycle = cycle;
	body.cycle.sync_value = 32;
	body.cycle.queue_depth = 32;
	body.cycle.streams = world->run.streams;
	for (stream = 0; stream < world->run.streams; stream++)
		body.cycle.first_sequence[stream] = first;
	world_apply(world, &body);
	for (stream = 0; stream < world->run.streams; stream++) {
		struct ackbody reserve = {.type = ACKBODY_RESERVE};

		reserve.limit.stream = stream;
		reserve.limit.sequence = limit;
		world_apply(world, &reserve);
	}
}

static inline void world_say(struct world *world, enum ackbody_type type,
			     uint16_t stream, uint64_t first, uint64_t last)
{
	struct ackbody body = {.type = type};

	body.ranges.stream = stream;
	body.ranges.flush = type == ACKBODY_DURABLE;
	body.ranges.count = 1;
	body.ranges.ranges[0].first = first;
	body.ranges.ranges[0].last = last;
	world_apply(world, &body);
}

static inline void world_durable(struct world *world, uint64_t first,
				 uint64_t last)
{
	world_say(world, ACKBODY_DURABLE, 0, first, last);
}

static inline void world_completed(struct world *world, uint64_t first,
				   uint64_t last)
{
	world_say(world, ACKBODY_COMPLETED, 0, first, last);
}

static inline void world_cut_asked(struct world *world)
{
	struct ackbody body = {.type = ACKBODY_EVENT};

	body.note.event = ACKBODY_EVENT_CUT_ASKED;
	world_apply(world, &body);
}

static inline void world_expect(struct world *world, uint64_t slot)
{
	world->slot = slot;
	expect_slot(world->ledger, world->schedules, slot, &world->promise);
}

/* Atoms FIRST ... END - 1 hold write SEQUENCE of STREAM, where they belong. */
static inline void world_holds(struct world *world, size_t first, size_t end,
			       uint64_t sequence)
{
	size_t i;

	for (i = first; i < end; i++) {
		struct record *record = &world->found[i];

		memset(record, 0, sizeof(*record));
		world->states[i] = RECORD_GOOD;
		memcpy(record->run_id, world->run.id, RUN_ID_BYTES);
		record->cycle = sequence > 0;
		if (world->promise.stream > 0 && sequence > 0)
			record->stream = (uint16_t)world->promise.stream;
		record->sequence = sequence;
		record->offset_bytes =
			run_slot_offset(&world->run, world->slot) +
			i * RUN_ATOM_BYTES;
		record->index = sequence > 0 ? (uint16_t)i : 0;
		record->atoms = sequence > 0 ? WORLD_ATOMS : 1;
		record->first_sequence = sequence > 0;
	}
}

static inline void world_holds_state(struct world *world, size_t first,
				     size_t end, enum record_state state)
{
	size_t i;

	for (i = first; i < end; i++)
		world->states[i] = state;
}

static inline struct judge_input world_input(const struct world *world)
{
	return (struct judge_input){.ledger = world->ledger,
				    .schedules = world->schedules,
				    .promise = &world->promise,
				    .slot = world->slot,
				    .count = WORLD_ATOMS,
				    .states = world->states,
				    .found = world->found,
				    .reads = world->reads};
}

static inline void world_judge(struct world *world)
{
	struct judge_input input = world_input(world);

	judge_slot(&input, world->classes, &world->outcome);
}

static inline void world_all(const struct world *world, size_t first,
			     size_t end, enum verdict verdict)
{
	size_t i;

	for (i = first; i < end; i++)
		assert_string_equal(verdict_word(world->classes[i]),
				    verdict_word(verdict));
}

#endif
