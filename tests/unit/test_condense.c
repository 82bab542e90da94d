/* SPDX-License-Identifier: MIT */
/*
 * A condensed log says of every number what the log said: thousands of random
 * logs are folded into two ledgers, one of them by way of the bounds, and the
 * two may not differ in anything that a verifier asks for.
 */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ackfile/ackreader.h"
#include "common/ackfile/condense.h"
#include "common/ackfile/condsets.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "tests/fake/condworld.h"

#define LOGS 3000

/* A range of the numbers that may be told of now, or a little beside them. */
static void say_some(enum ackbody_type type, uint16_t stream)
{
	uint64_t reserved = ledger_reserved(condworld.ledger, stream);
	uint64_t first = condworld.first[stream] + condworld_below(40);
	uint64_t last = first + condworld_below(4);

	if (condworld_below(16) == 0 && condworld.first[stream] > 3)
		first = last = condworld.first[stream] - 1 -
			       condworld_below(3); /* again */
	condworld_say_range(type, stream, first,
			    last < reserved    ? last
			    : first < reserved ? reserved
					       : last);
}

static void say_flushes(uint16_t stream)
{
	uint64_t count = 2 + condworld_below(6);

	condworld.body.type = ACKBODY_FLUSHES;
	condworld.body.flushes = (struct ackbody_flushes){
		.stream = stream, .count = (uint16_t)count};
	for (uint64_t i = 0; i < count; i++) {
		uint64_t number = condworld.first[stream] + condworld_below(40);

		if (number > ledger_limit(condworld.ledger, stream))
			return;
		condworld.body.flushes.flushes[i] =
			(struct ackbody_flush){++condworld.flush,
					       condworld.clock_ns,
					       condworld.clock_ns + 1,
					       {number, number}};
		condworld.clock_ns++;
	}
	condworld_say();
}

static void say_anything(void)
{
	uint16_t stream = (uint16_t)condworld_below(condworld.run.streams);

	switch (condworld_below(40)) {
	case 0:
		condworld_say_cycle();
		return;
	case 1:
		condworld_say_event(ACKBODY_EVENT_CUT_ASKED, "asked");
		return;
	case 2:
	case 3:
		condworld_say_event(ACKBODY_EVENT_CUT_SEEN, "seen");
		return;
	case 4:
		condworld_say_event(ACKBODY_EVENT_RESTORED, "back");
		return;
	case 5:
		condworld_say_event(0, "the end");
		return;
	case 6:
		condworld_say_event(ACKBODY_EVENT_NOTE, "note");
		return;
	case 7:
		condworld_say_limit(ACKBODY_ISSUED, stream,
				    condworld_below(4) == 0
					    ? 0
					    : condworld.first[stream] - 1 +
						      condworld_below(45));
		return;
	case 8:
	case 9:
	case 10:
	case 11:
		condworld_say_limit(ACKBODY_RESERVE, stream,
				    condworld.first[stream] - 1 +
					    condworld_below(45));
		return;
	case 12:
	case 13:
	case 14:
		say_flushes(stream);
		return;
	default:
		say_some(condworld_below(3) == 0 ? ACKBODY_COMPLETED
						 : ACKBODY_DURABLE,
			 stream);
	}
}

static void compare_stream(const struct ledger *a, const struct ledger *b,
			   uint16_t stream)
{
	uint64_t top = ledger_reserved(a, stream) + 4;

	assert_int_equal(ledger_limit(a, stream), ledger_limit(b, stream));
	assert_int_equal(ledger_reserved(a, stream),
			 ledger_reserved(b, stream));
	assert_int_equal(ledger_durable_last(a, stream),
			 ledger_durable_last(b, stream));
	assert_int_equal(ledger_durable_count(a, stream),
			 ledger_durable_count(b, stream));
	for (uint64_t number = 1; number <= top; number++) {
		assert_int_equal(ledger_state(a, stream, number),
				 ledger_state(b, stream, number));
		assert_int_equal(ledger_known_at_or_below(a, stream, number),
				 ledger_known_at_or_below(b, stream, number));
	}
}

