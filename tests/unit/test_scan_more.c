/* SPDX-License-Identifier: MIT */
/*
 * A scan looks at every slot, believes only whole answers to the question that
 * it asked, and says how much it has not seen. The drive is one in memory that
 * answers as told.
 */
#include "verifier/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/format/record.h"
#include "tests/fake/drive_fake.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/evidence.h"
#include "verifier/expect.h"

#define SLOTS       300
#define BLOCK_BYTES 65536
#define ATOMS       (BLOCK_BYTES / RUN_ATOM_BYTES)
#define CHUNK_BYTES (1024 * 1024)
#define CHUNK_SLOTS (CHUNK_BYTES / BLOCK_BYTES)
#define LIMIT       400 /* numbers that can have been issued */
#define TIMEOUT_MS  50
#define NOWHERE     UINT64_MAX
#define SERVED_MAX  6

enum mood { MOOD_HONEST, MOOD_SHORT, MOOD_BAD, MOOD_LATE, MOOD_DEAF };

static struct scene {
	struct run run;
	struct schedule schedules[RUN_STREAMS_MAX];
	struct drive_fake *drive;
	struct ledger *ledger;
	struct evidence *evidence;
	struct findings *findings;
	struct tally tally;
	struct reader reader;
	struct scan scan;
	struct record_cipher *cipher;
	struct err err;
	enum mood mood;
	uint64_t where;     /* of the bytes that MOOD is about */
	uint64_t span;      /* how many */
	uint64_t late_tag;  /* of the read that is answered late */
	bool is_superseded; /* its flight has another one now */
	bool has_answered;  /* MOOD has had its effect */
	unsigned int served;
} scene;

static bool is_about(const struct target_request *request)
{
	return scene.where + scene.span > request->offset_bytes &&
	       scene.where < request->offset_bytes + request->length;
}

/* Tags of a scan are serial number and flight. */
static void see_submitted(void *context, const struct target_request *request)
{
	(void)context;
	if (scene.mood != MOOD_LATE || request->length != CHUNK_BYTES)
		return;
	if (is_about(request))
		scene.late_tag = request->tag;
	else if ((request->tag & 0xff) == (scene.late_tag & 0xff) &&
		 request->tag > scene.late_tag)
		scene.is_superseded = true;
}

/* Some chunks are served, and the rest only once the late one was given up and
 * its flight has set out for another. */
static int64_t answer_late(const struct target_request *request)
{
	bool is_it = request->tag == scene.late_tag;

	if (request->length != CHUNK_BYTES)
		return DRIVE_FAKE_HONEST;
	if (!scene.is_superseded && (is_it || scene.served == SERVED_MAX))
		return DRIVE_FAKE_LATER;
	scene.has_answered |= is_it;
	scene.served++;
	return DRIVE_FAKE_HONEST;
}

static int64_t answer(void *context, const struct target_request *request)
{
	(void)context;
	if (scene.mood == MOOD_LATE)
		return answer_late(request);
	if (!is_about(request))
		return DRIVE_FAKE_HONEST;
	if (scene.mood == MOOD_DEAF)
		return DRIVE_FAKE_LATER;
	if (scene.mood == MOOD_BAD)
		return -EIO;
	if (scene.mood != MOOD_SHORT || scene.has_answered)
		return DRIVE_FAKE_HONEST;
	scene.has_answered = true;
	return (int64_t)request->length / 2; /* and nothing was moved */
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
	static const struct drive_fake_hooks hooks = {NULL, see_submitted,
						      answer, NULL, NULL};

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.where = NOWHERE;
	scene.span = 1;
	scene.run = (struct run){
		.id = {3, 1},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES +
			      (uint64_t)SLOTS * BLOCK_BYTES,
		.block_bytes = BLOCK_BYTES,
		.logical_block_bytes = 4096,
		.streams = 1,
		.pattern = RUN_PATTERN_SEQUENTIAL,
		.is_filled = true,
	};
	expect_schedules(&scene.run, scene.schedules);
	scene.drive = drive_fake_new(scene.run.size_bytes, 4096, &hooks);
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
	reader_init(&scene.reader, drive_fake_target(scene.drive), 4096,
		    TIMEOUT_MS);
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

static void expect_all_intact(void)
{
	assert_int_equal(scene.tally.writes[VERDICT_INTACT], SLOTS);
	assert_int_equal(tally_broken_atoms(&scene.tally), 0);
	assert_int_equal(scene.scan.unscanned_bytes, 0);
	assert_int_equal(scene.findings->count, 0);
}

static void p6_every_slot_is_judged(void **state)
{
	static const uint64_t slots[] = {0,
					 1,
					 CHUNK_SLOTS - 1,
					 CHUNK_SLOTS,
					 SLOTS / CHUNK_SLOTS * CHUNK_SLOTS,
					 SLOTS - 1};

	(void)state;
	scan();
	expect_all_intact();
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		uint64_t at = run_slot_offset(&scene.run, slots[i]);

		memset(drive_fake_media(scene.drive) + at, 0, BLOCK_BYTES);
		scan();
		assert_int_equal(scene.tally.atoms[VERDICT_BLANK], ATOMS);
		assert_int_equal(scene.findings->kept[0].offset_bytes, at);
		assert_int_equal(scene.tally.writes[VERDICT_INTACT], SLOTS - 1);
		put_write(slots[i] + 1, slots[i]);
	}
}

