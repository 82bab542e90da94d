/* SPDX-License-Identifier: MIT */
/*
 * What the other end of an agent's connection sends is taken whole or refused;
 * what is taken encodes to the bytes that came, and every word ends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/agentwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_words(const uint8_t *payload, uint32_t length)
{
	static uint8_t again[AGENTWIRE_PAYLOAD_MAX];
	static struct agentwire_words words;
	uint32_t written = 0;
	struct err err;

	if (agentwire_decode_words(&words, payload, length, &err) < 0)
		return;
	if (words.count < 1 || words.words[words.count] != NULL ||
	    agentwire_encode_words(words.words, words.count, again, &written,
				   &err) < 0 ||
	    written != length || memcmp(again, payload, length) != 0)
		abort();
}

static void try_small(const struct agentwire_header *header,
		      const uint8_t *payload)
{
	uint8_t again[AGENTWIRE_CREDIT_BYTES];
	struct agentwire_credit credit;
	struct agentwire_exit end;
	struct err err;

	if (header->type == AGENTWIRE_EXIT &&
	    agentwire_decode_exit(&end, payload, &err) == 0) {
		agentwire_encode_exit(&end, again);
		if (memcmp(again, payload, AGENTWIRE_EXIT_BYTES) != 0)
			abort();
	}
	if (header->type == AGENTWIRE_CREDIT &&
	    agentwire_decode_credit(&credit, payload, &err) == 0) {
		agentwire_encode_credit(&credit, again);
		if (memcmp(again, payload, AGENTWIRE_CREDIT_BYTES) != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[AGENTWIRE_HEADER_BYTES];
	struct agentwire_header header;
	struct err err;

	while (size >= AGENTWIRE_HEADER_BYTES &&
	       agentwire_decode_header(&header, data, &err) == 0) {
		agentwire_encode_header(&header, again);
		if (memcmp(again, data, sizeof(again)) != 0)
			abort();
		data += AGENTWIRE_HEADER_BYTES;
		size -= AGENTWIRE_HEADER_BYTES;
		if (header.length > size)
			return 0;
		if (header.type == AGENTWIRE_RUN)
			try_words(data, header.length);
		try_small(&header, data);
		data += header.length;
		size -= header.length;
	}
	return 0;
}
