/* SPDX-License-Identifier: MIT */
/*
 * P11: what the drive's own records prove of a cut that nobody saw convicts
 * nobody, now or in later cycles.
 */
#include "common/format/ledger.h"

#include "tests/unit/cmocka_all.h"
#include "tests/unit/slotworld.h"

static struct world w;

/* Cycle 1 from number 1, and 1000 numbers reserved. */
static int set_up(void **state)
{
	(void)state;
	world_init(&w, world_run(4, 1));
	world_cycle(&w, 1, 1, 1000);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	world_free(&w);
	return 0;
}

static void say_event(enum ackbody_event event)
{
	struct ackbody body = {.type = ACKBODY_EVENT};

	body.note.event = event;
	world_apply(&w, &body);
}

static void say_issued(uint64_t sequence)
{
	struct ackbody body = {.type = ACKBODY_ISSUED};

	body.limit.sequence = sequence;
	world_apply(&w, &body);
}

/* A writer that lives on when the power is back writes records that claim what
 * a FLUSH of an empty cache seemed to do. */
static void p11_media_proof_of_a_cut_unseen_is_a_shadow(void **state)
{
	(void)state;
	world_durable(&w, 1, 32);
	say_event(ACKBODY_EVENT_CUT_ASKED);
	assert_true(ledger_prove(w.ledger, 0, 1, 40));
	assert_int_equal(ledger_durable_last(w.ledger, 0), 32);
	assert_int_equal(ledger_state(w.ledger, 0, 32), LEDGER_DURABLE);
	assert_int_equal(ledger_state(w.ledger, 0, 33), LEDGER_SHADOW);
	assert_int_equal(ledger_state(w.ledger, 0, 40), LEDGER_SHADOW);
	assert_int_equal(ledger_known_at_or_below(w.ledger, 0, 99), 40);
	assert_false(ledger_prove(w.ledger, 0, 1, 40));
}

static void p11_media_proof_of_a_cut_seen_is_firm(void **state)
{
	(void)state;
	world_durable(&w, 1, 32);
	say_event(ACKBODY_EVENT_CUT_ASKED);
	world_durable(&w, 33, 35);
	say_event(ACKBODY_EVENT_CUT_SEEN);
	assert_true(ledger_is_cut_seen(w.ledger));
	say_event(ACKBODY_EVENT_RESTORED);
	say_event(ACKBODY_EVENT_NOTE);
	assert_int_equal(ledger_state(w.ledger, 0, 35), LEDGER_SHADOW);
	assert_true(ledger_prove(w.ledger, 0, 1, 40));
	assert_int_equal(ledger_durable_last(w.ledger, 0), 40);
}

/* Seen before it was asked, when the power was back, or by a writer that goes
 * on speaking: none of these says that it had ended without power. */
static void p11_only_the_last_word_is_cut_seen(void **state)
{
	(void)state;
	say_event(ACKBODY_EVENT_CUT_SEEN);
	say_event(ACKBODY_EVENT_CUT_ASKED);
	assert_false(ledger_is_cut_seen(w.ledger));
	say_event(ACKBODY_EVENT_CUT_SEEN);
	assert_true(ledger_is_cut_seen(w.ledger));
	world_durable(&w, 1, 32);
	assert_false(ledger_is_cut_seen(w.ledger));
	say_event(ACKBODY_EVENT_CUT_SEEN);
	say_issued(500);
	assert_false(ledger_is_cut_seen(w.ledger));
	say_event(ACKBODY_EVENT_RESTORED);
	say_event(ACKBODY_EVENT_CUT_SEEN);
	assert_false(ledger_is_cut_seen(w.ledger));
	assert_true(ledger_prove(w.ledger, 0, 1, 40));
	assert_int_equal(ledger_state(w.ledger, 0, 40), LEDGER_SHADOW);
}

static void p11_doubt_of_an_earlier_cycle_stays(void **state)
{
	(void)state;
	world_durable(&w, 1, 32);
	say_event(ACKBODY_EVENT_CUT_ASKED);
	world_cycle(&w, 2, 1001, 2000);
	assert_false(ledger_is_cut_asked(w.ledger));
	assert_false(ledger_prove(w.ledger, 0, 1, 40));
	assert_false(ledger_prove(w.ledger, 0, 1, 1000));
	assert_int_equal(ledger_state(w.ledger, 0, 33), LEDGER_DOUBT);
	assert_int_equal(ledger_state(w.ledger, 0, 32), LEDGER_DURABLE);
	/* this cycle has its own */
	assert_true(ledger_prove(w.ledger, 0, 1001, 1040));
	assert_int_equal(ledger_durable_last(w.ledger, 0), 1040);
}

static void p11_an_earlier_cycle_that_was_seen_to_end_is_firm(void **state)
{
	(void)state;
	say_event(ACKBODY_EVENT_CUT_ASKED);
	say_event(ACKBODY_EVENT_CUT_SEEN);
	world_cycle(&w, 2, 1001, 2000);
	say_event(ACKBODY_EVENT_CUT_ASKED);
	assert_true(ledger_prove(w.ledger, 0, 1, 40));
	assert_int_equal(ledger_durable_last(w.ledger, 0), 40);
	assert_true(ledger_prove(w.ledger, 0, 1001, 1040));
	assert_int_equal(ledger_durable_last(w.ledger, 0), 40);
}

/* The place of write 38 owes 30, and tells of 38. */
static void p11_a_proof_unseen_is_expected_of_nobody(void **state)
{
	(void)state;
	world_durable(&w, 1, 32);
	say_event(ACKBODY_EVENT_CUT_ASKED);
	assert_true(ledger_prove(w.ledger, 0, 1, 40));
	world_expect(&w, 1);
	assert_int_equal(w.promise.durable_sequence, 30);
	assert_int_equal(w.promise.shadow_sequence, 38);
	world_holds(&w, 0, WORLD_ATOMS, 30);
	world_judge(&w);
	assert_false(w.outcome.is_broken);
	assert_true(w.outcome.is_shadow_lost);
}

/* There is no log whose words could be missing. */
static void p11_without_a_log_nothing_is_a_shadow(void **state)
{
	struct err err;
	struct ledger *alone = ledger_new(&err);

	(void)state;
	ledger_begin_without_log(alone, &w.run);
	assert_true(ledger_prove(alone, 0, 1, 40));
	assert_int_equal(ledger_durable_last(alone, 0), 40);
	ledger_free(alone);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p11_media_proof_of_a_cut_unseen_is_a_shadow),
		ROW(p11_media_proof_of_a_cut_seen_is_firm),
		ROW(p11_only_the_last_word_is_cut_seen),
		ROW(p11_doubt_of_an_earlier_cycle_stays),
		ROW(p11_an_earlier_cycle_that_was_seen_to_end_is_firm),
		ROW(p11_a_proof_unseen_is_expected_of_nobody),
		ROW(p11_without_a_log_nothing_is_a_shadow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
