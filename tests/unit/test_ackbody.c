/* SPDX-License-Identifier: MIT */
/*
 * Every statement survives its encoding, and nothing that is cut short,
 * stretched, overflowing or unknown is taken for a statement (P9).
 */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "common/format/ackbody.h"

static struct ackbody body, back;
static struct err err;

static struct run some_run(void)
{
	struct run run = {
		.id = {1, 2, 3},
		.block_bytes = 4096,
		.logical_block_bytes = 512,
		.streams = 2,
		.is_filled = true,
		.seed = 42,
		.created_ns = 5,
		.identity = "file:1:2",
		.target = "/tmp/drive",
	};

	run.size_bytes = run_fit_size(16 * 1024 * 1024, run.block_bytes);
	return run;
}

static size_t encode(uint8_t *buffer, size_t room)
{
	size_t used = 0;

	assert_int_equal(ackbody_encode(&body, buffer, room, &used), 0);
	return used;
}

static int decode(const uint8_t *bytes, size_t length, size_t *at)
{
	/* A copy of its own: a sanitizer sees every byte too many. */
	uint8_t *copy = test_malloc(length);
	int got;

	memcpy(copy, bytes, length);
	memset(&back, 0, sizeof(back)); /* padding is compared too */
	got = ackbody_decode(&back, copy, length, at, &err);
	test_free(copy);
	return got;
}

/* Encodes, decodes, encodes: the bytes are the same. Returns their number. */
static size_t round_trip(void)
{
	uint8_t once[ACKBODY_ENCODED_MAX], twice[ACKBODY_ENCODED_MAX];
	size_t used = encode(once, sizeof(once));
	size_t at = 0, again = 0;

	assert_int_equal(decode(once, used, &at), 1);
	assert_int_equal(at, used);
	assert_int_equal(back.type, body.type);
	assert_int_equal(ackbody_encode(&back, twice, sizeof(twice), &again),
			 0);
	assert_int_equal(again, used);
	assert_memory_equal(once, twice, used);
	return used;
}

static void set_cycle(void)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_CYCLE;
	body.cycle.cycle = 7;
	body.cycle.sync = ACKBODY_SYNC_FLUSH_COUNT;
	body.cycle.sync_value = 32;
	body.cycle.queue_depth = 64;
	body.cycle.started_ns = UINT64_MAX;
	body.cycle.streams = 2;
	body.cycle.first_sequence[0] = 1;
	body.cycle.first_sequence[1] = ACKBODY_SEQUENCE_MAX;
}

static void set_ranges(uint16_t count)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_DURABLE;
	body.ranges.stream = 3;
	body.ranges.flush = 9;
	body.ranges.submitted_ns = 3600000000000;
	body.ranges.completed_ns = 3600001500000;
	body.ranges.count = count;
	for (uint16_t i = 0; i < count; i++) {
		body.ranges.ranges[i].first = 100 + 10ULL * i;
		body.ranges.ranges[i].last = 104 + 10ULL * i;
	}
}

static void set_note(enum ackbody_type type, const char *text)
{
	memset(&body, 0, sizeof(body));
	body.type = type;
	body.note.event = ACKBODY_EVENT_CUT_ASKED;
	body.note.at_ns = 77;
	strcpy(body.note.text, text);
}

static void every_statement_survives(void **state)
{
	(void)state;
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_RUN;
	body.run = some_run();
	(void)round_trip();
	assert_string_equal(back.run.identity, "file:1:2");

	set_cycle();
	(void)round_trip();
	assert_memory_equal(&back.cycle, &body.cycle, sizeof(body.cycle));

	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_RESERVE;
	body.limit.stream = RUN_STREAMS_MAX - 1;
	body.limit.sequence = ACKBODY_SEQUENCE_MAX;
	(void)round_trip();
	assert_int_equal(back.limit.stream, RUN_STREAMS_MAX - 1);
	assert_true(back.limit.sequence == ACKBODY_SEQUENCE_MAX);
	body.type = ACKBODY_ISSUED;
	body.limit.sequence = 0;
	(void)round_trip();
	assert_int_equal(back.limit.sequence, 0);

	set_note(ACKBODY_EVENT, "");
	(void)round_trip();
	assert_int_equal(back.note.event, ACKBODY_EVENT_CUT_ASKED);
	body.note.event = ACKBODY_EVENT_UNSENT;
	(void)round_trip();
	assert_int_equal(back.note.event, ACKBODY_EVENT_UNSENT);
	set_note(ACKBODY_END, "runtime is over");
	(void)round_trip();
	assert_int_equal(back.note.at_ns, 77);
	assert_string_equal(back.note.text, "runtime is over");
}

