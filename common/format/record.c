/* SPDX-License-Identifier: MIT */
#include "common/format/record.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"

#define MAGIC      0x54415050U /* "PPAT" */
#define VERSION    1
#define CRC_AT     8
#define HEAD_BYTES 16 /* with the checksum; leaves whole words behind it */
#define ATOMS_MAX  (RUN_BLOCK_BYTES_MAX / RUN_ATOM_BYTES)

#define KEY_BYTES          16
#define CIPHER_BLOCK_BYTES 16
#define FILL_SPAN_BYTES    (1024U * 1024U) /* one counter space */
#define FILL_STREAM        0xffffU         /* above every real stream */
#define BATCH_ATOMS        32U             /* go through the cache at once */

static_assert(ATOMS_MAX == 8192, "the limit in docs/FORMATS.md");
static_assert(RUN_STREAMS_MAX < FILL_STREAM, "fill has a counter of its own");

struct record_cipher {
	EVP_CIPHER_CTX *context;
	uint8_t run_id[RUN_ID_BYTES];
	uint8_t scratch[BATCH_ATOMS * RUN_ATOM_BYTES];
};

/* Where in the keystream of the run an atom stands. */
struct position {
	uint64_t high;
	uint16_t stream;
	uint32_t block; /* counter, in units of CIPHER_BLOCK_BYTES */
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
	cipher->context = EVP_CIPHER_CTX_new();
	if (cipher->context == NULL || !derive_key(run_id, digest) ||
	    EVP_EncryptInit_ex(cipher->context, EVP_aes_128_ecb(), NULL, digest,
			       NULL) != 1 ||
	    EVP_CIPHER_CTX_set_padding(cipher->context, 0) != 1) {
		(void)err_set(err, "cannot set up the keystream: libcrypto "
				   "offers no AES-128 or SHA-256");
		record_cipher_free(cipher);
		return NULL;
	}
	return cipher;
}

void record_cipher_free(struct record_cipher *cipher)
{
	if (cipher == NULL)
		return;
	EVP_CIPHER_CTX_free(cipher->context);
	free(cipher);
}

static struct position position_in_write(uint64_t sequence, uint16_t stream,
					 uint16_t index)
{
	return (struct position){
		.high = sequence,
		.stream = stream,
		.block =
			index * (uint32_t)(RUN_ATOM_BYTES / CIPHER_BLOCK_BYTES),
	};
}

static struct position position_in_fill(uint64_t offset_bytes)
{
	return (struct position){
		.high = offset_bytes / FILL_SPAN_BYTES,
		.stream = FILL_STREAM,
		.block = (uint32_t)(offset_bytes % FILL_SPAN_BYTES) /
			 CIPHER_BLOCK_BYTES,
	};
}

/* The counter blocks of COUNT bytes of keystream. */
static void put_counters(struct position at, uint8_t *buffer, size_t count)
{
	uint64_t high = htobe64(at.high);
	uint64_t low = (uint64_t)at.stream << 48 | at.block;

	for (; count > 0; count -= CIPHER_BLOCK_BYTES) {
		uint64_t last = htobe64(low++);

		memcpy(buffer, &high, 8);
		memcpy(buffer + 8, &last, 8);
		buffer += CIPHER_BLOCK_BYTES;
	}
}

/*
 * CTR keystream is its counters, encrypted: done here by hand, atoms of many
 * writes share a cipher call, and no call sets up a counter. With a key that
 * was taken and a valid length libcrypto has no reason left to refuse; if it
 * does, no atom may leave half built.
 */
static void encrypt(struct record_cipher *cipher, uint8_t *counters,
		    size_t count)
{
	int done = 0;

	if (EVP_EncryptUpdate(cipher->context, counters, &done, counters,
			      (int)count) != 1 ||
	    done != (int)count)
		abort();
}

static void keystream(struct record_cipher *cipher, struct position at,
		      uint8_t *buffer, size_t count)
{
	put_counters(at, buffer, count);
	encrypt(cipher, buffer, count);
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
	bytes_put64(atom + 40, record->offset_bytes);
	bytes_put16(atom + 48, record->index);
	bytes_put16(atom + 50, record->atoms);
	bytes_put16(atom + 52, record->stream);
	bytes_put16(atom + 54, 0);
	bytes_put64(atom + 56, record->first_sequence);
	bytes_put64(atom + 64, record->durable_sequence);
	bytes_put64(atom + 72, record->issued_ns);
}

/* Lays the headers of COUNT atoms over their keystream: FIRST and those behind
 * it, whose index goes up by INDEX_STEP. */
