/* SPDX-License-Identifier: MIT */
/*
 * The trace tells what the drive did and all of it: for every fault, and every
 * two of them, replaying it gives the media byte by byte, each read that is
 * answered wrongly or not at all was told, and each that was told to be is. A
 * trace that leaves something out does not pass.
 *
 * With PLUGPULL_TRACE and PLUGPULL_MEDIA in the environment it compares these
 * two files instead, for end-to-end tests; PLUGPULL_MEDIA_BEFORE is a file with
 * the first content of the media, zeroes where it is not given.
 */
#include "simdrive/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/err.h"
#include "simdrive/faults.h"
#include "simdrive/power.h"
#include "tests/fake/golden.h"
#include "tests/fake/tracebench.h"
#include "tests/unit/cmocka_all.h"

#define SEEDS 4

/* Adds up what was told in all lives of such a drive. */
static void live_and_count(const struct faults *faults, enum model_drain order,
			   uint32_t block_bytes, uint64_t seed,
			   uint64_t *counts)
{
	struct tracebench *bench =
		tracebench_new(faults, order, block_bytes, seed);
	bool needs_4096 = faults_find(faults, FAULT_TEARS_IN_FLIGHT) != NULL;

	if (bench == NULL) {
		assert_true(needs_4096 && block_bytes == 512);
		return;
	}
	if (tracebench_live(bench) != 0)
		fail_msg("%s, %s, blocks of %u, order %d, seed %ju: %s",
			 faults->count > 0
				 ? faults_row(faults->list[0].kind)->name
				 : "none",
			 faults->count > 1
				 ? faults_row(faults->list[1].kind)->name
				 : "none",
			 block_bytes, order, (uintmax_t)seed, bench->err.text);
	for (int type = 0; type < REPLAY_TYPES; type++)
		counts[type] += tracereplay_count(bench->replay, type);
	tracebench_free(bench);
}

static struct faults faults_of(int first, int second)
{
	struct faults faults = {.count = 0};
	struct err err;

	assert_int_equal(faults_add(&faults,
				    faults_row((enum fault_kind)first)->name,
				    &err),
			 0);
	if (second != FAULT_NONE)
		assert_int_equal(
			faults_add(&faults,
				   faults_row((enum fault_kind)second)->name,
				   &err),
			0);
	return faults;
}

/* Does the class that a fault earns come from what it does at a cut? */
static bool earns(int kind, const char *words)
{
	return strstr(words, faults_row((enum fault_kind)kind)->earns_flush) !=
	       NULL;
}

static void expect_told(int kind, const uint64_t *counts)
{
	const char *name = faults_row((enum fault_kind)kind)->name;
	bool is_stale = kind == FAULT_STALE_AFTER_RESTORE;
	bool damages = earns(kind, "TORN CORRUPT BLANK MISDIRECTED") ||
		       kind == FAULT_ROLLS_BACK;
	bool scars = earns(kind, "UNREADABLE HUNG GONE") || is_stale;
	/* Each first life begins with one that says that all is healed. */
	uint64_t fresh = counts[REPLAY_STOP];

	if (damages != (counts[REPLAY_DAMAGE] > 0) ||
	    scars != (counts[REPLAY_SCAR] > fresh) ||
	    is_stale != (counts[REPLAY_READ_WRONG] > 0))
		fail_msg("%s told %ju damages, %ju scars, %ju wrong reads",
			 name, (uintmax_t)counts[REPLAY_DAMAGE],
			 (uintmax_t)(counts[REPLAY_SCAR] - fresh),
			 (uintmax_t)counts[REPLAY_READ_WRONG]);
	/* The one leaves nothing in flight to go in part. */
	assert_true(counts[REPLAY_PARTIAL] > 0 ||
		    kind == FAULT_TEARS_IN_FLIGHT);
	assert_true(counts[REPLAY_WRITE] > counts[REPLAY_WRITE_DONE]);
	assert_int_equal(counts[REPLAY_FLUSH], counts[REPLAY_FLUSH_DONE]);
	assert_int_equal(counts[REPLAY_CUT], TRACEBENCH_LIVES * fresh);
	assert_int_equal(counts[REPLAY_ON], (TRACEBENCH_LIVES + 1) * fresh);
}

