/* SPDX-License-Identifier: MIT */
#include "common/format/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "common/format/keystream.h"

#define MAGIC      0x54415050U /* "PPAT" */
#define VERSION    1
#define CRC_AT     8
#define OFFSET_AT  40
#define INDEX_AT   48
#define HEAD_BYTES 16 /* with the checksum; leaves whole words behind it */
#define ATOMS_MAX  (RUN_BLOCK_BYTES_MAX / RUN_ATOM_BYTES)

#define FILL_SPAN_BYTES (1024U * 1024U) /* one counter space */
#define FILL_STREAM     0xffffU         /* above every real stream */
#define BATCH_ATOMS     32U /* pass through the first cache at once */

static_assert(ATOMS_MAX == 8192, "the limit in docs/FORMATS.md");
static_assert(RUN_STREAMS_MAX < FILL_STREAM, "fill has a counter of its own");
static_assert(RUN_ATOM_BYTES == KEYSTREAM_UNIT_BYTES, "an atom is a unit");
static_assert(RECORD_HEADER_BYTES == KEYSTREAM_HEAD_BYTES &&
		      CRC_AT == KEYSTREAM_CRC_AT,
	      "keystream_check() checks atoms");

struct record_cipher {
	struct keystream *keystream;
	uint8_t run_id[RUN_ID_BYTES];
	uint8_t scratch[BATCH_ATOMS * RUN_ATOM_BYTES];
};

static bool derive_key(const uint8_t run_id[RUN_ID_BYTES],
		       uint8_t digest[EVP_MAX_MD_SIZE])
{
	static const char name[] = "plugpull keystream v1";
	uint8_t seed[sizeof(name) - 1 + RUN_ID_BYTES];

	memcpy(seed, name, sizeof(name) - 1);
	memcpy(seed + sizeof(name) - 1, run_id, RUN_ID_BYTES);
	return EVP_Digest(seed, sizeof(seed), digest, NULL, EVP_sha256(),
			  NULL) == 1;
}

struct record_cipher *record_cipher_new(const uint8_t run_id[RUN_ID_BYTES],
					struct err *err)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	struct record_cipher *cipher = calloc(1, sizeof(*cipher));

	if (cipher == NULL) {
		(void)err_set(err, "cannot set up the keystream: no memory");
		return NULL;
	}
	memcpy(cipher->run_id, run_id, RUN_ID_BYTES);
	if (!derive_key(run_id, digest)) {
		(void)err_set(err, "cannot set up the keystream: libcrypto "
				   "offers no SHA-256");
		record_cipher_free(cipher);
		return NULL;
	}
	cipher->keystream = keystream_new(digest, err);
	if (cipher->keystream == NULL) {
		record_cipher_free(cipher);
		return NULL;
	}
	return cipher;
}

void record_cipher_free(struct record_cipher *cipher)
{
	if (cipher == NULL)
		return;
	keystream_free(cipher->keystream);
	free(cipher);
}

static struct keystream_at position_in_write(uint64_t sequence, uint16_t stream,
					     uint16_t index)
{
	return (struct keystream_at){
		.high = sequence,
		.low = (uint64_t)stream << 48 |
		       index * (RUN_ATOM_BYTES / KEYSTREAM_BLOCK_BYTES),
	};
}

static struct keystream_at position_in_fill(uint64_t offset_bytes)
{
	return (struct keystream_at){
		.high = offset_bytes / FILL_SPAN_BYTES,
		.low = (uint64_t)FILL_STREAM << 48 |
		       offset_bytes % FILL_SPAN_BYTES / KEYSTREAM_BLOCK_BYTES,
	};
}

static struct keystream_at position_of(const struct record *record)
{
	if (record->sequence == 0)
		return position_in_fill(record->offset_bytes);
	return position_in_write(record->sequence, record->stream,
				 record->index);
}

/* All but the checksum. */
static void put_header(uint8_t *atom, const struct record *record)
{
	bytes_put32(atom, MAGIC);
	bytes_put16(atom + 4, VERSION);
	bytes_put16(atom + 6, 0);
	bytes_put32(atom + CRC_AT, 0);
	bytes_put32(atom + 12, record->cycle);
	memcpy(atom + 16, record->run_id, RUN_ID_BYTES);
	bytes_put64(atom + 32, record->sequence);
	bytes_put64(atom + OFFSET_AT, record->offset_bytes);
	bytes_put16(atom + INDEX_AT, record->index);
	bytes_put16(atom + 50, record->atoms);
	bytes_put16(atom + 52, record->stream);
	bytes_put16(atom + 54, 0);
	bytes_put64(atom + 56, record->first_sequence);
	bytes_put64(atom + 64, record->durable_sequence);
	bytes_put64(atom + 72, record->issued_ns);
}

