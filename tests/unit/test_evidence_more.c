/* SPDX-License-Identifier: MIT */
/* P9: what the drive's records do not agree on, or cannot know, proves less. */
#include "tests/unit/cmocka_all.h"

#include "common/format/record.h"
#include "tests/unit/slotworld.h"
#include "verifier/evidence.h"

static struct world world;
static struct evidence *evidence;
static struct err err;

static int set_up(void **state)
{
	(void)state;
	world_init(&world, world_run(4, 1));
	world_cycle(&world, 1, 1, 100);
	evidence = evidence_new(&err);
	return evidence == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	evidence_free(evidence);
	world_free(&world);
	return 0;
}

/* In a cache of its own: as if another thread had found it. */
static void add(uint64_t sequence, uint64_t first, uint64_t durable)
{
	const struct record record = {.cycle = sequence > 0,
				      .sequence = sequence,
				      .first_sequence = first,
				      .durable_sequence = durable};
	struct evidence_cache *cache = evidence_cache_new(evidence, &err);

	assert_non_null(cache);
	evidence_add(cache, &record);
	evidence_cache_free(cache);
}

static void p9_of_two_beginnings_the_later_is_believed(void **state)
{
	(void)state;
	add(90, 50, 80);
	add(95, 1, 70);
	add(96, 20, 60);
	assert_true(evidence_apply(evidence, world.ledger));
	assert_int_equal(ledger_state(world.ledger, 0, 49), LEDGER_DOUBT);
	assert_int_equal(ledger_state(world.ledger, 0, 50), LEDGER_DURABLE);
	assert_int_equal(ledger_state(world.ledger, 0, 80), LEDGER_DURABLE);
	assert_int_equal(ledger_state(world.ledger, 0, 81), LEDGER_DOUBT);
}

/* The fill stands there before anything is promised. */
static void p5_the_fill_alone_is_no_write(void **state)
{
	(void)state;
	add(0, 1, 0);
	assert_false(evidence_has_writes(evidence));
	assert_false(evidence_apply(evidence, world.ledger));
	add(1, 1, 0);
	assert_true(evidence_has_writes(evidence));
	assert_false(evidence_apply(evidence, world.ledger));
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_of_two_beginnings_the_later_is_believed),
		ROW(p5_the_fill_alone_is_no_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
