/* SPDX-License-Identifier: MIT */
#include "simdrive/damage.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/prng.h"
#include "simdrive/cache.h"
#include "simdrive/faults.h"
#include "simdrive/history.h"
#include "simdrive/media.h"
#include "simdrive/scars.h"
#include "simdrive/trace.h"

#define ATOM_BYTES     512
#define VICTIMS        4  /* writes hit at a cut, where there are so many */
#define ROLLED_BACK    16 /* writes that rolls-back takes */
#define TORN_IN_FLIGHT 4  /* logical blocks that tears-in-flight takes */
#define SCARRED_BLOCKS 4  /* of one write */

/* Writes that may be hit, from the oldest. */
struct victims {
	unsigned int count;
	struct history_write *writes[HISTORY_WRITES_MAX];
};

static bool is_spared(const struct damage_scene *scene, uint64_t offset_bytes,
		      size_t length)
{
	return offset_bytes < scene->spare_bytes ||
	       offset_bytes + length + scene->spare_bytes >
		       scene->media->size_bytes;
}

static bool is_blank(const uint8_t *bytes, size_t length)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* True if some atom of it is blank: nothing was there before. */
static bool has_blank_atom(const uint8_t *bytes, size_t length)
{
	for (size_t at = 0; at < length; at += ATOM_BYTES)
		if (is_blank(bytes + at, ATOM_BYTES))
			return true;
	return false;
}

static void collect(const struct damage_scene *scene, struct victims *victims,
		    size_t length_min, bool wants_older)
{
	victims->count = 0;
	for (unsigned int i = 0; i < history_count(scene->history); i++) {
		struct history_write *write = history_at(scene->history, i);

		if (!write->is_current || !write->is_durable ||
		    write->length < length_min ||
		    is_spared(scene, write->offset_bytes, write->length))
			continue;
		if (wants_older && has_blank_atom(write->old, write->length))
			continue;
		victims->writes[victims->count++] = write;
	}
}

/* Writes that replaced something are preferred to first ones, so that a fill
 * is hit only where nothing else was written. */
static void collect_any(const struct damage_scene *scene,
			struct victims *victims)
{
	collect(scene, victims, ATOM_BYTES, true);
	if (victims->count == 0)
		collect(scene, victims, ATOM_BYTES, false);
}

static struct history_write *take_at(struct victims *victims, unsigned int i)
{
	struct history_write *write = victims->writes[i];

	victims->count--;
	memmove(&victims->writes[i], &victims->writes[i + 1],
		(victims->count - i) * sizeof(victims->writes[0]));
	write->is_current = false;
	return write;
}

/* The oldest first, then any. NULL where none is left. */
static struct history_write *take(const struct damage_scene *scene,
				  struct victims *victims, unsigned int round)
{
	unsigned int i = 0;

	if (victims->count == 0)
		return NULL;
	if (round > 0)
		i = (unsigned int)prng_below(scene->prng, victims->count);
	return take_at(victims, i);
}

static int read_new(const struct damage_scene *scene,
		    const struct history_write *write)
{
	return scene->media->read(scene->media->context, scene->scratch,
				  write->length, write->offset_bytes);
}

static int put(const struct damage_scene *scene, const uint8_t *bytes,
	       size_t length, uint64_t offset_bytes)
{
	int rc = scene->media->write(scene->media->context, bytes, length,
				     offset_bytes);

	if (rc == 0)
		trace_tell(scene->trace, &(struct trace_event){
						 .type = TRACE_DAMAGE,
						 .data = bytes,
						 .length = length,
						 .offset_bytes = offset_bytes,
					 });
	return rc;
}

