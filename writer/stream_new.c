/* SPDX-License-Identifier: MIT */
/*
 * stream_new - makes and frees a stream (stream.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/target/target.h"
#include "writer/places.h"
#include "writer/stream_parts.h"

#define BATCH_BYTES (1024 * 1024) /* built before anything is submitted */

static int open_parts(struct stream *stream, struct err *err)
{
	const struct stream_setup *setup = &stream->setup;
	uint64_t first = setup->cycle->first_sequence[setup->stream];

	stream->failure =
		(struct failure_place){setup->target, setup->stop, setup->run};
	stream->cipher = record_cipher_new(setup->run->id, err);
	if (!stream->cipher)
		return -1;
	stream->durable = durable_new(
		first, setup->cycle->sync != ACKBODY_SYNC_NONE, err);
	if (!stream->durable)
		return -1;
	stream->places = places_new(setup->run, setup->stream, first,
				    stream->depth, err);
	if (!stream->places)
		return -1;
	stream->queue = target_queue_open(setup->target, stream->depth, err);
	return stream->queue ? 0 : -1;
}

static void fill_record(struct stream *stream)
{
	const struct stream_setup *setup = &stream->setup;
	struct record *record = &stream->record;

	memcpy(record->run_id, setup->run->id, RUN_ID_BYTES);
	record->cycle = setup->cycle->cycle;
	record->stream = setup->stream;
	record->first_sequence = setup->cycle->first_sequence[setup->stream];
	record->index = 0;
	record->atoms = (uint16_t)(setup->run->block_bytes / RUN_ATOM_BYTES);
}

/* VALUE, but at least 1 and at most LIMIT. */
static unsigned int within(unsigned int value, unsigned int limit)
{
	if (value == 0)
		return 1;
	return value < limit ? value : limit;
}

struct stream *stream_new(const struct stream_setup *setup, struct err *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		err_sys(err, ENOMEM, "cannot make a stream");
		return NULL;
	}
	stream->setup = *setup;
	stream->depth = setup->cycle->queue_depth;
	stream->batch_max =
		within(BATCH_BYTES / setup->run->block_bytes, stream->depth);
	stream->flushing_max = within(stream->depth / 2, DURABLE_FLUSHES_MAX);
	stream->speaker.requested = setup->reserved;
	stream->speaker.last_sequence = setup->last_sequence;
	stream_wait_init(&stream->wait);
	fill_record(stream);
	stream_count(&stream->counts.highest,
		     stream->record.first_sequence - 1);
	if (open_parts(stream, err) < 0) {
		stream_free(stream);
		return NULL;
	}
	return stream;
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	if (stream->wait.is_left) {
		stream_wait_keep(stream);
		return;
	}
	pthread_mutex_destroy(&stream->wait.mutex);
	if (stream_is_abandoned(stream))
		places_abandon(stream->places);
	else
		target_queue_close(stream->queue);
	places_free(stream->places);
	durable_free(stream->durable);
	record_cipher_free(stream->cipher);
	free(stream);
}
