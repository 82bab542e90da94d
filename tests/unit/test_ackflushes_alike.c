/* SPDX-License-Identifier: MIT */
/*
 * P2: flushes that share a statement promise what the same flushes promise in
 * statements of their own: to the ledger, to the writer and to the verifier,
 * and what cannot be true is refused alike (P9).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/acklog.h"
#include "common/format/ledger.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/logpass.h"
#include "writer/ackstore.h"

#define SEQUENCES 12000
#define STREAMS   2
#define PER_CYCLE 40 /* numbers of a cycle and stream */

/* One who hears shared statements, and one who hears single ones. */
static struct side {
	struct ledger *ledger;
	struct ackstore *store;
	char path[80];
	struct ackfile *file;
	struct ledger *loaded;
	struct logpass facts;
	struct findings findings;
	struct tally tally;
	struct logpass_ages ages;
	struct err err;
	size_t used;
	uint8_t payload[ACKLOG_PAYLOAD_MAX];
} sides[2];
static struct prng prng;
static struct ackbody body, shared;

static struct run some_run(void)
{
	return (struct run){
		.id = {4, 2},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + 64 * 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 4096,
		.streams = STREAMS,
	};
}

static uint64_t first_of(uint32_t cycle)
{
	return 1 + (uint64_t)(cycle - 1) * PER_CYCLE;
}

static void set_cycle(uint32_t cycle)
{
	uint64_t first = first_of(cycle);

	body.type = ACKBODY_CYCLE;
	body.cycle = (struct ackbody_cycle){.cycle = cycle,
					    .sync_value = 1,
					    .queue_depth = 1,
					    .streams = STREAMS,
					    .first_sequence = {first, first}};
}

/* A little is left above the limit, so that some go beyond it. */
static void set_limit(uint16_t stream, uint32_t cycle)
{
	body.type = ACKBODY_RESERVE;
	body.limit =
		(struct ackbody_limit){stream, first_of(cycle + 1) - 1 - 3};
}

static void set_cut_asked(void)
{
	body.type = ACKBODY_EVENT;
	body.note = (struct ackbody_note){.event = ACKBODY_EVENT_CUT_ASKED};
}

/* Mostly of this cycle; BOLD: also what is not there, or was before. */
static void draw_flushes(uint32_t cycle, bool is_bold)
{
	struct ackbody_flushes *flushes = &shared.flushes;
	struct ackbody_flush now = {.number = prng_below(&prng, 3)};
	uint64_t room = PER_CYCLE - 3 + (is_bold ? 2 : 0);
	uint64_t from = first_of(cycle);

	if (is_bold && cycle > 1 && prng_below(&prng, 3) == 0) {
		from -= 8;
		room = 16;
	}
	memset(&shared, 0, sizeof(shared));
	shared.type = ACKBODY_FLUSHES;
	flushes->stream = (uint16_t)prng_below(
		&prng, is_bold && prng_below(&prng, 8) == 0 ? 3 : STREAMS);
	flushes->count = (uint16_t)(2 + prng_below(&prng, 7));
	for (unsigned int i = 0; i < flushes->count; i++) {
		if (i == 0 || prng_below(&prng, 3) > 0) {
			now.number += 1 + prng_below(&prng, 2);
			now.submitted_ns += prng_below(&prng, 50);
			now.completed_ns =
				now.submitted_ns + prng_below(&prng, 50);
		}
		now.range.first = from + prng_below(&prng, room);
		now.range.last =
			now.range.first +
			prng_below(&prng, from + room - now.range.first) / 4;
		flushes->flushes[i] = now;
	}
}

/* The I-th of them as a statement of its own. */
static void set_single(unsigned int i)
{
	const struct ackbody_flush *flush = &shared.flushes.flushes[i];

	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_DURABLE;
	body.ranges.stream = shared.flushes.stream;
	body.ranges.flush = flush->number;
	body.ranges.submitted_ns = flush->submitted_ns;
	body.ranges.completed_ns = flush->completed_ns;
	body.ranges.count = 1;
	body.ranges.ranges[0] = flush->range;
}

static void begin_ledgers(void)
{
	for (int i = 0; i < 2; i++) {
		ledger_free(sides[i].ledger);
		sides[i].ledger = ledger_new(&sides[i].err);
		assert_non_null(sides[i].ledger);
	}
	body.type = ACKBODY_RUN;
	body.run = some_run();
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			ledger_apply(sides[i].ledger, &body, &sides[i].err), 0);
}

static void apply_to_both(void)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			ledger_apply(sides[i].ledger, &body, &sides[i].err), 0);
}

