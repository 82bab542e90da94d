/* SPDX-License-Identifier: MIT */
#include "tests/fake/smallmodel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"

#define FLIPPED_AT 100 /* a byte of the keystream */

static struct record_cipher *cipher_of(const uint8_t id[RUN_ID_BYTES])
{
	struct err err;
	struct record_cipher *cipher = record_cipher_new(id, &err);

	if (cipher == NULL)
		abort();
	return cipher;
}

/* A run that differs in its last byte. */
static void other_id(const struct run *run, uint8_t id[RUN_ID_BYTES])
{
	memcpy(id, run->id, RUN_ID_BYTES);
	id[RUN_ID_BYTES - 1] ^= 1;
}

void smallmodel_open(struct small_world *world,
		     const struct small_bounds *bounds)
{
	uint8_t id[RUN_ID_BYTES];
	struct err err;
	uint16_t stream;
	struct run *run = &world->run;

	assert(smallmodel_places(bounds) <= SMALL_PLACES_MAX);
	memset(world, 0, sizeof(*world));
	world->bounds = bounds;
	for (size_t i = 0; i < RUN_ID_BYTES; i++)
		run->id[i] = (uint8_t)(16 + i);
	run->block_bytes = bounds->atoms * RUN_ATOM_BYTES;
	run->logical_block_bytes = bounds->logical * RUN_ATOM_BYTES;
	run->size_bytes = 2 * RUN_LABEL_AREA_BYTES +
			  (uint64_t)bounds->slots * run->block_bytes;
	run->streams = bounds->streams;
	run->pattern = bounds->pattern;
	run->is_filled = !bounds->is_unfilled;
	run->seed = 7;
	(void)snprintf(run->identity, sizeof(run->identity), "small");
	(void)snprintf(run->target, sizeof(run->target), "memory");
	if (run_check(run, &err) < 0)
		abort();
	for (stream = 0; stream < run->streams; stream++)
		schedule_init(&world->schedules[stream], run, stream);
	other_id(run, id);
	world->cipher = cipher_of(run->id);
	world->other = cipher_of(id);
}

void smallmodel_close(struct small_world *world)
{
	record_cipher_free(world->cipher);
	record_cipher_free(world->other);
	free(world->contents);
}

static uint64_t offset_of(const struct small_world *world, unsigned int place)
{
	return run_slot_offset(&world->run, 0) +
	       (uint64_t)place * RUN_ATOM_BYTES;
}

/* The record that lies where ATOM was meant to be. */
static struct record record_of(const struct small_world *world,
			       const struct small_past *past,
			       const struct small_atom *atom)
{
	unsigned int index = atom->home % world->bounds->atoms;
	const struct small_write *write;
	struct record record;

	memset(&record, 0, sizeof(record)); /* compared as a whole */
	record.atoms = 1;
	record.first_sequence = 1;
	record.offset_bytes = offset_of(world, atom->home);
	memcpy(record.run_id, world->run.id, RUN_ID_BYTES);
	if (atom->kind == SMALL_FOREIGN)
		other_id(&world->run, record.run_id);
	if (atom->write < 0)
		return record;
	write = &past->write[atom->write];
	record.cycle = write->cycle;
	record.stream = write->stream;
	record.sequence = write->sequence;
	record.index = (uint16_t)index;
	record.atoms = (uint16_t)world->bounds->atoms;
	record.first_sequence = write->first;
	record.durable_sequence = write->w;
	return record;
}

static void build_record(struct small_world *world,
			 struct small_content *content)
{
	uint8_t whole[SMALL_ATOMS_MAX * RUN_ATOM_BYTES];
	struct record start = content->wanted;
	struct record_cipher *cipher = content->atom.kind == SMALL_FOREIGN
					       ? world->other
					       : world->cipher;
	size_t skip = (size_t)start.index * RUN_ATOM_BYTES;

	if (start.sequence == 0) {
		record_build_fill(cipher, start.offset_bytes, 1,
				  content->bytes);
	} else {
		start.index = 0;
		start.offset_bytes -= skip;
		record_build(cipher, &start, whole);
		memcpy(content->bytes, whole + skip, RUN_ATOM_BYTES);
	}
	if (content->atom.kind == SMALL_CORRUPT)
		content->bytes[FLIPPED_AT] ^= 4;
}

static void build_content(struct small_world *world,
			  struct small_content *content)
{
	switch (content->atom.kind) {
	case SMALL_VERSION:
	case SMALL_STRAY:
	case SMALL_CORRUPT:
	case SMALL_FOREIGN:
		build_record(world, content);
		break;
	case SMALL_ZEROS:
	case SMALL_ONES:
		memset(content->bytes,
		       content->atom.kind == SMALL_ONES ? 0xff : 0,
		       RUN_ATOM_BYTES);
		break;
	case SMALL_UNREADABLE:
	case SMALL_HUNG:
	case SMALL_GONE:
		return; /* nothing can be read */
	}
	content->state =
		record_examine(world->cipher, content->bytes, &content->found);
}

