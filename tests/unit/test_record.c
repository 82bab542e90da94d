/* SPDX-License-Identifier: MIT */
/*
 * An atom is evidence: what is built must be found whole, every damaged bit
 * must be noticed, and no atom may pass for another.
 */
#include "common/format/record.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "tests/fake/golden.h"
#include "tests/unit/cmocka_all.h"

#define ATOM       RUN_ATOM_BYTES
#define MIB        (1024ULL * 1024)
#define ROOM_ATOMS 64

static const uint8_t our_id[RUN_ID_BYTES] = {1, 2,  3,  4,  5,  6,  7,  8,
					     9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t other_id[RUN_ID_BYTES] = {1, 2, 3, 4};

struct bench {
	struct record_cipher *cipher;
	struct record_cipher *other;
	uint8_t buffer[ROOM_ATOMS * ATOM];
	enum record_state states[ROOM_ATOMS];
	struct record found[ROOM_ATOMS];
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct err err;

	if (bench == NULL)
		return -1;
	bench->cipher = record_cipher_new(our_id, &err);
	bench->other = record_cipher_new(other_id, &err);
	*state = bench;
	return bench->cipher == NULL || bench->other == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	record_cipher_free(bench->cipher);
	record_cipher_free(bench->other);
	free(bench);
	return 0;
}

static struct record sample(void)
{
	struct record write = {
		.cycle = 7,
		.stream = 3,
		.sequence = 0x0102030405060708U,
		.offset_bytes = 0x10203000,
		.atoms = 8,
		.first_sequence = 0x0102030405060000U,
		.durable_sequence = 0x0102030405060700U,
		.issued_ns = 0x1122334455667788U,
	};

	memcpy(write.run_id, our_id, RUN_ID_BYTES);
	return write;
}

static void assert_same(const struct record *record, const struct record *other)
{
	assert_memory_equal(record->run_id, other->run_id, RUN_ID_BYTES);
	assert_int_equal(record->cycle, other->cycle);
	assert_int_equal(record->stream, other->stream);
	assert_true(record->sequence == other->sequence);
	assert_true(record->offset_bytes == other->offset_bytes);
	assert_int_equal(record->index, other->index);
	assert_int_equal(record->atoms, other->atoms);
	assert_true(record->first_sequence == other->first_sequence);
	assert_true(record->durable_sequence == other->durable_sequence);
	assert_true(record->issued_ns == other->issued_ns);
}

/* Puts a right checksum over whatever ATOM says now. */
static void seal(uint8_t *atom)
{
	bytes_put32(atom + 8, 0);
	bytes_put32(atom + 8, crc32c_extend(0, atom, ATOM));
}

static void atoms_are_the_golden_ones(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();
	uint8_t golden[ATOM];

	record_build(bench->cipher, &write, bench->buffer);
	assert_int_equal(golden_read("atom.hex", golden, ATOM), ATOM);
	assert_memory_equal(bench->buffer + 2 * ATOM, golden, ATOM);

	record_build_fill(bench->cipher, 5 * MIB + 0x2600, 1, bench->buffer);
	assert_int_equal(golden_read("fill-atom.hex", golden, ATOM), ATOM);
	assert_memory_equal(bench->buffer, golden, ATOM);
}

static void what_is_built_is_good(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();

	record_build(bench->cipher, &write, bench->buffer);
	record_examine_many(bench->cipher, bench->buffer, write.atoms,
			    bench->states, bench->found);
	for (uint16_t i = 0; i < write.atoms; i++) {
		struct record atom = write;
		struct record alone;

		atom.index = i;
		atom.offset_bytes += i * (uint64_t)ATOM;
		assert_int_equal(bench->states[i], RECORD_GOOD);
		assert_same(&bench->found[i], &atom);
		assert_int_equal(record_examine(bench->cipher,
						bench->buffer + i * ATOM,
						&alone),
				 RECORD_GOOD);
		assert_same(&alone, &atom);
	}
}

/* Atoms are made in groups; the last one may be short. */
static void every_length_is_good(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();

	for (write.atoms = 1; write.atoms <= ROOM_ATOMS; write.atoms++) {
		memset(bench->buffer, 0, sizeof(bench->buffer));
		record_build(bench->cipher, &write, bench->buffer);
		record_examine_many(bench->cipher, bench->buffer, ROOM_ATOMS,
				    bench->states, bench->found);
		for (uint16_t i = 0; i < ROOM_ATOMS; i++)
			assert_int_equal(bench->states[i],
					 i < write.atoms ? RECORD_GOOD
							 : RECORD_BLANK);
	}
}

/* Also where a write leaves its last atoms to the next one, or cannot. */
static void writes_built_together_are_the_same(void **state)
{
	static const uint16_t atoms[] = {8, 8, 4, 1, 4, 3, 5, 12, 2, 8, 1, 4};
	enum { WRITES = sizeof(atoms) / sizeof(atoms[0]) };
	struct bench *bench = *state;
	struct record writes[WRITES];
	uint8_t *buffers[WRITES];
	uint8_t alone[12 * ATOM];
	size_t used = 0;

	for (size_t i = 0; i < WRITES; i++) {
		writes[i] = sample();
		writes[i].sequence += i;
		writes[i].offset_bytes += i << 20;
		writes[i].atoms = atoms[i];
		buffers[i] = bench->buffer + used * ATOM;
		used += atoms[i];
	}
	for (size_t count = 0; count <= WRITES; count++) {
		memset(bench->buffer, 0xee, sizeof(bench->buffer));
		record_build_many(bench->cipher, writes, buffers, count);
		for (size_t i = 0; i < WRITES; i++) {
			memset(alone, 0xee, sizeof(alone));
			if (i < count)
				record_build(bench->cipher, &writes[i], alone);
			assert_memory_equal(buffers[i], alone, atoms[i] * ATOM);
		}
	}
}

static void the_longest_write_is_good(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();
	size_t count = RUN_BLOCK_BYTES_MAX / ATOM;
	uint8_t *buffer = malloc(RUN_BLOCK_BYTES_MAX);
	enum record_state *states = calloc(count, sizeof(*states));
	struct record *found = calloc(count, sizeof(*found));

	assert_true(buffer != NULL && states != NULL && found != NULL);
	write.atoms = (uint16_t)count;
	record_build(bench->cipher, &write, buffer);
	buffer[128 * ATOM + 100] ^= 1; /* where the next cipher call begins */
	record_examine_many(bench->cipher, buffer, count, states, found);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(states[i],
				 i == 128 ? RECORD_CORRUPT : RECORD_GOOD);
		assert_true(i == 128 || found[i].index == i);
	}
	free(buffer);
	free(states);
	free(found);
}