/* Are they refused? Alike, in any case. */
static bool apply_flushes(void)
{
	int a = ledger_apply(sides[0].ledger, &shared, &sides[0].err);
	int b = 0;

	for (unsigned int i = 0; b == 0 && i < shared.flushes.count; i++) {
		set_single(i);
		b = ledger_apply(sides[1].ledger, &body, &sides[1].err);
	}
	assert_int_equal(a, b);
	if (a < 0)
		assert_string_equal(sides[0].err.text, sides[1].err.text);
	return a < 0;
}

static void compare_ledgers(const struct ledger *a, const struct ledger *b,
			    uint32_t cycle)
{
	uint64_t last = first_of(cycle + 1);

	assert_int_equal(ledger_is_cut_asked(a), ledger_is_cut_asked(b));
	assert_int_equal(ledger_is_cut_seen(a), ledger_is_cut_seen(b));
	for (uint16_t k = 0; k < STREAMS; k++) {
		assert_int_equal(ledger_limit(a, k), ledger_limit(b, k));
		assert_int_equal(ledger_durable_count(a, k),
				 ledger_durable_count(b, k));
		assert_int_equal(ledger_durable_last(a, k),
				 ledger_durable_last(b, k));
		for (uint64_t n = last > 100 ? last - 100 : 1; n < last; n++)
			assert_int_equal(ledger_state(a, k, n),
					 ledger_state(b, k, n));
	}
}

static void p2_shared_statements_promise_the_same_to_a_ledger(void **state)
{
	int refused = 0, shadowed = 0;
	uint32_t cycle = 0;

	(void)state;
	prng_init(&prng, 11);
	begin_ledgers();
	for (int i = 0; i < SEQUENCES; i++) {
		set_cycle(++cycle);
		apply_to_both();
		for (uint16_t k = 0; k < STREAMS; k++) {
			set_limit(k, cycle);
			apply_to_both();
		}
		for (int n = 0; n < 3; n++) {
			draw_flushes(cycle, prng_below(&prng, 6) == 0);
			if (prng_below(&prng, 4) == 0) {
				set_cut_asked();
				apply_to_both();
				shadowed++;
			}
			if (apply_flushes()) {
				refused++;
				compare_ledgers(sides[0].ledger,
						sides[1].ledger, cycle);
				begin_ledgers();
				cycle = 0;
				break;
			}
			compare_ledgers(sides[0].ledger, sides[1].ledger,
					cycle);
		}
	}
	assert_true(refused > 1000 && shadowed > 1000);
}

static void confirm(struct side *side)
{
	uint32_t length;

	while (ackstore_next(side->store, &length) != NULL) {
		ackstore_sent(side->store);
		ackstore_confirm_sent(side->store, 1);
	}
}

static void p2_shared_statements_count_the_same_for_the_writer(void **state)
{
	uint64_t before = 0;

	(void)state;
	prng_init(&prng, 12);
	for (int i = 0; i < 2; i++) {
		sides[i].store = ackstore_new(&sides[i].err);
		assert_non_null(sides[i].store);
	}
	for (int i = 0; i < SEQUENCES; i++) {
		draw_flushes(1, false);
		assert_true(ackstore_add(sides[0].store, &shared));
		for (unsigned int k = 0; k < shared.flushes.count; k++) {
			set_single(k);
			assert_true(ackstore_add(sides[1].store, &body));
		}
		confirm(&sides[0]);
		confirm(&sides[1]);
		assert_true(ackstore_confirmed_writes(sides[0].store) > before);
		before = ackstore_confirmed_writes(sides[0].store);
		assert_int_equal(ackstore_confirmed_writes(sides[1].store),
				 before);
	}
	ackstore_free(sides[0].store);
	ackstore_free(sides[1].store);
}

static void put(struct side *side, const struct ackbody *what)
{
	assert_int_equal(ackbody_encode(what, side->payload,
					sizeof(side->payload), &side->used),
			 0);
}

static void put_both(void)
{
	put(&sides[0], &body);
	put(&sides[1], &body);
}

static void append(struct side *side)
{
	assert_int_equal(ackfile_append(side->file, side->payload,
					(uint32_t)side->used, 1, &side->err),
			 0);
	side->used = 0;
}

static void put_cycle(uint32_t cycle, bool is_bold)
{
	set_cycle(cycle);
	put_both();
	for (uint16_t k = 0; k < STREAMS; k++) {
		set_limit(k, cycle);
		put_both();
	}
	for (int n = 0; n < 6; n++) {
		draw_flushes(cycle, is_bold);
		if (n == 5 && prng_below(&prng, 2) == 0) {
			set_cut_asked();
			put_both();
		}
		put(&sides[0], &shared);
		for (unsigned int k = 0; k < shared.flushes.count; k++) {
			set_single(k);
			put(&sides[1], &body);
		}
	}
}

