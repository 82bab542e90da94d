/* SPDX-License-Identifier: MIT */
/*
 * The writer's keystream and the verifier's must be the same bytes on every
 * processor, or an honest drive is accused: the wide path against libcrypto,
 * and both against the standard's own example.
 */
#include "common/format/keystream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "tests/unit/cmocka_all.h"

#define UNITS_MAX 33
#define TRIES     300

struct bench {
	struct keystream *fast, *library;
	uint8_t one[UNITS_MAX * KEYSTREAM_UNIT_BYTES];
	uint8_t other[UNITS_MAX * KEYSTREAM_UNIT_BYTES];
};

static struct bench bench;

static struct prng begin(uint64_t seed)
{
	struct prng prng;
	uint64_t key[2];
	struct err err;

	prng_init(&prng, seed);
	key[0] = prng_next(&prng);
	key[1] = prng_next(&prng);
	bench.fast = keystream_new((const uint8_t *)key, &err);
	bench.library = keystream_new((const uint8_t *)key, &err);
	assert_non_null(bench.fast);
	assert_non_null(bench.library);
	keystream_use_library(bench.library);
	assert_false(keystream_is_wide(bench.library));
	return prng;
}

static void end(void)
{
	keystream_free(bench.fast);
	keystream_free(bench.library);
}

static struct keystream_at place(struct prng *prng)
{
	/* Room to count up in; now and then over a byte's edge and a word's. */
	uint64_t low = prng_next(prng) >> prng_below(prng, 60);

	if (prng_below(prng, 4) == 0)
		low = (low | 0xffffffff) - prng_below(prng, 1024);
	return (struct keystream_at){prng_next(prng), low >> 1};
}

/* NIST SP 800-38A, F.5.1: its keystream ("output block"). */
static void it_is_aes_in_counter_mode(void **state)
{
	static const uint8_t key[] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae,
				      0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88,
				      0x09, 0xcf, 0x4f, 0x3c};
	static const uint8_t golden[] = {
		0xec, 0x8c, 0xdf, 0x73, 0x98, 0x60, 0x7c, 0xb0,
		0xf2, 0xd2, 0x16, 0x75, 0xea, 0x9e, 0xa1, 0xe4,
		0x36, 0x2b, 0x7c, 0x3c, 0x67, 0x73, 0x51, 0x63,
		0x18, 0xa0, 0x77, 0xd7, 0xfc, 0x50, 0x73, 0xae};
	static const struct keystream_at at = {0xf0f1f2f3f4f5f6f7,
					       0xf8f9fafbfcfdfeff};
	struct err err;
	struct keystream *keystream = keystream_new(key, &err);

	(void)state;
	assert_non_null(keystream);
	for (int i = 0; i < 2; i++) {
		memset(bench.one, 0, sizeof(bench.one));
		keystream_make(keystream, at, bench.one, KEYSTREAM_UNIT_BYTES);
		assert_memory_equal(bench.one, golden, sizeof(golden));
		keystream_use_library(keystream);
	}
	keystream_free(keystream);
}

static void every_length_and_place_is_libcryptos(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= TRIES; seed++) {
		struct prng prng = begin(seed);
		size_t count = (1 + prng_below(&prng, UNITS_MAX)) *
			       KEYSTREAM_UNIT_BYTES;
		struct keystream_at at = place(&prng);

		keystream_make(bench.fast, at, bench.one, count);
		keystream_make(bench.library, at, bench.other, count);
		assert_memory_equal(bench.one, bench.other, count);
		end();
	}
}

static void units_stand_each_at_its_place(void **state)
{
	struct keystream_at at[UNITS_MAX];

	(void)state;
	for (uint64_t seed = 1; seed <= TRIES; seed++) {
		struct prng prng = begin(seed);
		size_t units = prng_below(&prng, UNITS_MAX + 1);

		for (size_t i = 0; i < units; i++)
			at[i] = place(&prng);
		keystream_make_units(bench.fast, at, units, bench.one);
		keystream_make_units(bench.library, at, units, bench.other);
		assert_memory_equal(bench.one, bench.other,
				    units * KEYSTREAM_UNIT_BYTES);
		for (size_t i = 0; i < units; i++) {
			keystream_make(bench.library, at[i], bench.other,
				       KEYSTREAM_UNIT_BYTES);
			assert_memory_equal(bench.one +
						    i * KEYSTREAM_UNIT_BYTES,
					    bench.other, KEYSTREAM_UNIT_BYTES);
		}
		end();
	}
}

