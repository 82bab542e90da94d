/* SPDX-License-Identifier: MIT */
/*
 * The whole chain of the verdict for a handful of writes, without a gap: every
 * order in which writes are issued and completed, flushes submitted and
 * completed; a cut at every point; every log that can have survived it; every
 * content that an honest or a lying drive can show afterwards. Each end goes
 * through writer/durable, the ledger, evidence, expect, judge, findings and
 * conclude, and is compared with a naive model (tests/fake/smallmodel_naive.c)
 * that says what P1 to P11 say. tests/oracle/small.py judges the same ends
 * once more.
 *
 * SMALLMODEL_EXPORT=FILE writes the distinct ends there, SMALLMODEL_SHARE=N one
 * in N of them; SMALLMODEL_DEEP=1 tries larger bounds, for minutes.
 *
 * Two modules are included as source: stepping back to try the next order wants
 * a copy of the state of writer/durable, and a table of 16 entries instead of
 * 131072 is emptied millions of times.
 */
#include "writer/durable.c"

#include "verifier/evidence.h"
#undef EVIDENCE_ENTRIES_MAX
#define EVIDENCE_ENTRIES_MAX 16
#define hash                 evidence_hash
#include "verifier/evidence.c"
#undef hash

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/fake/smallmodel_ends.h"
#include "tests/fake/smallmodel_export.h"
#include "tests/fake/smallmodel_logs.h"
#include "tests/fake/smallmodel_naive.h"
#include "tests/fake/smallmodel_past.h"
#include "tests/unit/cmocka_all.h"

#define MARKS_USED 16 /* all numbers of a small experiment */

struct snapshot {
	uint8_t head[offsetof(struct durable, marks)];
	uint8_t marks[MARKS_USED];
	uint16_t ring[MARKS_USED];
};

static struct small_check check;
static struct durable *real[SMALL_STREAMS_MAX];
static struct evidence *evidence;
static struct evidence_cache *cache;
static bool is_deep;

/* ---- what the records of some writes prove ---- */

static const struct evidence *prove(const struct small_check *of,
				    const struct small_past *past,
				    unsigned int seen, uint64_t *signature)
{
	uint64_t sum = 0;

	memset(evidence->entries, 0, sizeof(evidence->entries));
	evidence->used = 0;
	for (unsigned int i = 0; i < past->writes; i++) {
		unsigned int place =
			past->write[i].slot * of->world.bounds->atoms;
		struct small_atom atom = {SMALL_VERSION, (int)i, place, 0};

		if (!(seen >> i & 1))
			continue;
		smallmodel_build(&check.world, past, place, &atom);
		evidence_add(cache, &of->world.contents[atom.number].found);
	}
	evidence_cache_merge(cache);
	for (size_t i = 0; i < TABLE_ENTRIES; i++) {
		const struct entry *entry = &evidence->entries[i];

		if (entry->is_used)
			sum += prng_mix(
				prng_mix(entry->first << 32 | entry->last) +
				evidence_hash(entry));
	}
	*signature = sum;
	return evidence;
}

/* ---- every order of events ---- */

static void save(struct snapshot *snapshot)
{
	for (uint16_t k = 0; k < check.world.run.streams; k++) {
		memcpy(snapshot[k].head, real[k], sizeof(snapshot->head));
		memcpy(snapshot[k].marks, real[k]->marks, MARKS_USED);
		memcpy(snapshot[k].ring, real[k]->ring, sizeof(snapshot->ring));
	}
}

static void restore(const struct snapshot *snapshot)
{
	for (uint16_t k = 0; k < check.world.run.streams; k++) {
		memcpy(real[k], snapshot[k].head, sizeof(snapshot->head));
		memcpy(real[k]->marks, snapshot[k].marks, MARKS_USED);
		memcpy(real[k]->ring, snapshot[k].ring, sizeof(snapshot->ring));
	}
}

static const struct small_cycle *cycle_of(const struct small_past *past)
{
	return &check.world.bounds->cycle[past->cycle - 1];
}

