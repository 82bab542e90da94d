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
		      const struct schedule *schedule)
{
	uint16_t stream = (uint16_t)promise->stream;
	uint64_t first = first_of_cycle(ledger, stream);
	uint64_t sequence = promise->limit;
	unsigned int steps;

	/* Without a log the limit is unknown and only durable ranges count. */
	if (sequence == UINT64_MAX)
		sequence = ledger_durable_last(ledger, stream);
	for (steps = 0; steps < EXPECT_STEPS_MAX; steps++) {
		enum ledger_state state;

		sequence = schedule_newest(schedule, promise->stream_slot,
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

void expect_slot(const struct ledger *ledger, const struct schedule *schedules,
		 uint64_t slot, struct promise *promise)
{
	const struct run *run = ledger_run(ledger);
	int stream = run_stream_of_slot(run, slot);

	assert(slot < run_slots_total(run));
	*promise = (struct promise){.stream = stream,
				    .has_promise =
					    ledger_is_fill_promised(ledger)};
	if (stream < 0)
		return;
	promise->stream_slot =
		slot - (uint64_t)stream * run_slots_per_stream(run);
	promise->limit = ledger_limit(ledger, (uint16_t)stream);
	walk_down(ledger, promise, &schedules[stream]);
}