/* Lays headers over the keystream of COUNT atoms: RECORD's, whose offset and
 * index go up. */
static void put_headers(uint8_t *atoms, struct record *record, size_t count,
			uint16_t index_step)
{
	uint8_t header[RECORD_HEADER_BYTES];

	put_header(header, record);
	for (size_t i = 0; i < count; i++) {
		uint8_t *atom = atoms + i * RUN_ATOM_BYTES;

		memcpy(atom, header, sizeof(header));
		bytes_put64(atom + OFFSET_AT, record->offset_bytes);
		bytes_put16(atom + INDEX_AT, record->index);
		record->offset_bytes += RUN_ATOM_BYTES;
		record->index = (uint16_t)(record->index + index_step);
	}
}

static void put_checksums(uint8_t *atoms, size_t count, const uint32_t *crcs)
{
	for (size_t i = 0; i < count; i++)
		bytes_put32(atoms + i * RUN_ATOM_BYTES + CRC_AT, crcs[i]);
}

static void take_checksums(uint8_t *atoms, size_t count)
{
	uint32_t crcs[KEYSTREAM_BESIDE] = {0};

	crc32c_extend_many(crcs, count, atoms, RUN_ATOM_BYTES, RUN_ATOM_BYTES);
	put_checksums(atoms, count, crcs);
}

/* Keystream for KEYSTREAM_BESIDE atoms, and checksums for as many at OPEN that
 * lack nothing else, if there are any. */
static void make_group(struct record_cipher *cipher, struct keystream_at at,
		       uint8_t *atoms, uint8_t *open)
{
	uint32_t crcs[KEYSTREAM_BESIDE];

	if (open == NULL) {
		keystream_make(cipher->keystream, at, atoms,
			       KEYSTREAM_BESIDE * RUN_ATOM_BYTES);
		return;
	}
	keystream_make_beside(cipher->keystream, at, atoms, open, crcs);
	put_checksums(open, KEYSTREAM_BESIDE, crcs);
}

/*
 * Groups of atoms: while one gets its keystream, the one before it gets its
 * checksums; both are in the first cache then. OPEN is the group that waits for
 * them, of this write or of the one before, or NULL; returns the next such.
 */
static uint8_t *build(struct record_cipher *cipher, struct record record,
		      size_t count, uint16_t index_step, uint8_t *atoms,
		      uint8_t *open)
{
	for (; count >= KEYSTREAM_BESIDE; count -= KEYSTREAM_BESIDE) {
		make_group(cipher, position_of(&record), atoms, open);
		put_headers(atoms, &record, KEYSTREAM_BESIDE, index_step);
		open = atoms;
		atoms += KEYSTREAM_BESIDE * RUN_ATOM_BYTES;
	}
	if (count > 0) {
		keystream_make(cipher->keystream, position_of(&record), atoms,
			       count * RUN_ATOM_BYTES);
		put_headers(atoms, &record, count, index_step);
		take_checksums(atoms, count);
	}
	return open;
}

void record_build_many(struct record_cipher *cipher,
		       const struct record *writes, uint8_t *const *buffers,
		       size_t count)
{
	uint8_t *open = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct record *write = &writes[i];

		assert(write->sequence >= 1 && write->index == 0);
		assert(write->atoms >= 1 && write->atoms <= ATOMS_MAX);
		assert(memcmp(write->run_id, cipher->run_id, RUN_ID_BYTES) ==
		       0);
		open = build(cipher, *write, write->atoms, 1, buffers[i], open);
	}
	if (open != NULL)
		take_checksums(open, KEYSTREAM_BESIDE);
}

void record_build(struct record_cipher *cipher, const struct record *write,
		  uint8_t *buffer)
{
	record_build_many(cipher, write, &buffer, 1);
}

/* W of generation 0 says "none yet": it proves nothing durable (P5). */
static struct record fill_atom(const struct record_cipher *cipher,
			       uint64_t offset_bytes)
{
	struct record atom = {
		.offset_bytes = offset_bytes,
		.atoms = 1,
		.first_sequence = 1,
	};

	memcpy(atom.run_id, cipher->run_id, RUN_ID_BYTES);
	return atom;
}