static void tell(struct small_past *past, uint16_t stream,
		 enum ackbody_type type)
{
	struct ackbody_range range;

	while (type == ACKBODY_DURABLE
		       ? durable_take(real[stream], &range)
		       : durable_take_completed(real[stream], &range)) {
		assert_true(past->tells < SMALL_TELLS_MAX - 4);
		past->tell[past->tells++] = (struct small_tell){
			type, stream, range.first, range.last};
	}
}

static void tell_all(struct small_past *past)
{
	for (uint16_t k = 0; k < check.world.run.streams; k++) {
		tell(past, k, ACKBODY_DURABLE);
		tell(past, k, ACKBODY_COMPLETED);
	}
}

static void explore(const struct small_past *past);

/* What has just happened is told at once, unless telling is an event too. */
static void go_on(struct small_past *next, const struct snapshot *snapshot)
{
	if (!check.world.bounds->is_told_late)
		tell_all(next);
	explore(next);
	restore(snapshot);
}

/* P9: no number is issued above the reservation that stands in the log. */
static void reserve(struct small_past *past, const struct small_write *write)
{
	uint64_t *early = past->early[past->cycle - 1];
	uint64_t all = past->reserved[past->cycle - 1][write->stream];

	for (unsigned int i = 0; i < past->tells; i++)
		if (past->tell[i].type == ACKBODY_RESERVE &&
		    past->tell[i].stream == write->stream)
			return;
	if (write->sequence > early[write->stream])
		past->tell[past->tells++] = (struct small_tell){
			ACKBODY_RESERVE, write->stream, 0, all};
}

static void try_issue(const struct small_past *past,
		      const struct snapshot *snapshot)
{
	const struct small_cycle *cycle = cycle_of(past);
	unsigned int number = past->writes - past->cycle_writes;

	for (uint16_t k = 0; k < check.world.run.streams; k++) {
		struct small_past next = *past;
		struct small_write *write = &next.write[next.writes];
		uint64_t sequence = durable_issued(real[k]) + 1;
		uint64_t slot =
			k * run_slots_per_stream(&check.world.run) +
			schedule_slot(&check.world.schedules[k], sequence);

		if (number == cycle->writes ||
		    smallmodel_past_is_busy(past, (unsigned int)slot))
			continue;
		assert_int_equal(durable_w(real[k]),
				 smallmodel_naive_w(past, k)); /* P5 */
		write->stream = (uint8_t)k;
		write->cycle = (uint8_t)past->cycle;
		write->slot = (uint8_t)slot;
		write->is_fua = cycle->fua >> number & 1;
		write->sequence = sequence;
		write->first = past->first[past->cycle - 1][k];
		write->w = durable_w(real[k]);
		next.writes++;
		reserve(&next, write);
		assert_int_equal(durable_issue(real[k]), sequence);
		go_on(&next, snapshot);
	}
}

static void try_complete(const struct small_past *past,
			 const struct snapshot *snapshot)
{
	for (unsigned int i = past->cycle_writes; i < past->writes; i++) {
		struct small_past next = *past;
		struct small_write *write = &next.write[i];

		if (write->is_completed)
			continue;
		write->is_completed = true;
		write->is_durable =
			write->is_fua && !cycle_of(past)->is_unsynced;
		durable_complete(real[write->stream], write->sequence,
				 write->is_fua);
		go_on(&next, snapshot);
	}
}

static void try_flush(const struct small_past *past,
		      const struct snapshot *snapshot)
{
	for (uint16_t k = 0; k < check.world.run.streams; k++) {
		struct small_past next = *past;

		if (past->flushes == cycle_of(past)->flushes ||
		    !smallmodel_past_wants_flush(past, k))
			continue;
		next.flush[next.flushes++] = (struct small_flush){
			k, durable_flush_submit(real[k]),
			smallmodel_past_covered(past, k), false};
		go_on(&next, snapshot);
	}
}

