/* SPDX-License-Identifier: MIT */
/*
 * model - a drive with a volatile write cache, whose power can be cut and whose
 * honesty is known.
 *
 * Pure: media are reached through callbacks, time is an argument, all chance
 * comes from the seed, and what truly happens is told to a callback. Nothing is
 * allocated after model_new(). Not thread-safe.
 *
 * The honest drive: a read sees the newest accepted write. FLUSH brings every
 * accepted write to the media, FUA its own. Any other write stays in the cache
 * until it is drained by age or because room is needed, and is lost if the
 * power is cut before; a write in flight at the cut may be on the media in
 * part, one logical block at a time (P3). So may be what is in the cache and
 * not promised, as far as model_cut_drain lets it.
 *
 * A drive with faults writes through what lies in the first and last spare
 * bytes and what comes in requests of BYPASS_BYTES or more, and spares the ends
 * of its media, so that its lies fall on the workload and not on its
 * preparation.
 *
 * Results are 0, -errno or MODEL_NO_ANSWER. -EINVAL: not whole logical blocks,
 * or out of range. -ESHUTDOWN: the drive is dead.
 */
#ifndef SIMDRIVE_MODEL_H
#define SIMDRIVE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simdrive/damage.h"
#include "simdrive/faults.h"
#include "simdrive/media.h"
#include "simdrive/trace.h"

struct err;
struct model;

#define MODEL_NO_ANSWER 1 /* this read must not be answered before the cut */

#define MODEL_CACHE_BYTES_DEFAULT  (64ULL * 1024 * 1024)
#define MODEL_CACHE_BYTES_MAX      (4ULL * 1024 * 1024 * 1024)
#define MODEL_DRAIN_MS_DEFAULT     2000
#define MODEL_SPARE_BYTES_DEFAULT  (1024ULL * 1024)
#define MODEL_BYPASS_BYTES_DEFAULT (128ULL * 1024)

enum model_drain {
	MODEL_DRAIN_FIFO,   /* the oldest write first */
	MODEL_DRAIN_RANDOM, /* any write, which leaves holes */
};

/* How far a drain has come when the power goes: what was promised by a lie is
 * left whole in any case, so that its loss is to be seen as one. */
enum model_cut_drain {
	MODEL_CUT_OLDEST, /* the oldest write may be there in part */
	MODEL_CUT_PART,   /* in order of arrival, and it stops anywhere */
	MODEL_CUT_ANY,    /* any logical blocks */
};

struct model_config {
	struct media media;
	uint32_t logical_block_bytes; /* 512 or 4096 */
	uint64_t cache_bytes;         /* at least one logical block */
	uint64_t drain_ms;            /* a write is drained at this age */
	enum model_drain drain_order;
	enum model_cut_drain cut_drain;
	uint64_t spare_bytes;
	uint64_t bypass_bytes; /* 0: never */
	uint64_t seed;
	struct faults faults;
	struct trace_sink trace; /* hears what the drive does */
};

struct model_counters {
	uint64_t writes, reads, flushes, fua_writes, cuts;
};

/* Refuses a configuration that no drive can have. */
struct model *model_new(const struct model_config *config, struct err *err);
void model_free(struct model *model);

int model_read(struct model *model, void *buffer, size_t length,
	       uint64_t offset_bytes, uint64_t now_ns);
int model_write(struct model *model, const struct damage_write *write,
		bool is_fua, uint64_t now_ns);
int model_flush(struct model *model, uint64_t now_ns); /* flush.h at once */

/* Drains what is old enough. The other calls do it themselves. */
int model_tick(struct model *model, uint64_t now_ns);

uint64_t model_dirty_bytes(const struct model *model);
const struct model_counters *model_counters(const struct model *model);

#endif
