/* SPDX-License-Identifier: MIT */
#include "tests/fake/smallmodel_ends.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/prng.h"
#include "common/format/ledger.h"
#include "tests/fake/smallmodel_export.h"
#include "tests/fake/smallmodel_judge.h"
#include "tests/fake/smallmodel_logs.h"
#include "tests/fake/smallmodel_naive.h"
#include "tests/fake/smallmodel_past.h"

#define SCENES_MAX 64
#define SEEN_MAX   (1u << SMALL_WRITES_MAX)

/* One cut and one log; what the media prove opens a scene each. */
struct ends {
	struct small_check *check;
	const struct small_past *past;
	const struct small_log *log;
	const struct small_knowledge *knowledge;
	bool is_whole, is_log_exported;
	uint64_t key;
	size_t scenes;
	uint64_t signatures[SCENES_MAX];
	struct small_scene scene[SCENES_MAX];
	struct small_scene *by_seen[SEEN_MAX];
	struct small_atom atoms[SMALL_PLACES_MAX][SMALL_ATOMS_KINDS];
	size_t counts[SMALL_PLACES_MAX]; /* of these, the common ones first */
};

static const char *tell_name(const struct small_tell *tell)
{
	if (tell->type != ACKBODY_EVENT)
		return tell->type == ACKBODY_RESERVE   ? "reserve"
		       : tell->type == ACKBODY_ISSUED  ? "issued"
		       : tell->type == ACKBODY_DURABLE ? "durable"
						       : "completed";
	if (tell->last == ACKBODY_EVENT_CUT_ASKED)
		return "cut asked";
	return tell->last == ACKBODY_EVENT_CUT_SEEN ? "cut seen" : "restored";
}

static void print_history(const struct ends *ends)
{
	const struct small_past *past = ends->past;

	for (unsigned int i = 0; i < past->writes; i++) {
		const struct small_write *write = &past->write[i];

		(void)fprintf(stderr,
			      "write %" PRIu64 " of stream %u, cycle %u, to "
			      "slot %u, W %" PRIu64 "%s%s%s\n",
			      write->sequence, write->stream, write->cycle,
			      write->slot, write->w,
			      write->is_fua ? " fua" : "",
			      write->is_completed ? " completed" : "",
			      write->is_durable ? " durable" : "");
	}
	if (ends->log->is_missing)
		(void)fprintf(stderr, "no log\n");
	for (unsigned int i = 0; i < ends->log->tells; i++) {
		const struct small_tell *tell = &ends->log->tell[i];

		(void)fprintf(
			stderr,
			"log: %s, stream %u, %" PRIu64 " to %" PRIu64 "\n",
			tell_name(tell), tell->stream, tell->first, tell->last);
	}
	(void)fprintf(stderr, "cycles in the log: %u\n", ends->log->cycles);
}

static void print_outcome(const char *whose,
			  const struct small_outcome *outcome)
{
	(void)fprintf(stderr,
		      "%s: %s status %u completed lost %u shadow %u judged %u "
		      "told %u missed %x log %u media %u\n",
		      whose, outcome->classes, outcome->status,
		      outcome->completed_lost, outcome->shadow_lost,
		      outcome->judged, outcome->told, outcome->missed,
		      outcome->by_log, outcome->by_media);
}

static void fail_end(const struct ends *ends, const struct small_media *media,
		     const struct small_outcome *real,
		     const struct small_outcome *naive, const char *what)
{
	static const char *const kinds[] = {"version",    "stray",   "zeros",
					    "ones",       "corrupt", "foreign",
					    "unreadable", "hung",    "gone"};

	(void)fprintf(stderr, "%s: %s\n", ends->check->world.bounds->name,
		      what);
	print_history(ends);
	for (unsigned int i = 0;
	     i < smallmodel_places(ends->check->world.bounds); i++) {
		const struct small_atom *atom = &media->at[i];

		(void)fprintf(stderr, "atom %u: %s of write [%d]", i,
			      kinds[atom->kind], atom->write);
		(void)fprintf(stderr, " meant for atom %u\n", atom->home);
	}
	print_outcome("verifier", real);
	print_outcome("naive   ", naive);
	abort();
}

