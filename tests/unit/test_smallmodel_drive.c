/* SPDX-License-Identifier: MIT */
/*
 * The naive model says in one sentence what an honest drive may hold after a
 * cut (smallmodel_naive_is_honest). Here a drive with a volatile cache is
 * played through, step by step: it takes commands in any order, serves them
 * when it likes, drains any logical block of its cache at any time, and at the
 * cut keeps what is on the media, with any blocks of what was under way. What
 * it leaves must be exactly what that sentence allows: nothing else, and
 * nothing less, so that no honest outcome is left out.
 */
#include "tests/fake/smallmodel_naive.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/prng.h"
#include "tests/unit/cmocka_all.h"

#define NONE   (-2) /* not in the cache */
#define BLOCKS SMALL_PLACES_MAX

enum step { STEP_NEW, STEP_SENT, STEP_SERVED, STEP_REAPED };

/* A block is an atom here, or all atoms of a slot. */
struct play {
	struct small_past past;
	enum step write[SMALL_WRITES_MAX];
	enum step flush[SMALL_FLUSHES_MAX];
	unsigned int covers[SMALL_FLUSHES_MAX]; /* had been reaped */
	int cache[BLOCKS], media[BLOCKS];       /* writes; -1: generation 0 */
};

struct size {
	struct small_bounds bounds;
	unsigned int writes, flushes, fua;
};

static const struct size *size;
static struct small_set plays, ends, pasts;
static uint64_t allowed;

static unsigned int blocks_of_slot(void)
{
	return size->bounds.atoms / size->bounds.logical;
}

static uint64_t hash_past(const struct play *play)
{
	uint64_t hash = play->past.writes;

	for (unsigned int i = 0; i < play->past.writes; i++)
		hash = prng_mix(hash * 31 + play->past.write[i].is_durable);
	return hash;
}

static uint64_t hash_blocks(uint64_t hash, const int *blocks)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		hash = prng_mix(hash * 31 + (uint64_t)(blocks[i] + 3));
	return hash;
}

static bool is_new(const struct play *play)
{
	uint64_t hash = hash_past(play);

	for (unsigned int i = 0; i < size->writes; i++)
		hash = prng_mix(hash * 31 + play->write[i]);
	for (unsigned int i = 0; i < size->flushes; i++)
		hash = prng_mix(hash * 1024 + play->covers[i] * 4 +
				play->flush[i]);
	hash = hash_blocks(hash, play->cache);
	return smallmodel_add(&plays, hash_blocks(hash, play->media));
}

static void fill_media(const int *blocks, struct small_media *media)
{
	memset(media, 0, sizeof(*media));
	for (unsigned int i = 0; i < smallmodel_places(&size->bounds); i++) {
		media->at[i].kind = SMALL_VERSION;
		media->at[i].write = blocks[i / size->bounds.logical];
	}
}

/* How many contents the sentence allows after this past, atom by atom. */
static void count_allowed(const struct play *play)
{
	unsigned int places = smallmodel_places(&size->bounds), i = 0;
	struct small_media media;

	if (!smallmodel_add(&pasts, hash_past(play)))
		return;
	memset(&media, 0, sizeof(media));
	for (i = 0; i < places; i++)
		media.at[i].write = -1;
	while (i > 0) {
		bool is_possible = true;

		for (i = 0; i < places; i++) {
			int write = media.at[i].write;

			if (write >= 0 && play->past.write[write].slot !=
						  i / size->bounds.atoms)
				is_possible = false;
		}
		allowed += is_possible &&
			   smallmodel_naive_is_honest(&size->bounds,
						      &play->past, &media);
		for (i = places; i > 0; i--) {
			if (++media.at[i - 1].write < (int)play->past.writes)
				break;
			media.at[i - 1].write = -1;
		}
	}
}

/* P3: blocks of what was under way from FROM on may be written, or not. */
static void cut(const struct play *play, const int *blocks, unsigned int from)
{
	unsigned int per_slot = blocks_of_slot();
	struct small_media media;

	fill_media(blocks, &media);
	if (!smallmodel_naive_is_honest(&size->bounds, &play->past, &media))
		fail_msg("an honest drive leaves what is not allowed");
	(void)smallmodel_add(&ends, hash_blocks(hash_past(play), blocks));
	for (unsigned int i = from; i < play->past.writes * per_slot; i++) {
		unsigned int write = i / per_slot;
		unsigned int block =
			play->past.write[write].slot * per_slot + i % per_slot;
		int torn[BLOCKS];

		if (play->write[write] != STEP_SENT)
			continue;
		memcpy(torn, blocks, sizeof(torn));
		torn[block] = (int)write;
		cut(play, torn, i + 1);
	}
}