static void seal(uint8_t *atoms, const struct record *first, size_t count,
		 uint16_t index_step)
{
	struct record record = *first;

	while (count > 0) {
		uint32_t crcs[BATCH_ATOMS] = {0};
		size_t batch = count < BATCH_ATOMS ? count : BATCH_ATOMS;

		for (size_t i = 0; i < batch; i++) {
			put_header(atoms + i * RUN_ATOM_BYTES, &record);
			record.offset_bytes += RUN_ATOM_BYTES;
			record.index = (uint16_t)(record.index + index_step);
		}
		crc32c_extend_many(crcs, batch, atoms, RUN_ATOM_BYTES,
				   RUN_ATOM_BYTES);
		for (size_t i = 0; i < batch; i++)
			bytes_put32(atoms + i * RUN_ATOM_BYTES + CRC_AT,
				    crcs[i]);
		atoms += batch * RUN_ATOM_BYTES;
		count -= batch;
	}
}

void record_build(struct record_cipher *cipher, const struct record *write,
		  uint8_t *buffer)
{
	assert(write->sequence >= 1 && write->index == 0);
	assert(write->atoms >= 1 && write->atoms <= ATOMS_MAX);
	assert(memcmp(write->run_id, cipher->run_id, RUN_ID_BYTES) == 0);

	keystream(cipher, position_in_write(write->sequence, write->stream, 0),
		  buffer, (size_t)write->atoms * RUN_ATOM_BYTES);
	seal(buffer, write, write->atoms, 1);
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

	assert(offset_bytes % RUN_ATOM_BYTES == 0);

	while (count > 0) {
		size_t span = (FILL_SPAN_BYTES -
			       atom.offset_bytes % FILL_SPAN_BYTES) /
			      RUN_ATOM_BYTES;

		if (span > count)
			span = count;
		keystream(cipher, position_in_fill(atom.offset_bytes), buffer,
			  span * RUN_ATOM_BYTES);
		seal(buffer, &atom, span, 0);
		buffer += span * RUN_ATOM_BYTES;
		atom.offset_bytes += span * RUN_ATOM_BYTES;
		count -= span;
	}
}

static void get_header(const uint8_t *atom, struct record *record)
{
	record->cycle = bytes_get32(atom + 12);
	memcpy(record->run_id, atom + 16, RUN_ID_BYTES);
	record->sequence = bytes_get64(atom + 32);
	record->offset_bytes = bytes_get64(atom + 40);
	record->index = bytes_get16(atom + 48);
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

/* Everything but the comparison with the keystream. */
static enum record_state examine_header(const struct record_cipher *cipher,
					const uint8_t *atom, uint32_t crc,
					struct record *found)
{
	if (is_blank(atom))
		return RECORD_BLANK;
	if (!has_frame(atom) || crc != bytes_get32(atom + CRC_AT))
		return RECORD_CORRUPT;
	get_header(atom, found);
	if (!is_possible(found))
		return RECORD_CORRUPT;
	if (memcmp(found->run_id, cipher->run_id, RUN_ID_BYTES) != 0)
		return RECORD_FOREIGN;
	return RECORD_GOOD;
}

static struct position position_of(const struct record *record)
{
	if (record->sequence == 0)
		return position_in_fill(record->offset_bytes);
	return position_in_write(record->sequence, record->stream,
				 record->index);
}

/* Turns GOOD into CORRUPT where the content is not the keystream's. */
static void compare_batch(struct record_cipher *cipher, const uint8_t *atoms,
			  size_t count, enum record_state *states,
			  const struct record *found)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (states[i] != RECORD_GOOD)
			continue;
		put_counters(position_of(&found[i]), cipher->scratch + used,
			     RUN_ATOM_BYTES);
		used += RUN_ATOM_BYTES;
	}
	if (used > 0)
		encrypt(cipher, cipher->scratch, used);
	used = 0;
	for (size_t i = 0; i < count; i++) {
		if (states[i] != RECORD_GOOD)
			continue;
		if (memcmp(atoms + i * RUN_ATOM_BYTES + RECORD_HEADER_BYTES,
			   cipher->scratch + used + RECORD_HEADER_BYTES,
			   RUN_ATOM_BYTES - RECORD_HEADER_BYTES) != 0)
			states[i] = RECORD_CORRUPT;
		used += RUN_ATOM_BYTES;
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

static void examine_batch(struct record_cipher *cipher, const uint8_t *atoms,
			  size_t count, enum record_state *states,
			  struct record *found)
{
	uint32_t crcs[BATCH_ATOMS];

	checksum_batch(atoms, count, crcs);
	for (size_t i = 0; i < count; i++)
		states[i] = examine_header(cipher, atoms + i * RUN_ATOM_BYTES,
					   crcs[i], &found[i]);
	compare_batch(cipher, atoms, count, states, found);
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
