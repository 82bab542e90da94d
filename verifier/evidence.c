/* SPDX-License-Identifier: MIT */
#include "verifier/evidence.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/ledger.h"
#include "common/format/record.h"

#define CACHE_ENTRIES 1024                       /* power of two */
#define TABLE_ENTRIES (2 * EVIDENCE_ENTRIES_MAX) /* half full at most */

struct entry {
	bool is_used;
	uint16_t stream;
	uint32_t cycle;
	uint64_t first, last; /* last == first - 1: seen, proves nothing */
};

struct evidence {
	pthread_mutex_t lock;
	uint64_t used, dropped;
	struct entry entries[TABLE_ENTRIES];
};

struct evidence_cache {
	struct evidence *evidence;
	struct entry entries[CACHE_ENTRIES];
};

struct evidence *evidence_new(struct err *err)
{
	struct evidence *evidence = calloc(1, sizeof(*evidence));

	if (evidence == NULL) {
		err_sys(err, errno, "cannot keep the drive's own evidence");
		return NULL;
	}
	pthread_mutex_init(&evidence->lock, NULL);
	return evidence;
}

void evidence_free(struct evidence *evidence)
{
	if (evidence == NULL)
		return;
	pthread_mutex_destroy(&evidence->lock);
	free(evidence);
}

struct evidence_cache *evidence_cache_new(struct evidence *evidence,
					  struct err *err)
{
	struct evidence_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL) {
		err_sys(err, errno, "cannot keep the drive's own evidence");
		return NULL;
	}
	cache->evidence = evidence;
	return cache;
}

static bool is_same(const struct entry *a, const struct entry *b)
{
	return a->stream == b->stream && a->cycle == b->cycle;
}

static uint64_t hash(const struct entry *entry)
{
	return prng_mix((uint64_t)entry->cycle << 16 | entry->stream);
}

/* Two records of one cycle agree on its first number; where they do not, the
 * narrower range is believed. */
static void widen(struct entry *to, const struct entry *from)
{
	if (from->first > to->first)
		to->first = from->first;
	if (from->last > to->last)
		to->last = from->last;
}

static void merge_entry(struct evidence *evidence, const struct entry *from)
{
	uint64_t at = hash(from) % TABLE_ENTRIES;

	while (evidence->entries[at].is_used &&
	       !is_same(&evidence->entries[at], from))
		at = (at + 1) % TABLE_ENTRIES;
	if (evidence->entries[at].is_used) {
		widen(&evidence->entries[at], from);
	} else if (evidence->used < EVIDENCE_ENTRIES_MAX) {
		evidence->entries[at] = *from;
		evidence->used++;
	} else {
		evidence->dropped++;
	}
}

void evidence_cache_merge(struct evidence_cache *cache)
{
	size_t i;

	pthread_mutex_lock(&cache->evidence->lock);
	for (i = 0; i < CACHE_ENTRIES; i++) {
		if (cache->entries[i].is_used)
			merge_entry(cache->evidence, &cache->entries[i]);
		cache->entries[i].is_used = false;
	}
	pthread_mutex_unlock(&cache->evidence->lock);
}

void evidence_cache_free(struct evidence_cache *cache)
{
	if (cache == NULL)
		return;
	evidence_cache_merge(cache);
	free(cache);
}

void evidence_add(struct evidence_cache *cache, const struct record *record)
{
	struct entry seen = {.is_used = true,
			     .stream = record->stream,
			     .cycle = record->cycle,
			     .first = record->first_sequence,
			     .last = record->durable_sequence};
	struct entry *entry = &cache->entries[hash(&seen) % CACHE_ENTRIES];

	if (record->sequence == 0)
		return;
	if (entry->is_used && is_same(entry, &seen)) {
		widen(entry, &seen);
		return;
	}
	if (entry->is_used) {
		pthread_mutex_lock(&cache->evidence->lock);
		merge_entry(cache->evidence, entry);
		pthread_mutex_unlock(&cache->evidence->lock);
	}
	*entry = seen;
}

bool evidence_has_writes(const struct evidence *evidence)
{
	return evidence->used > 0;
}

uint64_t evidence_durable(const struct evidence *evidence)
{
	uint64_t durable = 0;
	size_t i;

	for (i = 0; i < TABLE_ENTRIES; i++) {
		const struct entry *entry = &evidence->entries[i];

		if (entry->is_used && entry->first > 0 &&
		    entry->last >= entry->first)
			durable += entry->last - entry->first + 1;
	}
	return durable;
}

uint64_t evidence_dropped(const struct evidence *evidence)
{
	return evidence->dropped;
}

bool evidence_apply(const struct evidence *evidence, struct ledger *ledger)
{
	bool is_new = false;
	size_t i;

	for (i = 0; i < TABLE_ENTRIES; i++) {
		const struct entry *entry = &evidence->entries[i];

		if (!entry->is_used || entry->first == 0 ||
		    entry->last < entry->first)
			continue;
		if (ledger_prove(ledger, entry->stream, entry->first,
				 entry->last))
			is_new = true;
	}
	return is_new;
}