/* ---- what the media prove ---- */

/* P5: as the scan gathers it, only what can exist is evidence. */
static unsigned int seen_on(const struct ends *ends, const struct ledger *log,
			    const struct small_media *media)
{
	const struct small_world *world = &ends->check->world;
	unsigned int seen = 0;

	for (unsigned int i = 0; i < smallmodel_places(world->bounds); i++) {
		const struct small_atom *atom = &media->at[i];
		const struct small_content *content =
			&world->contents[atom->number];
		const struct record *found = &content->found;

		if (atom->kind >= SMALL_UNREADABLE ||
		    content->state != RECORD_GOOD || found->sequence == 0 ||
		    found->stream >= world->run.streams ||
		    found->durable_sequence >= found->sequence ||
		    found->sequence > ledger_limit(log, found->stream))
			continue;
		seen |= 1u << atom->write;
	}
	return seen;
}

static struct small_scene *open_scene(struct ends *ends, unsigned int seen)
{
	struct small_check *check = ends->check;
	uint64_t signature;
	const struct evidence *evidence =
		check->prove(check, ends->past, seen, &signature);
	size_t i = 0;

	while (i < ends->scenes && ends->signatures[i] != signature)
		i++;
	assert(i < SCENES_MAX);
	if (i == ends->scenes) {
		ends->signatures[ends->scenes++] = signature;
		smallmodel_judge_open(&ends->scene[i], &check->world,
				      smallmodel_judge_ledger(&check->world,
							      ends->past,
							      ends->log),
				      evidence);
	}
	ends->by_seen[seen] = &ends->scene[i];
	return &ends->scene[i];
}

static void close_scenes(struct ends *ends)
{
	for (size_t i = 0; i < ends->scenes; i++)
		smallmodel_judge_close(&ends->scene[i]);
}

/* ---- one end ---- */

static void check_laws(const struct ends *ends, const struct small_media *media,
		       const struct small_outcome *real, bool is_honest)
{
	bool is_broken = real->status == 1;

	if (is_honest && is_broken)
		fail_end(ends, media, real, real,
			 "an honest drive is accused (P3)");
	if (ends->is_whole && !ends->check->world.bounds->is_unfilled &&
	    is_honest == is_broken)
		fail_end(ends, media, real, real,
			 "a broken promise is let off (P4, P6, P8)");
	if (real->status == 2 &&
	    !smallmodel_naive_is_short(ends->past, ends->knowledge))
		fail_end(ends, media, real, real,
			 "no verdict with a log that is believed");
}

static void export_end(struct ends *ends, const struct small_media *media,
		       const struct small_outcome *real)
{
	struct small_check *check = ends->check;
	uint64_t hash = ends->key;

	for (unsigned int i = 0; i < smallmodel_places(check->world.bounds);
	     i++)
		hash = prng_mix(hash * 31 + media->at[i].number + 1);
	if (!smallmodel_add(&check->ends, hash) || check->export == NULL ||
	    hash % check->share != 0)
		return;
	if (!ends->is_log_exported)
		smallmodel_export_log(check->export, &check->world, ends->past,
				      ends->log);
	ends->is_log_exported = true;
	smallmodel_export_end(check->export, &check->world, media, real);
	check->exported++;
}

static void try_end(struct ends *ends, const struct small_media *media)
{
	struct small_check *check = ends->check;
	const struct small_bounds *bounds = check->world.bounds;
	unsigned int seen = seen_on(ends, ends->scene[0].ledger, media);
	struct small_scene *scene = ends->by_seen[seen];
	struct small_outcome real, naive;
	bool is_honest = smallmodel_naive_is_honest(bounds, ends->past, media);

	if (scene == NULL)
		scene = open_scene(ends, seen);
	smallmodel_judge(&check->world, scene, media, &real);
	smallmodel_naive_judge(bounds, ends->past, ends->knowledge, media,
			       &naive);
	if (memcmp(&real, &naive, sizeof(real)) != 0)
		fail_end(ends, media, &real, &naive,
			 "verifier and naive model differ");
	check_laws(ends, media, &real, is_honest);
	check->judged++;
	check->honest += is_honest;
	check->broken += real.status == 1;
	export_end(ends, media, &real);
}

