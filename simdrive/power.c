/* SPDX-License-Identifier: MIT */
#include "simdrive/power.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "simdrive/cache.h"
#include "simdrive/history.h"
#include "simdrive/model_parts.h"
#include "simdrive/scars.h"
#include "simdrive/trace.h"

#define STATE_MAGIC        0x314d49534c554750U
#define STATE_VERSION      1
#define STATE_CRC_FROM     16
#define STATE_HEADER_BYTES 80

static_assert(STATE_HEADER_BYTES + SCARS_ENCODED_MAX <= POWER_STATE_BYTES_MAX,
	      "the state has room for all scars");

static uint32_t count_request(const struct model *model,
			      const struct cache_block *block)
{
	const uint64_t request = block->request;
	uint32_t blocks = 0;

	for (; block != NULL && block->request == request;
	     block = cache_after(model->cache, block))
		blocks++;
	return blocks;
}

/* The capacitor: the oldest writes first, as long as its energy lasts. */
static int save_cache(struct model *model, uint64_t bytes_left)
{
	struct cache_block *block = cache_oldest(model->cache);

	while (block != NULL) {
		uint64_t bytes = (uint64_t)count_request(model, block) *
				 model->config.logical_block_bytes;
		int rc = 0;

		if (bytes > bytes_left)
			return 0;
		bytes_left -= bytes;
		rc = model_drain_request(model, block);
		if (rc != 0)
			return rc;
		block = cache_oldest(model->cache);
	}
	return 0;
}

static bool coin(struct model *model)
{
	return prng_below(&model->prng, 2) == 0;
}

/* One block of write REQUEST: the power went while it was being written. */
static int put_block(const struct model *model, const uint8_t *data,
		     uint64_t number, uint64_t request)
{
	const struct media *media = &model->config.media;
	const struct damage_write part = {
		.data = data,
		.length = model->config.logical_block_bytes,
		.offset_bytes = number * model->config.logical_block_bytes,
	};
	int rc = media->write(media->context, data, part.length,
			      part.offset_bytes);

	if (rc == 0)
		trace_tell_write(&model->config.trace, TRACE_PARTIAL, &part,
				 request);
	return rc;
}

