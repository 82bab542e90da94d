/* SPDX-License-Identifier: MIT */
#include "simdrive/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "simdrive/cache.h"
#include "simdrive/flush.h"
#include "simdrive/history.h"
#include "simdrive/model_parts.h"
#include "simdrive/scars.h"

static int check_config(const struct model_config *config, struct err *err)
{
	uint32_t block = config->logical_block_bytes;

	if (block != 512 && block != 4096)
		return err_set(err, "a logical block has 512 or 4096 bytes");
	if (config->media.size_bytes == 0 ||
	    config->media.size_bytes % block != 0)
		return err_set(err,
			       "the size of the media is not a multiple of "
			       "the logical block of %u bytes",
			       block);
	if (config->cache_bytes < block ||
	    config->cache_bytes > MODEL_CACHE_BYTES_MAX)
		return err_set(err, "the cache needs %u bytes to %u GiB", block,
			       (unsigned int)(MODEL_CACHE_BYTES_MAX >> 30));
	if (faults_find(&config->faults, FAULT_TEARS_IN_FLIGHT) != NULL &&
	    block != 4096)
		return err_set(err, "fault tears-in-flight needs logical "
				    "blocks of 4096 bytes");
	return 0;
}

struct model *model_new(const struct model_config *config, struct err *err)
{
	struct model *model = NULL;

	if (check_config(config, err) != 0)
		return NULL;
	model = calloc(1, sizeof(*model));
	if (model == NULL)
		goto no_memory;
	model->config = *config;
	model->scars = calloc(1, sizeof(*model->scars));
	model->scratch = malloc(HISTORY_WRITE_BYTES_MAX);
	if (model->scars == NULL || model->scratch == NULL)
		goto no_memory;
	model->scars->trace = &model->config.trace;
	model->scars->block_bytes = config->logical_block_bytes;
	model->cache = cache_new(config->logical_block_bytes,
				 config->cache_bytes, err);
	if (model->cache == NULL)
		goto fail;
	if (config->faults.count > 0) {
		model->history = history_new(err);
		if (model->history == NULL)
			goto fail;
	}
	prng_init(&model->prng, config->seed);
	model->is_biting = faults_bite(&config->faults, 0);
	return model;
no_memory:
	(void)err_sys(err, ENOMEM, "cannot make a drive"); /* NULL tells it */
fail:
	model_free(model);
	return NULL;
}

void model_free(struct model *model)
{
	if (model == NULL)
		return;
	cache_free(model->cache);
	history_free(model->history);
	free(model->scars);
	free(model->scratch);
	free(model);
}

static void tell_to_media(const struct model *model, uint64_t request,
			  size_t length, uint64_t offset_bytes)
{
	const struct damage_write part = {
		.length = length,
		.offset_bytes = offset_bytes,
	};

	trace_tell_write(&model->config.trace, TRACE_TO_MEDIA, &part, request);
}

/* Brings a part of write REQUEST to the media, keeping what it replaces for
 * the faults. */
static int commit(struct model *model, const struct damage_write *part,
		  uint64_t request)
{
	const struct media *media = &model->config.media;
	int rc = 0;

	if (model->history != NULL) {
		uint8_t *old = history_add(
			model->history, part->offset_bytes, part->length,
			request,
			part->is_fua || request <= model->promised_request);

		rc = media->read(media->context, old, part->length,
				 part->offset_bytes);
	}
	if (rc == 0)
		rc = media->write(media->context, part->data, part->length,
				  part->offset_bytes);
	if (rc == 0)
		tell_to_media(model, request, part->length, part->offset_bytes);
	return rc;
}

bool model_is_promised(const struct model *model,
		       const struct cache_block *block)
{
	return block->is_fua || block->request <= model->promised_request;
}

static struct cache_block *first_of_request(const struct cache *cache,
					    struct cache_block *block)
{
	struct cache_block *before = cache_before(cache, block);

	while (before != NULL && before->request == block->request) {
		block = before;
		before = cache_before(cache, block);
	}
	return block;
}