static void trace_of_every_fault_gives_the_media_byte_by_byte(void **state)
{
	static const uint32_t blocks[] = {512, 4096};

	(void)state;
	for (int kind = 0; kind < FAULT_KINDS; kind++) {
		struct faults faults = faults_of(kind, FAULT_NONE);
		uint64_t counts[REPLAY_TYPES] = {0};

		for (uint64_t i = 0; i < 4 * SEEDS; i++)
			live_and_count(&faults,
				       i / 2 % 2 == 0 ? MODEL_DRAIN_FIFO
						      : MODEL_DRAIN_RANDOM,
				       blocks[i % 2], i / 4, counts);
		expect_told(kind, counts);
	}
}

static void trace_of_every_two_faults_gives_the_media(void **state)
{
	uint64_t counts[REPLAY_TYPES] = {0};

	(void)state;
	for (int first = 1; first < FAULT_KINDS; first++)
		for (int second = 1; second < FAULT_KINDS; second++) {
			struct faults faults;

			if (first == second)
				continue;
			faults = faults_of(first, second);
			faults.every = (uint64_t)(first % 3);
			live_and_count(&faults,
				       second % 2 == 0 ? MODEL_DRAIN_FIFO
						       : MODEL_DRAIN_RANDOM,
				       first % 2 == 0 ? 512 : 4096,
				       (uint64_t)(first * FAULT_KINDS + second),
				       counts);
		}
}

/* Does the check notice that all events of this type are missing? */
static bool is_missed(int type, int kind)
{
	struct faults faults = faults_of(kind, FAULT_NONE);
	bool is_missed = false;

	for (uint64_t seed = 0; seed < SEEDS && !is_missed; seed++) {
		struct tracebench *bench =
			tracebench_new(&faults, MODEL_DRAIN_FIFO, 4096, seed);

		assert_non_null(bench);
		bench->leave_out = type;
		is_missed = tracebench_live(bench) != 0;
		tracebench_free(bench);
	}
	return is_missed;
}

static void trace_that_leaves_something_out_does_not_pass(void **state)
{
	static const struct {
		int type, kind;
	} cases[] = {
		{REPLAY_ON, FAULT_NONE},
		{REPLAY_WRITE, FAULT_NONE},
		{REPLAY_WRITE_DONE, FAULT_NONE},
		{REPLAY_FLUSH, FAULT_NONE},
		{REPLAY_TO_MEDIA, FAULT_NONE},
		{REPLAY_PARTIAL, FAULT_NONE},
		{REPLAY_CUT, FAULT_NONE},
		{REPLAY_STOP, FAULT_NONE},
		{REPLAY_DAMAGE, FAULT_TEARS},
		{REPLAY_DAMAGE, FAULT_TEARS_IN_FLIGHT},
		{REPLAY_DAMAGE, FAULT_CORRUPTS},
		{REPLAY_DAMAGE, FAULT_COLLATERAL},
		{REPLAY_DAMAGE, FAULT_BLANKS},
		{REPLAY_DAMAGE, FAULT_MISDIRECTS},
		{REPLAY_DAMAGE, FAULT_ROLLS_BACK},
		{REPLAY_TO_MEDIA, FAULT_PROTECTED},
		{REPLAY_SCAR, FAULT_STALE_AFTER_RESTORE},
		{REPLAY_READ_WRONG, FAULT_STALE_AFTER_RESTORE},
		{REPLAY_SCAR, FAULT_UNREADABLE},
		{REPLAY_SCAR, FAULT_HANGS},
		{REPLAY_SCAR, FAULT_DIES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!is_missed(cases[i].type, cases[i].kind))
			fail_msg("nobody misses type %d of %s", cases[i].type,
				 faults_row((enum fault_kind)cases[i].kind)
					 ->name);
}

/* Each scar ends when it is said to end, also by a new serving of the media. */
static void drive_served_anew_is_told_to_be_in_good_health(void **state)
{
	static const int kinds[] = {FAULT_UNREADABLE, FAULT_HANGS, FAULT_DIES,
				    FAULT_STALE_AFTER_RESTORE};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct faults faults = faults_of(kinds[i], FAULT_NONE);
		struct tracebench *bench =
			tracebench_new(&faults, MODEL_DRAIN_FIFO, 4096, i);

		assert_non_null(bench);
		if (tracebench_live(bench) != 0)
			fail_msg("%s", bench->err.text);
		model_free(bench->model);
		bench->model = model_new(&bench->config, &bench->err);
		assert_non_null(bench->model);
		power_on(bench->model, true);
		assert_int_equal(tracereplay_scar(bench->replay, 0,
						  TRACEBENCH_MEDIA_BYTES),
				 REPLAY_SCAR_NONE);
		if (tracebench_scan(bench) != 0)
			fail_msg("%s", bench->err.text);
		tracebench_free(bench);
	}
}

