/* SPDX-License-Identifier: MIT */
#include "verifier/depth.h"

#include "common/base/clock.h"
#include "common/format/ledger.h"

static void take_marks(const struct logpass_ages *ages, uint16_t stream,
		       struct depth *depth)
{
	const struct logpass_mark *oldest = &ages->oldest[stream];
	const struct logpass_mark *last = &ages->last[stream];

	if (oldest->cycle == 0 || last->cycle == 0)
		return; /* proved by the media alone */
	if (oldest->flush != 0 && last->flush != 0) {
		uint64_t flushes = last->flush_index - oldest->flush_index + 1;

		if (flushes > depth->flushes)
			depth->flushes = flushes;
		depth->has_flushes = true;
	}
	/* Another cycle may be another boot: its clock is not compared. */
	if (oldest->cycle == last->cycle &&
	    last->acknowledged_ns >= oldest->acknowledged_ns) {
		uint64_t ms =
			(last->acknowledged_ns - oldest->acknowledged_ns) /
			CLOCK_NS_PER_MS;

		if (ms > depth->ms)
			depth->ms = ms;
		depth->has_ms = true;
	}
}

void depth_of_loss(const struct ledger *ledger, const struct tally *tally,
		   const struct logpass_ages *ages, struct depth *depth)
{
	const struct run *run = ledger_run(ledger);
	uint16_t stream;

	for (stream = 0; stream < run->streams; stream++) {
		uint64_t oldest = tally->streams[stream].lost_oldest;
		uint64_t writes;

		if (oldest == 0)
			continue;
		writes = ledger_durable_last(ledger, stream) - oldest + 1;
		if (writes > depth->writes)
			depth->writes = writes;
		if (ages != NULL)
			take_marks(ages, stream, depth);
	}
}

/* Is SEQUENCE promised, and the newest promise of its slot? */
static bool is_newest_promise(const struct ledger *ledger,
			      const struct schedule *schedules, uint16_t stream,
			      uint64_t sequence)
{
	const struct run *run = ledger_run(ledger);
	struct promise promise;
	uint64_t slot;

	if (ledger_state(ledger, stream, sequence) != LEDGER_DURABLE)
		return false;
	slot = stream * run_slots_per_stream(run) +
	       schedule_slot(&schedules[stream], sequence);
	expect_slot(ledger, schedules, slot, &promise);
	return promise.durable_sequence == sequence;
}

static void count_survivors(const struct ledger *ledger,
			    const struct schedule *schedules,
			    const struct tally_stream *tally,
			    struct depth *depth)
{
	uint64_t last = ledger_durable_last(ledger, depth->hole_stream);
	uint64_t sequence = depth->hole_sequence, steps = 0, promised = 0;
	uint64_t missing = tally->missing - 1; /* all of them lie behind */

	while (sequence < last && steps++ < DEPTH_SEQUENCES_MAX) {
		sequence++;
		promised += is_newest_promise(ledger, schedules,
					      depth->hole_stream, sequence);
	}
	depth->is_at_least = sequence < last;
	if (promised > missing)
		depth->survivors_behind = promised - missing;
}

void depth_of_hole(const struct ledger *ledger,
		   const struct schedule *schedules, const struct tally *tally,
		   struct depth *depth)
{
	const struct run *run = ledger_run(ledger);
	uint16_t stream;

	for (stream = 0; stream < run->streams; stream++) {
		const struct tally_stream *from = &tally->streams[stream];

		if (from->missing == 0)
			continue;
		depth->has_hole = true;
		depth->hole_stream = stream;
		depth->hole_sequence = from->missing_lowest;
		count_survivors(ledger, schedules, from, depth);
		return;
	}
}