/* ---- every content of the region ---- */

/* All combinations of the first COUNTS[i] contents of each place. */
static void try_all(struct ends *ends, const size_t *counts)
{
	unsigned int places = smallmodel_places(ends->check->world.bounds);
	size_t at[SMALL_PLACES_MAX] = {0};
	struct small_media media;
	unsigned int i = 0;

	memset(&media, 0, sizeof(media));
	while (i < places) {
		for (i = 0; i < places; i++)
			media.at[i] = ends->atoms[i][at[i]];
		try_end(ends, &media);
		for (i = 0; i < places && ++at[i] == counts[i]; i++)
			at[i] = 0;
	}
}

/* BASE, but one place holds any of its contents in turn. */
static void try_one_liar(struct ends *ends, const struct small_media *base)
{
	unsigned int places = smallmodel_places(ends->check->world.bounds);

	for (unsigned int place = 0; place < places; place++) {
		struct small_media media = *base;

		for (size_t i = 0; i < ends->counts[place]; i++) {
			media.at[place] = ends->atoms[place][i];
			try_end(ends, &media);
		}
	}
}

static bool is_version(const struct small_atom *atom)
{
	return atom->kind == SMALL_VERSION;
}

static void try_media(struct ends *ends)
{
	const struct small_bounds *bounds = ends->check->world.bounds;
	unsigned int places = smallmodel_places(bounds);
	size_t common[SMALL_PLACES_MAX], versions[SMALL_PLACES_MAX];
	struct small_media oldest, newest;

	memset(&oldest, 0, sizeof(oldest));
	memset(&newest, 0, sizeof(newest));
	for (unsigned int i = 0; i < places; i++) {
		const struct small_atom *atoms = ends->atoms[i];
		size_t n = 0;

		common[i] = smallmodel_contents(&ends->check->world, ends->past,
						i, false, ends->atoms[i]);
		ends->counts[i] =
			smallmodel_contents(&ends->check->world, ends->past, i,
					    true, ends->atoms[i]);
		for (n = 1; n < ends->counts[i] && is_version(&atoms[n]);)
			n++;
		versions[i] = n;
		newest.at[i] = oldest.at[i] = atoms[n - 1];
		while (n > 1 &&
		       !(is_version(&atoms[n - 1]) && atoms[n - 1].write >= 0 &&
			 ends->past->write[atoms[n - 1].write].is_durable))
			n--;
		oldest.at[i] = atoms[n - 1];
	}
	try_all(ends, bounds->has_all_lies ? common : versions);
	try_one_liar(ends, &newest);
	try_one_liar(ends, &oldest);
}

/* ---- every log ---- */

static uint64_t hash_knowledge(const struct small_past *past,
			       const struct small_knowledge *knowledge)
{
	uint64_t hash = knowledge->has_log | knowledge->cycles << 1 |
			(uint64_t)knowledge->is_cut_asked << 8 |
			(uint64_t)knowledge->is_late[0] << 9 |
			(uint64_t)knowledge->is_late[1] << 10;
	uint64_t sum = 0;

	for (unsigned int k = 0; k < SMALL_STREAMS_MAX; k++)
		hash = prng_mix(hash * 31 + knowledge->limit[k]);
	for (unsigned int i = 0; i < past->writes; i++)
		sum += prng_mix(past->write[i].sequence << 16 |
				(uint64_t)past->write[i].stream << 8 |
				knowledge->told[i]);
	return prng_mix(hash * 31 + sum);
}

static uint64_t hash_log(const struct small_past *past,
			 const struct small_log *log)
{
	uint64_t hash = log->is_missing | log->cycles << 1;

	for (unsigned int i = 0; i < log->tells; i++)
		hash = prng_mix(hash * 31 + log->tell[i].type * 4096u +
				(uint64_t)log->tell[i].stream * 1024u +
				log->tell[i].first * 32 + log->tell[i].last);
	return prng_mix(hash * 31 + past->begins[1]);
}

