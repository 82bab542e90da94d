/* SPDX-License-Identifier: MIT */
#include "writer/speaker.h"

#include "common/base/clock.h"
#include "writer/ackring.h"
#include "writer/durable.h"

#define COMPLETED_NS (5 * CLOCK_NS_PER_MS)
#define RATE_NS      (100 * CLOCK_NS_PER_MS)

void speaker_init(struct speaker *speaker, struct ackring *ring,
		  struct durable *durable, uint64_t now_ns)
{
	speaker->ring = ring;
	speaker->durable = durable;
	speaker->chunk = SPEAKER_CHUNK_MIN;
	speaker->rate_due_ns = now_ns + RATE_NS;
	speaker->rate_issued = durable_issued(durable);
	speaker->completed_due_ns = now_ns + COMPLETED_NS;
}

void speaker_say_durable(struct speaker *speaker,
			 const struct speaker_flush *flush, uint64_t now_ns)
{
	struct ackring_item item = {
		.type = ACKBODY_DURABLE,
		.flush = flush->number,
		.submitted_ns = flush->submitted_ns,
		/* Not now: the ring may have been full for a while. */
		.completed_ns = flush->number ? flush->completed_ns : now_ns,
	};

	while (ackring_has_room(speaker->ring) &&
	       durable_take(speaker->durable, &item.range))
		ackring_push(speaker->ring, &item);
}

void speaker_say_completed(struct speaker *speaker, uint64_t now_ns,
			   bool is_last)
{
	struct ackring_item item = {
		.type = ACKBODY_COMPLETED,
		.completed_ns = now_ns,
	};

	if (now_ns < speaker->completed_due_ns && !is_last)
		return;
	speaker->completed_due_ns = now_ns + COMPLETED_NS;
	while (ackring_has_room(speaker->ring) &&
	       durable_take_completed(speaker->durable, &item.range))
		ackring_push(speaker->ring, &item);
}

/* A chunk is a quarter of a second of writes; between one and two of them are
 * kept ahead, so that the stream does not wait for an answer. */
static void measure_rate(struct speaker *speaker, uint64_t now_ns)
{
	uint64_t issued = durable_issued(speaker->durable);
	uint64_t per_s = 0;

	if (now_ns < speaker->rate_due_ns)
		return;
	per_s = (issued - speaker->rate_issued) * CLOCK_NS_PER_S /
		(now_ns - speaker->rate_due_ns + RATE_NS);
	speaker->chunk = per_s / 4;
	if (speaker->chunk < SPEAKER_CHUNK_MIN)
		speaker->chunk = SPEAKER_CHUNK_MIN;
	if (speaker->chunk > SPEAKER_CHUNK_MAX)
		speaker->chunk = SPEAKER_CHUNK_MAX;
	speaker->rate_issued = issued;
	speaker->rate_due_ns = now_ns + RATE_NS;
}

void speaker_ask_numbers(struct speaker *speaker, uint64_t now_ns)
{
	struct ackring_item item = {.type = ACKBODY_RESERVE};
	uint64_t issued = durable_issued(speaker->durable);

	measure_rate(speaker, now_ns);
	if (issued + speaker->chunk <= speaker->requested ||
	    speaker->requested >= speaker->last_sequence ||
	    !ackring_has_room(speaker->ring))
		return;
	speaker->requested = issued + 2 * speaker->chunk;
	if (speaker->requested > speaker->last_sequence)
		speaker->requested = speaker->last_sequence;
	item.range.first = speaker->requested;
	item.range.last = speaker->requested;
	ackring_push(speaker->ring, &item);
}

bool speaker_has_room(const struct speaker *speaker)
{
	return ackring_has_room(speaker->ring);
}
