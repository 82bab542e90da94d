/* SPDX-License-Identifier: MIT */
/*
 * An answer that was given once stands: the digest of two scans tells where
 * they differ, and what only the earlier one found is joined to the later one.
 */
#include "verifier/changes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/conclude.h"
#include "verifier/findings.h"

#define SLOTS (3 * CHANGES_GROUPS_MAX + 5) /* 4 a group, the last one less */
#define ATOMS 8

static struct err err;

static struct run run_of_slots(uint64_t slots)
{
	return (struct run){.size_bytes = 2 * RUN_LABEL_AREA_BYTES +
					  slots * ATOMS * RUN_ATOM_BYTES,
			    .block_bytes = ATOMS * RUN_ATOM_BYTES};
}

/* Adds every slot but SKIPPED; OTHER has another hash. */
static struct changes_map *scan(uint64_t skipped, uint64_t other)
{
	struct changes_map *map = changes_map_new(SLOTS, &err);
	uint64_t slot;

	assert_non_null(map);
	for (slot = 0; slot < SLOTS; slot++)
		if (slot != skipped)
			changes_map_add(map, slot, slot == other ? 7 : 6);
	return map;
}

static uint64_t compare(struct changes_map *before, struct changes_map *after,
			struct changes *changes)
{
	const struct run run = run_of_slots(SLOTS);

	changes_init(changes);
	changes_compare(changes, &run, before, after);
	changes_map_free(before);
	changes_map_free(after);
	return atomic_load(&changes->places);
}

static void p9_every_slot_can_change(void **state)
{
	static const uint64_t slots[] = {0, 3, 4, SLOTS / 2, SLOTS - 1};
	const struct run run = run_of_slots(SLOTS);
	struct changes changes;
	size_t i;

	(void)state;
	assert_int_equal(
		compare(scan(SLOTS, SLOTS), scan(SLOTS, SLOTS), &changes), 0);
	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		assert_int_equal(compare(scan(SLOTS, SLOTS),
					 scan(SLOTS, slots[i]), &changes),
				 1);
		assert_int_equal(atomic_load(&changes.first),
				 run_slot_offset(&run, slots[i] / 4 * 4));
	}
}

/* P9: it is told for other reasons, and not as a change. */
static void p9_what_was_not_seen_whole_is_not_compared(void **state)
{
	struct changes changes;

	(void)state;
	assert_int_equal(compare(scan(9, SLOTS), scan(SLOTS, SLOTS), &changes),
			 0);
	assert_int_equal(compare(scan(SLOTS, 9), scan(9, SLOTS), &changes), 0);
}

/* The same hashes at other slots of one group are another answer. */
static void p9_slots_do_not_stand_in_for_each_other(void **state)
{
	struct changes changes;

	(void)state;
	assert_int_equal(compare(scan(SLOTS, 8), scan(SLOTS, 9), &changes), 1);
}

static void p9_every_field_of_an_answer_counts(void **state)
{
	const struct record same = {.cycle = 1,
				    .stream = 2,
				    .sequence = 3,
				    .offset_bytes = 4096,
				    .index = 4,
				    .atoms = 5,
				    .first_sequence = 1,
				    .durable_sequence = 2,
				    .issued_ns = 6};
	enum record_state state_of = RECORD_GOOD;
	enum judge_read read = JUDGE_READ_OK;
	struct record others[9];
	uint64_t hash = changes_hash(&state_of, &same, NULL, 1);
	size_t i;

	(void)state;
	assert_true(hash == changes_hash(&state_of, &same, &read, 1));
	for (i = 0; i < 9; i++)
		others[i] = same;
	others[0].cycle++;
	others[1].stream++;
	others[2].sequence++;
	others[3].offset_bytes += 512;
	others[4].index++;
	others[5].atoms++;
	others[6].first_sequence++;
	others[7].durable_sequence++;
	others[8].issued_ns++;
	for (i = 0; i < 9; i++)
		assert_true(hash !=
			    changes_hash(&state_of, &others[i], NULL, 1));
	state_of = RECORD_CORRUPT;
	assert_true(hash != changes_hash(&state_of, &same, NULL, 1));
	state_of = RECORD_GOOD;
	read = JUDGE_READ_HUNG;
	assert_true(hash != changes_hash(&state_of, &same, &read, 1));
}

static void p9_the_lowest_place_is_named(void **state)
{
	struct changes changes;

	(void)state;
	changes_init(&changes);
	changes_note(&changes, 300);
	changes_note(&changes, 100);
	changes_note(&changes, 200);
	assert_int_equal(atomic_load(&changes.places), 3);
	assert_int_equal(atomic_load(&changes.first), 100);
}

/* ---- what an earlier scan found ---- */

static struct findings earlier, later;
static struct tally earlier_tally, tally;

static void find(struct findings *in, enum verdict class, uint64_t slot,
		 uint64_t atom)
{
	const struct finding finding = {
		.class = class,
		.slot = slot,
		.offset_bytes =
			slot * ATOMS * RUN_ATOM_BYTES + atom * RUN_ATOM_BYTES,
		.atoms = 2,
		.expected = 10 + slot,
	};

	findings_add(in, &finding);
}

