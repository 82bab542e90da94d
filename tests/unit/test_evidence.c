/* SPDX-License-Identifier: MIT */
/* P5: what the drive's own records prove must reach the ledger, and no more. */
#include "tests/unit/cmocka_all.h"

#include "common/format/record.h"
#include "tests/unit/slotworld.h"
#include "verifier/evidence.h"

static void add(struct evidence_cache *cache, uint32_t cycle, uint64_t sequence,
		uint64_t first, uint64_t durable)
{
	struct record record = {.cycle = cycle,
				.sequence = sequence,
				.first_sequence = first,
				.durable_sequence = durable};

	evidence_add(cache, &record);
}

static void p5_records_prove_what_was_durable_before_them(void **state)
{
	struct evidence_cache *cache;
	struct evidence *evidence;
	struct world w;
	struct err err;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	world_durable(&w, 1, 10);
	evidence = evidence_new(&err);
	cache = evidence_cache_new(evidence, &err);
	assert_false(evidence_has_writes(evidence));
	add(cache, 1, 40, 1, 30);
	add(cache, 1, 20, 1, 12);
	evidence_cache_free(cache);
	assert_true(evidence_has_writes(evidence));
	assert_int_equal(evidence_durable(evidence), 30);
	assert_true(evidence_apply(evidence, w.ledger));
	assert_int_equal(ledger_durable_last(w.ledger, 0), 30);
	assert_false(evidence_apply(evidence, w.ledger)); /* nothing new */
	evidence_free(evidence);
	world_free(&w);
}

static void p5_cycles_prove_their_own_numbers_only(void **state)
{
	struct evidence_cache *cache;
	struct evidence *evidence;
	struct world w;
	struct err err;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	world_cycle(&w, 2, 101, 200);
	evidence = evidence_new(&err);
	cache = evidence_cache_new(evidence, &err);
	add(cache, 1, 40, 1, 30);
	add(cache, 2, 150, 101, 140);
	evidence_cache_free(cache);
	assert_true(evidence_apply(evidence, w.ledger));
	assert_int_equal(ledger_state(w.ledger, 0, 30), LEDGER_DURABLE);
	assert_int_equal(ledger_state(w.ledger, 0, 31), LEDGER_DOUBT);
	assert_int_equal(ledger_state(w.ledger, 0, 100), LEDGER_DOUBT);
	assert_int_equal(ledger_state(w.ledger, 0, 101), LEDGER_DURABLE);
	assert_int_equal(ledger_state(w.ledger, 0, 140), LEDGER_DURABLE);
	assert_int_equal(ledger_state(w.ledger, 0, 141), LEDGER_DOUBT);
	evidence_free(evidence);
	world_free(&w);
}

static void p5_none_durable_proves_nothing(void **state)
{
	struct evidence_cache *cache;
	struct evidence *evidence;
	struct world w;
	struct err err;

	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 100);
	evidence = evidence_new(&err);
	cache = evidence_cache_new(evidence, &err);
	add(cache, 1, 7, 1, 0);
	add(cache, 0, 0, 0, 0); /* generation 0 */
	evidence_cache_free(cache);
	assert_true(evidence_has_writes(evidence));
	assert_int_equal(evidence_durable(evidence), 0);
	assert_false(evidence_apply(evidence, w.ledger));
	evidence_free(evidence);
	world_free(&w);
}

static void keeps_every_cycle_of_a_long_campaign(void **state)
{
	struct evidence_cache *cache;
	struct evidence *evidence;
	struct err err;
	uint32_t cycle;

	(void)state;
	evidence = evidence_new(&err);
	cache = evidence_cache_new(evidence, &err);
	for (cycle = 1; cycle <= EVIDENCE_ENTRIES_MAX + 10; cycle++)
		add(cache, cycle, cycle * 10ULL + 5, cycle * 10ULL,
		    cycle * 10ULL);
	evidence_cache_free(cache);
	assert_int_equal(evidence_durable(evidence), EVIDENCE_ENTRIES_MAX);
	assert_int_equal(evidence_dropped(evidence), 10);
	evidence_free(evidence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p5_records_prove_what_was_durable_before_them),
		cmocka_unit_test(p5_cycles_prove_their_own_numbers_only),
		cmocka_unit_test(p5_none_durable_proves_nothing),
		cmocka_unit_test(keeps_every_cycle_of_a_long_campaign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
