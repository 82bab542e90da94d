/* SPDX-License-Identifier: MIT */
/*
 * Whatever the geometry, a scan looks at every atom of every slot once: one bad
 * byte anywhere is found, at its own address and nowhere else. On files, so
 * that several threads can read.
 */
#include "verifier/scan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/format/ledger.h"
#include "common/format/record.h"
#include "common/target/target.h"
#include "tests/unit/cmocka_all.h"
#include "verifier/changes.h"
#include "verifier/evidence.h"
#include "verifier/expect.h"

struct geometry {
	uint32_t block_bytes;
	uint64_t slots;
	uint16_t streams;
	enum run_pattern pattern;
};

static struct scene {
	char path[64];
	int fd;
	struct run run;
	struct schedule schedules[RUN_STREAMS_MAX];
	struct record_cipher *cipher;
	struct ledger *ledger;
	struct evidence *evidence;
	struct target *target;
	struct changes changes;
	struct changes_map *answers;
	struct findings findings;
	struct tally tally;
	uint64_t read_bytes, unscanned_bytes;
	struct err err;
} scene;

static void put(const void *bytes, size_t count, uint64_t offset_bytes)
{
	assert_int_equal(pwrite(scene.fd, bytes, count, (off_t)offset_bytes),
			 count);
}

static void fill(void)
{
	uint8_t *buffer = malloc(scene.run.block_bytes);
	uint64_t slot;

	assert_non_null(buffer);
	for (slot = 0; slot < run_slots_total(&scene.run); slot++) {
		uint64_t at = run_slot_offset(&scene.run, slot);

		record_build_fill(scene.cipher, at,
				  scene.run.block_bytes / RUN_ATOM_BYTES,
				  buffer);
		put(buffer, scene.run.block_bytes, at);
	}
	free(buffer);
}

static uint64_t slot_of(uint16_t stream, uint64_t sequence)
{
	return stream * run_slots_per_stream(&scene.run) +
	       schedule_slot(&scene.schedules[stream], sequence);
}

/* Half of its slots have been written once. */
static uint64_t written(void)
{
	return (run_slots_per_stream(&scene.run) + 1) / 2;
}

static void write_stream(uint16_t stream)
{
	uint8_t *buffer = malloc(scene.run.block_bytes);
	uint64_t sequence;

	assert_non_null(buffer);
	for (sequence = 1; sequence <= written(); sequence++) {
		uint64_t at =
			run_slot_offset(&scene.run, slot_of(stream, sequence));
		struct record record = {
			.cycle = 1,
			.stream = stream,
			.sequence = sequence,
			.offset_bytes = at,
			.atoms = (uint16_t)(scene.run.block_bytes /
					    RUN_ATOM_BYTES),
			.first_sequence = 1,
			.durable_sequence = sequence - 1,
		};

		memcpy(record.run_id, scene.run.id, RUN_ID_BYTES);
		record_build(scene.cipher, &record, buffer);
		put(buffer, scene.run.block_bytes, at);
	}
	free(buffer);
}

static void say(const struct ackbody *body)
{
	if (ledger_apply(scene.ledger, body, &scene.err) < 0)
		fail_msg("%s", scene.err.text);
}

static void tell_ledger(void)
{
	static struct ackbody body;
	uint16_t stream;

	body = (struct ackbody){.type = ACKBODY_RUN, .run = scene.run};
	say(&body);
	body = (struct ackbody){.type = ACKBODY_CYCLE,
				.cycle = {.cycle = 1,
					  .sync_value = 1,
					  .queue_depth = 1,
					  .streams = scene.run.streams}};
	for (stream = 0; stream < scene.run.streams; stream++)
		body.cycle.first_sequence[stream] = 1;
	say(&body);
	for (stream = 0; stream < scene.run.streams; stream++) {
		body = (struct ackbody){.type = ACKBODY_RESERVE,
					.limit = {stream, written()}};
		say(&body);
		body = (struct ackbody){.type = ACKBODY_DURABLE};
		body.ranges.stream = stream;
		body.ranges.count = 1;
		body.ranges.ranges[0] = (struct ackbody_range){1, written()};
		say(&body);
	}
}