/* The ledger must have understood every sentence as it was meant. */
static void check_ledger(struct ends *ends, const struct ledger *ledger)
{
	static const enum ledger_state states[] = {
		[SMALL_NOTHING] = LEDGER_DOUBT,
		[SMALL_COMPLETED] = LEDGER_COMPLETED,
		[SMALL_SHADOW] = LEDGER_SHADOW,
		[SMALL_DURABLE] = LEDGER_DURABLE};
	const struct small_past *past = ends->past;
	struct small_outcome none = {"", .status = 0};
	struct small_media media = {0};
	uint16_t k;

	for (unsigned int i = 0; i < past->writes; i++)
		if (ledger_state(ledger, past->write[i].stream,
				 past->write[i].sequence) !=
		    states[ends->knowledge->told[i]])
			fail_end(ends, &media, &none, &none,
				 "the ledger has a write in another state");
	for (k = 0; k < ends->check->world.run.streams; k++)
		if (ledger_limit(ledger, k) != ends->knowledge->limit[k])
			fail_end(ends, &media, &none, &none,
				 "the ledger has another limit");
}

/* P2: nothing is told before it is so; and in time all of it is. */
static void check_told(const struct ends *ends)
{
	const struct small_past *past = ends->past;
	const struct small_log *log = ends->log;
	struct small_outcome none = {"", .status = 0};
	struct small_media media = {0};
	bool is_all = log->is_whole && !ends->knowledge->is_cut_asked &&
		      !ends->check->world.bounds->is_told_late;

	for (unsigned int i = 0; i < past->writes; i++) {
		enum small_told told = ends->knowledge->told[i];

		if (told >= SMALL_SHADOW && !past->write[i].is_durable)
			fail_end(ends, &media, &none, &none,
				 "a write was called durable too early");
		if (told >= SMALL_COMPLETED && !past->write[i].is_completed)
			fail_end(ends, &media, &none, &none,
				 "a write was called completed too early");
		if (is_all && i >= past->cycle_writes &&
		    past->write[i].is_completed &&
		    told != (past->write[i].is_durable ? SMALL_DURABLE
						       : SMALL_COMPLETED))
			fail_end(ends, &media, &none, &none,
				 "a write was not told of");
	}
}

static bool is_all_told(const struct small_past *past,
			const struct small_knowledge *knowledge)
{
	for (unsigned int i = 0; i < past->writes; i++)
		if (past->write[i].is_durable &&
		    knowledge->told[i] != SMALL_DURABLE)
			return false;
	return knowledge->has_log &&
	       !smallmodel_naive_is_short(past, knowledge);
}

static void try_log(struct small_check *check, const struct small_past *past,
		    const struct small_log *log,
		    const struct small_knowledge *knowledge)
{
	static struct ends ends; /* large */
	uint64_t key =
		prng_mix(hash_knowledge(past, knowledge) * 31 + check->worlds);
	struct ledger *ledger = NULL;

	memset(&ends, 0, offsetof(struct ends, signatures));
	memset(ends.by_seen, 0, sizeof(ends.by_seen));
	ends.check = check;
	ends.past = past;
	ends.log = log;
	ends.knowledge = knowledge;
	ends.key = key;
	ends.is_whole = is_all_told(past, knowledge);
	if (smallmodel_add(&check->logs, prng_mix(hash_log(past, log) * 31 +
						  check->worlds))) {
		ledger = smallmodel_judge_ledger(&check->world, past, log);
		check_told(&ends);
		check_ledger(&ends, ledger);
		ledger_free(ledger);
	}
	if (!smallmodel_add(
		    &check->scenes,
		    prng_mix(key * 31 + smallmodel_past_hash_writes(past))))
		return;
	(void)open_scene(&ends, 0);
	try_media(&ends);
	close_scenes(&ends);
}

void smallmodel_ends_try(struct small_check *check,
			 const struct small_past *past)
{
	smallmodel_logs_each(check, past, true, try_log);
}
