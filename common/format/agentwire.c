/* SPDX-License-Identifier: MIT */
#include "common/format/agentwire.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/err.h"

#define MAGIC      'G'
#define AT_MAGIC   0
#define AT_VERSION 1
#define AT_TYPE    2
#define AT_ZERO    3
#define AT_LENGTH  4

static_assert(AT_LENGTH + 4 == AGENTWIRE_HEADER_BYTES, "a header's bytes");
static_assert(2 + AGENTWIRE_WORDS_MAX + AGENTWIRE_TEXT_MAX <=
		      AGENTWIRE_PAYLOAD_MAX,
	      "all words fit in one frame");

static bool is_length_right(uint8_t type, uint32_t length)
{
	switch (type) {
	case AGENTWIRE_HELLO:
	case AGENTWIRE_END:
	case AGENTWIRE_ALIVE:
		return length == 0;
	case AGENTWIRE_RUN:
		return length >= 2 && length <= AGENTWIRE_PAYLOAD_MAX;
	case AGENTWIRE_STDIN:
	case AGENTWIRE_STDOUT:
	case AGENTWIRE_STDERR:
		return length <= AGENTWIRE_DATA_MAX;
	case AGENTWIRE_CREDIT:
		return length == AGENTWIRE_CREDIT_BYTES;
	case AGENTWIRE_EXIT:
		return length == AGENTWIRE_EXIT_BYTES;
	default:
		return false;
	}
}

void agentwire_encode_header(const struct agentwire_header *header,
			     uint8_t bytes[AGENTWIRE_HEADER_BYTES])
{
	assert(is_length_right((uint8_t)header->type, header->length));
	bytes[AT_MAGIC] = MAGIC;
	bytes[AT_VERSION] = AGENTWIRE_VERSION;
	bytes[AT_TYPE] = (uint8_t)header->type;
	bytes[AT_ZERO] = 0;
	bytes_put32(bytes + AT_LENGTH, header->length);
}

int agentwire_decode_header(struct agentwire_header *header,
			    const uint8_t bytes[AGENTWIRE_HEADER_BYTES],
			    struct err *err)
{
	uint32_t length = bytes_get32(bytes + AT_LENGTH);

	if (bytes[AT_MAGIC] != MAGIC || bytes[AT_ZERO] != 0)
		return err_set(err, "the peer is no plugpull-agent");
	if (bytes[AT_VERSION] != AGENTWIRE_VERSION)
		return err_set(err,
			       "the peer speaks version %u, this is version "
			       "%d: install the same plugpull on both hosts",
			       bytes[AT_VERSION], AGENTWIRE_VERSION);
	if (!is_length_right(bytes[AT_TYPE], length))
		return err_set(err, "impossible frame of type %u, %u bytes",
			       bytes[AT_TYPE], length);
	header->type = (enum agentwire_type)bytes[AT_TYPE];
	header->length = length;
	return 0;
}

int agentwire_encode_words(char *const *words, size_t count,
			   uint8_t payload[AGENTWIRE_PAYLOAD_MAX],
			   uint32_t *length, struct err *err)
{
	size_t used = 2;

	if (count < 1)
		return err_set(err, "there is no program to run");
	if (count > AGENTWIRE_WORDS_MAX)
		return err_set(err, "a command has at most %d words",
			       AGENTWIRE_WORDS_MAX);
	bytes_put16(payload, (uint16_t)count);
	for (size_t i = 0; i < count; i++) {
		size_t word = strlen(words[i]) + 1;

		if (word > 2 + AGENTWIRE_TEXT_MAX - used)
			return err_set(err, "a command has at most %d bytes",
				       AGENTWIRE_TEXT_MAX);
		memcpy(payload + used, words[i], word);
		used += word;
	}
	*length = (uint32_t)used;
	return 0;
}

int agentwire_decode_words(struct agentwire_words *words,
			   const uint8_t *payload, uint32_t length,
			   struct err *err)
{
	size_t at = 0;

	words->count = 0;
	if (length < 3 || length - 2 > sizeof(words->text) ||
	    payload[length - 1] != '\0')
		return err_set(err, "the command is not whole, or too long");
	memcpy(words->text, payload + 2, length - 2);
	while (at < length - 2 && words->count < AGENTWIRE_WORDS_MAX) {
		words->words[words->count++] = words->text + at;
		at += strlen(words->text + at) + 1;
	}
	words->words[words->count] = NULL;
	if (at != length - 2 || words->count != bytes_get16(payload))
		return err_set(err, "the command has too many words, or not "
				    "as many as it says");
	return 0;
}

void agentwire_encode_exit(const struct agentwire_exit *exit,
			   uint8_t payload[AGENTWIRE_EXIT_BYTES])
{
	payload[0] = (uint8_t)exit->ending;
	payload[1] = exit->code;
}

int agentwire_decode_exit(struct agentwire_exit *exit,
			  const uint8_t payload[AGENTWIRE_EXIT_BYTES],
			  struct err *err)
{
	if (payload[0] > AGENTWIRE_KILLED)
		return err_set(err, "impossible end of a program (%u)",
			       payload[0]);
	exit->ending = (enum agentwire_ending)payload[0];
	exit->code = payload[1];
	return 0;
}

void agentwire_encode_credit(const struct agentwire_credit *credit,
			     uint8_t payload[AGENTWIRE_CREDIT_BYTES])
{
	payload[0] = (uint8_t)credit->stream;
	bytes_put32(payload + 1, credit->bytes);
}

int agentwire_decode_credit(struct agentwire_credit *credit,
			    const uint8_t payload[AGENTWIRE_CREDIT_BYTES],
			    struct err *err)
{
	uint32_t bytes = bytes_get32(payload + 1);

	if (payload[0] < AGENTWIRE_STDIN || payload[0] > AGENTWIRE_STDERR ||
	    bytes < 1 || bytes > AGENTWIRE_WINDOW)
		return err_set(err, "impossible credit of %u bytes for %u",
			       bytes, payload[0]);
	credit->stream = (enum agentwire_type)payload[0];
	credit->bytes = bytes;
	return 0;
}
