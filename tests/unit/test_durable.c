/* SPDX-License-Identifier: MIT */
/*
 * durable() must credit a write when, and only when, P1 says so. Every order
 * of events of a small workload is played through and compared after each
 * event with a model that keeps one set for each write and flush and has
 * nothing in common with the ring of the real one.
 *
 * The module is included as source: stepping back to try the next order wants
 * a copy of its state, of which only the first few places are in use.
 */
#include "writer/durable.c"

#include <stdio.h>
#include <string.h>

#include "tests/unit/cmocka_all.h"

#define WRITES_MAX  4
#define FLUSHES_MAX 3
#define MARKS_USED  8

/* Sets of writes are bits 0 ... WRITES_MAX - 1. */
struct model {
	unsigned int issued, completed, durable;
	unsigned int covers[FLUSHES_MAX]; /* what was reaped before it */
	unsigned int submitted, done;     /* sets of flushes */
	bool is_failed;
};

struct bounds {
	unsigned int writes, flushes, fua; /* fua: a set of writes */
	bool may_fail;
};

struct snapshot {
	uint8_t head[offsetof(struct durable, marks)];
	uint8_t marks[MARKS_USED];
	uint16_t ring[MARKS_USED];
};

static struct durable *real;
static struct bounds bounds;
static uint64_t states_count;

static void save(struct snapshot *snapshot)
{
	memcpy(snapshot->head, real, sizeof(snapshot->head));
	memcpy(snapshot->marks, real->marks, sizeof(snapshot->marks));
	memcpy(snapshot->ring, real->ring, sizeof(snapshot->ring));
}

static void restore(const struct snapshot *snapshot)
{
	memcpy(real, snapshot->head, sizeof(snapshot->head));
	memcpy(real->marks, snapshot->marks, sizeof(snapshot->marks));
	memcpy(real->ring, snapshot->ring, sizeof(snapshot->ring));
}

static void begin(uint64_t first_sequence, bool has_promises)
{
	struct err err;

	real = durable_new(first_sequence, has_promises, &err);
	if (!real)
		abort();
}

static unsigned int take_all(bool (*take_one)(struct durable *,
					      struct ackbody_range *))
{
	struct ackbody_range range = {0};
	unsigned int set = 0;
	uint64_t last = 0;

	while (take_one(real, &range)) {
		assert_true(range.first > last); /* ascending */
		assert_true(range.last >= range.first);
		assert_true(range.last <= WRITES_MAX);
		last = range.last;
		for (uint64_t i = range.first; i <= range.last; i++)
			set |= 1u << (i - 1);
	}
	return set;
}

static void compare(const struct model *model)
{
	uint64_t w = 0;

	while (model->durable >> w & 1)
		w++;
	states_count++;
	if (durable_w(real) != w ||
	    durable_count(real) != (uint64_t)__builtin_popcount(model->durable))
		fail_msg("issued %x completed %x: W is %d, durable are %d; "
			 "should be %x",
			 model->issued, model->completed, (int)durable_w(real),
			 (int)durable_count(real), model->durable);
}

static void explore(const struct model *model);

static void try_writes(const struct model *model,
		       const struct snapshot *snapshot)
{
	for (unsigned int i = 0; i < bounds.writes; i++) {
		struct model next = *model;
		unsigned int bit = 1u << i;

		if (!(model->issued & bit) && model->issued == bit - 1) {
			next.issued |= bit;
			assert_int_equal(durable_issue(real), i + 1);
		} else if (model->issued & ~model->completed & bit) {
			next.completed |= bit;
			if (bounds.fua & bit && !model->is_failed)
				next.durable |= bit;
			durable_complete(real, i + 1, bounds.fua & bit);
		} else {
			continue;
		}
		explore(&next);
		restore(snapshot);
	}
}