static void set_up_scene(const struct geometry *geometry)
{
	uint16_t stream;

	memset(&scene, 0, sizeof(scene));
	scene.run = (struct run){
		.id = {8, 1},
		.size_bytes = 2 * RUN_LABEL_AREA_BYTES +
			      geometry->slots * geometry->block_bytes,
		.block_bytes = geometry->block_bytes,
		.logical_block_bytes =
			geometry->block_bytes < 4096 ? 512 : 4096,
		.streams = geometry->streams,
		.pattern = geometry->pattern,
		.is_filled = true,
	};
	assert_int_equal(run_check(&scene.run, &scene.err), 0);
	expect_schedules(&scene.run, scene.schedules);
	strcpy(scene.path, "/tmp/plugpull-scan.XXXXXX");
	scene.fd = mkstemp(scene.path);
	assert_int_equal(ftruncate(scene.fd, (off_t)scene.run.size_bytes), 0);
	scene.cipher = record_cipher_new(scene.run.id, &scene.err);
	scene.ledger = ledger_new(&scene.err);
	scene.evidence = evidence_new(&scene.err);
	scene.answers =
		changes_map_new(run_slots_total(&scene.run), &scene.err);
	tell_ledger();
	fill();
	for (stream = 0; stream < scene.run.streams; stream++)
		write_stream(stream);
	scene.target = target_open(scene.path, TARGET_READ, &scene.err);
	if (scene.target == NULL)
		fail_msg("%s", scene.err.text);
}

static void tear_down_scene(void)
{
	target_close(scene.target);
	changes_map_free(scene.answers);
	evidence_free(scene.evidence);
	ledger_free(scene.ledger);
	record_cipher_free(scene.cipher);
	close(scene.fd);
	unlink(scene.path);
}

static void scan(unsigned int threads)
{
	struct reader reader;
	struct scan scan = {
		.reader = &reader,
		.ledger = scene.ledger,
		.schedules = scene.schedules,
		.evidence = scene.evidence,
		.findings = &scene.findings,
		.tally = &scene.tally,
		.answers = scene.answers,
		.threads = threads,
	};

	memset(&scene.tally, 0, sizeof(scene.tally));
	memset(&scene.findings, 0, sizeof(scene.findings));
	changes_init(&scene.changes);
	changes_map_clear(scene.answers);
	reader_init(&reader, scene.target, scene.run.logical_block_bytes,
		    20000);
	if (scan_region(&scan, &scene.err) < 0)
		fail_msg("%s", scene.err.text);
	scene.read_bytes = atomic_load(&reader.read_bytes);
	scene.unscanned_bytes = scan.unscanned_bytes;
}

static void expect_all_intact(void)
{
	uint64_t bytes = run_slots_total(&scene.run) * scene.run.block_bytes;

	assert_int_equal(scene.tally.atoms[VERDICT_INTACT],
			 bytes / RUN_ATOM_BYTES);
	assert_int_equal(scene.tally.judged_writes,
			 run_slots_total(&scene.run));
	assert_int_equal(tally_broken_atoms(&scene.tally), 0);
	assert_int_equal(scene.read_bytes, bytes);
	assert_int_equal(scene.unscanned_bytes, 0);
}

