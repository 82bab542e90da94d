/* SPDX-License-Identifier: MIT */
/*
 * P2: what is packed is what the stream said, no number and no moment more or
 * less, whatever it says in whatever order.
 */
#include "writer/ackpack.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "tests/unit/cmocka_all.h"
#include "writer/ackbell.h"
#include "writer/ackring.h"

#define STREAM 5

static struct ackbell *bell;
static struct ackring *ring;
static struct ackbody body;

static int set_up(void **state)
{
	struct err err;

	(void)state;
	bell = ackbell_new(&err);
	ring = bell ? ackring_new(bell, &err) : NULL;
	return ring ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	ackring_free(ring);
	ackbell_free(bell);
	return 0;
}

static void push(uint64_t flush, uint64_t at_ns, uint64_t first, uint64_t last)
{
	const struct ackring_item item = {
		ACKBODY_DURABLE, flush, at_ns, at_ns + 7, {first, last}};

	ackring_push(ring, &item);
}

static size_t pack(void)
{
	size_t used = ackpack_body(ring, STREAM, &body);

	ackring_pop(ring, used);
	return used;
}

static void expect_flush(unsigned int i, uint64_t number, uint64_t first,
			 uint64_t last)
{
	const struct ackbody_flush *flush = &body.flushes.flushes[i];

	assert_int_equal(flush->number, number);
	assert_int_equal(flush->range.first, first);
	assert_int_equal(flush->range.last, last);
}

static void an_empty_ring_gives_nothing(void **state)
{
	(void)state;
	assert_int_equal(pack(), 0);
}

static void flushes_share_a_statement(void **state)
{
	(void)state;
	push(1, 100, 1, 32);
	push(2, 100, 33, 64);
	push(2, 100, 65, 70);
	push(2, 100, 72, 75);
	push(4, 130, 71, 71);
	assert_int_equal(pack(), 5);
	assert_int_equal(body.type, ACKBODY_FLUSHES);
	assert_int_equal(body.flushes.stream, STREAM);
	assert_int_equal(body.flushes.count, 4);
	expect_flush(0, 1, 1, 32);
	expect_flush(1, 2, 33, 70);
	expect_flush(2, 2, 72, 75);
	expect_flush(3, 4, 71, 71);
	assert_int_equal(body.flushes.flushes[3].submitted_ns, 130);
	assert_int_equal(body.flushes.flushes[3].completed_ns, 137);
}

static void one_flush_stays_a_statement_of_its_own(void **state)
{
	(void)state;
	push(1, 100, 1, 32);
	push(1, 100, 40, 42);
	assert_int_equal(pack(), 2);
	assert_int_equal(body.type, ACKBODY_DURABLE);
	assert_int_equal(body.ranges.count, 2);
	assert_int_equal(body.ranges.stream, STREAM);
}

/* FUA has no flush, and each write its own moment. */
static void fua_shares_nothing_with_a_flush(void **state)
{
	(void)state;
	push(0, 0, 1, 1);
	push(0, 0, 3, 3);
	push(1, 100, 4, 4);
	push(0, 0, 5, 5);
	assert_int_equal(pack(), 2);
	assert_int_equal(body.type, ACKBODY_DURABLE);
	assert_int_equal(pack(), 1);
	assert_int_equal(body.type, ACKBODY_DURABLE);
	assert_int_equal(pack(), 1);
	assert_int_equal(body.ranges.flush, 0);
}

static void what_does_not_ascend_begins_another_statement(void **state)
{
	(void)state;
	push(3, 100, 1, 1);
	push(4, 110, 2, 2);
	push(2, 120, 3, 3); /* number */
	push(3, 130, 4, 4);
	push(4, 125, 5, 5); /* submitted */
	push(4, 126, 6, 6); /* the same flush at another time */
	assert_int_equal(pack(), 2);
	assert_int_equal(pack(), 2);
	assert_int_equal(body.type, ACKBODY_FLUSHES);
	assert_int_equal(pack(), 2);
	assert_int_equal(body.type, ACKBODY_DURABLE);
}

