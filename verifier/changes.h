/* SPDX-License-Identifier: MIT */
/*
 * changes - places where the drive answered two reads differently.
 *
 * A drive that answers the first read after power-on with old content and the
 * next one with new must not be acquitted by the second answer (P9). So every
 * scan of the region keeps a digest of all that it was answered, and the next
 * one is compared with it. Bounded: a digest has CHANGES_GROUPS_MAX groups of
 * neighbouring slots, which grow with the region.
 *
 * Pure, apart from memory. changes_note() and changes_map_add() may be called
 * from many threads; their outcome does not depend on the order.
 */
#ifndef VERIFIER_CHANGES_H
#define VERIFIER_CHANGES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "verifier/judge.h"

struct err;
struct changes_map;

#define CHANGES_GROUPS_MAX 65536

struct changes {
	atomic_uint_fast64_t places; /* how many differ; 0: none */
	atomic_uint_fast64_t first;  /* lowest byte address; if places > 0 */
};

void changes_init(struct changes *changes);
void changes_note(struct changes *changes, uint64_t offset_bytes);

/* Stands for COUNT atoms as they were answered. READS may be NULL: all read. */
uint64_t changes_hash(const enum record_state *states,
		      const struct record *found, const enum judge_read *reads,
		      size_t count);

/* The same for atoms that are alike (alike.h) and were all read. */
uint64_t changes_hash_alike(const enum record_state *states,
			    const struct record *found, size_t count);

/* An empty digest of a region of SLOTS slots. */
struct changes_map *changes_map_new(uint64_t slots, struct err *err);
void changes_map_free(struct changes_map *map);
void changes_map_clear(struct changes_map *map);

/* Once for each slot of a scan, with changes_hash() of its atoms. */
void changes_map_add(struct changes_map *map, uint64_t slot, uint64_t hash);

/* What a thread adds to one group, so that it need not meet the others for each
 * slot. All zero: nothing. */
struct changes_part {
	uint64_t first, end; /* slots of the group */
	uint64_t sum, slots;
};

/* changes_map_add(), some time until changes_part_flush(). */
void changes_part_add(struct changes_map *map, struct changes_part *part,
		      uint64_t slot, uint64_t hash);
void changes_part_flush(struct changes_map *map, struct changes_part *part);

/* Notes each group of RUN's region that both scans saw whole, and differently.
 */
void changes_compare(struct changes *changes, const struct run *run,
		     const struct changes_map *before,
		     const struct changes_map *after);

#endif