/* One stretch of neighbouring blocks of one request, beginning with FIRST. */
static int drain_stretch(struct model *model, struct cache_block *first)
{
	const uint32_t size = model->config.logical_block_bytes;
	const uint64_t number = first->number;
	const uint64_t request = first->request;
	const struct cache_block *block = first;
	struct damage_write part = {
		.data = model->scratch,
		.offset_bytes = number * size,
		.is_fua = first->is_fua,
	};
	uint64_t blocks = 0;
	int rc = 0;

	while (block != NULL && block->request == request &&
	       block->number == number + blocks &&
	       (blocks + 1) * size <= HISTORY_WRITE_BYTES_MAX) {
		memcpy(model->scratch + blocks * size,
		       cache_data(model->cache, block), size);
		blocks++;
		block = cache_after(model->cache, block);
	}
	part.length = blocks * size;
	rc = commit(model, &part, request);
	if (rc != 0)
		return rc;
	for (uint64_t i = 0; i < blocks; i++)
		cache_drop(model->cache, number + i);
	return 0;
}

int model_drain_request(struct model *model, struct cache_block *block)
{
	const uint64_t request = block->request;

	block = first_of_request(model->cache, block);
	while (block != NULL && block->request == request) {
		struct cache_block *before = cache_before(model->cache, block);
		int rc = drain_stretch(model, block);

		if (rc != 0)
			return rc;
		block = before == NULL ? cache_oldest(model->cache)
				       : cache_after(model->cache, before);
	}
	return 0;
}

static int make_room(struct model *model)
{
	while (cache_is_full(model->cache)) {
		struct cache_block *block =
			model->config.drain_order == MODEL_DRAIN_RANDOM
				? cache_random(model->cache, &model->prng)
				: cache_oldest(model->cache);
		int rc = model_drain_request(model, block);

		if (rc != 0)
			return rc;
	}
	return 0;
}

int model_tick(struct model *model, uint64_t now_ns)
{
	const bool is_random = model->config.drain_order == MODEL_DRAIN_RANDOM;
	struct cache_block *block = cache_oldest(model->cache);

	while (block != NULL && block->due_ns <= now_ns) {
		int rc = model_drain_request(model, block);

		/* With each write that is due goes another one. */
		if (rc == 0 && is_random && cache_count(model->cache) > 0)
			rc = model_drain_request(
				model,
				cache_random(model->cache, &model->prng));
		if (rc != 0)
			return rc;
		block = cache_oldest(model->cache);
	}
	return 0;
}

static int check_range(const struct model *model, size_t length,
		       uint64_t offset_bytes)
{
	const uint32_t block = model->config.logical_block_bytes;
	const uint64_t size = model->config.media.size_bytes;

	if (model->is_dead)
		return -ESHUTDOWN;
	if (length == 0 || length % block != 0 || offset_bytes % block != 0)
		return -EINVAL;
	return offset_bytes > size || length > size - offset_bytes ? -EINVAL
								   : 0;
}

int model_read(struct model *model, void *buffer, size_t length,
	       uint64_t offset_bytes, uint64_t now_ns)
{
	const struct media *media = &model->config.media;
	const uint32_t size = model->config.logical_block_bytes;
	const uint64_t first = offset_bytes / size;
	uint8_t *to = buffer;
	int rc = check_range(model, length, offset_bytes);

	if (rc == 0)
		rc = model_tick(model, now_ns);
	if (rc != 0)
		return rc;
	model->request++;
	model->counters.reads++;
	rc = scars_check(model->scars, first, length / size);
	if (rc != 0)
		return rc == SCARS_NO_ANSWER ? MODEL_NO_ANSWER : rc;
	rc = media->read(media->context, buffer, length, offset_bytes);
	if (rc != 0)
		return rc;
	scars_overlay(model->scars, first, length / size, model->request, to);
	for (uint64_t i = 0; i < length / size; i++) {
		const struct cache_block *block =
			cache_find(model->cache, first + i);

		if (block != NULL)
			memcpy(to + i * size, cache_data(model->cache, block),
			       size);
	}
	return 0;
}