/* The oldest write may just have been on its way to the media. */
static int drain_oldest_in_part(struct model *model)
{
	const struct cache_block *block = cache_oldest(model->cache);
	const uint64_t request = block == NULL ? 0 : block->request;

	if (block == NULL || model_is_promised(model, block) || coin(model))
		return 0;
	for (; block != NULL && block->request == request;
	     block = cache_after(model->cache, block)) {
		int rc = 0;

		if (coin(model))
			rc = put_block(model, cache_data(model->cache, block),
				       block->number, request);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Of the writes in the cache, in order of arrival up to anywhere, or any. */
static int drain_some(struct model *model, bool is_any)
{
	const struct cache_block *block = cache_oldest(model->cache);
	uint64_t left = is_any ? UINT64_MAX
			       : prng_below(&model->prng,
					    cache_count(model->cache) + 1ULL);

	for (; block != NULL && left > 0;
	     block = cache_after(model->cache, block)) {
		int rc = 0;

		if (model_is_promised(model, block))
			continue;
		left--;
		if (!is_any || coin(model))
			rc = put_block(model, cache_data(model->cache, block),
				       block->number, block->request);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int drain_in_part(struct model *model)
{
	if (faults_find(&model->config.faults, FAULT_TEARS_IN_FLIGHT) != NULL)
		return 0; /* it tears what is in the cache itself */
	switch (model->config.cut_drain) {
	case MODEL_CUT_OLDEST:
		return drain_oldest_in_part(model);
	case MODEL_CUT_PART:
		return drain_some(model, false);
	case MODEL_CUT_ANY:
		return drain_some(model, true);
	}
	abort();
}

static int apply_in_part(struct model *model, const struct damage_write *write,
			 uint64_t request)
{
	const uint32_t size = model->config.logical_block_bytes;
	const uint64_t first = write->offset_bytes / size;

	if (coin(model))
		return 0;
	for (uint64_t i = 0; i < write->length / size; i++) {
		int rc = 0;

		if (coin(model))
			rc = put_block(model, write->data + i * size, first + i,
				       request);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Writes in flight have arrived, too. */
static void take_in_flight(struct model *model,
			   const struct damage_scene *scene)
{
	for (size_t i = 0; i < scene->in_flight_count; i++) {
		const struct damage_write *write = &scene->in_flight[i];

		trace_tell_write(&model->config.trace, TRACE_WRITE, write,
				 ++model->request);
		if (model->history != NULL)
			history_supersede(model->history, write->offset_bytes,
					  write->length);
	}
}

/* What an honest drive does, and where writes were going on, its faults. */
static int lose_power(struct model *model, const struct damage_scene *scene)
{
	const struct faults *faults = &model->config.faults;
	const uint64_t saved =
		model->is_biting ? faults_saved_bytes(faults) : 0;
	const uint64_t before = model->request - scene->in_flight_count;
	size_t done = 0;
	int rc = 0;

	rc = saved > 0 ? save_cache(model, saved) : drain_in_part(model);
	if (rc == 0 && model->is_biting)
		rc = damage_in_flight(scene, faults);
	if (rc < 0)
		return rc;
	done = (size_t)rc;
	rc = 0;
	for (size_t i = done; i < scene->in_flight_count && rc == 0; i++)
		rc = apply_in_part(model, &scene->in_flight[i], before + i + 1);
	if (rc == 0 && model->is_biting)
		rc = damage_at_cut(scene, faults);
	return rc;
}

static void come_back(struct model *model)
{
	if (!model->is_dead && model->is_biting &&
	    faults_find(&model->config.faults, FAULT_DIES) != NULL) {
		model->is_dead = true;
		trace_tell_moment(&model->config.trace, TRACE_SCAR,
				  TRACE_SCAR_DEAD, 0);
	}
	model->counters.cuts++;
	model->is_biting =
		faults_bite(&model->config.faults, model->counters.cuts);
	model->promised_request = model->request;
	model->flushes_under_way = 0;
	model->flushing = 0;
	model->bypass_next = 0;
	cache_clear(model->cache);
	if (model->history != NULL)
		history_clear(model->history);
}

void power_on(struct model *model, bool is_fresh)
{
	model->request = 0;
	model->promised_request = 0;
	trace_tell(&model->config.trace,
		   &(struct trace_event){
			   .type = TRACE_ON,
			   .length = model->config.logical_block_bytes,
			   .offset_bytes = model->config.media.size_bytes,
		   });
	if (is_fresh)
		trace_tell_moment(&model->config.trace, TRACE_SCAR,
				  TRACE_SCAR_HEALED, 0);
}

int power_cut(struct model *model, const struct damage_write *in_flight,
	      size_t count, uint64_t now_ns)
{
	const struct damage_scene scene = {
		.media = &model->config.media,
		.cache = model->cache,
		.history = model->history,
		.scars = model->scars,
		.prng = &model->prng,
		.trace = &model->config.trace,
		.scratch = model->scratch,
		.block_bytes = model->config.logical_block_bytes,
		.spare_bytes = model->config.spare_bytes,
		.promised_request = model->promised_request,
		.in_flight = in_flight,
		.in_flight_count = count,
	};
	int rc = model_tick(model, now_ns);

	if (rc != 0)
		return rc;
	scars_heal_kind(model->scars, SCAR_HANGS);
	if (!model->is_dead) {
		take_in_flight(model, &scene);
		rc = lose_power(model, &scene);
	}
	come_back(model);
	trace_tell_moment(&model->config.trace, TRACE_CUT, 0, 0);
	return rc;
}

int power_stop(struct model *model)
{
	int rc = save_cache(model, UINT64_MAX);

	if (rc == 0)
		trace_tell_moment(&model->config.trace, TRACE_STOP, 0, 0);
	return rc;
}

size_t power_save_state(const struct model *model, uint8_t *buffer)
{
	const struct model_counters *counters = &model->counters;
	size_t length = STATE_HEADER_BYTES;

	memset(buffer, 0, STATE_HEADER_BYTES);
	length += scars_encode(model->scars, buffer + length);
	bytes_put64(buffer, STATE_MAGIC);
	bytes_put32(buffer + 8, STATE_VERSION);
	bytes_put64(buffer + 16, model->prng.state);
	bytes_put64(buffer + 24, counters->writes);
	bytes_put64(buffer + 32, counters->reads);
	bytes_put64(buffer + 40, counters->flushes);
	bytes_put64(buffer + 48, counters->fua_writes);
	bytes_put64(buffer + 56, counters->cuts);
	bytes_put32(buffer + 64, model->is_dead);
	bytes_put32(buffer + 12, crc32c_extend(0, buffer + STATE_CRC_FROM,
					       length - STATE_CRC_FROM));
	return length;
}

int power_load_state(struct model *model, const uint8_t *buffer, size_t length,
		     struct err *err)
{
	struct model_counters *counters = &model->counters;

	if (length < STATE_HEADER_BYTES || bytes_get64(buffer) != STATE_MAGIC ||
	    bytes_get32(buffer + 8) != STATE_VERSION)
		return err_set(err, "this is not the state of a drive");
	if (bytes_get32(buffer + 12) !=
	    crc32c_extend(0, buffer + STATE_CRC_FROM, length - STATE_CRC_FROM))
		return err_set(err, "the checksum is wrong");
	if (scars_decode(model->scars, buffer + STATE_HEADER_BYTES,
			 length - STATE_HEADER_BYTES, err) != 0)
		return -1;
	model->prng.state = bytes_get64(buffer + 16);
	counters->writes = bytes_get64(buffer + 24);
	counters->reads = bytes_get64(buffer + 32);
	counters->flushes = bytes_get64(buffer + 40);
	counters->fua_writes = bytes_get64(buffer + 48);
	counters->cuts = bytes_get64(buffer + 56);
	model->is_dead = bytes_get32(buffer + 64) != 0;
	model->is_biting = faults_bite(&model->config.faults, counters->cuts);
	return 0;
}
