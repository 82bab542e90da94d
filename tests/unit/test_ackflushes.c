/* SPDX-License-Identifier: MIT */
/*
 * Flushes that share a statement keep their numbers, times and ranges, and
 * nothing that is cut short, overflowing or out of order is taken (P9).
 */
#include "common/format/ackflushes.h"

#include <string.h>

#include "common/base/err.h"
#include "common/base/prng.h"
#include "tests/fake/golden.h"
#include "tests/unit/cmocka_all.h"

#define HOUR_NS 3600000000000ULL

static struct ackbody body, back;
static struct err err;

static void add(uint64_t number, uint64_t submitted_ns, uint64_t took_ns,
		const struct ackbody_range *range)
{
	body.flushes.flushes[body.flushes.count++] = (struct ackbody_flush){
		number, submitted_ns, submitted_ns + took_ns, *range};
}

static void begin(uint16_t stream)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_FLUSHES;
	body.flushes.stream = stream;
}

static size_t encode(uint8_t bytes[ACKBODY_ENCODED_MAX])
{
	size_t used = 0;

	assert_int_equal(
		ackbody_encode(&body, bytes, ACKBODY_ENCODED_MAX, &used), 0);
	return used;
}

static int decode(const uint8_t *bytes, size_t length)
{
	uint8_t *copy = test_malloc(length);
	size_t at = 0;
	int got;

	memcpy(copy, bytes, length);
	memset(&back, 0, sizeof(back)); /* padding is compared too */
	got = ackbody_decode(&back, copy, length, &at, &err);
	assert_int_equal(at, got == 1 ? length : 0);
	test_free(copy);
	return got;
}

static size_t round_trip(void)
{
	uint8_t bytes[ACKBODY_ENCODED_MAX];
	size_t used = encode(bytes);

	assert_int_equal(decode(bytes, used), 1);
	assert_int_equal(back.type, ACKBODY_FLUSHES);
	assert_memory_equal(&back.flushes, &body.flushes, sizeof(body.flushes));
	return used;
}

static void golden_flushes_are_made_again(void **state)
{
	static const struct ackbody_range ranges[] = {
		{1000000, 1000031},
		{1000032, 1000060},
		{1000062, 1000063},
		{1000061, 1000061},
		{1000064, ACKBODY_SEQUENCE_MAX},
		{1, 1},
		{2, 70}};
	uint8_t golden[256], bytes[ACKBODY_ENCODED_MAX];
	size_t size = golden_read("flushes.hex", golden, sizeof(golden));

	(void)state;
	begin(3);
	add(9, HOUR_NS, 1500000, &ranges[0]);
	add(10, HOUR_NS + 37000, 21000, &ranges[1]);
	add(10, HOUR_NS + 37000, 21000, &ranges[2]);
	add(12, HOUR_NS + 37000, 0, &ranges[3]);
	add(13, HOUR_NS + 37129, 128, &ranges[4]);
	add(13, HOUR_NS + 37129, 128, &ranges[5]);
	add(UINT64_MAX, UINT64_MAX, 0, &ranges[6]);
	assert_int_equal(encode(bytes), size);
	assert_memory_equal(bytes, golden, size);
	(void)round_trip();
}

/* 0 ... MAX, of any length. */
static uint64_t some(struct prng *prng, uint64_t max)
{
	uint64_t value = max == 0 ? 0 : prng_below(prng, max) + 1;

	return value >> prng_below(prng, 64);
}

/* Numbers and times go up to the ends of their types. */
static void some_flushes(struct prng *prng, unsigned int count)
{
	struct ackbody_flush now = {0};

	begin((uint16_t)prng_below(prng, RUN_STREAMS_MAX));
	for (unsigned int i = 0; i < count; i++) {
		if (i == 0 ||
		    (prng_below(prng, 3) > 0 && now.number < UINT64_MAX)) {
			now.number +=
				1 + some(prng, UINT64_MAX - 1 - now.number);
			now.submitted_ns +=
				some(prng, UINT64_MAX - now.submitted_ns);
			now.completed_ns =
				now.submitted_ns +
				some(prng, UINT64_MAX - now.submitted_ns);
		}
		now.range.first = 1 + some(prng, ACKBODY_SEQUENCE_MAX - 1);
		now.range.last =
			now.range.first +
			some(prng, ACKBODY_SEQUENCE_MAX - now.range.first);
		body.flushes.flushes[body.flushes.count++] = now;
	}
}

