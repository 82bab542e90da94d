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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p5_a_record_never_proves_itself),
		cmocka_unit_test(
			p5_a_record_proves_nothing_of_an_earlier_cycle),
		cmocka_unit_test(p8_every_byte_of_the_content_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
