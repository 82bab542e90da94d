/* SPDX-License-Identifier: MIT */
/*
 * Whatever a drive returns is examined without harm, one by one or many at
 * once with the same answer, and what is called good is what would be built.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/record.h"

#define ATOMS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct record_cipher *the_cipher(void)
{
	static struct record_cipher *cipher;
	uint8_t id[RUN_ID_BYTES];
	struct err err;

	for (uint8_t i = 0; i < RUN_ID_BYTES; i++)
		id[i] = (uint8_t)(i + 1);
	if (cipher == NULL)
		cipher = record_cipher_new(id, &err);
	if (cipher == NULL)
		abort();
	return cipher;
}

static void check_good(const struct record *found)
{
	if (found->offset_bytes % RUN_ATOM_BYTES != 0 || found->atoms == 0 ||
	    found->index >= found->atoms)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_cipher *cipher = the_cipher();
	enum record_state states[ATOMS_MAX];
	struct record found[ATOMS_MAX];
	uint8_t atoms[ATOMS_MAX * RUN_ATOM_BYTES] = {0};
	size_t count;

	if (size > sizeof(atoms))
		size = sizeof(atoms);
	memcpy(atoms, data, size);
	count = (size + RUN_ATOM_BYTES - 1) / RUN_ATOM_BYTES;
	record_examine_many(cipher, atoms, count, states, found);
	for (size_t i = 0; i < count; i++) {
		struct record one;

		if (record_examine(cipher, atoms + i * RUN_ATOM_BYTES, &one) !=
		    states[i])
			abort();
		if (states[i] != RECORD_GOOD)
			continue;
		check_good(&one);
		if (one.sequence != found[i].sequence ||
		    one.offset_bytes != found[i].offset_bytes)
			abort();
	}
	return 0;
}
