/* SPDX-License-Identifier: MIT */
#include "verifier/changes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "verifier/alike.h"

struct group {
	atomic_uint_fast64_t sum; /* of its slots' hashes, in any order */
	atomic_uint_fast64_t slots;
};

struct changes_map {
	uint64_t slots, slots_per_group;
	size_t count;
	struct group groups[];
};

void changes_init(struct changes *changes)
{
	atomic_init(&changes->places, 0);
	atomic_init(&changes->first, UINT64_MAX);
}

void changes_note(struct changes *changes, uint64_t offset_bytes)
{
	uint_fast64_t first = atomic_load(&changes->first);

	while (offset_bytes < first &&
	       !atomic_compare_exchange_weak(&changes->first, &first,
					     offset_bytes))
		continue;
	atomic_fetch_add(&changes->places, 1);
}

/* Odd numbers without a pattern; each field has its own. */
static uint64_t hash_record(const struct record *record)
{
	uint64_t shape = (uint64_t)record->cycle << 32 |
			 (uint64_t)record->stream << 16 | record->atoms;

	return record->sequence * 0x9e3779b97f4a7c15U +
	       record->offset_bytes * 0xc2b2ae3d27d4eb4fU +
	       shape * 0x165667b19e3779f9U +
	       record->index * 0x27d4eb2f165667c5U +
	       record->first_sequence * 0x85ebca77c2b2ae63U +
	       record->durable_sequence * 0xff51afd7ed558ccdU +
	       record->issued_ns * 0xc4ceb9fe1a85ec53U;
}

static bool are_read(const enum judge_read *reads, size_t count)
{
	size_t i;

	for (i = 0; reads != NULL && i < count; i++)
		if (reads[i] != JUDGE_READ_OK)
			return false;
	return true;
}

static uint64_t value_of(enum record_state state, const struct record *found)
{
	return state == RECORD_GOOD ? hash_record(found)
				    : 0x200 + (uint64_t)state;
}

/* The first one stands for all, and COUNT for how many they are. */
uint64_t changes_hash_alike(const enum record_state *states,
			    const struct record *found, size_t count)
{
	return (value_of(states[0], found) ^ count) * 0x94d049bb133111ebU;
}

/* Of damaged content only its being so: what it is worth does not depend on
 * more. */
uint64_t changes_hash(const enum record_state *states,
		      const struct record *found, const enum judge_read *reads,
		      size_t count)
{
	uint64_t hash = count;
	size_t i;

	if (are_read(reads, count) && alike_atoms(states, found, count))
		return changes_hash_alike(states, found, count);
	for (i = 0; i < count; i++) {
		uint64_t value;

		if (reads != NULL && reads[i] != JUDGE_READ_OK)
			value = 0x100 + (uint64_t)reads[i];
		else
			value = value_of(states[i], &found[i]);
		hash = (hash << 23 | hash >> 41) ^ value;
		hash *= 0xbf58476d1ce4e5b9U;
	}
	return hash;
}

struct changes_map *changes_map_new(uint64_t slots, struct err *err)
{
	uint64_t per_group =
		(slots + CHANGES_GROUPS_MAX - 1) / CHANGES_GROUPS_MAX;
	size_t count = (size_t)((slots + per_group - 1) / per_group);
	struct changes_map *map =
		calloc(1, sizeof(*map) + count * sizeof(map->groups[0]));

	if (map == NULL) {
		err_sys(err, errno, "cannot keep what the drive answered");
		return NULL;
	}
	map->slots = slots;
	map->slots_per_group = per_group;
	map->count = count;
	changes_map_clear(map);
	return map;
}

void changes_map_free(struct changes_map *map)
{
	free(map);
}

void changes_map_clear(struct changes_map *map)
{
	size_t i;

	for (i = 0; i < map->count; i++) {
		atomic_store(&map->groups[i].sum, 0);
		atomic_store(&map->groups[i].slots, 0);
	}
}

void changes_map_add(struct changes_map *map, uint64_t slot, uint64_t hash)
{
	struct changes_part part = {.slots = 0};

	changes_part_add(map, &part, slot, hash);
	changes_part_flush(map, &part);
}

void changes_part_add(struct changes_map *map, struct changes_part *part,
		      uint64_t slot, uint64_t hash)
{
	assert(slot < map->slots);
	if (slot < part->first || slot >= part->end) {
		changes_part_flush(map, part);
		part->first = slot - slot % map->slots_per_group;
		part->end = part->first + map->slots_per_group;
	}
	part->sum += prng_mix(hash + slot);
	part->slots++;
}

void changes_part_flush(struct changes_map *map, struct changes_part *part)
{
	struct group *group = &map->groups[part->first / map->slots_per_group];

	if (part->slots > 0) {
		atomic_fetch_add_explicit(&group->sum, part->sum,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&group->slots, part->slots,
					  memory_order_relaxed);
	}
	*part = (struct changes_part){.slots = 0};
}

/* A group that was not seen whole is in doubt for other reasons. */
static bool is_whole(const struct changes_map *map, size_t i)
{
	uint64_t left = map->slots - i * map->slots_per_group;
	uint64_t slots =
		left < map->slots_per_group ? left : map->slots_per_group;

	return atomic_load(&map->groups[i].slots) == slots;
}

void changes_compare(struct changes *changes, const struct run *run,
		     const struct changes_map *before,
		     const struct changes_map *after)
{
	size_t i;

	assert(before->slots == after->slots);
	for (i = 0; i < before->count; i++)
		if (is_whole(before, i) && is_whole(after, i) &&
		    atomic_load(&before->groups[i].sum) !=
			    atomic_load(&after->groups[i].sum))
			changes_note(changes,
				     run_slot_offset(
					     run, i * before->slots_per_group));
}