static void flushes_survive_whatever_they_hold(void **state)
{
	struct prng prng;

	(void)state;
	prng_init(&prng, 7);
	for (int i = 0; i < 20000; i++) {
		some_flushes(&prng,
			     2 + (unsigned int)prng_below(
					 &prng, ACKBODY_FLUSHES_MAX - 1));
		(void)round_trip();
	}
}

static void no_flushes_are_longer_than_the_limit(void **state)
{
	(void)state;
	begin(RUN_STREAMS_MAX - 1);
	for (uint64_t i = 0; i < ACKBODY_FLUSHES_MAX; i++) {
		const uint64_t step = UINT64_MAX / ACKBODY_FLUSHES_MAX;
		const struct ackbody_range range = {
			i % 2 ? ACKBODY_SEQUENCE_MAX : 1, ACKBODY_SEQUENCE_MAX};

		add(i * step + 1, i * step, UINT64_MAX - i * step, &range);
	}
	assert_true(round_trip() <= ACKBODY_ENCODED_MAX);
}

/* At a million writes per second and a FLUSH of 100 us after each 32. */
static void a_flush_among_others_costs_nine_bytes(void **state)
{
	(void)state;
	begin(0);
	for (uint64_t i = 0; i < ACKBODY_FLUSHES_MAX; i++) {
		const struct ackbody_range range = {1000000 + 32 * i,
						    1000031 + 32 * i};

		add(30000 + i, HOUR_NS + 32000 * i, 100000, &range);
	}
	assert_true(round_trip() <= 9 * ACKBODY_FLUSHES_MAX + 16);
}

static void p9_cut_and_stretched_flushes_are_refused(void **state)
{
	uint8_t bytes[ACKBODY_ENCODED_MAX];
	struct prng prng;
	size_t used;

	(void)state;
	prng_init(&prng, 8);
	do {
		some_flushes(&prng, 4);
		used = encode(bytes);
	} while (used > 120);
	for (size_t length = 1; length < used; length++) {
		assert_int_equal(decode(bytes, length), -1);
		if (length < 2)
			continue;
		bytes[1] = (uint8_t)(length - 2); /* not even so */
		assert_int_equal(decode(bytes, length), -1);
		bytes[1] = (uint8_t)(used - 2);
	}
	bytes[1]++;
	bytes[used] = 0;
	assert_int_equal(decode(bytes, used + 1), -1);
	assert_non_null(strstr(err.text, "malformed \"flushes\""));
}

static void refuse(const uint8_t *content, size_t length)
{
	uint8_t bytes[128] = {ACKBODY_FLUSHES, (uint8_t)length};

	memcpy(bytes + 2, content, length);
	assert_int_equal(decode(bytes, 2 + length), -1);
}

static void take(const uint8_t *content, size_t length)
{
	uint8_t bytes[128] = {ACKBODY_FLUSHES, (uint8_t)length};

	memcpy(bytes + 2, content, length);
	if (decode(bytes, 2 + length) != 1)
		fail_msg("%s", err.text);
}

#define TRY(what, ...)                                  \
	do {                                            \
		const uint8_t bytes_[] = {__VA_ARGS__}; \
		what(bytes_, sizeof(bytes_));           \
	} while (0)
#define EIGHT_FF 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define TOP      EIGHT_FF, 0xff, 0x01 /* 2^64 - 1 */
#define BELOW    0xfe, EIGHT_FF, 0x01 /* 2^64 - 2 */

