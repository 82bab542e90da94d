/* SPDX-License-Identifier: MIT */
/*
 * P9: nothing is hung that was not asked for by itself, and kept silent twice.
 * A rig that stands still for a while accuses nobody, and the drive's time is
 * not used up by what the scan does meanwhile. The drive is one in memory.
 */
#include "verifier/scan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/format/record.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/changes.h"
#include "verifier/evidence.h"
#include "verifier/expect.h"

#define SLOTS       64
#define BLOCK_BYTES 65536
#define PIECE_BYTES 4096 /* a logical block */
#define PIECE_ATOMS (PIECE_BYTES / RUN_ATOM_BYTES)
#define ATOMS       (BLOCK_BYTES / RUN_ATOM_BYTES)
#define CHUNK_BYTES (1024 * 1024)
#define CHUNK_SLOTS (CHUNK_BYTES / BLOCK_BYTES)
#define LIMIT       400 /* numbers that can have been issued */
#define TIMEOUT_MS  20
#define LOOKS       3 /* at a chunk of a slow drive, until it is answered */

static struct scene {
	struct run run;
	struct schedule schedules[RUN_STREAMS_MAX];
	struct drive_fake *drive;
	struct ledger *ledger;
	struct evidence *evidence;
	struct findings *findings;
	struct tally tally;
	struct reader reader;
	struct changes changes;
	struct scan scan;
	struct record_cipher *cipher;
	struct err err;
	uint64_t deaf_from, deaf_to; /* keep silent */
	unsigned int deaf_reads;     /* how many; then they answer */
	uint64_t still_until_ns;     /* the whole rig; 0: not yet */
	uint64_t still_ms;
	bool is_slow;
	unsigned int looks[SLOTS / CHUNK_SLOTS];
} scene;

static bool is_deaf(const struct target_request *request)
{
	return request->offset_bytes < scene.deaf_to &&
	       request->offset_bytes + request->length > scene.deaf_from;
}

/* It stands still from the first request on. */
static bool stands_still(void)
{
	if (scene.still_ms == 0)
		return false;
	if (scene.still_until_ns == 0)
		scene.still_until_ns =
			clock_monotonic_ns() + scene.still_ms * CLOCK_NS_PER_MS;
	return clock_monotonic_ns() < scene.still_until_ns;
}

static int64_t answer(void *context, const struct target_request *request)
{
	uint64_t slot =
		(request->offset_bytes - RUN_LABEL_AREA_BYTES) / BLOCK_BYTES;

	(void)context;
	if (stands_still() || is_deaf(request))
		return DRIVE_FAKE_LATER;
	if (scene.is_slow && request->length == CHUNK_BYTES &&
	    ++scene.looks[slot / CHUNK_SLOTS] < LOOKS)
		return DRIVE_FAKE_LATER;
	return DRIVE_FAKE_HONEST;
}

/* After so many questions it answers again. */
static void count_questions(void *context, const struct target_request *request)
{
	(void)context;
	if (is_deaf(request) && scene.deaf_reads > 0 && --scene.deaf_reads == 0)
		scene.deaf_to = 0;
}

static void put_write(uint64_t sequence, uint64_t w)
{
	struct record record = {
		.cycle = 1,
		.sequence = sequence,
		.offset_bytes =
			run_slot_offset(&scene.run, (sequence - 1) % SLOTS),
		.atoms = ATOMS,
		.first_sequence = 1,
		.durable_sequence = w,
	};

	memcpy(record.run_id, scene.run.id, RUN_ID_BYTES);
	record_build(scene.cipher, &record,
		     drive_fake_media(scene.drive) + record.offset_bytes);
}

static void say(struct ackbody *body)
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
	body.ranges.ranges[0] = (struct ackbody_range){1, SLOTS};
	say(&body);
}