static void p9_half_an_answer_is_none(void **state)
{
	(void)state;
	scene.mood = MOOD_SHORT;
	scene.where = run_slot_offset(&scene.run, 3 * CHUNK_SLOTS);
	scan();
	assert_true(scene.has_answered);
	expect_all_intact();
}

/* The answer comes when the flight already waits for another chunk. */
static void p9_a_late_answer_is_not_another_ones(void **state)
{
	(void)state;
	scene.mood = MOOD_LATE;
	scene.where = run_slot_offset(&scene.run, CHUNK_SLOTS);
	scan();
	assert_true(scene.has_answered);
	expect_all_intact();
}

static void p4_a_bad_block_is_named_alone(void **state)
{
	(void)state;
	scene.mood = MOOD_BAD;
	scene.where = run_slot_offset(&scene.run, 100) + 3 * 4096 + 700;
	scan();
	assert_int_equal(scene.tally.atoms[VERDICT_UNREADABLE], 8);
	assert_int_equal(tally_broken_atoms(&scene.tally), 8);
	assert_int_equal(scene.findings->kept[0].offset_bytes,
			 run_slot_offset(&scene.run, 100) + 3 * 4096);
	assert_int_equal(scene.scan.unscanned_bytes, 0);
}

/* Nothing was promised where it hangs, but behind it nothing was read. */
static void p9_what_was_not_read_is_told(void **state)
{
	(void)state;
	scene.mood = MOOD_DEAF;
	scene.where = run_slot_offset(&scene.run, 0);
	scan();
	assert_int_equal(scene.scan.unscanned_bytes, 0);
	scene.reader.timeout_ms = 1;
	assert_int_equal(scene.tally.atoms[VERDICT_HUNG], 8);
	atomic_store(&scene.reader.hung, READER_HUNG_MAX);
	assert_int_equal(scan_region(&scene.scan, &scene.err), 0);
	assert_int_equal(scene.scan.unscanned_bytes,
			 (uint64_t)SLOTS * BLOCK_BYTES);
}

static void p9_an_impossible_record_is_no_evidence(void **state)
{
	(void)state;
	put_write(LIMIT + 50, LIMIT + 49);
	scan();
	assert_true(scene.tally.has_impossible);
	assert_true(evidence_durable(scene.evidence) <= SLOTS);
	put_write(LIMIT, LIMIT - 1);
	scan();
	assert_int_equal(evidence_durable(scene.evidence), LIMIT - 1);
}

/* What cannot be read is filled with zeroes, and would look like the rest. */
static void p9_what_was_not_read_is_not_blank(void **state)
{
	struct ackbody body = {.type = ACKBODY_RUN, .run = scene.run};
	uint64_t at = run_slot_offset(&scene.run, 5);

	(void)state;
	memset(drive_fake_media(scene.drive) + at, 0, BLOCK_BYTES);
	ledger_free(scene.ledger);
	scene.ledger = ledger_new(&scene.err);
	say(&body);
	ledger_promise_fill(scene.ledger, false);
	scene.mood = MOOD_BAD;
	scene.where = at + 4096;
	scene.span = BLOCK_BYTES - 4096;
	scan();
	assert_int_equal(scene.tally.information[VERDICT_UNREADABLE],
			 ATOMS - 8);
	assert_int_equal(scene.tally.atoms[VERDICT_UNPROMISED], 8);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p6_every_slot_is_judged),
		ROW(p9_half_an_answer_is_none),
		ROW(p9_a_late_answer_is_not_another_ones),
		ROW(p4_a_bad_block_is_named_alone),
		ROW(p9_what_was_not_read_is_told),
		ROW(p9_an_impossible_record_is_no_evidence),
		ROW(p9_what_was_not_read_is_not_blank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