static bool goes_past_cache(struct model *model,
			    const struct damage_write *write, bool is_fua)
{
	const struct model_config *config = &model->config;
	const uint64_t end = write->offset_bytes + write->length;

	if (is_fua && !(model->is_biting && faults_cache_fua(&config->faults)))
		return true;
	if (config->faults.count == 0)
		return false;
	if (write->offset_bytes < config->spare_bytes ||
	    end + config->spare_bytes > config->media.size_bytes)
		return true;
	if (config->bypass_bytes == 0)
		return false;
	/* A short rest of a long transfer belongs to it. */
	return write->length >= config->bypass_bytes ||
	       (write->offset_bytes == model->bypass_next &&
		model->bypass_next != 0);
}

static int write_through(struct model *model, const struct damage_write *write,
			 bool is_fua)
{
	const uint32_t size = model->config.logical_block_bytes;
	const uint64_t first = write->offset_bytes / size;

	/* An older version in the cache must not win later. */
	for (uint64_t i = 0; i < write->length / size; i++)
		cache_drop(model->cache, first + i);
	for (size_t at = 0; at < write->length;) {
		struct damage_write part = {
			.data = write->data + at,
			.length = write->length - at,
			.offset_bytes = write->offset_bytes + at,
			.is_fua = is_fua,
		};
		int rc = 0;

		if (part.length > HISTORY_WRITE_BYTES_MAX)
			part.length = HISTORY_WRITE_BYTES_MAX;
		rc = commit(model, &part, model->request);
		if (rc != 0)
			return rc;
		at += part.length;
	}
	return 0;
}

static int write_cached(struct model *model, const struct damage_write *write,
			bool is_fua, uint64_t now_ns)
{
	const uint32_t size = model->config.logical_block_bytes;
	struct cache_block like = {
		.number = write->offset_bytes / size,
		.request = model->request,
		.due_ns = now_ns + model->config.drain_ms * CLOCK_NS_PER_MS,
		.is_fua = is_fua,
	};

	for (size_t at = 0; at < write->length; at += size) {
		int rc = 0;

		cache_drop(model->cache, like.number);
		rc = make_room(model);
		if (rc != 0)
			return rc;
		cache_put(model->cache, &like, write->data + at);
		like.number++;
	}
	return 0;
}

static int accept_write(struct model *model, const struct damage_write *write,
			bool is_fua, uint64_t now_ns)
{
	const uint32_t size = model->config.logical_block_bytes;
	int rc = flush_make_way(model, write);

	if (rc != 0)
		return rc;
	model->counters.writes++;
	model->counters.fua_writes += is_fua;
	scars_heal(model->scars, write->offset_bytes / size,
		   write->length / size, model->request);
	if (model->history != NULL)
		history_supersede(model->history, write->offset_bytes,
				  write->length);
	if (!goes_past_cache(model, write, is_fua))
		return write_cached(model, write, is_fua, now_ns);
	if (write->length >= model->config.bypass_bytes)
		model->bypass_next = write->offset_bytes + write->length;
	return write_through(model, write, is_fua);
}

int model_write(struct model *model, const struct damage_write *write,
		bool is_fua, uint64_t now_ns)
{
	struct damage_write told = *write;
	int rc = check_range(model, write->length, write->offset_bytes);

	if (rc == 0)
		rc = model_tick(model, now_ns);
	if (rc != 0)
		return rc;
	model->request++;
	told.is_fua = is_fua;
	trace_tell_write(&model->config.trace, TRACE_WRITE, &told,
			 model->request);
	rc = accept_write(model, write, is_fua, now_ns);
	if (rc != 0)
		return rc;
	told.is_fua = false;
	told.data = NULL;
	trace_tell_write(&model->config.trace, TRACE_WRITE_DONE, &told,
			 model->request);
	return 0;
}

int model_flush(struct model *model, uint64_t now_ns)
{
	struct flush flush;
	int rc = flush_begin(model, &flush, now_ns);

	return rc == 0 ? flush_end(model, &flush) : rc;
}

uint64_t model_dirty_bytes(const struct model *model)
{
	return (uint64_t)cache_count(model->cache) *
	       model->config.logical_block_bytes;
}

const struct model_counters *model_counters(const struct model *model)
{
	return &model->counters;
}