static void checksums_taken_beside_are_right(void **state)
{
	const size_t count = KEYSTREAM_BESIDE * (size_t)KEYSTREAM_UNIT_BYTES;
	uint32_t crcs[KEYSTREAM_BESIDE];

	(void)state;
	for (uint64_t seed = 1; seed <= TRIES; seed++) {
		struct prng prng = begin(seed);
		struct keystream_at at = place(&prng);
		struct keystream *tried = seed % 2 ? bench.fast : bench.library;

		keystream_make(bench.library, place(&prng), bench.one, count);
		memset(crcs, 0xa5,
		       sizeof(crcs)); /* what was there is nothing */
		keystream_make_beside(tried, at, bench.one + count, bench.one,
				      crcs);
		keystream_make(bench.library, at, bench.other, count);
		assert_memory_equal(bench.one + count, bench.other, count);
		for (size_t i = 0; i < KEYSTREAM_BESIDE; i++)
			assert_int_equal(
				crcs[i],
				crc32c_extend(
					0, bench.one + i * KEYSTREAM_UNIT_BYTES,
					KEYSTREAM_UNIT_BYTES));
		end();
	}
}

/* BESIDE units with heads over their keystream; where KIND says so, one bit of
 * a head or of the content is wrong. */
static unsigned int lay_heads(struct prng *prng, const struct keystream_at *at,
			      uint64_t kind)
{
	uint64_t unit = prng_below(prng, KEYSTREAM_BESIDE);
	uint64_t bit = prng_below(prng, 8ULL * KEYSTREAM_HEAD_BYTES);

	keystream_make_units(bench.library, at, KEYSTREAM_BESIDE, bench.one);
	for (size_t k = 0; k < KEYSTREAM_BESIDE; k++)
		for (size_t i = 0; i < KEYSTREAM_HEAD_BYTES; i++)
			bench.one[k * KEYSTREAM_UNIT_BYTES + i] =
				(uint8_t)prng_next(prng);
	if (kind == 0)
		bit = 8ULL * KEYSTREAM_HEAD_BYTES +
		      prng_below(prng, 8ULL * (KEYSTREAM_UNIT_BYTES -
					       KEYSTREAM_HEAD_BYTES));
	bench.one[unit * KEYSTREAM_UNIT_BYTES + bit / 8] ^=
		(uint8_t)(1U << bit % 8);
	return kind == 0 ? 1U << unit : 0;
}

static void expect_checksums(const uint32_t *crcs)
{
	for (size_t k = 0; k < KEYSTREAM_BESIDE; k++) {
		uint8_t unit[KEYSTREAM_UNIT_BYTES];

		memcpy(unit, bench.one + k * sizeof(unit), sizeof(unit));
		memset(unit + KEYSTREAM_CRC_AT, 0, KEYSTREAM_CRC_BYTES);
		assert_int_equal(crcs[k], crc32c_extend(0, unit, sizeof(unit)));
	}
}

/* P8: any bit behind the heads is noticed, and none of them is. */
static void units_are_checked_in_one_pass(void **state)
{
	struct keystream_at at[KEYSTREAM_BESIDE];
	uint32_t crcs[KEYSTREAM_BESIDE];

	(void)state;
	for (uint64_t seed = 1; seed <= 20ULL * TRIES; seed++) {
		struct prng prng = begin(seed);
		struct keystream *tried =
			seed % 4 != 0 ? bench.fast : bench.library;
		unsigned int others;

		for (size_t i = 0; i < KEYSTREAM_BESIDE; i++)
			at[i] = place(&prng);
		others = lay_heads(&prng, at, seed % 3);
		assert_int_equal(keystream_check(tried, at, bench.one, crcs),
				 others);
		expect_checksums(crcs);
		end();
	}
}

/* The kernel's word against the processor's. */
static void the_wide_path_is_taken_where_it_can_be(void **state)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char *line = NULL;
	size_t room = 0;
	bool is_able = false;

	(void)state;
	(void)begin(1);
	if (file == NULL)
		skip();
	while (!is_able && getline(&line, &room, file) > 0)
		is_able = strstr(line, " vaes ") && strstr(line, " avx2 ");
	free(line);
	(void)fclose(file);
	assert_int_equal(keystream_is_wide(bench.fast), is_able);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_aes_in_counter_mode),
		cmocka_unit_test(every_length_and_place_is_libcryptos),
		cmocka_unit_test(units_stand_each_at_its_place),
		cmocka_unit_test(checksums_taken_beside_are_right),
		cmocka_unit_test(units_are_checked_in_one_pass),
		cmocka_unit_test(the_wide_path_is_taken_where_it_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
