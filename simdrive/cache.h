/* SPDX-License-Identifier: MIT */
/*
 * cache - the dirty blocks of a volatile write cache, in order of arrival.
 *
 * It holds at most one version of a block, the newest. A block that is written
 * again moves to the end of the order. All memory is taken by cache_new().
 * It knows nothing of media, flushes or time: due_ns is only carried.
 */
#ifndef SIMDRIVE_CACHE_H
#define SIMDRIVE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct cache;
struct err;
struct prng;

struct cache_block {
	uint64_t number;  /* of the logical block on the drive */
	uint64_t request; /* the write it came with; blocks of one write stand
			     side by side in the order */
	uint64_t due_ns;  /* when it is to be drained by age */
	bool is_fua;      /* acknowledged as durable although it is here */
	bool is_stuck;    /* a lying FLUSH passed it over */
	uint32_t slot;    /* private */
};

struct cache *cache_new(uint32_t block_bytes, uint64_t capacity_bytes,
			struct err *err);
void cache_free(struct cache *cache);

uint32_t cache_count(const struct cache *cache);
bool cache_is_full(const struct cache *cache);

/* NULL where the block is not in the cache. */
struct cache_block *cache_find(const struct cache *cache, uint64_t number);
const uint8_t *cache_data(const struct cache *cache,
			  const struct cache_block *block);

/* Stores block LIKE->number at the end of the order; its older version is
 * dropped. There must be room for one block more. */
void cache_put(struct cache *cache, const struct cache_block *like,
	       const uint8_t *data);
void cache_drop(struct cache *cache, uint64_t number); /* or nothing */
void cache_clear(struct cache *cache);

/* Along the order; NULL at its ends. A dropped block must not be used. */
struct cache_block *cache_oldest(const struct cache *cache);
struct cache_block *cache_newest(const struct cache *cache);
struct cache_block *cache_after(const struct cache *cache,
				const struct cache_block *block);
struct cache_block *cache_before(const struct cache *cache,
				 const struct cache_block *block);
/* Any block; the cache must not be empty. */
struct cache_block *cache_random(const struct cache *cache, struct prng *prng);

#endif
