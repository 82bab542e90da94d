/* SPDX-License-Identifier: MIT */
/*
 * The probe reads first what a scan reads again. Whichever of two answers was
 * the bad one, it counts: a drive that heals, or that goes bad between the two,
 * is not acquitted.
 */
#include "verifier/probe.h"

#include <errno.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/format/record.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/changes.h"
#include "verifier/evidence.h"
#include "verifier/expect.h"
#include "verifier/reader.h"
#include "verifier/scan.h"
#include "verifier/seen.h"

#define SLOTS         16
#define BLOCK_BYTES   8192
#define LOGICAL_BYTES 4096
#define ATOMS         (BLOCK_BYTES / RUN_ATOM_BYTES)
#define BLOCK_ATOMS   (LOGICAL_BYTES / RUN_ATOM_BYTES)
#define DURABLE       20
#define LIMIT         60 /* more than two passes behind DURABLE */
#define BAD_SLOT      2  /* holds write 19, held write 3 before */
#define TIMEOUT_MS    30

enum what { STALE, MIXED, BLANK, FAILED, DEAF, IMPOSSIBLE };

static struct scene {
	struct run run;
	struct schedule schedules[RUN_STREAMS_MAX];
	struct drive_fake *drive;
	struct ledger *ledger;
	struct evidence *evidence;
	struct record_cipher *cipher;
	struct reader reader;
	struct changes changes;
	struct findings findings;
	struct tally tally;
	struct seen *seen;
	struct target_queue *queue; /* of the probe, for the scan */
	struct err err;
	enum what what;
	unsigned int first, last; /* reads of BAD_SLOT that go wrong, from 1 */
	unsigned int reads;       /* of BAD_SLOT */
	unsigned int probes;      /* of any slot, of one logical block */
} scene;

static uint64_t bad_offset(void)
{
	return run_slot_offset(&scene.run, BAD_SLOT);
}

static bool is_bad(const struct target_request *request)
{
	return request->offset_bytes <= bad_offset() &&
	       bad_offset() < request->offset_bytes + request->length &&
	       scene.reads >= scene.first && scene.reads <= scene.last;
}

static void build(uint64_t sequence, uint64_t slot, uint8_t *buffer)
{
	struct record record = {
		.cycle = 1,
		.sequence = sequence,
		.offset_bytes = run_slot_offset(&scene.run, slot),
		.atoms = ATOMS,
		.first_sequence = 1,
		.durable_sequence = sequence > 4 ? sequence - 4 : 0,
	};

	memcpy(record.run_id, scene.run.id, RUN_ID_BYTES);
	record_build(scene.cipher, &record, buffer);
}

static void see_submitted(void *context, const struct target_request *request)
{
	(void)context;
	scene.probes += request->length == LOGICAL_BYTES;
	scene.reads += request->offset_bytes <= bad_offset() &&
		       bad_offset() < request->offset_bytes + request->length;
}

static int64_t answer(void *context, const struct target_request *request)
{
	(void)context;
	if (!is_bad(request))
		return DRIVE_FAKE_HONEST;
	if (scene.what == DEAF)
		return DRIVE_FAKE_LATER;
	return scene.what == FAILED ? -EIO : DRIVE_FAKE_HONEST;
}

/* Lays the bad first logical block over the good answer. */
static void spoil(void *context, const struct target_request *request,
		  int64_t result)
{
	static uint8_t old[BLOCK_BYTES];
	uint8_t *at;

	(void)context;
	if (!is_bad(request) || result < 0)
		return;
	at = (uint8_t *)request->buffer.to +
	     (bad_offset() - request->offset_bytes);
	build(scene.what == IMPOSSIBLE ? LIMIT + 3 : 3, BAD_SLOT, old);
	if (scene.what == BLANK)
		memset(at, 0, LOGICAL_BYTES);
	else
		memcpy(at, old,
		       scene.what == MIXED ? LOGICAL_BYTES / 2 : LOGICAL_BYTES);
}

static void say(const struct ackbody *body)
{
	if (ledger_apply(scene.ledger, body, &scene.err) < 0)
		fail_msg("%s", scene.err.text);
}

