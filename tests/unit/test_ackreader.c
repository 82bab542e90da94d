/* SPDX-License-Identifier: MIT */
/*
 * A log that was changed anywhere is never believed (P9); a torn tail is told
 * from damage, in constant memory and linear time.
 */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/ackfile/ackreader.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/acklog.h"
#include "tests/fake/golden_log.h"

static struct golden_log golden;
static struct err err;
static struct ackbody body;

static int set_up_group(void **state)
{
	(void)state;
	return golden_log_set_up(&golden);
}

static int tear_down_group(void **state)
{
	(void)state;
	return golden_log_tear_down(&golden);
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(golden.path);
	return 0;
}

static void refuse(const char *part)
{
	uint64_t repaired_bytes;
	uint64_t before = golden_log_file_size(&golden);

	assert_int_equal(golden_log_read(&golden, &err), -1);
	golden_log_expect(&err, part);
	golden_log_expect(&err, "no verdict");
	assert_null(golden_log_resume(&golden, &repaired_bytes, &err));
	golden_log_expect(&err, part);
	assert_int_equal(golden_log_file_size(&golden), before);
}

static void arrival_times_survive(void **state)
{
	struct ackreader *reader;
	uint64_t arrival_ns = 0;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	reader = ackreader_open(golden.path, &err);
	assert_int_equal(ackreader_next(reader, &body, &arrival_ns, &err), 1);
	assert_int_equal(body.type, ACKBODY_RUN);
	assert_true(arrival_ns == 1700000000000000001);
	assert_int_equal(ackreader_next(reader, &body, &arrival_ns, &err), 1);
	assert_true(arrival_ns == 1700000000000000002);
	ackreader_close(reader);
}

