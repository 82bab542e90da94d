/* SPDX-License-Identifier: MIT */
/*
 * The label is the only thing that a drive without a log says about its run:
 * it must come back whole or not at all, and its geometry must fit together.
 */
#include "common/format/run.h"

#include <string.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "tests/fake/golden.h"
#include "tests/unit/cmocka_all.h"

#define MIB (1024ULL * 1024)

static struct run sample(void)
{
	struct run run = {
		.offset_bytes = MIB,
		.size_bytes = 2 * MIB + 1000 * 4096,
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 2,
		.pattern = RUN_PATTERN_RANDOM,
		.is_filled = true,
		.seed = 0x0123456789abcdefU,
		.created_ns = 1700000000000000000U,
		.identity = "ACME SSD 42",
		.target = "/dev/disk/by-id/acme",
	};

	for (uint8_t i = 0; i < RUN_ID_BYTES; i++)
		run.id[i] = (uint8_t)(i + 1);
	return run;
}

static void assert_same(const struct run *run, const struct run *other)
{
	assert_memory_equal(run->id, other->id, RUN_ID_BYTES);
	assert_true(run->offset_bytes == other->offset_bytes);
	assert_true(run->size_bytes == other->size_bytes);
	assert_int_equal(run->block_bytes, other->block_bytes);
	assert_int_equal(run->logical_block_bytes, other->logical_block_bytes);
	assert_int_equal(run->streams, other->streams);
	assert_int_equal(run->pattern, other->pattern);
	assert_int_equal(run->is_filled, other->is_filled);
	assert_true(run->seed == other->seed);
	assert_true(run->created_ns == other->created_ns);
	assert_string_equal(run->identity, other->identity);
	assert_string_equal(run->target, other->target);
}

static void label_is_the_golden_one(void **state)
{
	uint8_t golden[RUN_LABEL_BYTES];
	uint8_t label[RUN_LABEL_BYTES];
	struct run run = sample();
	struct run decoded;
	struct err err;

	(void)state;
	assert_int_equal(golden_read("label.hex", golden, sizeof(golden)),
			 RUN_LABEL_BYTES);
	run_encode_label(&run, label);
	assert_memory_equal(label, golden, RUN_LABEL_BYTES);
	assert_int_equal(run_decode_label(&decoded, golden, &err),
			 RUN_LABEL_GOOD);
	assert_same(&decoded, &run);
}

static void body_round_trips(void **state)
{
	struct run run = sample();
	struct run decoded;
	uint8_t body[RUN_BODY_BYTES];
	struct err err;

	(void)state;
	run.pattern = RUN_PATTERN_SEQUENTIAL;
	run.is_filled = false;
	memset(run.identity, 'x', RUN_TEXT_BYTES - 1);
	run.identity[RUN_TEXT_BYTES - 1] = '\0';
	run.target[0] = '\0';
	run_encode_body(&run, body);
	assert_int_equal(run_decode_body(&decoded, body, &err), 0);
	assert_same(&decoded, &run);
}