static int clear(void **state)
{
	(void)state;
	memset(&earlier, 0, sizeof(earlier));
	memset(&later, 0, sizeof(later));
	memset(&earlier_tally, 0, sizeof(earlier_tally));
	memset(&tally, 0, sizeof(tally));
	return 0;
}

static void join(void)
{
	findings_sort(&earlier);
	findings_join(&later, &tally, &earlier, &earlier_tally);
	findings_sort(&later);
}

static void p4_a_finding_that_a_later_scan_misses_stands(void **state)
{
	(void)state;
	find(&earlier, VERDICT_LOST, 5, 0);
	find(&earlier, VERDICT_LOST, 5, 4);
	find(&earlier, VERDICT_BLANK, 5, 6);
	join();
	assert_int_equal(later.count, 3);
	assert_true(later.kept[0].is_unstable);
	assert_int_equal(tally.atoms[VERDICT_LOST], 4);
	assert_int_equal(tally.writes[VERDICT_LOST], 1);
	assert_int_equal(tally.writes[VERDICT_BLANK], 1);
	assert_int_equal(tally.streams[0].missing, 1);
	assert_int_equal(tally.streams[0].lost_oldest, 15);
	assert_true(tally.has_bad);
}

static void p4_a_finding_of_both_scans_counts_once(void **state)
{
	(void)state;
	find(&earlier, VERDICT_LOST, 5, 0);
	find(&later, VERDICT_TORN, 5, 2);
	join();
	assert_int_equal(later.count, 1);
	assert_int_equal(later.kept[0].class, VERDICT_TORN);
	assert_int_equal(tally.atoms[VERDICT_LOST], 0);
}

static void p9_what_broke_nothing_is_not_joined(void **state)
{
	(void)state;
	find(&earlier, VERDICT_UNREADABLE, 5, 0);
	earlier.kept[0].is_information = true;
	join();
	assert_int_equal(later.count, 0);
	assert_int_equal(tally_broken_atoms(&tally), 0);
}

static void p9_an_impossible_record_is_not_forgotten(void **state)
{
	(void)state;
	earlier_tally.has_impossible = true;
	earlier_tally.impossible.offset_bytes = 77;
	join();
	assert_true(tally.has_impossible);
	assert_int_equal(tally.impossible.offset_bytes, 77);
}

static void p4_many_findings_are_enough(void **state)
{
	uint64_t slot;

	(void)state;
	for (slot = 0; slot < FINDINGS_MAX; slot++)
		find(&later, VERDICT_LOST, slot, 0);
	find(&earlier, VERDICT_LOST, FINDINGS_MAX + 1, 0);
	join();
	assert_int_equal(later.count, FINDINGS_MAX);
}

/* ---- what it is worth ---- */

static struct result result;

static void conclude_with(uint64_t changed, uint64_t unstable, bool unsettled)
{
	memset(&result, 0, sizeof(result));
	result.target_name = "drive";
	result.was_promised = true;
	result.tally.completed_lost = 1;
	result.changed = changed;
	result.changed_first = 4711;
	result.unstable = unstable;
	result.is_unsettled = unsettled;
}

static void p9_changed_answers_acquit_nobody(void **state)
{
	(void)state;
	conclude_with(0, 0, false);
	conclude(&result);
	assert_int_equal(result.status, CONCLUDE_KEPT);
	conclude_with(2, 0, false);
	conclude(&result);
	assert_int_equal(result.status, CONCLUDE_NONE);
	assert_non_null(strstr(result.reason, "2 places, the first at byte "
					      "4711"));
	conclude_with(0, 1, false);
	conclude(&result);
	assert_int_equal(result.status, CONCLUDE_NONE);
	conclude_with(0, 0, true);
	conclude(&result);
	assert_int_equal(result.status, CONCLUDE_NONE);
}

static void p4_changed_answers_do_not_hide_a_finding(void **state)
{
	(void)state;
	conclude_with(2, 1, true);
	result.tally.atoms[VERDICT_LOST] = 1;
	conclude(&result);
	assert_int_equal(result.status, CONCLUDE_BROKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p9_every_slot_can_change),
		cmocka_unit_test(p9_what_was_not_seen_whole_is_not_compared),
		cmocka_unit_test(p9_slots_do_not_stand_in_for_each_other),
		cmocka_unit_test(p9_every_field_of_an_answer_counts),
		cmocka_unit_test(p9_the_lowest_place_is_named),
		cmocka_unit_test_setup(
			p4_a_finding_that_a_later_scan_misses_stands, clear),
		cmocka_unit_test_setup(p4_a_finding_of_both_scans_counts_once,
				       clear),
		cmocka_unit_test_setup(p9_what_broke_nothing_is_not_joined,
				       clear),
		cmocka_unit_test_setup(p9_an_impossible_record_is_not_forgotten,
				       clear),
		cmocka_unit_test_setup(p4_many_findings_are_enough, clear),
		cmocka_unit_test(p9_changed_answers_acquit_nobody),
		cmocka_unit_test(p4_changed_answers_do_not_hide_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