static void ranges_survive_up_to_the_last_number(void **state)
{
	(void)state;
	for (uint16_t count = 1; count <= ACKBODY_RANGES_MAX; count++) {
		set_ranges(count);
		(void)round_trip();
		assert_memory_equal(
			&back.ranges, &body.ranges,
			offsetof(struct ackbody_ranges, ranges) +
				count * sizeof(body.ranges.ranges[0]));
	}
	set_ranges(3);
	body.ranges.ranges[1].last = 119; /* touches the next one */
	body.ranges.ranges[2].last = ACKBODY_SEQUENCE_MAX;
	(void)round_trip();
	assert_true(back.ranges.ranges[2].last == ACKBODY_SEQUENCE_MAX);
	assert_int_equal(back.ranges.ranges[1].last, 119);
}

static void one_flush_costs_few_bytes(void **state)
{
	(void)state;
	set_ranges(1);
	body.ranges.ranges[0].first = 1000000;
	body.ranges.ranges[0].last = 1000031;
	assert_true(round_trip() <= 20);
}

static void no_statement_is_longer_than_the_limit(void **state)
{
	uint64_t step = ACKBODY_SEQUENCE_MAX / (2 * ACKBODY_RANGES_MAX + 2);

	(void)state;
	set_ranges(ACKBODY_RANGES_MAX);
	body.ranges.flush = UINT64_MAX;
	body.ranges.submitted_ns = 0;
	body.ranges.completed_ns = UINT64_MAX;
	for (unsigned int i = 0; i < ACKBODY_RANGES_MAX; i++) {
		body.ranges.ranges[i].first = (2 * i + 1) * step;
		body.ranges.ranges[i].last = (2 * i + 2) * step;
	}
	assert_true(round_trip() <= ACKBODY_ENCODED_MAX);
}

static void too_little_room_is_told_and_writes_nothing_more(void **state)
{
	uint8_t buffer[256];
	size_t whole;

	(void)state;
	set_ranges(5);
	whole = encode(buffer, sizeof(buffer));
	for (size_t room = 0; room < whole; room++) {
		size_t used = 0;

		memset(buffer, 0xaa, sizeof(buffer));
		assert_int_equal(ackbody_encode(&body, buffer, room, &used),
				 -1);
		assert_int_equal(used, 0);
		assert_int_equal(buffer[room], 0xaa);
	}
}

static void several_statements_follow_one_another(void **state)
{
	uint8_t buffer[256];
	size_t used = 0, at = 0;

	(void)state;
	set_ranges(2);
	assert_int_equal(ackbody_encode(&body, buffer, sizeof(buffer), &used),
			 0);
	set_note(ACKBODY_END, "end");
	assert_int_equal(ackbody_encode(&body, buffer, sizeof(buffer), &used),
			 0);
	assert_int_equal(decode(buffer, used, &at), 1);
	assert_int_equal(back.type, ACKBODY_DURABLE);
	assert_int_equal(decode(buffer, used, &at), 1);
	assert_int_equal(back.type, ACKBODY_END);
	assert_int_equal(decode(buffer, used, &at), 0);
}

/* Cut anywhere, or with a byte too many inside: never a statement. */
static void refuse_cut_and_stretched(void)
{
	uint8_t bytes[1024];
	size_t used = encode(bytes, sizeof(bytes) - 1);
	size_t head = used < 130 ? 2 : 3;

	for (size_t length = 1; length < used; length++) {
		size_t at = 0;

		assert_int_equal(decode(bytes, length, &at), -1);
		assert_int_equal(at, 0);
	}
	for (size_t length = 0; length < used - head; length++) {
		uint8_t inner[1024];
		size_t at = 0, cut = 0;

		if (body.type == ACKBODY_EVENT || body.type == ACKBODY_END)
			break; /* a text may be of any length */
		inner[cut++] = bytes[0];
		if (length >= 128)
			inner[cut++] = (uint8_t)(length | 0x80);
		inner[cut++] = (uint8_t)(length >= 128 ? length >> 7 : length);
		memcpy(inner + cut, bytes + head, length);
		assert_int_equal(decode(inner, cut + length, &at), -1);
	}
	if (head == 2 && body.type != ACKBODY_EVENT &&
	    body.type != ACKBODY_END) {
		size_t at = 0;

		bytes[1]++;
		bytes[used] = 0;
		assert_int_equal(decode(bytes, used + 1, &at), -1);
	}
}

