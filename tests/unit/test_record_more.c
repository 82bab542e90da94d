/* SPDX-License-Identifier: MIT */
/*
 * P5, P9: a record says what was durable when it was issued, so it never proves
 * itself. Here the numbers lie next to each other.
 */
#include "common/format/record.h"

#include <string.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"

#define AT_CRC 8
#define AT_W   64

/* What is found where a write SEQUENCE of a cycle that begins at 100 says W. */
static enum record_state examine(uint64_t sequence, uint64_t w)
{
	struct record write = {
		.run_id = {1, 2, 3},
		.cycle = 2,
		.sequence = sequence,
		.offset_bytes = 4096,
		.atoms = 1,
		.first_sequence = 100,
		.durable_sequence = 99,
	};
	uint8_t atom[RUN_ATOM_BYTES];
	struct record_cipher *cipher;
	enum record_state state;
	struct err err;

	cipher = record_cipher_new(write.run_id, &err);
	assert_non_null(cipher);
	record_build(cipher, &write, atom);
	bytes_put64(atom + AT_W, w);
	bytes_put32(atom + AT_CRC, 0);
	bytes_put32(atom + AT_CRC, crc32c_extend(0, atom, sizeof(atom)));
	state = record_examine(cipher, atom, &write);
	record_cipher_free(cipher);
	return state;
}

static void p5_a_record_never_proves_itself(void **state)
{
	(void)state;
	assert_int_equal(examine(110, 109), RECORD_GOOD);
	assert_int_equal(examine(110, 110), RECORD_CORRUPT);
	assert_int_equal(examine(110, 111), RECORD_CORRUPT);
}

static void p5_a_record_proves_nothing_of_an_earlier_cycle(void **state)
{
	(void)state;
	assert_int_equal(examine(100, 99), RECORD_GOOD); /* none yet */
	assert_int_equal(examine(100, 98), RECORD_CORRUPT);
	assert_int_equal(examine(99, 99), RECORD_CORRUPT);
}

/* P8: under a checksum that is right, in every byte behind the header. */
static void p8_every_byte_of_the_content_counts(void **state)
{
	const uint8_t run_id[RUN_ID_BYTES] = {1, 2, 3};
	uint8_t atoms[2 * RUN_ATOM_BYTES];
	struct record_cipher *cipher;
	struct record found[2];
	enum record_state states[2];
	struct err err;

	(void)state;
	cipher = record_cipher_new(run_id, &err);
	assert_non_null(cipher);
	record_build_fill(cipher, 4096, 2, atoms);
	for (size_t i = RECORD_HEADER_BYTES; i < RUN_ATOM_BYTES; i++) {
		uint8_t *atom = atoms + RUN_ATOM_BYTES;

		atom[i] ^= 1;
		bytes_put32(atom + AT_CRC, 0);
		bytes_put32(atom + AT_CRC,
			    crc32c_extend(0, atom, RUN_ATOM_BYTES));
		record_examine_many(cipher, atoms, 2, states, found);
		assert_int_equal(states[0], RECORD_GOOD);
		assert_int_equal(states[1], RECORD_CORRUPT);
		atom[i] ^= 1;
	}
	record_cipher_free(cipher);
}

#define GROUP 7 /* one of four in one pass, and three apart */

static void seal(uint8_t *atom)
{
	bytes_put32(atom + AT_CRC, 0);
	bytes_put32(atom + AT_CRC, crc32c_extend(0, atom, RUN_ATOM_BYTES));
}

/* Of the atoms of a write only AT is as STATE says. */
static void expect_one(struct record_cipher *cipher, const uint8_t *atoms,
		       size_t at, enum record_state state)
{
	enum record_state states[GROUP];
	struct record found[GROUP];

	record_examine_many(cipher, atoms, GROUP, states, found);
	for (size_t i = 0; i < GROUP; i++) {
		assert_int_equal(states[i], i == at ? state : RECORD_GOOD);
		assert_true(i == at || found[i].index == i);
	}
}

/* P8: whichever atom it is, under a checksum that is right and under one that
 * is not; another run's under both. */
static void p8_every_bit_counts_in_a_group(void **state)
{
	struct record write = {.run_id = {1, 2, 3},
			       .cycle = 1,
			       .sequence = 7,
			       .atoms = GROUP,
			       .first_sequence = 1};
	uint8_t atoms[GROUP * RUN_ATOM_BYTES];
	struct record_cipher *cipher;
	struct err err;

	(void)state;
	cipher = record_cipher_new(write.run_id, &err);
	assert_non_null(cipher);
	for (size_t bit = 0; bit < 8UL * RUN_ATOM_BYTES; bit++) {
		size_t at = bit % GROUP, byte = bit / 8;
		uint8_t *atom = atoms + at * RUN_ATOM_BYTES;
		bool is_id = byte >= 16 && byte < 16 + RUN_ID_BYTES;

		record_build(cipher, &write, atoms);
		atom[byte] ^= (uint8_t)(1U << bit % 8);
		expect_one(cipher, atoms, at, RECORD_CORRUPT);
		seal(atom);
		if (is_id)
			expect_one(cipher, atoms, at, RECORD_FOREIGN);
		else if (byte >= RECORD_HEADER_BYTES)
			expect_one(cipher, atoms, at, RECORD_CORRUPT);
		memset(atom, 0xff, RUN_ATOM_BYTES);
		expect_one(cipher, atoms, at, RECORD_BLANK);
	}
	record_cipher_free(cipher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p5_a_record_never_proves_itself),
		cmocka_unit_test(
			p5_a_record_proves_nothing_of_an_earlier_cycle),
		cmocka_unit_test(p8_every_byte_of_the_content_counts),
		cmocka_unit_test(p8_every_bit_counts_in_a_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