static void compare(const struct ledger *a, const struct ledger *b)
{
	assert_int_equal(ledger_is_cut_asked(a), ledger_is_cut_asked(b));
	assert_int_equal(ledger_is_cut_seen(a), ledger_is_cut_seen(b));
	assert_int_equal(ledger_forgotten(a) > 0, ledger_forgotten(b) > 0);
	assert_int_equal(ledger_cycle(a) == NULL, ledger_cycle(b) == NULL);
	if (ledger_cycle(a) != NULL)
		assert_true(ackbody_is_same_cycle(ledger_cycle(a),
						  ledger_cycle(b)));
	for (uint16_t i = 0; i < condworld.run.streams; i++)
		compare_stream(a, b, i);
}

/* P5: the media add the same to both, also where something is not firm or was
 * forgotten. */
static void prove_some(struct ledger *a, struct ledger *b)
{
	for (unsigned int i = 0; i < 20; i++) {
		uint16_t stream =
			(uint16_t)condworld_below(condworld.run.streams);
		uint64_t first =
			1 + condworld_below(ledger_reserved(a, stream) + 3);
		uint64_t last = first + condworld_below(5);

		assert_int_equal(ledger_prove(a, stream, first, last),
				 ledger_prove(b, stream, first, last));
	}
}

static void expect_the_same(void)
{
	struct condense_facts facts = {0};
	struct ledger *log, *bounds;

	if (condworld_condense(&facts) < 0)
		fail_msg("not condensed: %s", condworld.err.text);
	log = condworld_read_log(condworld.fd);
	bounds = condworld_read_bounds();
	compare(log, bounds);
	prove_some(log, bounds);
	compare(log, bounds);
	ledger_free(log);
	ledger_free(bounds);
}

static void random_logs_and_their_bounds_say_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= LOGS; seed++) {
		condworld_begin(seed, (uint16_t)(1 + seed % 3));
		for (uint64_t left = condworld_below(300); left > 0; left--)
			say_anything();
		expect_the_same();
		condworld_end();
	}
}

/* 64 streams: 8192 durable ranges of each are kept, and 2048 of evidence. */
static void forgotten_ranges_stay_forgotten(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t count = 17000 + condworld_below(3000);

		condworld_begin(seed, RUN_STREAMS_MAX);
		for (uint64_t cycles = 1 + seed % 3; cycles > 0; cycles--) {
			condworld_say_cycle();
			condworld_say_limit(ACKBODY_RESERVE, 0,
					    condworld.first[0] + count);
			for (uint64_t i = 0; i < count; i += 2) {
				if (i == count - seed * 97 % 3000)
					condworld_say_event(
						ACKBODY_EVENT_CUT_ASKED, "");
				condworld_say_range(seed % 5 == 0
							    ? ACKBODY_COMPLETED
							    : ACKBODY_DURABLE,
						    0, condworld.first[0] + i,
						    condworld.first[0] + i);
				/* a hole behind it is filled later */
				if (seed % 2 == 0 && condworld_below(8) == 0)
					condworld_say_range(
						ACKBODY_DURABLE, 0,
						condworld.first[0] + i -
							condworld_below(i / 2 +
									1),
						condworld.first[0] + i);
			}
		}
		assert_true(ledger_forgotten(condworld.ledger) > 0 ||
			    seed % 5 == 0 || seed % 2 == 0);
		expect_the_same();
		condworld_end();
	}
}