static void lose_something(struct side *side, uint32_t cycles)
{
	memset(&side->findings, 0, sizeof(side->findings));
	memset(&side->tally, 0, sizeof(side->tally));
	memset(&side->ages, 0, sizeof(side->ages));
	for (uint64_t n = 1; n < first_of(cycles + 1); n += 3) {
		struct finding *lost =
			&side->findings.kept[side->findings.count++];

		lost->stream = (int)(n % STREAMS);
		lost->expected = n;
	}
	for (int k = 0; k < STREAMS; k++)
		side->tally.streams[k].lost_oldest = 5;
	side->ages.findings = &side->findings;
	side->ages.tally = &side->tally;
}

/* -1 where the log is not believed. */
static int read_log(struct side *side, uint32_t cycles)
{
	int result;

	side->loaded = ledger_new(&side->err);
	assert_non_null(side->loaded);
	result = logpass_load(side->path, side->loaded, &side->facts,
			      &side->err);
	lose_something(side, cycles);
	assert_int_equal(logpass_find_ages(side->path, &side->ages, &side->err),
			 0);
	return result;
}

static void open_log(struct side *side)
{
	(void)unlink(side->path);
	side->used = 0;
	side->file = ackfile_create(side->path, &side->err);
	assert_non_null(side->file);
}

static void close_log(struct side *side)
{
	assert_int_equal(ackfile_close(side->file, &side->err), 0);
	ledger_free(side->loaded);
}

static void compare_passes(uint32_t cycles)
{
	struct side *a = &sides[0], *b = &sides[1];

	compare_ledgers(a->loaded, b->loaded, cycles);
	assert_memory_equal(a->facts.durable, b->facts.durable,
			    sizeof(a->facts.durable));
	assert_memory_equal(&a->findings, &b->findings, sizeof(a->findings));
	assert_memory_equal(a->ages.oldest, b->ages.oldest,
			    sizeof(a->ages.oldest));
	assert_memory_equal(a->ages.last, b->ages.last, sizeof(a->ages.last));
}

static void p4_shared_statements_give_a_loss_the_same_age(void **state)
{
	enum { LOGS = 240, CYCLES = 10 }; /* of 6 shared statements each */
	int refused = 0;

	(void)state;
	prng_init(&prng, 13);
	for (int i = 0; i < LOGS; i++) {
		int result;

		open_log(&sides[0]);
		open_log(&sides[1]);
		body.type = ACKBODY_RUN;
		body.run = some_run();
		put_both();
		for (uint32_t cycle = 1; cycle <= CYCLES; cycle++)
			put_cycle(cycle, cycle == CYCLES && i % 3 == 0);
		append(&sides[0]);
		append(&sides[1]);
		result = read_log(&sides[0], CYCLES);
		assert_int_equal(read_log(&sides[1], CYCLES), result);
		if (result == 0)
			compare_passes(CYCLES);
		refused += result < 0;
		close_log(&sides[0]);
		close_log(&sides[1]);
	}
	assert_true(refused > 10 && refused < LOGS / 2);
}

/* P9: they say that a writer is at work. */
static void p9_flushes_are_news(void **state)
{
	struct side *side = &sides[0];

	(void)state;
	prng_init(&prng, 14);
	open_log(side);
	body.type = ACKBODY_RUN;
	body.run = some_run();
	put(side, &body);
	set_cycle(1);
	put(side, &body);
	append(side);
	assert_int_equal(read_log(side, 1), 0);
	draw_flushes(1, false);
	put(side, &shared);
	append(side);
	assert_int_equal(
		logpass_look_again(side->path, &side->facts, &side->err),
		LOGPASS_WRITER);
	close_log(side);
}

static int set_up(void **state)
{
	static char dir[64];

	*state = dir;
	strcpy(dir, "/tmp/test_ackflushes.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	for (int i = 0; i < 2; i++)
		(void)snprintf(sides[i].path, sizeof(sides[i].path), "%s/%d",
			       dir, i);
	return 0;
}

static int tear_down(void **state)
{
	for (int i = 0; i < 2; i++) {
		ledger_free(sides[i].ledger);
		(void)unlink(sides[i].path);
	}
	return rmdir(*state);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			p2_shared_statements_promise_the_same_to_a_ledger),
		cmocka_unit_test(
			p2_shared_statements_count_the_same_for_the_writer),
		cmocka_unit_test(p4_shared_statements_give_a_loss_the_same_age),
		cmocka_unit_test(p9_flushes_are_news),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