/* Some units return, some stay; at least one of each. */
static int tear(const struct damage_scene *scene,
		const struct history_write *write, size_t unit_bytes)
{
	uint64_t units = write->length / unit_bytes;
	uint64_t back = prng_below(scene->prng, units);
	uint64_t stays =
		(back + 1 + prng_below(scene->prng, units - 1)) % units;
	int rc = read_new(scene, write);

	if (rc != 0)
		return rc;
	for (uint64_t i = 0; i < units; i++) {
		bool is_back = prng_below(scene->prng, 2) == 0;

		if (i == back || (is_back && i != stays))
			memcpy(scene->scratch + i * unit_bytes,
			       write->old + i * unit_bytes, unit_bytes);
	}
	return put(scene, scene->scratch, write->length, write->offset_bytes);
}

static int tears(const struct damage_scene *scene, struct victims *victims,
		 size_t unit_bytes)
{
	int rc = 0;

	collect(scene, victims, 2 * unit_bytes, true);
	for (unsigned int i = 0; i < VICTIMS && rc == 0; i++) {
		struct history_write *write = take(scene, victims, i);

		if (write == NULL)
			break;
		rc = tear(scene, write, unit_bytes);
	}
	return rc;
}

static int corrupt(const struct damage_scene *scene,
		   const struct history_write *write)
{
	uint64_t atoms = write->length / ATOM_BYTES;
	uint64_t atom = prng_below(scene->prng, atoms);
	int rc = read_new(scene, write);

	if (rc != 0)
		return rc;
	for (int flips = 0; flips < 3; flips++) {
		/* Three different bytes: no flip takes another back. */
		uint64_t at = 128 * (uint64_t)(flips + 1) +
			      prng_below(scene->prng, 128);

		scene->scratch[atom * ATOM_BYTES + at] ^=
			(uint8_t)(1U << prng_below(scene->prng, 8));
	}
	return put(scene, scene->scratch, write->length, write->offset_bytes);
}

static int blank(const struct damage_scene *scene,
		 const struct history_write *write)
{
	memset(scene->scratch, 0, write->length);
	return put(scene, scene->scratch, write->length, write->offset_bytes);
}

static bool is_in_flight(const struct damage_scene *scene, uint64_t number)
{
	uint64_t offset = number * scene->block_bytes;

	for (size_t i = 0; i < scene->in_flight_count; i++)
		if (offset - scene->in_flight[i].offset_bytes <
		    scene->in_flight[i].length)
			return true;
	return false;
}

/* One logical block of garbage; 1 if this neighbour cannot be hit. */
static int ruin(const struct damage_scene *scene, uint64_t number)
{
	uint64_t offset = number * scene->block_bytes;
	int rc = 0;

	if (is_spared(scene, offset, scene->block_bytes) ||
	    cache_find(scene->cache, number) != NULL ||
	    is_in_flight(scene, number))
		return 1;
	rc = scene->media->read(scene->media->context, scene->scratch,
				scene->block_bytes, offset);
	if (rc != 0)
		return rc;
	if (has_blank_atom(scene->scratch, scene->block_bytes))
		return 1;
	for (uint32_t i = 0; i < scene->block_bytes; i++)
		scene->scratch[i] = (uint8_t)prng_next(scene->prng);
	history_supersede(scene->history, offset, scene->block_bytes);
	return put(scene, scene->scratch, scene->block_bytes, offset);
}

static int collateral(const struct damage_scene *scene, struct victims *victims)
{
	unsigned int hits = 0;
	int rc = 0;

	collect_any(scene, victims);
	for (unsigned int i = 0; hits < VICTIMS && victims->count > 0; i++) {
		const struct history_write *write = take(scene, victims, i);
		uint64_t first = write->offset_bytes / scene->block_bytes;
		uint64_t after = first + write->length / scene->block_bytes;

		rc = first > 0 ? ruin(scene, first - 1) : 1;
		if (rc == 1)
			rc = ruin(scene, after);
		if (rc < 0)
			return rc;
		hits += rc == 0;
	}
	return 0;
}