/* The number behind the last one that was forgotten may be known. */
static void the_neighbour_of_what_was_forgotten(void **state)
{
	const uint64_t kept = LEDGER_DURABLE_ALL_MAX / RUN_STREAMS_MAX;
	uint64_t first;

	(void)state;
	condworld_begin(1, RUN_STREAMS_MAX);
	condworld_say_cycle();
	first = condworld.first[0];
	condworld_say_limit(ACKBODY_RESERVE, 0, first + 3 * kept);
	for (uint64_t i = 0; i <= kept; i++)
		condworld_say_range(ACKBODY_DURABLE, 0, first + 2 * i,
				    first + 2 * i);
	condworld_say_range(ACKBODY_DURABLE, 0, first + 3, first + 3);
	condworld_say_range(ACKBODY_DURABLE, 0, first + 1, first + 1);
	assert_int_equal(ledger_forgotten(condworld.ledger), 1);
	assert_int_equal(ledger_state(condworld.ledger, 0, first + 1),
			 LEDGER_DURABLE);
	/* of an earlier cycle, so that nothing is told one by one */
	condworld_say_cycle();
	expect_the_same();
	condworld_end();
}

static uint64_t bounds_size(void)
{
	struct stat about;

	assert_int_equal(fstat(condworld.bounds_fd, &about), 0);
	return (uint64_t)about.st_size;
}

/* Only the last flushes are told one by one. */
static void the_size_does_not_follow_the_flushes(void **state)
{
	uint64_t sizes[2];

	(void)state;
	for (uint64_t longer = 0; longer < 2; longer++) {
		uint64_t count = UINT64_C(2) * CONDSETS_RECENT_MAX << longer;
		struct condense_facts facts = {0};

		condworld_begin(1, 1);
		for (unsigned int cycles = 0; cycles < 2; cycles++) {
			condworld_say_cycle();
			condworld_say_limit(ACKBODY_RESERVE, 0,
					    condworld.first[0] + count);
			for (uint64_t i = 0; i < count; i++)
				condworld_say_range(ACKBODY_DURABLE, 0,
						    condworld.first[0] + i,
						    condworld.first[0] + i);
		}
		assert_int_equal(condworld_condense(&facts), 0);
		sizes[longer] = bounds_size();
		assert_int_equal(sizes[longer], facts.to_bytes);
		assert_true(facts.from_bytes > 14 * 2 * count);
		condworld_end();
	}
	assert_true(sizes[1] < sizes[0] + 64);
	assert_true(sizes[1] < 12 * CONDSETS_RECENT_MAX);
}

/* The age of a loss: the last flushes keep number and time, and what is older
 * stands under the latest time of its kind. */
static void the_last_flushes_keep_their_times(void **state)
{
	const uint64_t count = CONDSETS_RECENT_MAX + 100;
	struct condense_facts facts = {0};
	struct ackreader *reader;
	struct ackbody_told told;
	uint64_t seen = 0;

	(void)state;
	condworld_begin(1, 1);
	condworld_say_cycle();
	condworld_say_limit(ACKBODY_RESERVE, 0, condworld.first[0] + count);
	for (uint64_t i = 0; i < count; i++)
		condworld_say_range(ACKBODY_DURABLE, 0, condworld.first[0] + i,
				    condworld.first[0] + i);
	assert_int_equal(condworld_condense(&facts), 0);
	reader = ackreader_open_fd(condworld.bounds_fd, "bounds",
				   &condworld.err);
	assert_non_null(reader);
	while (ackreader_next(reader, &condworld.body, NULL, &condworld.err) >
	       0)
		for (size_t i = 0; ackbody_told_at(&condworld.body, i, &told);
		     i++) {
			uint64_t last =
				told.ranges[0].last - condworld.first[0] + 1;

			assert_int_equal(told.completed_ns, last);
			assert_int_equal(told.flush, last == 100 ? 0 : last);
			seen++;
		}
	assert_int_equal(seen, 1 + CONDSETS_RECENT_MAX);
	ackreader_close(reader);
	condworld_end();
}

/* P9 */
static void p9_a_log_that_is_not_believed_has_no_bounds(void **state)
{
	struct condense_facts facts = {0};

	(void)state;
	condworld_begin(1, 1);
	condworld_say_cycle();
	assert_int_equal(ackout_finish(condworld.out, 1, &condworld.err), 0);
	condworld_say_limit(ACKBODY_RESERVE, 0, 9);
	assert_int_equal(ackout_finish(condworld.out, 1, &condworld.err), 0);
	assert_int_equal(pwrite(condworld.fd, "x", 1, 40), 1);
	assert_int_equal(condworld_condense(&facts), -1);
	assert_non_null(strstr(condworld.err.text, "no verdict"));
	assert_int_equal(bounds_size(), 0);
	condworld_end();
}