void record_build_fill(struct record_cipher *cipher, uint64_t offset_bytes,
		       size_t count, uint8_t *buffer)
{
	struct record atom = fill_atom(cipher, offset_bytes);

	uint8_t *open = NULL;

	assert(offset_bytes % RUN_ATOM_BYTES == 0);

	while (count > 0) {
		size_t span = (FILL_SPAN_BYTES -
			       atom.offset_bytes % FILL_SPAN_BYTES) /
			      RUN_ATOM_BYTES;

		if (span > count)
			span = count;
		open = build(cipher, atom, span, 0, buffer, open);
		buffer += span * RUN_ATOM_BYTES;
		atom.offset_bytes += span * RUN_ATOM_BYTES;
		count -= span;
	}
	if (open != NULL)
		take_checksums(open, KEYSTREAM_BESIDE);
}

static void get_header(const uint8_t *atom, struct record *record)
{
	record->cycle = bytes_get32(atom + 12);
	memcpy(record->run_id, atom + 16, RUN_ID_BYTES);
	record->sequence = bytes_get64(atom + 32);
	record->offset_bytes = bytes_get64(atom + OFFSET_AT);
	record->index = bytes_get16(atom + INDEX_AT);
	record->atoms = bytes_get16(atom + 50);
	record->stream = bytes_get16(atom + 52);
	record->first_sequence = bytes_get64(atom + 56);
	record->durable_sequence = bytes_get64(atom + 64);
	record->issued_ns = bytes_get64(atom + 72);
}

static bool is_blank(const uint8_t *atom)
{
	return (atom[0] == 0x00 || atom[0] == 0xff) &&
	       memcmp(atom, atom + 1, RUN_ATOM_BYTES - 1) == 0;
}

static bool has_frame(const uint8_t *atom)
{
	return bytes_get32(atom) == MAGIC && bytes_get16(atom + 4) == VERSION &&
	       bytes_get16(atom + 6) == 0 && bytes_get16(atom + 54) == 0;
}

/* The checksums of COUNT atoms, their own places counting as zero. */
static void checksum_batch(const uint8_t *atoms, size_t count, uint32_t *crcs)
{
	uint8_t heads[BATCH_ATOMS * HEAD_BYTES];

	for (size_t i = 0; i < count; i++) {
		memcpy(heads + i * HEAD_BYTES, atoms + i * RUN_ATOM_BYTES,
		       HEAD_BYTES);
		bytes_put32(heads + i * HEAD_BYTES + CRC_AT, 0);
	}
	memset(crcs, 0, count * sizeof(*crcs));
	crc32c_extend_many(crcs, count, heads, HEAD_BYTES, HEAD_BYTES);
	crc32c_extend_many(crcs, count, atoms + HEAD_BYTES, RUN_ATOM_BYTES,
			   RUN_ATOM_BYTES - HEAD_BYTES);
}

static bool is_fill(const struct record *record)
{
	return record->cycle == 0 && record->atoms == 1 && record->index == 0 &&
	       record->stream == 0 && record->first_sequence == 1 &&
	       record->durable_sequence == 0 && record->issued_ns == 0;
}

/* Whether the numbers can stand together at all. */
static bool is_possible(const struct record *record)
{
	if (record->offset_bytes % RUN_ATOM_BYTES != 0 ||
	    record->offset_bytes / RUN_ATOM_BYTES < record->index)
		return false;
	if (record->sequence == 0)
		return is_fill(record);
	return record->cycle >= 1 && record->stream < RUN_STREAMS_MAX &&
	       record->atoms >= 1 && record->atoms <= ATOMS_MAX &&
	       record->index < record->atoms && record->first_sequence >= 1 &&
	       record->first_sequence <= record->sequence &&
	       record->durable_sequence >= record->first_sequence - 1 &&
	       record->durable_sequence < record->sequence;
}

/* What the atom is if checksum and content are right. */
static enum record_state examine_header(const struct record_cipher *cipher,
					const uint8_t *atom,
					struct record *found)
{
	if (is_blank(atom))
		return RECORD_BLANK;
	if (!has_frame(atom))
		return RECORD_CORRUPT;
	get_header(atom, found);
	if (!is_possible(found))
		return RECORD_CORRUPT;
	if (memcmp(found->run_id, cipher->run_id, RUN_ID_BYTES) != 0)
		return RECORD_FOREIGN;
	return RECORD_GOOD;
}