static void numbers_of_a_life_begin_with_one(void **state)
{
	struct faults faults = {.count = 0};
	struct tracebench *bench =
		tracebench_new(&faults, MODEL_DRAIN_FIFO, 4096, 1);

	(void)state;
	assert_non_null(bench);
	for (int life = 0; life < 2; life++) {
		assert_int_equal(tracebench_write(bench), 0);
		assert_int_equal(bytes_get64(bench->event + 16), 1);
		assert_int_equal(model_flush(bench->model, bench->now_ns), 0);
		assert_int_equal(bytes_get64(bench->event + 16), 2);
		assert_int_equal(tracebench_cut(bench), 0);
	}
	tracebench_free(bench);
}

static void event_is_encoded_as_fixed_once(void **state)
{
	uint8_t data[512], golden[1024], built[1024];
	struct trace_event events[] = {
		{.type = TRACE_ON,
		 .length = 4096,
		 .offset_bytes = 64ULL << 20,
		 .time_ns = 0x1122334455667788},
		{.type = TRACE_WRITE,
		 .flags = TRACE_FUA,
		 .data = data,
		 .length = sizeof(data),
		 .request = 0x0102030405060708,
		 .offset_bytes = 0x1a2b3c4d5e00,
		 .time_ns = 1000000007},
		{.type = TRACE_TO_MEDIA,
		 .length = 0x200000,
		 .request = 3,
		 .offset_bytes = 0x300000,
		 .time_ns = 1000000008},
		{.type = TRACE_SCAR,
		 .flags = TRACE_SCAR_DEAD,
		 .time_ns = 1000000009},
	};
	size_t length = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(7 * i + 3);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		trace_encode_header(&events[i], built + length);
		length += TRACE_HEADER_BYTES;
		if (events[i].data != NULL) {
			memcpy(built + length, data, sizeof(data));
			length += sizeof(data);
		}
	}
	assert_int_equal(golden_read("trace.hex", golden, sizeof(golden)),
			 length);
	assert_memory_equal(built, golden, length);
}

/* NULL where it cannot be read; the end-to-end test says which. */
static uint8_t *read_file(const char *path, size_t *length)
{
	FILE *file = path == NULL ? NULL : fopen(path, "rbe");
	uint8_t *bytes = NULL;
	long size = 0;

	if (file == NULL)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0)
		size = ftell(file);
	rewind(file);
	bytes = malloc(size > 0 ? (size_t)size : 1);
	*length = bytes == NULL ? 0 : fread(bytes, 1, (size_t)size, file);
	(void)fclose(file); /* it was only read */
	return bytes;
}

static int compare_files(const char *trace_path, const char *media_path)
{
	size_t trace_bytes = 0, media_bytes = 0, before_bytes = 0;
	uint8_t *trace = read_file(trace_path, &trace_bytes);
	uint8_t *media = read_file(media_path, &media_bytes);
	uint8_t *before =
		read_file(getenv("PLUGPULL_MEDIA_BEFORE"), &before_bytes);
	struct tracereplay *replay = NULL;
	struct err err = {.text = ""};
	int rc = 0;

	if (trace == NULL || media == NULL ||
	    (before != NULL && before_bytes != media_bytes))
		rc = err_set(&err, "cannot read the files");
	if (rc == 0) {
		replay = tracereplay_new(before, media_bytes);
		rc = tracereplay_feed(replay, trace, trace_bytes, &err);
	}
	if (rc == 0 &&
	    memcmp(tracereplay_media(replay), media, media_bytes) != 0)
		rc = err_set(&err, "the media hold something else");
	if (rc != 0)
		(void)fprintf(stderr, "%s: %s\n", trace_path, err.text);
	for (int type = 1; rc == 0 && type < REPLAY_TYPES; type++)
		(void)printf("%d=%ju ", type,
			     (uintmax_t)tracereplay_count(replay, type));
	tracereplay_free(replay);
	free(trace);
	free(media);
	free(before);
	return rc == 0 ? 0 : 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_is_encoded_as_fixed_once),
		cmocka_unit_test(numbers_of_a_life_begin_with_one),
		cmocka_unit_test(
			trace_of_every_fault_gives_the_media_byte_by_byte),
		cmocka_unit_test(trace_of_every_two_faults_gives_the_media),
		cmocka_unit_test(trace_that_leaves_something_out_does_not_pass),
		cmocka_unit_test(
			drive_served_anew_is_told_to_be_in_good_health),
	};
	const char *trace = getenv("PLUGPULL_TRACE");

	if (trace != NULL)
		return compare_files(trace, getenv("PLUGPULL_MEDIA"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
