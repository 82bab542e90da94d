/* SPDX-License-Identifier: MIT */
#include "simdrive/flush.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "simdrive/cache.h"
#include "simdrive/history.h"
#include "simdrive/model_parts.h"

/* The newest block that REQUEST covers, and that no lying FLUSH has passed
 * over: behind such a one are only others of its kind. */
static struct cache_block *find_newest(const struct model *model,
				       uint64_t request)
{
	struct cache_block *block = cache_newest(model->cache);

	while (block != NULL && block->request > request)
		block = cache_before(model->cache, block);
	return block == NULL || block->is_stuck ? NULL : block;
}

static void flush_late(struct model *model, uint64_t due_ns)
{
	struct cache_block *block = cache_newest(model->cache);

	/* Due times never fall along the order: behind an early one are only
	 * earlier ones. */
	for (; block != NULL && block->due_ns > due_ns;
	     block = cache_before(model->cache, block))
		block->due_ns = due_ns;
}

static void forget(struct model *model)
{
	struct cache_block *block = cache_newest(model->cache);

	for (; block != NULL && !block->is_stuck;
	     block = cache_before(model->cache, block))
		block->is_stuck = true;
}

static int flush_half(struct model *model)
{
	struct cache_block *block = cache_newest(model->cache);
	uint64_t requests = 0, request = 0, drained = 0;

	for (; block != NULL && !block->is_stuck;
	     block = cache_before(model->cache, block)) {
		requests += block->request != request;
		request = block->request;
	}
	drained = requests / 2;
	if (requests % 2 != 0) {
		drained += model->drains_odd;
		model->drains_odd = !model->drains_odd;
	}
	for (; drained > 0; drained--) {
		int rc = model_drain_request(model, cache_newest(model->cache));

		if (rc != 0)
			return rc;
	}
	forget(model);
	return 0;
}

static int lie(struct model *model, enum fault_flush how, uint64_t late_ns)
{
	switch (how) {
	case FAULT_FLUSH_HONEST:
	case FAULT_FLUSH_IGNORE:
		return 0;
	case FAULT_FLUSH_LATE:
		flush_late(model, late_ns);
		return 0;
	case FAULT_FLUSH_FORGET:
		forget(model);
		return 0;
	case FAULT_FLUSH_HALF:
		return flush_half(model);
	}
	abort();
}

int flush_begin(struct model *model, struct flush *flush, uint64_t now_ns)
{
	enum fault_flush how = FAULT_FLUSH_HONEST;
	uint64_t late_ms = 0;
	int rc = model->is_dead ? -ESHUTDOWN : model_tick(model, now_ns);

	if (rc != 0)
		return rc;
	model->counters.flushes++;
	model->request++;
	trace_tell_moment(&model->config.trace, TRACE_FLUSH, 0, model->request);
	if (model->is_biting)
		how = faults_flush(&model->config.faults,
				   model->counters.flushes, &late_ms);
	flush->request = model->request;
	flush->is_honest = how == FAULT_FLUSH_HONEST;
	if (flush->is_honest) {
		model->flushes_under_way++;
		model->flushing = flush->request;
	}
	return lie(model, how, now_ns + late_ms * CLOCK_NS_PER_MS);
}

int flush_step(struct model *model, const struct flush *flush)
{
	struct cache_block *block =
		flush->is_honest ? find_newest(model, flush->request) : NULL;

	return block == NULL ? 0 : model_drain_request(model, block);
}

static int drain_covered(struct model *model, uint64_t request)
{
	struct cache_block *block = find_newest(model, request);

	while (block != NULL) {
		int rc = model_drain_request(model, block);

		if (rc != 0)
			return rc;
		block = find_newest(model, request);
	}
	return 0;
}

int flush_end(struct model *model, const struct flush *flush)
{
	int rc = 0;

	if (flush->is_honest) {
		rc = drain_covered(model, flush->request);
		model->flushes_under_way--;
		if (model->flushes_under_way == 0)
			model->flushing = 0;
	}
	if (rc != 0)
		return rc;
	if (model->promised_request < flush->request)
		model->promised_request = flush->request;
	if (model->history != NULL)
		history_promise(model->history, flush->request);
	trace_tell_moment(&model->config.trace, TRACE_FLUSH_DONE, 0,
			  flush->request);
	return 0;
}

int flush_make_way(struct model *model, const struct damage_write *write)
{
	const uint32_t size = model->config.logical_block_bytes;
	const uint64_t first = write->offset_bytes / size;

	if (model->flushes_under_way == 0)
		return 0;
	for (uint64_t i = 0; i < write->length / size; i++) {
		struct cache_block *block = cache_find(model->cache, first + i);
		int rc = 0;

		if (block != NULL && block->request <= model->flushing &&
		    !block->is_stuck)
			rc = model_drain_request(model, block);
		if (rc != 0)
			return rc;
	}
	return 0;
}