static void a_statement_is_full_some_day(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < ACKBODY_FLUSHES_MAX + 1; i++)
		push(1 + i, 100 + i, 1 + i, 1 + i);
	/* It still takes what touches its last range. */
	push(1 + ACKBODY_FLUSHES_MAX, 100 + ACKBODY_FLUSHES_MAX,
	     2 + ACKBODY_FLUSHES_MAX, 9 + ACKBODY_FLUSHES_MAX);
	assert_int_equal(pack(), ACKBODY_FLUSHES_MAX);
	assert_int_equal(body.flushes.count, ACKBODY_FLUSHES_MAX);
	assert_int_equal(pack(), 2);
	assert_int_equal(body.ranges.count, 1);
	/* One flush of more ranges than fit is told as before. */
	for (uint64_t i = 0; i < ACKBODY_FLUSHES_MAX + 9; i++)
		push(900, 900, 1000 + 2 * i, 1000 + 2 * i);
	assert_int_equal(pack(), ACKBODY_FLUSHES_MAX + 9);
	assert_int_equal(body.type, ACKBODY_DURABLE);
}

static void limits_stay_between(void **state)
{
	const struct ackring_item limit = {.type = ACKBODY_RESERVE,
					   .range = {900, 900}};

	(void)state;
	push(1, 100, 1, 1);
	ackring_push(ring, &limit);
	push(2, 110, 2, 2);
	assert_int_equal(pack(), 1);
	assert_int_equal(body.type, ACKBODY_DURABLE);
	assert_int_equal(pack(), 1);
	assert_int_equal(body.type, ACKBODY_RESERVE);
	assert_int_equal(body.limit.sequence, 900);
	assert_int_equal(body.limit.stream, STREAM);
	assert_int_equal(pack(), 1);
}

/* Number by number: who made it durable, and when. */
struct moment {
	uint64_t flush, submitted_ns, completed_ns;
};

static void note_told(struct moment *moments, size_t room)
{
	struct ackbody_told told;

	for (size_t i = 0; ackbody_told_at(&body, i, &told); i++)
		for (size_t k = 0; k < told.count; k++)
			for (uint64_t n = told.ranges[k].first;
			     n <= told.ranges[k].last; n++) {
				assert_true(n < room);
				assert_int_equal(moments[n].flush, 0);
				moments[n] = (struct moment){told.flush,
							     told.submitted_ns,
							     told.completed_ns};
			}
}

static void p2_each_number_keeps_its_flush_and_moment(void **state)
{
	enum { ROUNDS = 2000, NUMBERS = 3 * 1500 + 1 };
	static struct moment said[NUMBERS], heard[NUMBERS];
	uint8_t bytes[ACKBODY_ENCODED_MAX];
	struct prng prng;

	(void)state;
	prng_init(&prng, 3);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t flush = 1, at_ns = 50, next = 1;
		uint64_t items = 1 + prng_below(&prng, 300);
		uint64_t calm = 1 + prng_below(&prng, 9);

		memset(said, 0, sizeof(said));
		memset(heard, 0, sizeof(heard));
		for (uint64_t i = 0; i < items; i++) {
			uint64_t first = next + prng_below(&prng, 2);
			uint64_t last = first + prng_below(&prng, 3);

			push(flush, at_ns, first, last);
			for (uint64_t n = first; n <= last; n++)
				said[n] = (struct moment){flush, at_ns,
							  at_ns + 7};
			next = last + 1;
			if (prng_below(&prng, calm) > 0)
				continue;
			flush += 1 + prng_below(&prng, 2);
			at_ns += prng_below(&prng, 100);
		}
		while (pack() > 0) {
			size_t used = 0;

			assert_int_equal(ackbody_encode(&body, bytes,
							sizeof(bytes), &used),
					 0);
			note_told(heard, NUMBERS);
		}
		assert_memory_equal(heard, said, sizeof(said));
	}
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(an_empty_ring_gives_nothing),
		ROW(flushes_share_a_statement),
		ROW(one_flush_stays_a_statement_of_its_own),
		ROW(fua_shares_nothing_with_a_flush),
		ROW(what_does_not_ascend_begins_another_statement),
		ROW(a_statement_is_full_some_day),
		ROW(limits_stay_between),
		ROW(p2_each_number_keeps_its_flush_and_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
