/* SPDX-License-Identifier: MIT */
/*
 * smallmodel - the words in which the small-model check speaks: how large an
 * experiment is, what has happened in it, what stands in the log, and what
 * lies on the drive afterwards. It knows nothing of the verifier.
 *
 * An experiment has a handful of writes to a handful of slots, so that all of
 * its histories and all of its endings can be tried. Places count the atoms of
 * the region, slot by slot.
 */
#ifndef TESTS_FAKE_SMALLMODEL_H
#define TESTS_FAKE_SMALLMODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "common/format/record.h"
#include "common/format/schedule.h"

#define SMALL_STREAMS_MAX 2
#define SMALL_SLOTS_MAX   3
#define SMALL_ATOMS_MAX   4 /* of a slot */
#define SMALL_PLACES_MAX  8 /* bits of a byte */
#define SMALL_CYCLES_MAX  2
#define SMALL_WRITES_MAX  8
#define SMALL_FLUSHES_MAX 4
#define SMALL_TELLS_MAX   32
#define SMALL_ATOMS_KINDS 24 /* different contents that one place can have */

/* One letter a class: intact, newer, unpromised, impossible, lost, blank,
 * foreign, torn, corrupt, misdirected, unreadable, hung, gone. */
#define SMALL_CLASSES       "inuxlbftcmrhg"
#define SMALL_CLASSES_COUNT 13

struct small_cycle {
	unsigned int writes, flushes; /* of all streams together */
	unsigned int fua;             /* set of writes, in order of issue */
	bool is_unsynced;             /* the control arm: promises nothing */
};

enum small_theme {
	SMALL_ONE_CYCLE,
	SMALL_TEARING, /* slots of two atoms */
	SMALL_UNFILLED,
	SMALL_TWO_CYCLES,
};

struct small_bounds {
	const char *name;
	enum small_theme theme;
	bool is_deep;                       /* takes minutes */
	unsigned int slots, atoms, logical; /* atoms of a slot, of a block */
	uint16_t streams;
	enum run_pattern pattern;
	bool is_unfilled;
	unsigned int gap;   /* numbers reserved beyond those ever issued */
	unsigned int early; /* reserved at first, all when needed; 0: all */
	unsigned int cycles;
	struct small_cycle cycle[SMALL_CYCLES_MAX];
	bool is_told_late;   /* telling the log is an event of its own */
	bool has_all_events; /* "cut seen" and "restored" stand anywhere */
	bool has_all_lies;   /* every place may lie, not one at a time */
};

struct small_write {
	uint8_t stream, cycle, slot;
	bool is_fua, is_completed, is_durable; /* by P1, worked out naively */
	uint64_t sequence, first, w;           /* w: as the writer claims */
};

/* A statement of the log: DURABLE, COMPLETED, RESERVE and ISSUED (last is the
 * number) or EVENT (last is an enum ackbody_event). */
struct small_tell {
	enum ackbody_type type;
	uint16_t stream;
	uint64_t first, last;
};

struct small_flush {
	uint16_t stream;
	uint64_t number;     /* its stream's */
	unsigned int covers; /* set of writes that had been reaped by then */
	bool is_done;
};

/* Everything up to now; the log's cycles begin at tell[begins[]]. */
struct small_past {
	unsigned int cycle; /* from 1 */
	unsigned int writes, cycle_writes, flushes, tells;
	unsigned int begins[SMALL_CYCLES_MAX];
	uint64_t first[SMALL_CYCLES_MAX][SMALL_STREAMS_MAX];
	uint64_t early[SMALL_CYCLES_MAX][SMALL_STREAMS_MAX];
	uint64_t reserved[SMALL_CYCLES_MAX][SMALL_STREAMS_MAX];
	struct small_write write[SMALL_WRITES_MAX];
	struct small_flush flush[SMALL_FLUSHES_MAX];
	struct small_tell tell[SMALL_TELLS_MAX];
};

/* What the verifier is given of it: the first CYCLES of it, or no log. */
struct small_log {
	bool is_missing;
	bool is_whole; /* every statement of the writer's arrived */
	unsigned int cycles, tells;
	struct small_tell tell[SMALL_TELLS_MAX];
};

enum small_kind {
	SMALL_VERSION, /* of a write to this place, or generation 0 */
	SMALL_STRAY,   /* the same, but meant for the place HOME */
	SMALL_ZEROS,
	SMALL_ONES,
	SMALL_CORRUPT,
	SMALL_FOREIGN,
	SMALL_UNREADABLE,
	SMALL_HUNG,
	SMALL_GONE,
};

struct small_atom {
	enum small_kind kind;
	int write;           /* its index in the past; -1: generation 0 */
	unsigned int home;   /* place */
	unsigned int number; /* of the content, from 0 in this world */
};

struct small_media {
	struct small_atom at[SMALL_PLACES_MAX];
};

/* What is to be said of one end. */
struct small_outcome {
	char classes[SMALL_PLACES_MAX + 1];
	uint8_t atoms[SMALL_CLASSES_COUNT], writes[SMALL_CLASSES_COUNT];
	uint8_t completed_lost, shadow_lost, judged, told, missed;
	uint8_t by_log, by_media; /* how many numbers are promised by each */
	uint8_t status;           /* the program's exit status */
};

/* Contents that an atom can have: really built, really examined. */
struct small_content {
	struct small_atom atom;
	unsigned int place;
	struct record wanted; /* what was asked for */
	uint8_t bytes[RUN_ATOM_BYTES];
	enum record_state state;
	struct record found;
	bool is_exported;
};

struct small_world {
	const struct small_bounds *bounds;
	struct run run;
	struct schedule schedules[RUN_STREAMS_MAX];
	struct record_cipher *cipher, *other;
	struct small_content *contents;
	size_t count, room;
};

/* Number I of the list, NULL behind its end. */
const struct small_bounds *smallmodel_bounds(size_t i);

void smallmodel_open(struct small_world *world,
		     const struct small_bounds *bounds);
void smallmodel_close(struct small_world *world);

static inline unsigned int smallmodel_places(const struct small_bounds *bounds)
{
	return bounds->slots * bounds->atoms;
}

/* Sets ATOM->number to the content that PLACE then has. */
void smallmodel_build(struct small_world *world, const struct small_past *past,
		      unsigned int place, struct small_atom *atom);

/* All that PLACE can hold, honestly or not; returns how many. WITH_RARE: also,
 * behind the others, what differs from them in name only. */
size_t smallmodel_contents(struct small_world *world,
			   const struct small_past *past, unsigned int place,
			   bool with_rare,
			   struct small_atom atoms[SMALL_ATOMS_KINDS]);

/* Set of 64-bit hashes that grows. */
struct small_set {
	uint64_t *table;
	size_t used, room;
};

/* True where HASH was not in it. */
bool smallmodel_add(struct small_set *set, uint64_t hash);
uint64_t smallmodel_hash(uint64_t hash, const void *bytes, size_t count);

#endif