/* One bit anywhere makes the label bad, or, in the magic, no label. */
static void p9_any_damaged_bit_is_noticed(void **state)
{
	uint8_t label[RUN_LABEL_BYTES];
	struct run run = sample();
	struct run decoded;
	struct err err;

	(void)state;
	run_encode_label(&run, label);
	for (size_t bit = 0; bit < 8 * RUN_LABEL_BYTES; bit++) {
		label[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(run_decode_label(&decoded, label, &err),
				 bit < 64 ? RUN_LABEL_NONE : RUN_LABEL_BAD);
		label[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* A checksum only says that the bytes are as they were written. */
static void p9_a_sealed_label_is_still_checked(void **state)
{
	uint8_t label[RUN_LABEL_BYTES];
	struct run run = sample();
	struct run decoded;
	struct err err;

	(void)state;
	run.streams = 0;
	run_encode_label(&run, label);
	assert_int_equal(run_decode_label(&decoded, label, &err),
			 RUN_LABEL_BAD);
	assert_non_null(strstr(err.text, "0 streams"));

	run = sample();
	run_encode_label(&run, label);
	bytes_put16(label + 8, 2);
	bytes_put32(label + 12, 0);
	bytes_put32(label + 12, crc32c_extend(0, label, RUN_LABEL_BYTES));
	assert_int_equal(run_decode_label(&decoded, label, &err),
			 RUN_LABEL_BAD);
	assert_non_null(strstr(err.text, "version 2"));
}

static void assert_refused(const struct run *run, const char *word)
{
	struct err err = {""};

	assert_int_equal(run_check(run, &err), -1);
	assert_non_null(strstr(err.text, word));
}

static void impossible_blocks_are_refused(void **state)
{
	struct run run = sample();
	struct err err;

	(void)state;
	assert_int_equal(run_check(&run, &err), 0);
	run.block_bytes = 4096 + 256;
	assert_refused(&run, "multiple");
	run = sample();
	run.block_bytes = 0;
	assert_refused(&run, "block of 0 bytes");
	run.block_bytes = 2 * RUN_BLOCK_BYTES_MAX;
	assert_refused(&run, "range");
	run = sample();
	run.logical_block_bytes = 0;
	assert_refused(&run, "power of two");
	run.logical_block_bytes = 520;
	assert_refused(&run, "power of two");
	run.logical_block_bytes = 256;
	assert_refused(&run, "power of two");
	run.logical_block_bytes = 8192;
	assert_refused(&run, "multiple");
}

static void impossible_regions_are_refused(void **state)
{
	struct run run = sample();

	(void)state;
	run.offset_bytes++;
	assert_refused(&run, "aligned");
	run = sample();
	run.size_bytes += 512;
	assert_refused(&run, "whole blocks");
	run = sample();
	run.size_bytes = 0;
	assert_refused(&run, "whole blocks");
	run.size_bytes = 2 * MIB;
	assert_refused(&run, "whole blocks");
	run = sample();
	run.offset_bytes = UINT64_MAX - 511;
	assert_refused(&run, "beyond any drive");
	run = sample();
	run.size_bytes = UINT64_MAX - 4095;
	assert_refused(&run, "beyond any drive");
	run = sample();
	run.streams = RUN_STREAMS_MAX + 1;
	assert_refused(&run, "streams");
	run = sample();
	run.streams = 3;
	run.size_bytes = 2 * MIB + 2 * 4096;
	assert_refused(&run, "each of 3 streams");
	run = sample();
	run.block_bytes = 512;
	run.size_bytes = 2 * MIB + 512 * ((1ULL << 50) + 2);
	assert_refused(&run, "2^48");
}

static void impossible_names_are_refused(void **state)
{
	struct run run = sample();

	(void)state;
	memset(run.id, 0, RUN_ID_BYTES);
	assert_refused(&run, "zeroes");
	run = sample();
	memset(run.identity, 'x', RUN_TEXT_BYTES);
	assert_refused(&run, "identity does not end");
	run = sample();
	run.target[3] = '\x1b';
	assert_refused(&run, "control character");
	run = sample();
	run.pattern = (enum run_pattern)2;
	assert_refused(&run, "pattern 2");
}

static void geometry_covers_the_region(void **state)
{
	struct run run = sample();
	uint64_t last = 0;

	(void)state;
	run.streams = 3;
	last = run_slots_total(&run) - 1;
	assert_int_equal(last, 999);
	assert_int_equal(run_slots_per_stream(&run), 333);
	assert_int_equal(run_label_offset(&run, 0), MIB);
	assert_int_equal(run_slot_offset(&run, 0), 2 * MIB);
	assert_int_equal(run_slot_offset(&run, last) + 4096,
			 run_label_offset(&run, 1));
	assert_int_equal(run_label_offset(&run, 1) + MIB,
			 run.offset_bytes + run.size_bytes);
	assert_int_equal(run_stream_of_slot(&run, 0), 0);
	assert_int_equal(run_stream_of_slot(&run, 332), 0);
	assert_int_equal(run_stream_of_slot(&run, 333), 1);
	assert_int_equal(run_stream_of_slot(&run, 998), 2);
	assert_int_equal(run_stream_of_slot(&run, 999), -1);
}

static void fit_size_wastes_less_than_a_block(void **state)
{
	(void)state;
	assert_int_equal(run_fit_size(0, 4096), 0);
	assert_int_equal(run_fit_size(2 * MIB + 4095, 4096), 0);
	assert_int_equal(run_fit_size(2 * MIB + 4096, 4096), 2 * MIB + 4096);
	assert_int_equal(run_fit_size(2 * MIB + 8191, 4096), 2 * MIB + 4096);
	assert_int_equal(run_fit_size(MIB, 0), 0);
}

static void ids_and_patterns_as_text(void **state)
{
	char text[RUN_ID_TEXT_BYTES];
	struct run run = sample();
	uint8_t id[RUN_ID_BYTES];
	enum run_pattern pattern = RUN_PATTERN_RANDOM;
	struct err err;

	(void)state;
	run_id_text(run.id, text);
	assert_string_equal(text, "0102030405060708090a0b0c0d0e0f10");
	assert_int_equal(
		run_id_parse("0102030405060708090A0b0c0d0e0f10", id, &err), 0);
	assert_memory_equal(id, run.id, RUN_ID_BYTES);
	assert_int_equal(run_id_parse("01", id, &err), -1);
	assert_int_equal(run_id_parse("", id, &err), -1);
	assert_int_equal(
		run_id_parse("0102030405060708090a0b0c0d0e0f1g", id, &err), -1);
	assert_int_equal(
		run_id_parse("00000000000000000000000000000000", id, &err), -1);
	assert_int_equal(run_pattern_parse("sequential", &pattern, &err), 0);
	assert_int_equal(pattern, RUN_PATTERN_SEQUENTIAL);
	assert_string_equal(run_pattern_name(RUN_PATTERN_RANDOM), "random");
	assert_int_equal(run_pattern_parse("zil", &pattern, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_is_the_golden_one),
		cmocka_unit_test(body_round_trips),
		cmocka_unit_test(p9_any_damaged_bit_is_noticed),
		cmocka_unit_test(p9_a_sealed_label_is_still_checked),
		cmocka_unit_test(impossible_blocks_are_refused),
		cmocka_unit_test(impossible_regions_are_refused),
		cmocka_unit_test(impossible_names_are_refused),
		cmocka_unit_test(geometry_covers_the_region),
		cmocka_unit_test(fit_size_wastes_less_than_a_block),
		cmocka_unit_test(ids_and_patterns_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