static void tell_ledger(void)
{
	static struct ackbody body;

	body = (struct ackbody){.type = ACKBODY_RUN, .run = scene.run};
	say(&body);
	body = (struct ackbody){.type = ACKBODY_CYCLE,
				.cycle = {.cycle = 1,
					  .sync_value = 1,
					  .queue_depth = 1,
					  .streams = 1,
					  .first_sequence = {1}}};
	say(&body);
	body = (struct ackbody){.type = ACKBODY_RESERVE, .limit = {0, LIMIT}};
	say(&body);
	body = (struct ackbody){.type = ACKBODY_DURABLE};
	body.ranges.count = 1;
	body.ranges.ranges[0] = (struct ackbody_range){1, DURABLE};
	say(&body);
}

static int set_up(void **state)
{
	static const struct drive_fake_hooks hooks = {NULL, see_submitted,
						      answer, spoil, NULL};
	uint64_t i;

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.run = (struct run){
		.id = {7, 7},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES + SLOTS * BLOCK_BYTES,
		.block_bytes = BLOCK_BYTES,
		.logical_block_bytes = LOGICAL_BYTES,
		.streams = 1,
		.pattern = RUN_PATTERN_SEQUENTIAL,
		.is_filled = true,
	};
	expect_schedules(&scene.run, scene.schedules);
	scene.drive =
		drive_fake_new(scene.run.size_bytes, LOGICAL_BYTES, &hooks);
	scene.cipher = record_cipher_new(scene.run.id, &scene.err);
	scene.ledger = ledger_new(&scene.err);
	scene.evidence = evidence_new(&scene.err);
	tell_ledger();
	for (i = 1; i <= DURABLE; i++)
		build(i, (i - 1) % SLOTS,
		      drive_fake_media(scene.drive) +
			      run_slot_offset(&scene.run, (i - 1) % SLOTS));
	changes_init(&scene.changes);
	reader_init(&scene.reader, drive_fake_target(scene.drive),
		    LOGICAL_BYTES, TIMEOUT_MS);
	scene.reader.changes = &scene.changes;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	target_queue_close(scene.queue);
	seen_free(scene.seen);
	evidence_free(scene.evidence);
	ledger_free(scene.ledger);
	record_cipher_free(scene.cipher);
	drive_fake_free(scene.drive);
	return 0;
}

static void probe(void)
{
	struct probe_doubt doubt = {
		.reader = &scene.reader,
		.ledger = scene.ledger,
		.schedules = scene.schedules,
		.evidence = scene.evidence,
	};

	assert_int_equal(probe_doubt(&doubt, &scene.err), 0);
	scene.seen = doubt.seen;
	scene.queue = doubt.queue;
}

static void scan(void)
{
	struct scan scan = {
		.reader = &scene.reader,
		.ledger = scene.ledger,
		.schedules = scene.schedules,
		.evidence = scene.evidence,
		.findings = &scene.findings,
		.tally = &scene.tally,
		.seen = scene.seen,
		.threads = 1,
		.queue = scene.queue,
	};

	memset(&scene.tally, 0, sizeof(scene.tally));
	memset(&scene.findings, 0, sizeof(scene.findings));
	assert_int_equal(scan_region(&scan, &scene.err), 0);
	assert_null(scan.queue);
	scene.queue = NULL;
}

/* Reads FIRST to LAST of the bad slot go wrong as WHAT says; the probe's is
 * number 1, the scan's number 2. */
static void play(enum what what, unsigned int first, unsigned int last)
{
	scene.what = what;
	scene.first = first;
	scene.last = last;
	probe();
	scan();
}

static void expect_bad(enum verdict verdict, size_t atoms, uint64_t changed)
{
	assert_int_equal(scene.tally.atoms[verdict], atoms);
	assert_int_equal(tally_broken_atoms(&scene.tally), atoms);
	assert_int_equal(scene.findings.kept[0].offset_bytes, bad_offset());
	assert_int_equal(scene.tally.judged_writes, SLOTS);
	assert_int_equal(atomic_load(&scene.changes.places), changed);
	if (changed > 0)
		assert_int_equal(atomic_load(&scene.changes.first),
				 bad_offset());
}

static void p9_the_same_answer_is_no_change(void **state)
{
	(void)state;
	play(STALE, 9, 9);
	assert_int_equal(tally_broken_atoms(&scene.tally), 0);
	assert_int_equal(atomic_load(&scene.changes.places), 0);
	assert_int_equal(scene.tally.judged_writes, SLOTS);
}

static void p9_no_slot_is_asked_twice(void **state)
{
	(void)state;
	probe();
	assert_int_equal(scene.probes, SLOTS);
}