/* P5: generation 0 must not prove anything durable. */
static void p5_fill_is_good_and_proves_nothing(void **state)
{
	struct bench *bench = *state;
	uint64_t offset_bytes = 3 * MIB - 20 * ATOM; /* over a span's end */

	record_build_fill(bench->cipher, offset_bytes, ROOM_ATOMS,
			  bench->buffer);
	record_examine_many(bench->cipher, bench->buffer, ROOM_ATOMS,
			    bench->states, bench->found);
	for (size_t i = 0; i < ROOM_ATOMS; i++) {
		uint8_t alone[ATOM];

		assert_int_equal(bench->states[i], RECORD_GOOD);
		assert_int_equal(bench->found[i].sequence, 0);
		assert_int_equal(bench->found[i].atoms, 1);
		assert_int_equal(bench->found[i].offset_bytes,
				 offset_bytes + i * ATOM);
		assert_true(bench->found[i].durable_sequence <
			    bench->found[i].first_sequence);
		record_build_fill(bench->cipher, offset_bytes + i * ATOM, 1,
				  alone);
		assert_memory_equal(alone, bench->buffer + i * ATOM, ATOM);
	}
}

static void p8_any_damaged_bit_is_corrupt(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();
	uint8_t *atom = bench->buffer + 5 * ATOM;
	struct record found;

	record_build(bench->cipher, &write, bench->buffer);
	for (size_t bit = 0; bit < 8 * ATOM; bit++) {
		atom[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(record_examine(bench->cipher, atom, &found),
				 RECORD_CORRUPT);
		atom[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(record_examine(bench->cipher, atom, &found),
			 RECORD_GOOD);
}

/* The checksum alone convinces nobody: the content is compared. */
static void p8_a_sealed_wrong_content_is_corrupt(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();

	record_build(bench->cipher, &write, bench->buffer);
	bench->buffer[4 * ATOM + RECORD_HEADER_BYTES] ^= 1;
	seal(bench->buffer + 4 * ATOM);
	bench->buffer[6 * ATOM - 1] ^= 1;
	seal(bench->buffer + 5 * ATOM);
	record_examine_many(bench->cipher, bench->buffer, write.atoms,
			    bench->states, bench->found);
	for (size_t i = 0; i < write.atoms; i++)
		assert_int_equal(bench->states[i], i == 4 || i == 5
							   ? RECORD_CORRUPT
							   : RECORD_GOOD);
}

struct lie {
	size_t at;
	uint16_t value; /* put there as 16 bits */
};

static void p9_impossible_headers_are_corrupt(void **state)
{
	static const struct lie lies[] = {
		{0, 0x5051},  /* magic */
		{4, 2},       /* version */
		{6, 1},       /* zero */
		{12, 0},      /* cycle 0 of a numbered write */
		{40, 1},      /* offset not of an atom */
		{48, 8},      /* index behind the write */
		{50, 0},      /* no atoms */
		{50, 8193},   /* too many */
		{52, 64},     /* no such stream */
		{54, 1},      /* zero */
		{62, 0x0202}, /* first number above its own */
		{70, 0x0202}, /* W above its own number (P5) */
		{70, 0},      /* W below the first number - 1 */
	};
	struct bench *bench = *state;
	struct record write = sample();

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct record found;

		record_build(bench->cipher, &write, bench->buffer);
		bytes_put16(bench->buffer + lies[i].at, lies[i].value);
		seal(bench->buffer);
		assert_int_equal(
			record_examine(bench->cipher, bench->buffer, &found),
			RECORD_CORRUPT);
	}
}

static void p9_impossible_fill_is_corrupt(void **state)
{
	static const struct lie lies[] = {
		{12, 1}, {48, 1}, {50, 2}, {52, 1}, {56, 0}, {64, 1}, {72, 1},
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct record found;

		record_build_fill(bench->cipher, 0, 1, bench->buffer);
		bytes_put16(bench->buffer + lies[i].at, lies[i].value);
		seal(bench->buffer);
		assert_int_equal(
			record_examine(bench->cipher, bench->buffer, &found),
			RECORD_CORRUPT);
	}
}

static void another_run_is_foreign(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();
	struct record found;

	record_build(bench->cipher, &write, bench->buffer);
	assert_int_equal(record_examine(bench->other, bench->buffer, &found),
			 RECORD_FOREIGN);
	assert_same(&found, &write);
	bench->buffer[100] ^= 1;
	assert_int_equal(record_examine(bench->other, bench->buffer, &found),
			 RECORD_CORRUPT);
}

static void blank_is_all_zeroes_or_all_ones(void **state)
{
	static const uint8_t values[] = {0x00, 0xff};
	struct bench *bench = *state;
	struct record found;

	for (size_t i = 0; i < 2; i++) {
		memset(bench->buffer, values[i], ATOM);
		assert_int_equal(
			record_examine(bench->cipher, bench->buffer, &found),
			RECORD_BLANK);
		bench->buffer[ATOM - 1] ^= 1;
		assert_int_equal(
			record_examine(bench->cipher, bench->buffer, &found),
			RECORD_CORRUPT);
	}
	memset(bench->buffer, 0x55, ATOM);
	assert_int_equal(record_examine(bench->cipher, bench->buffer, &found),
			 RECORD_CORRUPT);
}

/* Whatever lies side by side, many give the same answers as one by one. */
static void a_mixture_is_told_apart(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();
	uint8_t *buffer = bench->buffer;

	record_build(bench->cipher, &write, buffer);
	write.sequence++;
	record_build(bench->cipher, &write, buffer + 8 * ATOM);
	memmove(buffer + 2 * ATOM, buffer + 10 * ATOM, 2 * ATOM); /* torn */
	memset(buffer + 5 * ATOM, 0, ATOM);
	buffer[6 * ATOM + 300] ^= 4;
	record_build_fill(bench->cipher, MIB, 2, buffer + 8 * ATOM);
	memcpy(buffer + 11 * ATOM, buffer + 12 * ATOM, ATOM); /* twice */
	record_examine_many(bench->cipher, buffer, 16, bench->states,
			    bench->found);
	for (size_t i = 0; i < 16; i++) {
		struct record alone;

		assert_int_equal(record_examine(bench->cipher,
						buffer + i * ATOM, &alone),
				 bench->states[i]);
		assert_int_equal(bench->states[i], i == 5   ? RECORD_BLANK
						   : i == 6 ? RECORD_CORRUPT
							    : RECORD_GOOD);
		if (bench->states[i] == RECORD_GOOD)
			assert_same(&alone, &bench->found[i]);
	}
	assert_true(bench->found[2].sequence == write.sequence);
	assert_int_equal(bench->found[8].sequence, 0);
	assert_int_equal(bench->found[11].index, 4);
}

static size_t count_equal(const uint8_t *bytes, const uint8_t *others)
{
	size_t equal = 0;

	for (size_t i = RECORD_HEADER_BYTES; i < ATOM; i++)
		equal += bytes[i] == others[i];
	return equal;
}

/* Undedupable: content differs with run, number, stream, index and place. */
static void no_two_atoms_share_content(void **state)
{
	struct bench *bench = *state;
	struct record write = sample();
	uint8_t *buffer = bench->buffer;

	write.atoms = 2;
	write.durable_sequence = write.first_sequence - 1;
	record_build(bench->cipher, &write, buffer);
	write.sequence++;
	record_build(bench->cipher, &write, buffer + 2 * ATOM);
	write.stream++;
	record_build(bench->cipher, &write, buffer + 4 * ATOM);
	memcpy(write.run_id, other_id, RUN_ID_BYTES);
	record_build(bench->other, &write, buffer + 6 * ATOM);
	record_build_fill(bench->cipher, 0, 2, buffer + 8 * ATOM);
	record_build_fill(bench->cipher, MIB, 2, buffer + 10 * ATOM);
	for (size_t i = 0; i < 12; i++) {
		for (size_t j = 0; j < i; j++)
			assert_in_range(count_equal(buffer + i * ATOM,
						    buffer + j * ATOM),
					0, 20);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(atoms_are_the_golden_ones),
		TEST(what_is_built_is_good),
		TEST(every_length_is_good),
		TEST(writes_built_together_are_the_same),
		TEST(the_longest_write_is_good),
		TEST(p5_fill_is_good_and_proves_nothing),
		TEST(p8_any_damaged_bit_is_corrupt),
		TEST(p8_a_sealed_wrong_content_is_corrupt),
		TEST(p9_impossible_headers_are_corrupt),
		TEST(p9_impossible_fill_is_corrupt),
		TEST(another_run_is_foreign),
		TEST(blank_is_all_zeroes_or_all_ones),
		TEST(a_mixture_is_told_apart),
		TEST(no_two_atoms_share_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
