/* SPDX-License-Identifier: MIT */
#include "simdrive/cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"

#define NO_SLOT UINT32_MAX

struct slot {
	struct cache_block block;
	uint32_t before, after; /* in the order of arrival */
	uint32_t chain;         /* next in the hash chain, or free list */
	bool is_used;
};

struct cache {
	uint32_t block_bytes;
	uint32_t capacity, count;
	uint32_t oldest, newest;
	uint32_t free_slot;
	uint32_t bucket_mask;
	uint32_t *buckets;
	struct slot *slots;
	uint8_t *data;
};

static uint32_t *bucket_of(const struct cache *cache, uint64_t number)
{
	return &cache->buckets[prng_mix(number) & cache->bucket_mask];
}

static uint32_t find_slot(const struct cache *cache, uint64_t number)
{
	uint32_t at = *bucket_of(cache, number);

	while (at != NO_SLOT && cache->slots[at].block.number != number)
		at = cache->slots[at].chain;
	return at;
}

static struct cache_block *block_at(const struct cache *cache, uint32_t at)
{
	return at == NO_SLOT ? NULL : &cache->slots[at].block;
}

static void unlink_order(struct cache *cache, const struct slot *slot)
{
	if (slot->before == NO_SLOT)
		cache->oldest = slot->after;
	else
		cache->slots[slot->before].after = slot->after;
	if (slot->after == NO_SLOT)
		cache->newest = slot->before;
	else
		cache->slots[slot->after].before = slot->before;
}

static void append_order(struct cache *cache, uint32_t at)
{
	struct slot *slot = &cache->slots[at];

	slot->after = NO_SLOT;
	slot->before = cache->newest;
	if (cache->newest == NO_SLOT)
		cache->oldest = at;
	else
		cache->slots[cache->newest].after = at;
	cache->newest = at;
}

struct cache *cache_new(uint32_t block_bytes, uint64_t capacity_bytes,
			struct err *err)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	uint64_t capacity = capacity_bytes / block_bytes;
	uint32_t buckets = 1;

	assert(capacity >= 1 && capacity < NO_SLOT / 2);
	if (cache == NULL)
		goto fail;
	while (buckets < capacity)
		buckets *= 2;
	cache->block_bytes = block_bytes;
	cache->capacity = (uint32_t)capacity;
	cache->bucket_mask = buckets - 1;
	cache->buckets = malloc(buckets * sizeof(*cache->buckets));
	cache->slots = calloc(capacity, sizeof(*cache->slots));
	cache->data = calloc(capacity, block_bytes);
	if (cache->buckets == NULL || cache->slots == NULL ||
	    cache->data == NULL)
		goto fail;
	cache_clear(cache);
	return cache;
fail:
	(void)err_sys(err, ENOMEM, "cannot make a write cache"); /* NULL is */
	cache_free(cache); /* what tells the caller */
	return NULL;
}

void cache_free(struct cache *cache)
{
	if (cache == NULL)
		return;
	free(cache->buckets);
	free(cache->slots);
	free(cache->data);
	free(cache);
}

uint32_t cache_count(const struct cache *cache)
{
	return cache->count;
}

bool cache_is_full(const struct cache *cache)
{
	return cache->count == cache->capacity;
}

struct cache_block *cache_find(const struct cache *cache, uint64_t number)
{
	if (cache->count == 0)
		return NULL;
	return block_at(cache, find_slot(cache, number));
}

const uint8_t *cache_data(const struct cache *cache,
			  const struct cache_block *block)
{
	return cache->data + (size_t)block->slot * cache->block_bytes;
}

void cache_put(struct cache *cache, const struct cache_block *like,
	       const uint8_t *data)
{
	uint32_t *bucket = bucket_of(cache, like->number);
	struct slot *slot = NULL;
	uint32_t at = 0;

	cache_drop(cache, like->number);
	assert(!cache_is_full(cache));

	at = cache->free_slot;
	slot = &cache->slots[at];
	cache->free_slot = slot->chain;
	cache->count++;
	slot->block = *like;
	slot->block.slot = at;
	slot->is_used = true;
	slot->chain = *bucket;
	*bucket = at;
	append_order(cache, at);
	memcpy(cache->data + (size_t)at * cache->block_bytes, data,
	       cache->block_bytes);
}

void cache_drop(struct cache *cache, uint64_t number)
{
	uint32_t *link = bucket_of(cache, number);
	struct slot *slot = NULL;
	uint32_t at = 0;

	while (*link != NO_SLOT && cache->slots[*link].block.number != number)
		link = &cache->slots[*link].chain;
	if (*link == NO_SLOT)
		return;
	at = *link;
	slot = &cache->slots[at];
	*link = slot->chain;
	unlink_order(cache, slot);
	slot->is_used = false;
	slot->chain = cache->free_slot;
	cache->free_slot = at;
	cache->count--;
}

void cache_clear(struct cache *cache)
{
	for (uint32_t i = 0; i <= cache->bucket_mask; i++)
		cache->buckets[i] = NO_SLOT;
	for (uint32_t i = 0; i < cache->capacity; i++) {
		cache->slots[i].is_used = false;
		cache->slots[i].chain =
			i + 1 < cache->capacity ? i + 1 : NO_SLOT;
	}
	cache->free_slot = 0;
	cache->count = 0;
	cache->oldest = NO_SLOT;
	cache->newest = NO_SLOT;
}

struct cache_block *cache_oldest(const struct cache *cache)
{
	return block_at(cache, cache->oldest);
}

struct cache_block *cache_newest(const struct cache *cache)
{
	return block_at(cache, cache->newest);
}

struct cache_block *cache_after(const struct cache *cache,
				const struct cache_block *block)
{
	return block_at(cache, cache->slots[block->slot].after);
}

struct cache_block *cache_before(const struct cache *cache,
				 const struct cache_block *block)
{
	return block_at(cache, cache->slots[block->slot].before);
}

struct cache_block *cache_random(const struct cache *cache, struct prng *prng)
{
	uint32_t at = (uint32_t)prng_below(prng, cache->capacity);

	assert(cache->count > 0);
	/* A cache in use is nearly full where this is asked; the walk is short
	 * and bounded by the capacity. */
	while (!cache->slots[at].is_used)
		at = (at + 1) % cache->capacity;
	return &cache->slots[at].block;
}