static void try_flush_complete(const struct small_past *past,
			       const struct snapshot *snapshot)
{
	for (unsigned int f = 0; f < past->flushes; f++) {
		struct small_past next = *past;
		struct small_flush *flush = &next.flush[f];

		if (flush->is_done)
			continue;
		flush->is_done = true;
		for (unsigned int i = 0; i < past->writes; i++)
			if (flush->covers >> i & 1)
				next.write[i].is_durable = true;
		durable_flush_complete(real[flush->stream], flush->number);
		go_on(&next, snapshot);
	}
}

static void try_tell(const struct small_past *past,
		     const struct snapshot *snapshot)
{
	struct small_past next = *past;

	tell_all(&next);
	if (next.tells > past->tells)
		explore(&next);
	restore(snapshot);
}

/* ---- the cut ---- */

static void begin_cycle(struct small_past *past)
{
	const struct small_bounds *bounds = check.world.bounds;
	struct err err;

	past->begins[past->cycle] = past->tells;
	past->cycle_writes = past->writes;
	past->flushes = 0;
	for (uint16_t k = 0; k < bounds->streams; k++) {
		uint64_t *reserved = past->reserved[past->cycle];
		uint64_t first =
			past->cycle == 0
				? 1
				: past->reserved[past->cycle - 1][k] + 1;

		past->first[past->cycle][k] = first;
		reserved[k] = first - 1 + bounds->cycle[past->cycle].writes +
			      bounds->gap;
		past->early[past->cycle][k] =
			bounds->early ? first - 1 + bounds->early : reserved[k];
		assert_true(reserved[k] < MARKS_USED);
		real[k] = durable_new(
			first, !bounds->cycle[past->cycle].is_unsynced, &err);
		assert_non_null(real[k]);
	}
	past->cycle++;
}

static void end_cycle(void)
{
	for (uint16_t k = 0; k < check.world.run.streams; k++)
		durable_free(real[k]);
}

/* P6: the drive returns, the doubt stays, and all begins again. How the log
 * came to know what it knows makes no difference any more. */
static void next_cycle(struct small_check *of, const struct small_past *past,
		       const struct small_log *log,
		       const struct small_knowledge *knowledge)
{
	struct small_past next = *past;
	struct durable *before[SMALL_STREAMS_MAX];
	uint64_t hash;

	next.tells = 0;
	hash = smallmodel_past_hash(&next, of->worlds) + 1;
	for (unsigned int i = 0; i < past->writes; i++)
		hash = prng_mix(hash * 31 + knowledge->told[i]);
	hash += knowledge->is_late[0];
	for (unsigned int k = 0; k < SMALL_STREAMS_MAX; k++)
		hash = prng_mix(hash * 31 + knowledge->limit[k]);
	if (!smallmodel_add(&of->cuts, hash))
		return;
	next.tells = log->tells;
	memcpy(next.tell, log->tell, sizeof(next.tell));
	memcpy(before, real, sizeof(before));
	begin_cycle(&next);
	explore(&next);
	end_cycle();
	memcpy(real, before, sizeof(real));
}

static void cut(const struct small_past *past)
{
	struct snapshot snapshot[SMALL_STREAMS_MAX];

	if (!smallmodel_add(&check.cuts,
			    smallmodel_past_hash(past, check.worlds)))
		return;
	if (past->cycle == check.world.bounds->cycles) {
		smallmodel_ends_try(&check, past);
		return;
	}
	save(snapshot);
	smallmodel_logs_each(&check, past, false, next_cycle);
	restore(snapshot);
}

static void check_durable(const struct small_past *past)
{
	for (uint16_t k = 0; k < check.world.run.streams; k++) {
		uint64_t count = 0;

		for (unsigned int i = past->cycle_writes; i < past->writes; i++)
			count += past->write[i].stream == k &&
				 past->write[i].is_durable;
		assert_int_equal(durable_count(real[k]), count); /* P1 */
		assert_int_equal(durable_w(real[k]),
				 smallmodel_naive_w(past, k)); /* P5 */
	}
}