static void p9_cut_and_stretched_is_refused(void **state)
{
	(void)state;
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_RUN;
	body.run = some_run();
	refuse_cut_and_stretched();
	set_cycle();
	refuse_cut_and_stretched();
	set_ranges(4);
	refuse_cut_and_stretched();
	set_note(ACKBODY_EVENT, "text");
	refuse_cut_and_stretched();
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_RESERVE;
	body.limit.sequence = 1000;
	refuse_cut_and_stretched();
}

static void refuse(const uint8_t *bytes, size_t length)
{
	size_t at = 0;

	err.text[0] = '\0';
	assert_int_equal(decode(bytes, length, &at), -1);
	assert_int_equal(at, 0);
	assert_true(err.text[0] != '\0');
}

#define REFUSE(...)                                     \
	do {                                            \
		const uint8_t bytes_[] = {__VA_ARGS__}; \
		refuse(bytes_, sizeof(bytes_));         \
	} while (0)
#define NINE_FF 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff

static void p9_unknown_types_are_refused(void **state)
{
	(void)state;
	REFUSE(0, 0);
	REFUSE(9, 0);
	REFUSE(255, 1, 0);
	REFUSE(ACKBODY_EVENT, 2, 0, 0); /* unknown events */
	REFUSE(ACKBODY_EVENT, 2, 7, 0);
	REFUSE(ACKBODY_RUN, 1, 0);
}

static void p9_overflow_is_refused(void **state)
{
	(void)state;
	/* stream 64; number 2^63; eleven bytes; 2^64; not the shortest form */
	REFUSE(ACKBODY_RESERVE, 2, RUN_STREAMS_MAX, 1);
	REFUSE(ACKBODY_RESERVE, 11, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	       0x80, 0x80, 0x01);
	REFUSE(ACKBODY_RESERVE, 12, 0, NINE_FF, 0xff, 0x01);
	REFUSE(ACKBODY_RESERVE, 11, 0, NINE_FF, 0x02);
	REFUSE(ACKBODY_RESERVE, 3, 0, 0x81, 0x00);
	REFUSE(ACKBODY_RESERVE, 0x82, 0x00, 0, 1);
	/* a length that wraps, and one beyond any statement */
	REFUSE(ACKBODY_END, NINE_FF, 0x01, 0);
	REFUSE(ACKBODY_END, 0x81, 0x40, 0);
}

static void p9_impossible_ranges_are_refused(void **state)
{
	(void)state;
	REFUSE(ACKBODY_DURABLE, 5, 0, 0, 0, 0, 0);          /* none */
	REFUSE(ACKBODY_DURABLE, 6, 0, 0, 0, 0, 0x81, 0x02); /* 257 */
	/* completed before submitted: the sum wraps */
	REFUSE(ACKBODY_DURABLE, 16, 0, 0, 1, NINE_FF, 0x01, 1, 0, 0);
	/* first above 2^63 - 1; last above it; the next one behind the end */
	REFUSE(ACKBODY_DURABLE, 15, 0, 0, 0, 0, 1, NINE_FF, 0);
	REFUSE(ACKBODY_DURABLE, 15, 0, 0, 0, 0, 1, 0, NINE_FF);
	REFUSE(ACKBODY_DURABLE, 17, 0, 0, 0, 0, 2, 0, 0xfe, 0xff, 0xff, 0xff,
	       0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0);
}