/* Any victim of the same length, or the place behind or before its own. */
static bool find_wrong_place(const struct damage_scene *scene,
			     struct victims *victims,
			     const struct history_write *write,
			     uint64_t *offset_bytes)
{
	uint64_t start = victims->count > 0
				 ? prng_below(scene->prng, victims->count)
				 : 0;

	for (unsigned int n = 0; n < victims->count; n++) {
		unsigned int i = (unsigned int)(start + n) % victims->count;

		if (victims->writes[i]->length == write->length) {
			*offset_bytes = take_at(victims, i)->offset_bytes;
			return true;
		}
	}
	*offset_bytes = write->offset_bytes + write->length;
	if (is_spared(scene, *offset_bytes, write->length))
		*offset_bytes = write->offset_bytes - write->length;
	return *offset_bytes < scene->media->size_bytes &&
	       !is_spared(scene, *offset_bytes, write->length);
}

static int misdirects(const struct damage_scene *scene, struct victims *victims)
{
	int rc = 0;

	collect(scene, victims, ATOM_BYTES, true);
	for (unsigned int i = 0; i < VICTIMS && rc == 0; i++) {
		struct history_write *write = take(scene, victims, i);
		uint64_t wrong = 0;

		if (write == NULL)
			break;
		if (!find_wrong_place(scene, victims, write, &wrong))
			continue;
		history_supersede(scene->history, wrong, write->length);
		rc = read_new(scene, write);
		if (rc == 0)
			rc = put(scene, scene->scratch, write->length, wrong);
		if (rc == 0)
			rc = put(scene, write->old, write->length,
				 write->offset_bytes);
	}
	return rc;
}

/* Whole writes, one behind the other in time, from the oldest. */
static int rolls_back(const struct damage_scene *scene, struct victims *victims)
{
	int rc = 0;

	collect(scene, victims, ATOM_BYTES, true);
	for (unsigned int i = 0; i < ROLLED_BACK && rc == 0; i++) {
		struct history_write *write = take(scene, victims, 0);

		if (write == NULL)
			break;
		rc = put(scene, write->old, write->length, write->offset_bytes);
	}
	return rc;
}

static void make_stale(const struct damage_scene *scene,
		       struct victims *victims, uint32_t reads)
{
	collect(scene, victims, ATOM_BYTES, true);
	for (unsigned int i = 0; i < VICTIMS; i++) {
		struct history_write *write = take(scene, victims, i);
		uint64_t blocks = 0;

		if (write == NULL)
			break;
		blocks = write->length / scene->block_bytes;
		/* A write that is stale in part would look torn. */
		if (scene->scars->count + blocks > SCARS_MAX)
			continue;
		for (uint64_t b = 0; b < blocks; b++)
			scars_add(scene->scars,
				  &(struct scar){
					  .number = write->offset_bytes /
							    scene->block_bytes +
						    b,
					  .kind = SCAR_STALE,
					  .reads_left = reads,
				  },
				  write->old + b * scene->block_bytes);
	}
}

static void mark(const struct damage_scene *scene, struct victims *victims,
		 enum scar_kind kind)
{
	unsigned int writes = kind == SCAR_HANGS ? 1 : VICTIMS;
	uint64_t blocks_max = kind == SCAR_HANGS ? 1 : SCARRED_BLOCKS;

	collect_any(scene, victims);
	for (unsigned int i = 0; i < writes; i++) {
		struct history_write *write = take(scene, victims, i);
		uint64_t blocks = 0;

		if (write == NULL)
			break;
		blocks = write->length / scene->block_bytes;
		if (blocks > blocks_max)
			blocks = blocks_max;
		for (uint64_t b = 0; b < blocks; b++)
			scars_add(scene->scars,
				  &(struct scar){
					  .number = write->offset_bytes /
							    scene->block_bytes +
						    b,
					  .kind = kind,
					  .reads_left = 1,
				  },
				  NULL);
	}
}