/* stream, count; number, submitted, took, first, length; ... */
static void p9_impossible_flushes_are_refused(void **state)
{
	(void)state;
	TRY(take, 0, 2, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0);
	TRY(take, 63, 2, 0, 5, 1, 0, 1, 0, 0); /* one, of two ranges */
	TRY(refuse, 64, 2, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0);
	TRY(refuse, 0, 1, 0, 5, 1, 0, 0);
	TRY(refuse, 0, 0);
	TRY(refuse, 0, 65, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0);
	TRY(refuse, 0, 2, 0, 5, 1, 0, 0, 0, 0, 0, 0, 1); /* and the third? */
	TRY(refuse, 0, 2, 0, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0);
	TRY(refuse, 0, 2, 0, 5, 1, 0, 0, 0x80, 0, 0, 0, 0, 0);
	TRY(take, 0, 2, 0, 5, 1, 0, 0, 0, 0, 0, 1, 0);     /* 1 once more */
	TRY(refuse, 0, 2, 0, 5, 1, 0, 0, 0, 0, 0, 3, 0);   /* 0 */
	TRY(refuse, 0, 2, 0, 5, 1, 1, 0, 0, 0, 0, 0, 0);   /* 0 at once */
	TRY(refuse, 0, 2, 0, 5, 1, TOP, 0, 0, 0, 0, 0, 0); /* far below */
}

static void p9_sums_that_overflow_are_refused(void **state)
{
	(void)state;
	TRY(take, 0, 2, BELOW, 5, 1, 0, 1, 0, 0);
	TRY(refuse, 0, 2, TOP, 5, 1, 0, 1, 0, 0);
	TRY(refuse, 0, 2, BELOW, 5, 1, 0, 0, 0, 0, 0, 0, 0);
	TRY(take, 0, 2, 0, TOP, 0, 0, 0, 0, 0, 0, 0, 0);
	TRY(refuse, 0, 2, 0, TOP, 1, 0, 0, 0, 0, 0, 0, 0);
	TRY(refuse, 0, 2, 0, TOP, 0, 0, 0, 0, 1, 0, 0, 0);
	/* 1 + (2^63 - 2) is the highest number there is, and no start. */
	TRY(take, 0, 2, 0, 5, 1, 0xfc, EIGHT_FF, 0x01, 0, 0, 0, 0, 1, 0);
	TRY(refuse, 0, 2, 0, 5, 1, 0xfc, EIGHT_FF, 0x01, 2, 0, 0, 0, 1, 0);
	TRY(refuse, 0, 2, 0, 5, 1, BELOW, 0, 0, 0, 0, 1, 0);
	TRY(refuse, 0, 2, 0, 5, 1, 0xfc, EIGHT_FF, 0x01, 0, 0, 0, 0, 0, 0);
	TRY(take, 0, 2, 0, 5, 1, 0, 0xfc, EIGHT_FF, 0x01, 0, 0, 0, 1, 0);
	TRY(refuse, 0, 2, 0, 5, 1, 0, BELOW, 0, 0, 0, 1, 0);
}

static void p9_noise_never_breaks_the_decoder(void **state)
{
	struct prng prng;
	uint8_t bytes[64], again[ACKBODY_ENCODED_MAX];
	int taken = 0;

	(void)state;
	prng_init(&prng, 9);
	for (int i = 0; i < 300000; i++) {
		size_t length = 9 + prng_below(&prng, 20);
		size_t at = 0;

		for (size_t k = 0; k < length; k++)
			bytes[k] =
				(uint8_t)(prng_next(&prng) &
					  (prng_below(&prng, 8) ? 0x7f : 0xff));
		bytes[0] = ACKBODY_FLUSHES;
		bytes[1] = (uint8_t)(length - 2);
		bytes[3] = (uint8_t)(2 + prng_below(&prng, 3));
		if (ackbody_decode(&back, bytes, length, &at, &err) != 1)
			continue;
		/* What is taken is taken in its one encoding. */
		body = back;
		assert_int_equal(encode(again), length);
		assert_memory_equal(again, bytes, length);
		taken++;
	}
	assert_true(taken > 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_flushes_are_made_again),
		cmocka_unit_test(flushes_survive_whatever_they_hold),
		cmocka_unit_test(no_flushes_are_longer_than_the_limit),
		cmocka_unit_test(a_flush_among_others_costs_nine_bytes),
		cmocka_unit_test(p9_cut_and_stretched_flushes_are_refused),
		cmocka_unit_test(p9_impossible_flushes_are_refused),
		cmocka_unit_test(p9_sums_that_overflow_are_refused),
		cmocka_unit_test(p9_noise_never_breaks_the_decoder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