/* Atoms with one bad byte, by offset. */
struct bad {
	size_t count;
	uint64_t atoms[16];
};

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void flip(uint64_t at)
{
	uint8_t byte;

	assert_int_equal(pread(scene.fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x10;
	put(&byte, 1, at);
}

static void add_bad_byte(struct bad *bad, uint64_t at)
{
	uint64_t atom = at / RUN_ATOM_BYTES * RUN_ATOM_BYTES;
	size_t i;

	for (i = 0; i < bad->count; i++)
		if (bad->atoms[i] == atom)
			return;
	bad->atoms[bad->count++] = atom;
	flip(at);
}

/* Both ends of SLOT: in the header of one atom and in the body of another. */
static void add_bad_slot(struct bad *bad, uint64_t slot)
{
	uint64_t at;

	if (slot >= run_slots_total(&scene.run))
		return;
	at = run_slot_offset(&scene.run, slot);
	add_bad_byte(bad, at + 33);
	add_bad_byte(bad, at + scene.run.block_bytes - 1);
}

static void expect_bad(const struct bad *bad)
{
	size_t i;

	assert_int_equal(scene.tally.atoms[VERDICT_CORRUPT], bad->count);
	assert_int_equal(tally_broken_atoms(&scene.tally), bad->count);
	assert_int_equal(scene.findings.count, bad->count);
	findings_sort(&scene.findings);
	for (i = 0; i < bad->count; i++)
		assert_int_equal(scene.findings.kept[i].offset_bytes,
				 bad->atoms[i]);
}

static void try_geometry(const struct geometry *geometry)
{
	uint64_t chunk = SCAN_CHUNK_BYTES / geometry->block_bytes;
	uint64_t share = geometry->slots / geometry->streams;
	struct bad bad = {.count = 0};

	set_up_scene(geometry);
	scan(1);
	expect_all_intact();
	scan(3);
	expect_all_intact();
	add_bad_slot(&bad, 0);
	add_bad_slot(&bad, chunk - 1);
	add_bad_slot(&bad, chunk);
	add_bad_slot(&bad, share - 1);
	add_bad_slot(&bad, share);
	/* The first one left over, if there is one. */
	add_bad_slot(&bad, share * geometry->streams);
	add_bad_slot(&bad, geometry->slots - 1);
	qsort(bad.atoms, bad.count, sizeof(bad.atoms[0]), compare);
	scan(1);
	expect_bad(&bad);
	scan(3);
	expect_bad(&bad);
	tear_down_scene();
}

static void p6_one_slot(void **state)
{
	const struct geometry geometry = {4096, 1, 1, RUN_PATTERN_RANDOM};

	(void)state;
	try_geometry(&geometry);
}

static void p6_slots_of_one_atom(void **state)
{
	const struct geometry geometry = {512, 5000, 3, RUN_PATTERN_RANDOM};

	(void)state;
	try_geometry(&geometry);
}

static void p6_the_largest_slots(void **state)
{
	const struct geometry geometry = {RUN_BLOCK_BYTES_MAX, 3, 1,
					  RUN_PATTERN_SEQUENTIAL};

	(void)state;
	try_geometry(&geometry);
}

/* 4 * 193 = 772 = 775 - 3 */
static void p6_streams_and_slots_left_over(void **state)
{
	const struct geometry geometry = {4096, 775, 4, RUN_PATTERN_RANDOM};

	(void)state;
	try_geometry(&geometry);
}

/* 21 slots of 48 KiB fill a chunk but for 16 KiB. */
static void p6_slots_that_do_not_divide_a_chunk(void **state)
{
	const struct geometry geometry = {49152, 47, 5, RUN_PATTERN_SEQUENTIAL};

	(void)state;
	try_geometry(&geometry);
}

static void p6_the_most_streams(void **state)
{
	const struct geometry geometry = {8192, 2 * RUN_STREAMS_MAX + 1,
					  RUN_STREAMS_MAX, RUN_PATTERN_RANDOM};

	(void)state;
	try_geometry(&geometry);
}

/* A scan with another answer anywhere has another digest, and the same scan the
 * same one, whatever the threads. */
static void p9_a_changed_answer_is_noticed(void **state)
{
	const struct geometry geometry = {4096, 775, 4, RUN_PATTERN_RANDOM};
	struct changes_map *first;
	uint64_t at;

	(void)state;
	set_up_scene(&geometry);
	scan(1);
	first = scene.answers;
	scene.answers =
		changes_map_new(run_slots_total(&scene.run), &scene.err);
	scan(3);
	changes_compare(&scene.changes, &scene.run, first, scene.answers);
	assert_int_equal(atomic_load(&scene.changes.places), 0);
	at = run_slot_offset(&scene.run, 774);
	put("x", 1, at + 4000);
	scan(1);
	changes_compare(&scene.changes, &scene.run, first, scene.answers);
	assert_int_equal(atomic_load(&scene.changes.places), 1);
	assert_int_equal(atomic_load(&scene.changes.first), at);
	changes_map_free(first);
	tear_down_scene();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p6_one_slot),
		cmocka_unit_test(p6_slots_of_one_atom),
		cmocka_unit_test(p6_the_largest_slots),
		cmocka_unit_test(p6_streams_and_slots_left_over),
		cmocka_unit_test(p6_slots_that_do_not_divide_a_chunk),
		cmocka_unit_test(p6_the_most_streams),
		cmocka_unit_test(p9_a_changed_answer_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