static void try_flushes(const struct model *model,
			const struct snapshot *snapshot)
{
	for (unsigned int i = 0; i < bounds.flushes; i++) {
		struct model next = *model;
		unsigned int bit = 1u << i;

		if (!(model->submitted & bit) && model->submitted == bit - 1 &&
		    !model->is_failed) {
			next.submitted |= bit;
			next.covers[i] = model->completed;
			assert_int_equal(durable_flush_submit(real), i + 1);
		} else if (model->submitted & ~model->done & bit) {
			next.done |= bit;
			if (!model->is_failed)
				next.durable |= model->covers[i];
			durable_flush_complete(real, i + 1);
		} else {
			continue;
		}
		explore(&next);
		restore(snapshot);
	}
}

/* Everything that can happen next, one after the other, to the end. */
static void explore(const struct model *model)
{
	struct snapshot snapshot;

	save(&snapshot);
	compare(model);
	assert_int_equal(take_all(durable_take), model->durable);
	assert_int_equal(take_all(durable_take), 0);
	if (!bounds.may_fail)
		assert_int_equal(take_all(durable_take_completed),
				 model->completed & ~model->durable);
	restore(&snapshot);
	try_writes(model, &snapshot);
	try_flushes(model, &snapshot);
	if (bounds.may_fail && !model->is_failed) {
		struct model next = *model;

		next.is_failed = true;
		durable_fail(real);
		explore(&next);
		restore(&snapshot);
	}
}

static void explore_all(unsigned int writes, unsigned int flushes,
			unsigned int fua, bool may_fail)
{
	const struct model nothing = {0};

	bounds = (struct bounds){writes, flushes, fua, may_fail};
	begin(1, true);
	explore(&nothing);
	durable_free(real);
}

static void p1_every_order_of_4_writes_and_3_flushes(void **state)
{
	(void)state;
	states_count = 0;
	explore_all(4, 3, 0, false);
	print_message("           %llu states compared\n",
		      (unsigned long long)states_count);
	assert_true(states_count > 5000000);
}

static void p1_every_order_with_fua_and_flushes(void **state)
{
	(void)state;
	states_count = 0;
	for (unsigned int fua = 0; fua < 8; fua++)
		explore_all(3, 2, fua, false);
	print_message("           %llu states compared\n",
		      (unsigned long long)states_count);
}

static void p1_nothing_is_durable_after_a_failure(void **state)
{
	(void)state;
	states_count = 0;
	for (unsigned int fua = 0; fua < 8; fua += 5)
		explore_all(3, 2, fua, true);
	print_message("           %llu states compared\n",
		      (unsigned long long)states_count);
}

static void p1_a_flush_covers_only_what_was_reaped_before_it(void **state)
{
	struct ackbody_range range = {0};

	(void)state;
	begin(100, true);
	durable_issue(real);
	durable_issue(real);
	durable_complete(real, 101, false);
	assert_int_equal(durable_flush_submit(real), 1);
	durable_complete(real, 100, false); /* too late for flush 1 */
	durable_flush_complete(real, 1);
	assert_int_equal(durable_w(real), 99);
	assert_true(durable_take(real, &range));
	assert_int_equal(range.first, 101);
	assert_int_equal(range.last, 101);
	assert_false(durable_take(real, &range));
	assert_true(durable_take_completed(real, &range));
	assert_int_equal(range.first, 100);
	assert_int_equal(durable_uncovered(real), 1);
	durable_flush_submit(real);
	durable_flush_complete(real, 2);
	assert_int_equal(durable_w(real), 101);
	durable_free(real);
}

static void p2_the_window_is_bounded_until_the_oldest_is_durable(void **state)
{
	struct ackbody_range range = {0};
	uint64_t next = 1;

	(void)state;
	begin(next, true);
	for (; durable_can_issue(real); next++)
		assert_int_equal(durable_issue(real), next);
	assert_int_equal(next, DURABLE_WINDOW + 1);
	for (uint64_t i = 2; i < next; i++)
		durable_complete(real, i, true);
	assert_false(durable_can_issue(real));
	durable_complete(real, 1, true);
	assert_int_equal(durable_w(real), DURABLE_WINDOW);
	assert_false(durable_can_issue(real)); /* not taken yet */
	assert_true(durable_take(real, &range));
	assert_int_equal(range.first, 1);
	assert_int_equal(range.last, DURABLE_WINDOW);
	assert_true(durable_can_issue(real));
	durable_free(real);
}