static void a_contradiction_has_no_bounds(void **state)
{
	struct condense_facts facts = {0};

	(void)state;
	condworld_begin(1, 1);
	condworld_say_cycle();
	condworld.body.type = ACKBODY_DURABLE; /* above what was reserved */
	condworld.body.ranges =
		(struct ackbody_ranges){.count = 1, .ranges = {{500, 500}}};
	assert_int_equal(
		ackout_say(condworld.out, &condworld.body, 1, &condworld.err),
		0);
	assert_int_equal(condworld_condense(&facts), -1);
	assert_non_null(strstr(condworld.err.text, "above the limit"));
	assert_int_equal(bounds_size(), 0);
	condworld_end();
}

static void a_torn_tail_is_cut_off_and_said(void **state)
{
	struct condense_facts facts = {0};

	(void)state;
	condworld_begin(1, 1);
	condworld_say_cycle();
	assert_int_equal(ackout_finish(condworld.out, 1, &condworld.err), 0);
	assert_int_equal(write(condworld.fd, "PPL1torn", 8), 8);
	assert_int_equal(condworld_condense(&facts), 0);
	assert_int_equal(facts.torn_bytes, 8);
	ledger_free(condworld_read_bounds());
	condworld_end();
}

static void an_empty_log_has_no_bounds(void **state)
{
	struct condense_facts facts = {0};

	(void)state;
	condworld_begin(1, 1);
	condworld.out->used = 0;
	assert_int_equal(condworld_condense(&facts), -1);
	assert_non_null(strstr(condworld.err.text, "not one whole record"));
	condworld_end();
}

/* P9: the first proof that flushes were not sent is never left out. */
static void p9_unsent_flushes_stay_told(void **state)
{
	struct condense_facts facts = {0};
	struct ackreader *reader;
	unsigned int told = 0, notes = 0;

	(void)state;
	condworld_begin(1, 1);
	condworld_say_cycle();
	for (unsigned int i = 0; i < 5 * CONDENSE_NOTES_MAX; i++)
		condworld_say_event(ACKBODY_EVENT_NOTE, "many");
	condworld_say_event(ACKBODY_EVENT_UNSENT, "dm-3 swallows them");
	condworld_say_cycle();
	assert_int_equal(condworld_condense(&facts), 0);
	reader = ackreader_open_fd(condworld.bounds_fd, "bounds",
				   &condworld.err);
	assert_non_null(reader);
	while (ackreader_next(reader, &condworld.body, NULL, &condworld.err) >
	       0) {
		if (condworld.body.type != ACKBODY_EVENT)
			continue;
		told += strcmp(condworld.body.note.text,
			       "dm-3 swallows them") == 0 &&
			condworld.body.note.event == ACKBODY_EVENT_UNSENT;
		notes += strcmp(condworld.body.note.text, "many") == 0;
	}
	assert_int_equal(told, 1);
	assert_int_equal(notes, CONDENSE_NOTES_MAX);
	ackreader_close(reader);
	condworld_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_logs_and_their_bounds_say_the_same),
		cmocka_unit_test(forgotten_ranges_stay_forgotten),
		cmocka_unit_test(the_neighbour_of_what_was_forgotten),
		cmocka_unit_test(the_size_does_not_follow_the_flushes),
		cmocka_unit_test(the_last_flushes_keep_their_times),
		cmocka_unit_test(p9_a_log_that_is_not_believed_has_no_bounds),
		cmocka_unit_test(a_contradiction_has_no_bounds),
		cmocka_unit_test(a_torn_tail_is_cut_off_and_said),
		cmocka_unit_test(an_empty_log_has_no_bounds),
		cmocka_unit_test(p9_unsent_flushes_stay_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