static int set_up(void **state)
{
	static const struct drive_fake_hooks hooks = {NULL, count_questions,
						      answer, NULL, NULL};

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.run = (struct run){
		.id = {3, 1},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES +
			      (uint64_t)SLOTS * BLOCK_BYTES,
		.block_bytes = BLOCK_BYTES,
		.logical_block_bytes = PIECE_BYTES,
		.streams = 1,
		.pattern = RUN_PATTERN_SEQUENTIAL,
		.is_filled = true,
	};
	expect_schedules(&scene.run, scene.schedules);
	scene.drive = drive_fake_new(scene.run.size_bytes, PIECE_BYTES, &hooks);
	scene.cipher = record_cipher_new(scene.run.id, &scene.err);
	scene.ledger = ledger_new(&scene.err);
	scene.evidence = evidence_new(&scene.err);
	scene.findings = calloc(1, sizeof(*scene.findings));
	tell_ledger();
	for (uint64_t i = 1; i <= SLOTS; i++)
		put_write(i, i - 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(scene.findings);
	evidence_free(scene.evidence);
	ledger_free(scene.ledger);
	record_cipher_free(scene.cipher);
	drive_fake_free(scene.drive);
	return 0;
}

static void scan(void)
{
	memset(&scene.tally, 0, sizeof(scene.tally));
	memset(scene.findings, 0, sizeof(*scene.findings));
	reader_init(&scene.reader, drive_fake_target(scene.drive), PIECE_BYTES,
		    TIMEOUT_MS);
	changes_init(&scene.changes);
	scene.reader.changes = &scene.changes;
	scene.scan = (struct scan){
		.reader = &scene.reader,
		.ledger = scene.ledger,
		.schedules = scene.schedules,
		.evidence = scene.evidence,
		.findings = scene.findings,
		.tally = &scene.tally,
		.threads = 1,
	};
	assert_int_equal(scan_region(&scene.scan, &scene.err), 0);
}

static void keep_silent(uint64_t slot, size_t piece, size_t pieces,
			unsigned int questions)
{
	scene.deaf_from =
		run_slot_offset(&scene.run, slot) + piece * PIECE_BYTES;
	scene.deaf_to = scene.deaf_from + pieces * PIECE_BYTES;
	scene.deaf_reads = questions;
}

static uint64_t changed(void)
{
	return atomic_load(&scene.changes.places);
}

static void p4_what_never_answers_is_hung(void **state)
{
	(void)state;
	keep_silent(40, 3, 1, 0);
	scan();
	assert_int_equal(scene.tally.atoms[VERDICT_HUNG], PIECE_ATOMS);
	assert_int_equal(tally_broken_atoms(&scene.tally), PIECE_ATOMS);
	assert_int_equal(scene.findings->kept[0].offset_bytes, scene.deaf_from);
	assert_int_equal(scene.scan.unscanned_bytes, 0);
	assert_int_equal(scene.tally.writes[VERDICT_INTACT], SLOTS - 1);
	assert_int_equal(changed(), 0);
	assert_false(scene.reader.is_second);
}

/* With its chunk and alone; then it answers. */
static void p9_what_answers_the_second_question_is_a_change(void **state)
{
	(void)state;
	keep_silent(40, 3, 1, 3);
	scan();
	assert_int_equal(tally_broken_atoms(&scene.tally), 0);
	assert_int_equal(scene.scan.unscanned_bytes, 0);
	assert_int_equal(scene.tally.writes[VERDICT_INTACT], SLOTS);
	assert_int_equal(changed(), 1);
}

/* What it answers at last is judged like anything else. */
static void p4_a_late_answer_may_be_a_loss(void **state)
{
	(void)state;
	memset(drive_fake_media(scene.drive) + run_slot_offset(&scene.run, 40),
	       0, BLOCK_BYTES);
	keep_silent(40, 3, 1, 3);
	scan();
	assert_int_equal(scene.tally.atoms[VERDICT_BLANK], ATOMS);
	assert_int_equal(tally_broken_atoms(&scene.tally), ATOMS);
}

static void p9_a_rig_that_stands_still_accuses_nobody(void **state)
{
	static const unsigned int times_10[] = {5, 11, 15, 20, 25, 29};

	(void)state;
	for (size_t i = 0; i < sizeof(times_10) / sizeof(times_10[0]); i++) {
		scene.still_ms = TIMEOUT_MS * times_10[i] / 10;
		scene.still_until_ns = 0;
		scan();
		assert_int_equal(tally_broken_atoms(&scene.tally), 0);
		assert_int_equal(scene.scan.unscanned_bytes, 0);
	}
}

/* A chunk of 256 pieces: so many are asked for, and no more. */
static void p9_what_was_never_asked_for_is_no_finding(void **state)
{
	uint64_t hung;

	(void)state;
	keep_silent(0, 0, (size_t)SLOTS * BLOCK_BYTES / PIECE_BYTES, 0);
	scan();
	hung = scene.tally.atoms[VERDICT_HUNG];
	assert_true(hung >= PIECE_ATOMS);
	assert_true(hung <= READER_HUNG_MAX * PIECE_ATOMS);
	assert_int_equal(tally_broken_atoms(&scene.tally), hung);
	assert_int_equal(scene.scan.unscanned_bytes + hung * RUN_ATOM_BYTES,
			 (uint64_t)SLOTS * BLOCK_BYTES);
}

/* While the deaf piece is waited for, the other chunks are not late. */
static void p9_the_drive_has_all_of_its_time(void **state)
{
	(void)state;
	scene.is_slow = true;
	keep_silent(1, 3, 1, 0);
	scan();
	assert_int_equal(tally_broken_atoms(&scene.tally), PIECE_ATOMS);
	assert_int_equal(changed(), 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p4_what_never_answers_is_hung),
		ROW(p9_what_answers_the_second_question_is_a_change),
		ROW(p4_a_late_answer_may_be_a_loss),
		ROW(p9_a_rig_that_stands_still_accuses_nobody),
		ROW(p9_what_was_never_asked_for_is_no_finding),
		ROW(p9_the_drive_has_all_of_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