static void p5_without_promises_w_never_moves(void **state)
{
	struct ackbody_range range = {0};

	(void)state;
	begin(7, false);
	for (uint64_t i = 7; i < 7 + 3 * DURABLE_WINDOW; i++) {
		assert_true(durable_can_issue(real));
		durable_issue(real);
		durable_complete(real, i, false);
		assert_true(durable_take_completed(real, &range));
		assert_int_equal(range.first, i);
		assert_int_equal(range.last, i);
	}
	assert_int_equal(durable_w(real), 6);
	assert_false(durable_can_flush(real));
	assert_false(durable_take(real, &range));
	durable_free(real);
}

/* A long life with a caller that takes late and one range at a time: each
 * number is reported durable exactly once, over many turns of the window. */
#define LIFE_NUMBERS 1000000
#define LIFE_DEPTH   32

struct life {
	uint64_t flying[LIFE_DEPTH], flush[DURABLE_FLUSHES_MAX];
	unsigned int writes, flushes;
	uint64_t random;
	uint8_t *told;
};

static unsigned int life_below(struct life *life, unsigned int limit)
{
	life->random = life->random * 6364136223846793005ULL + 1442695;
	return (unsigned int)(life->random >> 33) % limit;
}

static void life_take(struct life *life, unsigned int count)
{
	struct ackbody_range range = {0};

	while (count-- > 0 && durable_take(real, &range)) {
		assert_true(range.last <= LIFE_NUMBERS);
		for (uint64_t i = range.first; i <= range.last; i++)
			assert_int_equal(life->told[i]++, 0);
	}
}

static void life_step(struct life *life)
{
	unsigned int pick = 0;

	while (life->writes < LIFE_DEPTH && durable_can_issue(real) &&
	       durable_issued(real) < LIFE_NUMBERS)
		life->flying[life->writes++] = durable_issue(real);
	for (unsigned int i = life_below(life, 9); i > 0 && life->writes; i--) {
		pick = life_below(life, life->writes);
		durable_complete(real, life->flying[pick], false);
		life->flying[pick] = life->flying[--life->writes];
	}
	if (durable_can_flush(real))
		life->flush[life->flushes++] = durable_flush_submit(real);
	if (life->flushes && !life_below(life, 3)) {
		pick = life_below(life, life->flushes);
		durable_flush_complete(real, life->flush[pick]);
		life->flush[pick] = life->flush[--life->flushes];
	}
	if (!life_below(life, 40))
		life_take(life, 1 + life_below(life, 20));
}

static void p5_a_long_life_reports_each_number_once(void **state)
{
	struct life life = {.random = 1};

	(void)state;
	life.told = calloc(LIFE_NUMBERS + 1, 1);
	begin(1, true);
	for (int i = 0; durable_w(real) < LIFE_NUMBERS; i++) {
		assert_true(i < 100 * LIFE_NUMBERS);
		life_step(&life);
	}
	life_take(&life, LIFE_NUMBERS);
	for (uint64_t i = 1; i <= LIFE_NUMBERS; i++)
		assert_int_equal(life.told[i], 1);
	assert_int_equal(durable_count(real), LIFE_NUMBERS);
	free(life.told);
	durable_free(real);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p1_every_order_of_4_writes_and_3_flushes),
		cmocka_unit_test(p1_every_order_with_fua_and_flushes),
		cmocka_unit_test(p1_nothing_is_durable_after_a_failure),
		cmocka_unit_test(
			p1_a_flush_covers_only_what_was_reaped_before_it),
		cmocka_unit_test(
			p2_the_window_is_bounded_until_the_oldest_is_durable),
		cmocka_unit_test(p5_without_promises_w_never_moves),
		cmocka_unit_test(p5_a_long_life_reports_each_number_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