static void drain(struct play *play, unsigned int block)
{
	if (play->cache[block] != NONE)
		play->media[block] = play->cache[block];
	play->cache[block] = NONE;
}

static void serve_write(struct play *play, unsigned int write)
{
	unsigned int per_slot = blocks_of_slot();
	unsigned int first = play->past.write[write].slot * per_slot;

	for (unsigned int i = first; i < first + per_slot; i++) {
		play->cache[i] = (int)write;
		if (play->past.write[write].is_fua)
			drain(play, i);
	}
}

static void explore(const struct play *play);

/* The next step of WRITE; false where it must wait. */
static bool step_write(struct play *play, unsigned int write)
{
	struct small_past *past = &play->past;

	switch (play->write[write]) {
	case STEP_NEW:
		if (write != past->writes)
			return false;
		past->write[write].slot = (uint8_t)(write % size->bounds.slots);
		for (unsigned int i = 0; i < write; i++)
			if (past->write[i].slot == past->write[write].slot &&
			    play->write[i] != STEP_REAPED)
				return false;
		past->write[write].cycle = 1;
		past->write[write].is_fua = size->fua >> write & 1;
		past->writes++;
		break;
	case STEP_SENT:
		serve_write(play, write);
		break;
	case STEP_SERVED:
		past->write[write].is_completed = true;
		past->write[write].is_durable |= past->write[write].is_fua;
		break;
	case STEP_REAPED:
		return false;
	}
	play->write[write]++;
	return true;
}

static bool step_flush(struct play *play, unsigned int flush)
{
	switch (play->flush[flush]) {
	case STEP_NEW:
		if (flush > 0 && play->flush[flush - 1] == STEP_NEW)
			return false;
		for (unsigned int i = 0; i < play->past.writes; i++)
			if (play->past.write[i].is_completed)
				play->covers[flush] |= 1u << i; /* P1 */
		break;
	case STEP_SENT:
		for (unsigned int i = 0; i < BLOCKS; i++)
			drain(play, i);
		break;
	case STEP_SERVED:
		for (unsigned int i = 0; i < play->past.writes; i++)
			if (play->covers[flush] >> i & 1)
				play->past.write[i].is_durable = true;
		break;
	case STEP_REAPED:
		return false;
	}
	play->flush[flush]++;
	return true;
}

static void explore(const struct play *play)
{
	struct play next;

	if (!is_new(play))
		return;
	count_allowed(play);
	cut(play, play->media, 0);
	for (unsigned int i = 0; i < size->writes; i++) {
		next = *play;
		if (step_write(&next, i))
			explore(&next);
	}
	for (unsigned int i = 0; i < size->flushes; i++) {
		next = *play;
		if (step_flush(&next, i))
			explore(&next);
	}
	for (unsigned int i = 0; i < BLOCKS; i++) {
		if (play->cache[i] == NONE)
			continue;
		next = *play;
		drain(&next, i);
		explore(&next);
	}
}

static void clear(struct small_set *set)
{
	free(set->table);
	memset(set, 0, sizeof(*set));
}

static void
p3_an_honest_drive_leaves_all_that_is_allowed_and_no_more(void **state)
{
	static const struct size sizes[] = {
		{{.slots = 1, .atoms = 1, .logical = 1}, 4, 2, 0},
		{{.slots = 2, .atoms = 1, .logical = 1}, 4, 2, 0},
		{{.slots = 3, .atoms = 1, .logical = 1}, 4, 2, 0},
		{{.slots = 2, .atoms = 1, .logical = 1}, 4, 1, 5},
		{{.slots = 1, .atoms = 2, .logical = 1}, 3, 2, 0},
		{{.slots = 2, .atoms = 2, .logical = 1}, 3, 2, 0},
		{{.slots = 2, .atoms = 2, .logical = 2}, 3, 2, 2},
	};
	struct play play;

	(void)state;
	memset(&play, 0, sizeof(play));
	play.past.cycle = 1;
	for (unsigned int i = 0; i < BLOCKS; i++) {
		play.cache[i] = NONE;
		play.media[i] = -1;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size = &sizes[i];
		allowed = 0;
		explore(&play);
		print_message("%u slots of %u blocks, %u writes, %u flushes: "
			      "%zu states of host and drive, %zu of %llu "
			      "allowed ends reached\n",
			      size->bounds.slots, blocks_of_slot(),
			      size->writes, size->flushes, plays.used,
			      ends.used, (unsigned long long)allowed);
		assert_int_equal(ends.used, allowed);
		clear(&plays);
		clear(&ends);
		clear(&pasts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			p3_an_honest_drive_leaves_all_that_is_allowed_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