static void p9_no_changed_bit_is_believed(void **state)
{
	uint8_t bytes[GOLDEN_LOG_BYTES];

	(void)state;
	memcpy(bytes, golden.bytes, golden.size);
	for (size_t bit = 0; bit < 8 * golden.size; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		golden_log_write(&golden, bytes, golden.size);
		if (golden_log_read(&golden, &err) < 0) {
			golden_log_expect(&err, "no verdict");
			/* all that was golden.said before it is true */
			assert_memory_equal(golden.said, golden.payloads,
					    golden.said_size);
		} else {
			assert_true(bit / 8 >=
				    golden.begins[GOLDEN_LOG_FRAMES - 1]);
			assert_int_equal(
				golden.torn_bytes,
				golden.size -
					golden.begins[GOLDEN_LOG_FRAMES - 1]);
			assert_memory_equal(golden.said, golden.payloads,
					    golden.said_size);
			assert_int_equal(golden.said_size,
					 golden.begins[GOLDEN_LOG_FRAMES - 1] -
						 (GOLDEN_LOG_FRAMES - 1) *
							 ACKLOG_HEADER_BYTES);
		}
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void p9_damage_is_named_by_frame_and_byte(void **state)
{
	uint8_t bytes[GOLDEN_LOG_BYTES];
	char expected[64];

	(void)state;
	memcpy(bytes, golden.bytes, golden.size);
	bytes[golden.begins[2] + 40] ^= 1;
	golden_log_write(&golden, bytes, golden.size);
	(void)snprintf(expected, sizeof(expected),
		       "frame 2 at byte %zu: ", golden.begins[2]);
	refuse(expected);
	refuse("bad checksum");
}

/* Writes the given frames of the golden log, one behind the other. */
static void write_frames(const size_t *order, size_t count)
{
	uint8_t bytes[GOLDEN_LOG_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = golden.begins[order[i]];
		size_t length = golden.begins[order[i] + 1] - at;

		memcpy(bytes + used, golden.bytes + at, length);
		used += length;
	}
	golden_log_write(&golden, bytes, used);
}

static void p9_frames_out_of_order_are_not_believed(void **state)
{
	static const size_t swapped[] = {0, 2, 1, 3};
	static const size_t repeated[] = {0, 1, 1, 2, 3};
	static const size_t missing[] = {0, 1, 3};
	static const size_t headless[] = {1, 2, 3};

	(void)state;
	write_frames(swapped, 4);
	refuse("spliced");
	write_frames(repeated, 5);
	refuse("spliced");
	write_frames(missing, 3);
	refuse("spliced");
	write_frames(headless, 3);
	refuse("spliced");
}

static void p9_two_logs_are_not_one(void **state)
{
	uint8_t bytes[GOLDEN_LOG_BYTES], header[ACKLOG_HEADER_BYTES];
	struct acklog_frame frame;

	(void)state;
	memcpy(bytes, golden.bytes, golden.size);
	/* frame 1 of a log that differs in nothing but a time */
	assert_int_equal(acklog_decode_header(
				 &frame, golden.bytes + golden.begins[1], &err),
			 0);
	frame.arrival_ns++;
	acklog_encode(&frame,
		      golden.bytes + golden.begins[1] + ACKLOG_HEADER_BYTES,
		      header);
	memcpy(bytes + golden.begins[1], header, sizeof(header));
	golden_log_write(&golden, bytes, golden.size);
	refuse("spliced");
}

static void p9_a_frame_with_a_wrong_number_is_not_believed(void **state)
{
	uint8_t bytes[GOLDEN_LOG_BYTES], header[ACKLOG_HEADER_BYTES];
	size_t at = golden.begins[3];
	struct acklog_frame frame;

	(void)state;
	memcpy(bytes, golden.bytes, golden.size);
	assert_int_equal(acklog_decode_header(&frame, golden.bytes + at, &err),
			 0);
	frame.index++; /* all else is right, the link to frame 2 too */
	acklog_encode(&frame, golden.bytes + at + ACKLOG_HEADER_BYTES, header);
	memcpy(bytes + at, header, sizeof(header));
	golden_log_write(&golden, bytes, golden.size);
	refuse("spliced");
}

static void p9_bad_statement_in_a_good_frame_is_damage(void **state)
{
	static const uint8_t bad[] = {ACKBODY_RESERVE, 1, 0};
	uint64_t repaired_bytes;
	struct ackfile *file;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	assert_int_equal(ackfile_append(file, bad, sizeof(bad), 1, &err), 0);
	assert_int_equal(ackfile_close(file, &err), 0);
	refuse("frame 4 at byte");
}

static void growing_log_is_read_as_it_was(void **state)
{
	struct ackreader *reader;
	uint64_t repaired_bytes;
	struct ackfile *file;
	size_t count = 0;

	(void)state;
	golden_log_write(&golden, golden.bytes, golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	reader = ackreader_open(golden.path,
				&err); /* the lock is no hindrance */
	assert_non_null(reader);
	while (ackreader_next(reader, &body, NULL, &err) > 0) {
		if (count++ < 50)
			assert_int_equal(
				golden_log_append_note(file, "more", &err), 0);
	}
	assert_int_equal(ackreader_next(reader, &body, NULL, &err), 0);
	assert_int_equal(ackreader_torn_bytes(reader), 0);
	ackreader_close(reader);
	assert_int_equal(ackfile_close(file, &err), 0);
	assert_int_equal(golden_log_read(&golden, &err), 0);
	assert_true(golden.said_size > golden.payloads_size);
}

/* The golden log followed by SIZE bytes that repeat FILL. */
static void write_with_tail(const uint8_t *fill, size_t fill_size, size_t size)
{
	uint8_t *bytes = test_malloc(golden.size + size);

	memcpy(bytes, golden.bytes, golden.size);
	for (size_t i = 0; i < size; i++)
		bytes[golden.size + i] = fill[i % fill_size];
	golden_log_write(&golden, bytes, golden.size + size);
	test_free(bytes);
}

static void long_tails_are_judged_in_linear_time(void **state)
{
	static const uint8_t zero[1];
	const size_t size = 8 * 1024 * 1024;
	uint8_t header[ACKLOG_HEADER_BYTES] = {'P', 'P', 'L', '1', 0, 0, 4};

	(void)state;
	write_with_tail(zero, 1, size);
	assert_int_equal(golden_log_read(&golden, &err), 0);
	assert_int_equal(golden.torn_bytes, size);
	/* a quarter of a million headers, each of a frame of 256 KiB */
	write_with_tail(header, sizeof(header), size);
	refuse("frame 4 at byte");
}

/* The golden log with COUNT zeros in the place of and before its last frame. */
static void write_with_gap(size_t count)
{
	size_t at = golden.begins[3], length = golden.size - at;
	uint8_t *bytes = test_calloc(1, golden.size + count);

	memcpy(bytes, golden.bytes, at);
	memcpy(bytes + at + count, golden.bytes + at, length);
	golden_log_write(&golden, bytes, golden.size + count);
	test_free(bytes);
}

static void a_good_frame_far_behind_the_damage_is_found(void **state)
{
	(void)state;
	write_with_gap(3 * 1024 * 1024 + 17);
	refuse("frame 3 at byte");
	/* also where a step of the search ends within its magic */
	for (size_t i = 0; i < 8; i++) {
		write_with_gap(64 * 1024 - 4 + i);
		refuse("frame 3 at byte");
	}
}

static void a_long_log_is_read_whole(void **state)
{
	uint8_t *payload = test_malloc(ACKLOG_PAYLOAD_MAX);
	uint64_t repaired_bytes, bodies = 0, expected = 0;
	struct ackreader *reader;
	struct ackfile *file;
	size_t used = 0;

	(void)state;
	while (used + 300 < ACKLOG_PAYLOAD_MAX) {
		used += golden_log_note(payload + used, 300, "a note");
		expected++;
	}
	golden_log_write(&golden, golden.bytes, golden.size);
	file = golden_log_resume(&golden, &repaired_bytes, &err);
	for (int i = 0; i < 20; i++)
		assert_int_equal(
			ackfile_append(file, payload, (uint32_t)used, 1, &err),
			0);
	assert_int_equal(ackfile_close(file, &err), 0);
	reader = ackreader_open(golden.path, &err);
	while (ackreader_next(reader, &body, NULL, &err) > 0)
		bodies += body.type == ACKBODY_EVENT &&
			  body.note.event == ACKBODY_EVENT_NOTE;
	assert_int_equal(bodies, 20 * expected);
	assert_int_equal(ackreader_end(reader).bytes,
			 golden_log_file_size(&golden));
	assert_int_equal(ackreader_end(reader).frames, GOLDEN_LOG_FRAMES + 20);
	ackreader_close(reader);
	test_free(payload);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(arrival_times_survive),
		TEST(p9_no_changed_bit_is_believed),
		TEST(p9_damage_is_named_by_frame_and_byte),
		TEST(p9_frames_out_of_order_are_not_believed),
		TEST(p9_two_logs_are_not_one),
		TEST(p9_a_frame_with_a_wrong_number_is_not_believed),
		TEST(p9_bad_statement_in_a_good_frame_is_damage),
		TEST(growing_log_is_read_as_it_was),
		TEST(long_tails_are_judged_in_linear_time),
		TEST(a_good_frame_far_behind_the_damage_is_found),
		TEST(a_long_log_is_read_whole),
	};

	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