/* The other half of the slot is intact: what is promised is there in part. */
static void p4_old_content_that_heals_is_told(void **state)
{
	(void)state;
	play(STALE, 1, 1);
	expect_bad(VERDICT_TORN, BLOCK_ATOMS, 1);
	assert_int_equal(scene.findings.kept[0].found, 3);
	assert_int_equal(scene.findings.kept[0].expected, 19);
	scan(); /* once more: told, but not counted again */
	expect_bad(VERDICT_TORN, BLOCK_ATOMS, 1);
}

static void p4_content_that_goes_old_is_told(void **state)
{
	(void)state;
	play(STALE, 2, 2);
	expect_bad(VERDICT_TORN, BLOCK_ATOMS, 1);
}

static void p4_old_content_that_stays_is_no_change(void **state)
{
	(void)state;
	play(STALE, 1, 9);
	expect_bad(VERDICT_TORN, BLOCK_ATOMS, 0);
}

static void p8_a_mixed_block_that_heals_is_corrupt(void **state)
{
	(void)state;
	play(MIXED, 1, 1);
	expect_bad(VERDICT_CORRUPT, BLOCK_ATOMS, 1);
}

static void p4_a_blank_block_that_heals_is_told(void **state)
{
	(void)state;
	play(BLANK, 1, 1);
	expect_bad(VERDICT_BLANK, BLOCK_ATOMS, 1);
}

/* A link that was reset fails a read or two: a change, and no finding. */
static void expect_changed_only(void)
{
	assert_int_equal(scene.tally.atoms[VERDICT_UNREADABLE], 0);
	assert_int_equal(scene.tally.atoms[VERDICT_HUNG], 0);
	assert_int_equal(atomic_load(&scene.changes.places), 1);
}

static void p9_an_unreadable_block_that_heals_is_a_change(void **state)
{
	(void)state;
	play(FAILED, 1, 1);
	expect_changed_only();
}

static void p9_a_hung_block_that_heals_is_a_change(void **state)
{
	(void)state;
	play(DEAF, 1, 1);
	expect_changed_only();
}

/* P9: doubt about the log outweighs the better answer. */
static void p9_an_impossible_answer_that_heals_is_told(void **state)
{
	(void)state;
	play(IMPOSSIBLE, 1, 1);
	assert_true(scene.tally.has_impossible);
	assert_int_equal(atomic_load(&scene.changes.places), 1);
}

/* P5: the number behind DURABLE is promised by one that was issued later. */
static void p5_the_probe_finds_what_the_media_prove(void **state)
{
	(void)state;
	build(26, 9,
	      drive_fake_media(scene.drive) + run_slot_offset(&scene.run, 9));
	probe();
	assert_true(evidence_apply(scene.evidence, scene.ledger));
	assert_int_equal(ledger_durable_last(scene.ledger, 0), 22);
}

static void p9_trouble_of_the_rig_is_left_to_the_reader(void **state)
{
	(void)state;
	drive_fake_set_gone(scene.drive, true);
	scene.what = FAILED;
	scene.first = 1;
	scene.last = 1;
	probe();
	assert_int_equal(atomic_load(&scene.reader.rig_error), ENODEV);
}

/* A queue that was answered everything serves on; another might not. */
static void p9_only_an_untroubled_queue_is_used_again(void **state)
{
	static const enum what whats[] = {FAILED, DEAF};

	(void)state;
	probe();
	assert_non_null(scene.queue);
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		(void)tear_down(state);
		assert_int_equal(set_up(state), 0);
		scene.what = whats[i];
		scene.first = 1;
		scene.last = 1;
		probe();
		assert_null(scene.queue);
	}
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_the_same_answer_is_no_change),
		ROW(p9_no_slot_is_asked_twice),
		ROW(p9_only_an_untroubled_queue_is_used_again),
		ROW(p4_old_content_that_heals_is_told),
		ROW(p4_content_that_goes_old_is_told),
		ROW(p4_old_content_that_stays_is_no_change),
		ROW(p8_a_mixed_block_that_heals_is_corrupt),
		ROW(p4_a_blank_block_that_heals_is_told),
		ROW(p9_an_unreadable_block_that_heals_is_a_change),
		ROW(p9_a_hung_block_that_heals_is_a_change),
		ROW(p9_an_impossible_answer_that_heals_is_told),
		ROW(p5_the_probe_finds_what_the_media_prove),
		ROW(p9_trouble_of_the_rig_is_left_to_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
