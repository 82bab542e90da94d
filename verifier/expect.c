/* SPDX-License-Identifier: MIT */
#include "verifier/expect.h"

#include <assert.h>

#include "common/format/ledger.h"
#include "common/format/run.h"

void expect_schedules(const struct run *run, struct schedule *schedules)
{
	uint16_t stream;

	for (stream = 0; stream < run->streams; stream++)
		schedule_init(&schedules[stream], run, stream);
}

/* Where the walk down looks at every pass: only numbers of the current cycle
 * can be completed or shadow. UINT64_MAX: nowhere. */
static uint64_t first_of_cycle(const struct ledger *ledger, uint16_t stream)
{
	const struct ackbody_cycle *cycle = ledger_cycle(ledger);

	if (cycle == NULL || stream >= cycle->streams)
		return UINT64_MAX;
	return cycle->first_sequence[stream];
}

static bool wants_more(const struct ledger *ledger, const struct promise *p)
{
	if (p->completed_sequence == 0)
		return true;
	return p->shadow_sequence == 0 && ledger_is_cut_asked(ledger);
}

/* P3: a number that was never promised obliges nobody; it is only noted. */
static void note_unpromised(struct promise *promise, enum ledger_state state,
			    uint64_t sequence)
{
	if (state == LEDGER_COMPLETED && promise->completed_sequence == 0)
		promise->completed_sequence = sequence;
	if (state == LEDGER_SHADOW && promise->shadow_sequence == 0)
		promise->shadow_sequence = sequence;
}

/* P4, P6: the newest durable write of the slot, of whatever cycle. */
static void walk_down(const struct ledger *ledger, struct promise *promise,
		      const struct schedule *schedule, uint64_t newest)
{
	uint16_t stream = (uint16_t)promise->stream;
	uint64_t first = first_of_cycle(ledger, stream);
	uint64_t sequence = 0;
	unsigned int steps;

	for (steps = 0; steps < EXPECT_STEPS_MAX; steps++) {
		enum ledger_state state;

		sequence = steps == 0 ? newest
				      : schedule_newest(schedule,
							promise->stream_slot,
							sequence);
		if (sequence == 0)
			return;
		state = ledger_state(ledger, stream, sequence);
		if (state == LEDGER_DURABLE) {
			promise->durable_sequence = sequence;
			promise->has_promise = true;
			return;
		}
		note_unpromised(promise, state, sequence);
		if (sequence > first && steps < EXPECT_PASSES_MAX &&
		    wants_more(ledger, promise))
			sequence = ledger_known_at_or_below(ledger, stream,
							    sequence - 1);
		else
			sequence = ledger_durable_at_or_below(ledger, stream,
							      sequence);
		if (sequence == 0)
			return;
	}
	promise->has_promise = false;
	promise->is_capped = true;
}

/* P9: a promise that memory had no room for is neither kept nor broken. */
static void mark_forgotten(const struct ledger *ledger, struct promise *promise,
			   const struct schedule *schedule)
{
	uint64_t floor = ledger_floor(ledger, (uint16_t)promise->stream);

	if (floor > 0 && promise->durable_sequence == 0 &&
	    schedule_newest(schedule, promise->stream_slot, floor) > 0)
		promise->is_capped = true;
}

/* Where the walk down begins. Without a log the limit is unknown and only
 * durable ranges count. */
static uint64_t bound_of(const struct ledger *ledger, uint16_t stream)
{
	uint64_t limit = ledger_limit(ledger, stream);

	return limit == UINT64_MAX ? ledger_durable_last(ledger, stream)
				   : limit;
}

void expect_newest(const struct ledger *ledger,
		   const struct schedule *schedules, uint64_t slot,
		   unsigned int count, uint64_t *newest)
{
	const struct run *run = ledger_run(ledger);
	uint64_t share = run_slots_per_stream(run);
	unsigned int done = 0;

	while (done < count) {
		int stream = run_stream_of_slot(run, slot + done);
		uint64_t own = slot + done - (uint64_t)stream * share;
		unsigned int part = count - done;

		if (stream < 0) {
			newest[done++] = 0;
			continue;
		}
		if (part > share - own)
			part = (unsigned int)(share - own);
		schedule_newest_many(&schedules[stream], own, part,
				     bound_of(ledger, (uint16_t)stream),
				     newest + done);
		done += part;
	}
}

void expect_slot_from(const struct ledger *ledger,
		      const struct schedule *schedules, uint64_t slot,
		      uint64_t newest, struct promise *promise)
{
	const struct run *run = ledger_run(ledger);
	int stream = run_stream_of_slot(run, slot);

	*promise = (struct promise){.stream = stream,
				    .has_promise =
					    ledger_is_fill_promised(ledger)};
	if (stream < 0)
		return;
	promise->stream_slot =
		slot - (uint64_t)stream * run_slots_per_stream(run);
	promise->limit = ledger_limit(ledger, (uint16_t)stream);
	walk_down(ledger, promise, &schedules[stream], newest);
	mark_forgotten(ledger, promise, &schedules[stream]);
}

void expect_slot(const struct ledger *ledger, const struct schedule *schedules,
		 uint64_t slot, struct promise *promise)
{
	uint64_t newest;

	assert(slot < run_slots_total(ledger_run(ledger)));

	expect_newest(ledger, schedules, slot, 1, &newest);
	expect_slot_from(ledger, schedules, slot, newest, promise);
}