void smallmodel_build(struct small_world *world, const struct small_past *past,
		      unsigned int place, struct small_atom *atom)
{
	struct record wanted = record_of(world, past, atom);
	struct small_content *content;

	for (size_t i = 0; i < world->count; i++) {
		content = &world->contents[i];
		if (content->place == place &&
		    content->atom.kind == atom->kind &&
		    memcmp(&content->wanted, &wanted, sizeof(wanted)) == 0) {
			atom->number = (unsigned int)i;
			return;
		}
	}
	if (world->count == world->room) {
		world->room = world->room ? 2 * world->room : 64;
		world->contents = reallocarray(world->contents, world->room,
					       sizeof(*world->contents));
		if (world->contents == NULL)
			abort();
	}
	atom->number = (unsigned int)world->count;
	content = &world->contents[world->count++];
	memset(content, 0, sizeof(*content));
	content->atom = *atom;
	content->place = place;
	memcpy(&content->wanted, &wanted, sizeof(wanted));
	build_content(world, content);
}

/* The newest write that was issued to SLOT, or -1. */
static int newest_of(const struct small_past *past, unsigned int slot)
{
	int newest = -1;

	for (unsigned int i = 0; i < past->writes; i++)
		if (past->write[i].slot == slot)
			newest = (int)i;
	return newest;
}

static struct small_atom *put(struct small_atom *to, enum small_kind kind,
			      int write, unsigned int home)
{
	to->kind = kind;
	to->write = write;
	to->home = home;
	return to + 1;
}

size_t smallmodel_contents(struct small_world *world,
			   const struct small_past *past, unsigned int place,
			   bool with_rare,
			   struct small_atom atoms[SMALL_ATOMS_KINDS])
{
	const struct small_bounds *bounds = world->bounds;
	unsigned int slot = place / bounds->atoms, places;
	int newest = newest_of(past, slot);
	struct small_atom *to = atoms;

	memset(atoms, 0, SMALL_ATOMS_KINDS * sizeof(*atoms));
	if (!bounds->is_unfilled)
		to = put(to, SMALL_VERSION, -1, place);
	for (unsigned int i = 0; i < past->writes; i++)
		if (past->write[i].slot == slot)
			to = put(to, SMALL_VERSION, (int)i, place);
	to = put(to, SMALL_ZEROS, -1, place);
	to = put(to, SMALL_CORRUPT, newest, place);
	to = put(to, SMALL_FOREIGN, newest, place);
	to = put(to, SMALL_UNREADABLE, -1, place);
	places = smallmodel_places(bounds);
	for (unsigned int home = 0; home < places; home++) {
		int write = newest_of(past, home / bounds->atoms);
		bool is_same_slot = home / bounds->atoms == slot;

		if (home == place || (write < 0 && bounds->is_unfilled) ||
		    (!is_same_slot &&
		     home % bounds->atoms != place % bounds->atoms))
			continue;
		to = put(to, SMALL_STRAY, write, home);
	}
	if (with_rare) {
		to = put(to, SMALL_ONES, -1, place);
		to = put(to, SMALL_HUNG, -1, place);
		to = put(to, SMALL_GONE, -1, place);
	}
	assert(to <= atoms + SMALL_ATOMS_KINDS);
	for (struct small_atom *atom = atoms; atom < to; atom++)
		smallmodel_build(world, past, place, atom);
	return (size_t)(to - atoms);
}

static void grow(struct small_set *set)
{
	struct small_set larger = {.room = set->room ? 2 * set->room : 1024};

	larger.table = calloc(larger.room, sizeof(*larger.table));
	if (larger.table == NULL)
		abort();
	for (size_t i = 0; i < set->room; i++)
		if (set->table[i] != 0)
			(void)smallmodel_add(&larger, set->table[i]);
	free(set->table);
	*set = larger;
}

bool smallmodel_add(struct small_set *set, uint64_t hash)
{
	size_t at;

	hash += hash == 0;
	if (2 * set->used >= set->room)
		grow(set);
	at = hash & (set->room - 1);
	while (set->table[at] != 0 && set->table[at] != hash)
		at = (at + 1) & (set->room - 1);
	if (set->table[at] == hash)
		return false;
	set->table[at] = hash;
	set->used++;
	return true;
}

uint64_t smallmodel_hash(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	for (; count >= 8; at += 8, count -= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		hash = prng_mix(hash * 31 + word);
	}
	for (; count > 0; at++, count--)
		hash = prng_mix(hash * 31 + *at);
	return hash;
}