static bool has_checksum(enum record_state state)
{
	return state == RECORD_GOOD || state == RECORD_FOREIGN;
}

/* Turns GOOD and FOREIGN into CORRUPT where the checksum is wrong. */
static void compare_checksums(const uint8_t *atoms, size_t count,
			      enum record_state *states)
{
	uint32_t crcs[BATCH_ATOMS];
	bool is_needed = false;

	for (size_t i = 0; i < count; i++)
		is_needed |= has_checksum(states[i]);
	if (!is_needed)
		return;
	checksum_batch(atoms, count, crcs);
	for (size_t i = 0; i < count; i++)
		if (has_checksum(states[i]) &&
		    crcs[i] != bytes_get32(atoms + i * RUN_ATOM_BYTES + CRC_AT))
			states[i] = RECORD_CORRUPT;
}

/* Turns GOOD into CORRUPT where the content is not the keystream's. */
static void compare_batch(struct record_cipher *cipher, const uint8_t *atoms,
			  size_t count, enum record_state *states,
			  const struct record *found)
{
	struct keystream_at at[BATCH_ATOMS];
	const uint8_t *content = cipher->scratch + RECORD_HEADER_BYTES;
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (states[i] == RECORD_GOOD)
			at[used++] = position_of(&found[i]);
	if (used == 0)
		return;
	keystream_make_units(cipher->keystream, at, used, cipher->scratch);
	for (size_t i = 0; i < count; i++) {
		if (states[i] != RECORD_GOOD)
			continue;
		if (memcmp(atoms + i * RUN_ATOM_BYTES + RECORD_HEADER_BYTES,
			   content, RUN_ATOM_BYTES - RECORD_HEADER_BYTES) != 0)
			states[i] = RECORD_CORRUPT;
		content += RUN_ATOM_BYTES;
	}
}

enum record_state record_examine(struct record_cipher *cipher,
				 const uint8_t atom[RUN_ATOM_BYTES],
				 struct record *found)
{
	enum record_state state = RECORD_CORRUPT;

	record_examine_many(cipher, atom, 1, &state, found);
	return state;
}

/* Both comparisons in one pass, of KEYSTREAM_BESIDE that look GOOD. */
static void check_group(struct record_cipher *cipher, const uint8_t *atoms,
			enum record_state *states, const struct record *found)
{
	struct keystream_at at[KEYSTREAM_BESIDE];
	uint32_t crcs[KEYSTREAM_BESIDE];
	unsigned int others;

	for (size_t i = 0; i < KEYSTREAM_BESIDE; i++)
		at[i] = position_of(&found[i]);
	others = keystream_check(cipher->keystream, at, atoms, crcs);
	for (size_t i = 0; i < KEYSTREAM_BESIDE; i++)
		if ((others >> i & 1) != 0 ||
		    crcs[i] != bytes_get32(atoms + i * RUN_ATOM_BYTES + CRC_AT))
			states[i] = RECORD_CORRUPT;
}

static bool is_good_group(const enum record_state *states, size_t count)
{
	size_t good = 0;

	while (good < KEYSTREAM_BESIDE && good < count &&
	       states[good] == RECORD_GOOD)
		good++;
	return good == KEYSTREAM_BESIDE;
}

static void examine_batch(struct record_cipher *cipher, const uint8_t *atoms,
			  size_t count, enum record_state *states,
			  struct record *found)
{
	size_t i;

	for (i = 0; i < count; i++)
		states[i] = examine_header(cipher, atoms + i * RUN_ATOM_BYTES,
					   &found[i]);
	i = 0;
	if (keystream_is_wide(cipher->keystream))
		for (; is_good_group(states + i, count - i);
		     i += KEYSTREAM_BESIDE)
			check_group(cipher, atoms + i * RUN_ATOM_BYTES,
				    states + i, found + i);
	/* What it leaves is not of four, or not all good. */
	atoms += i * RUN_ATOM_BYTES;
	compare_checksums(atoms, count - i, states + i);
	compare_batch(cipher, atoms, count - i, states + i, found + i);
}

void record_examine_many(struct record_cipher *cipher, const uint8_t *buffer,
			 size_t count, enum record_state *states,
			 struct record *found)
{
	for (size_t i = 0; i < count; i += BATCH_ATOMS) {
		size_t left = count - i;

		examine_batch(cipher, buffer + i * RUN_ATOM_BYTES,
			      left < BATCH_ATOMS ? left : BATCH_ATOMS,
			      states + i, found + i);
	}
}
