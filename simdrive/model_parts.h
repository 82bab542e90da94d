/* SPDX-License-Identifier: MIT */
/*
 * model_parts - the inside of a model, for model.c, flush.c and power.c alone.
 */
#ifndef SIMDRIVE_MODEL_PARTS_H
#define SIMDRIVE_MODEL_PARTS_H

#include "common/base/prng.h"
#include "simdrive/model.h"

struct cache;
struct cache_block;
struct history;
struct scars;

struct model {
	struct model_config config;
	struct cache *cache;
	struct history *history; /* NULL where there are no faults */
	struct scars *scars;
	uint8_t *scratch; /* HISTORY_WRITE_BYTES_MAX */
	struct prng prng;
	struct model_counters counters;
	uint64_t request; /* the newest read, write or FLUSH */
	uint64_t
		promised_request; /* newest that an acknowledged FLUSH covers */
	uint64_t flushing;        /* the newest honest FLUSH under way, or 0 */
	unsigned int flushes_under_way; /* honest ones */
	uint64_t bypass_next; /* behind the last write past the cache */
	bool is_biting;
	bool is_dead;
	bool drains_odd; /* reorders: what becomes of a single write */
};

/* Has a FLUSH or FUA been acknowledged for this cached block? */
bool model_is_promised(const struct model *model,
		       const struct cache_block *block);

/* Brings the write that BLOCK came with to the media. Whole requests are
 * drained, so that a liar's losses are whole ones too. */
int model_drain_request(struct model *model, struct cache_block *block);

#endif