static void explore(const struct small_past *past)
{
	struct snapshot snapshot[SMALL_STREAMS_MAX];

	check.paths++;
	save(snapshot);
	check_durable(past);
	cut(past);
	try_issue(past, snapshot);
	try_complete(past, snapshot);
	try_flush(past, snapshot);
	try_flush_complete(past, snapshot);
	if (check.world.bounds->is_told_late)
		try_tell(past, snapshot);
}

/* ---- the bounds ---- */

static void try_bounds(const struct small_bounds *bounds)
{
	struct small_past past;
	struct small_check before = check;
	uint64_t started_ns = clock_monotonic_ns();

	memset(&past, 0, sizeof(past));
	check.worlds++;
	smallmodel_open(&check.world, bounds);
	if (check.export != NULL)
		smallmodel_export_world(check.export, &check.world);
	begin_cycle(&past);
	explore(&past);
	end_cycle();
	smallmodel_close(&check.world);
	print_message("%-34s %9llu paths %6zu cuts %9llu ends %8zu distinct "
		      "%5.2f s\n",
		      bounds->name,
		      (unsigned long long)(check.paths - before.paths),
		      check.cuts.used - before.cuts.used,
		      (unsigned long long)(check.judged - before.judged),
		      check.ends.used - before.ends.used,
		      (double)(clock_monotonic_ns() - started_ns) /
			      (double)CLOCK_NS_PER_S);
	assert_true(check.honest > before.honest);
	assert_true(check.broken > before.broken ||
		    bounds->cycle[0].is_unsynced);
}

static void try_each(enum small_theme theme)
{
	const struct small_bounds *bounds;

	for (size_t i = 0; (bounds = smallmodel_bounds(i)) != NULL; i++)
		if (bounds->theme == theme && bounds->is_deep <= is_deep)
			try_bounds(bounds);
}

static void p4_every_end_of_a_small_cycle(void **state)
{
	(void)state;
	try_each(SMALL_ONE_CYCLE);
}

static void p8_every_end_where_blocks_can_tear(void **state)
{
	(void)state;
	try_each(SMALL_TEARING);
}

static void p3_every_end_where_nothing_was_filled(void **state)
{
	(void)state;
	try_each(SMALL_UNFILLED);
}

static void p6_every_end_of_two_cycles(void **state)
{
	(void)state;
	try_each(SMALL_TWO_CYCLES);
}

static int set_up(void **state)
{
	const char *file = getenv("SMALLMODEL_EXPORT");
	const char *share = getenv("SMALLMODEL_SHARE");
	struct err err;

	(void)state;
	check.prove = prove;
	is_deep = getenv("SMALLMODEL_DEEP") != NULL;
	check.share = share ? (unsigned int)strtoul(share, NULL, 10) : 1;
	evidence = evidence_new(&err);
	cache = evidence ? evidence_cache_new(evidence, &err) : NULL;
	if (file != NULL)
		check.export = fopen(file, "w");
	return cache == NULL || check.share == 0 ||
			       (file != NULL && check.export == NULL)
		       ? -1
		       : 0;
}

static int tear_down(void **state)
{
	(void)state;
	print_message("%llu paths, %llu ends judged, %zu distinct, %llu "
		      "exported\n",
		      (unsigned long long)check.paths,
		      (unsigned long long)check.judged, check.ends.used,
		      (unsigned long long)check.exported);
	evidence_cache_free(cache);
	evidence_free(evidence);
	free(check.cuts.table);
	free(check.logs.table);
	free(check.scenes.table);
	free(check.ends.table);
	return check.export != NULL && fclose(check.export) != 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p4_every_end_of_a_small_cycle),
		cmocka_unit_test(p8_every_end_where_blocks_can_tear),
		cmocka_unit_test(p3_every_end_where_nothing_was_filled),
		cmocka_unit_test(p6_every_end_of_two_cycles),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