static int each(const struct damage_scene *scene, struct victims *victims,
		int (*hit)(const struct damage_scene *scene,
			   const struct history_write *write))
{
	int rc = 0;

	collect_any(scene, victims);
	for (unsigned int i = 0; i < VICTIMS && rc == 0; i++) {
		struct history_write *write = take(scene, victims, i);

		if (write == NULL)
			break;
		rc = hit(scene, write);
	}
	return rc;
}

/* A logical block whose first atoms are new and whose others are old; 1 if it
 * cannot be made. */
static int tear_block(const struct damage_scene *scene, const uint8_t *data,
		      uint64_t offset_bytes)
{
	uint64_t atoms = scene->block_bytes / ATOM_BYTES;
	int rc = 0;

	if (atoms < 2 || is_spared(scene, offset_bytes, scene->block_bytes))
		return 1;
	rc = scene->media->read(scene->media->context, scene->scratch,
				scene->block_bytes, offset_bytes);
	if (rc != 0)
		return rc;
	if (has_blank_atom(scene->scratch, scene->block_bytes))
		return 1;
	return put(scene, data,
		   (1 + prng_below(scene->prng, atoms - 1)) * ATOM_BYTES,
		   offset_bytes);
}

static int tear_cached(const struct damage_scene *scene)
{
	const struct cache_block *block = cache_newest(scene->cache);
	unsigned int hits = 0;

	for (; block != NULL && hits < TORN_IN_FLIGHT;
	     block = cache_before(scene->cache, block)) {
		int rc = 1;

		if (block->request > scene->promised_request && !block->is_fua)
			rc = tear_block(scene, cache_data(scene->cache, block),
					block->number * scene->block_bytes);
		if (rc < 0)
			return rc;
		hits += rc == 0;
	}
	return 0;
}

int damage_in_flight(const struct damage_scene *scene,
		     const struct faults *faults)
{
	unsigned int hits = 0;
	size_t i = 0;
	int rc = 0;

	if (faults_find(faults, FAULT_TEARS_IN_FLIGHT) == NULL)
		return 0;
	for (; i < scene->in_flight_count && hits < TORN_IN_FLIGHT; i++) {
		const struct damage_write *write = &scene->in_flight[i];
		uint64_t block = prng_below(scene->prng,
					    write->length / scene->block_bytes);

		rc = tear_block(scene, write->data + block * scene->block_bytes,
				write->offset_bytes +
					block * scene->block_bytes);
		if (rc < 0)
			return rc;
		hits += rc == 0;
	}
	if (hits == 0)
		rc = tear_cached(scene);
	return rc < 0 ? rc : (int)i;
}

int damage_at_cut(const struct damage_scene *scene, const struct faults *faults)
{
	struct victims victims;
	int rc = 0;

	for (unsigned int i = 0; i < faults->count && rc == 0; i++) {
		const struct fault *fault = &faults->list[i];

		if (fault->kind == FAULT_TEARS)
			rc = tears(scene, &victims, (size_t)fault->arg);
		else if (fault->kind == FAULT_CORRUPTS)
			rc = each(scene, &victims, corrupt);
		else if (fault->kind == FAULT_COLLATERAL)
			rc = collateral(scene, &victims);
		else if (fault->kind == FAULT_BLANKS)
			rc = each(scene, &victims, blank);
		else if (fault->kind == FAULT_MISDIRECTS)
			rc = misdirects(scene, &victims);
		else if (fault->kind == FAULT_ROLLS_BACK)
			rc = rolls_back(scene, &victims);
		else if (fault->kind == FAULT_STALE_AFTER_RESTORE)
			make_stale(scene, &victims, (uint32_t)fault->arg);
		else if (fault->kind == FAULT_UNREADABLE)
			mark(scene, &victims, SCAR_UNREADABLE);
		else if (fault->kind == FAULT_HANGS)
			mark(scene, &victims, SCAR_HANGS);
	}
	return rc;
}