static void p9_impossible_cycles_are_refused(void **state)
{
	(void)state;
	REFUSE(ACKBODY_CYCLE, 7, 0, 2, 0, 1, 0, 1, 1); /* cycle 0 */
	REFUSE(ACKBODY_CYCLE, 7, 1, 4, 0, 1, 0, 1, 1); /* sync mode */
	REFUSE(ACKBODY_CYCLE, 7, 1, 0, 0, 1, 0, 1, 1); /* flush:0 */
	REFUSE(ACKBODY_CYCLE, 7, 1, 2, 5, 1, 0, 1, 1); /* fua with N */
	REFUSE(ACKBODY_CYCLE, 6, 1, 2, 0, 1, 0, 0);    /* no stream */
	REFUSE(ACKBODY_CYCLE, 7, 1, 2, 0, 1, 0, 1, 0); /* from number 0 */
	REFUSE(ACKBODY_CYCLE, 7, 1, 2, 0, 1, 0, 65, 1);
}

static void p9_text_is_bounded_and_without_control_characters(void **state)
{
	uint8_t bytes[ACKBODY_TEXT_BYTES + 4] = {ACKBODY_END};

	(void)state;
	memset(bytes + 4, 'x', ACKBODY_TEXT_BYTES);
	bytes[1] = (uint8_t)(0x80 | ((ACKBODY_TEXT_BYTES + 1) & 0x7f));
	bytes[2] = (ACKBODY_TEXT_BYTES + 1) >> 7;
	refuse(bytes, sizeof(bytes));
	REFUSE(ACKBODY_END, 3, 0, 'a', 0);
	REFUSE(ACKBODY_END, 3, 0, 0x1b, '[');
	set_note(ACKBODY_END, "two\nlines\x7f");
	body.note.at_ns = 0;
	(void)round_trip();
	assert_string_equal(back.note.text, "two lines ");
}

static void p9_noise_never_breaks_the_decoder(void **state)
{
	struct prng prng;
	uint8_t bytes[300];

	(void)state;
	prng_init(&prng, 1);
	for (int i = 0; i < 200000; i++) {
		size_t length = 1 + prng_below(&prng, 40);
		size_t at = 0, used = 0;
		uint8_t again[ACKBODY_ENCODED_MAX];

		for (size_t k = 0; k < length; k++)
			bytes[k] = (uint8_t)prng_next(&prng);
		bytes[0] = (uint8_t)(2 + prng_below(&prng, 7));
		bytes[1] = (uint8_t)(length >= 2 ? length - 2 : 0);
		if (decode(bytes, length, &at) != 1)
			continue;
		/* What is taken is taken in its one encoding. */
		assert_int_equal(
			ackbody_encode(&back, again, sizeof(again), &used), 0);
		assert_int_equal(used, at);
		assert_memory_equal(again, bytes, used);
	}
}

static void sync_modes_have_one_spelling(void **state)
{
	static const char *const good[] = {"flush:1",   "flush:32",
					   "flush:5ms", "flush:4294967295ms",
					   "fua",       "none"};
	static const char *const bad[] = {
		"",           "flush",
		"flush:",     "flush:0",
		"flush:ms",   "flush:-1",
		"flush:5s",   "flush: 5",
		"fua ",       "None",
		"flush:5msx", "flush:4294967296",
		"flush:+5",   "flush:99999999999999999999999"};
	enum ackbody_sync sync;
	uint64_t value;
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(
			ackbody_sync_parse(good[i], &sync, &value, &err), 0);
		ackbody_sync_text(sync, value, text);
		assert_string_equal(text, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
			ackbody_sync_parse(bad[i], &sync, &value, &err), -1);
	ackbody_sync_text(ACKBODY_SYNC_FLUSH_MS, UINT64_MAX, text);
	assert_string_equal(text, "flush:18446744073709551615ms");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_statement_survives),
		cmocka_unit_test(ranges_survive_up_to_the_last_number),
		cmocka_unit_test(one_flush_costs_few_bytes),
		cmocka_unit_test(no_statement_is_longer_than_the_limit),
		cmocka_unit_test(
			too_little_room_is_told_and_writes_nothing_more),
		cmocka_unit_test(several_statements_follow_one_another),
		cmocka_unit_test(p9_cut_and_stretched_is_refused),
		cmocka_unit_test(p9_unknown_types_are_refused),
		cmocka_unit_test(p9_overflow_is_refused),
		cmocka_unit_test(p9_impossible_ranges_are_refused),
		cmocka_unit_test(p9_impossible_cycles_are_refused),
		cmocka_unit_test(
			p9_text_is_bounded_and_without_control_characters),
		cmocka_unit_test(p9_noise_never_breaks_the_decoder),
		cmocka_unit_test(sync_modes_have_one_spelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
