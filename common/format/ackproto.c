/* SPDX-License-Identifier: MIT */
#include "common/format/ackproto.h"

#include <assert.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"

#define MAGIC 0x31415050U /* "PPA1" */

#define AT_MAGIC  0
#define AT_TYPE   4
#define AT_ZERO   6
#define AT_LENGTH 8
#define AT_NUMBER 12
#define AT_CRC    20

/* A HELLO of a later version may be longer; it is refused by its version. */
#define HELLO_BYTES_MIN 2
#define HELLO_BYTES_MAX 256

#define HELLO_AT_VERSION 0
#define HELLO_AT_MODE    2
#define HELLO_AT_RUN_ID  4

#define WELCOME_AT_HAS_RUN  0
#define WELCOME_AT_ZERO     1
#define WELCOME_AT_CYCLE    4
#define WELCOME_AT_RUN      8
#define WELCOME_AT_RESERVED (WELCOME_AT_RUN + RUN_BODY_BYTES)
#define WELCOME_AT_DURABLE  (WELCOME_AT_RESERVED + 8 * RUN_STREAMS_MAX)

static_assert(AT_CRC + 4 == ACKPROTO_HEADER_BYTES, "the header has 24 bytes");
static_assert(HELLO_AT_RUN_ID + RUN_ID_BYTES == ACKPROTO_HELLO_BYTES,
	      "hello has 20 bytes");
static_assert(WELCOME_AT_DURABLE + 8 * RUN_STREAMS_MAX ==
		      ACKPROTO_WELCOME_BYTES,
	      "welcome ends behind the durable numbers");
static_assert(ACKPROTO_WELCOME_BYTES <= ACKPROTO_PAYLOAD_MAX,
	      "welcome fits one frame");

static uint32_t crc_of(const uint8_t header[ACKPROTO_HEADER_BYTES],
		       const uint8_t *payload, uint32_t length)
{
	static const uint8_t zero[4];
	uint32_t crc = crc32c_extend(0, header, AT_CRC);

	crc = crc32c_extend(crc, zero, sizeof(zero));
	return length == 0 ? crc : crc32c_extend(crc, payload, length);
}

static bool is_length_right(enum ackproto_type type, uint32_t length)
{
	switch (type) {
	case ACKPROTO_HELLO:
		return length >= HELLO_BYTES_MIN && length <= HELLO_BYTES_MAX;
	case ACKPROTO_BODIES:
		return length >= 1 && length <= ACKPROTO_PAYLOAD_MAX;
	case ACKPROTO_WELCOME:
		return length == ACKPROTO_WELCOME_BYTES;
	case ACKPROTO_CONFIRM:
		return length == 0;
	case ACKPROTO_REFUSE:
		return length >= 1 && length <= ACKPROTO_TEXT_BYTES;
	}
	return false;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

void ackproto_encode(enum ackproto_type type, uint64_t number,
		     const uint8_t *payload, uint32_t length, uint8_t *frame)
{
	uint8_t *behind = frame + ACKPROTO_HEADER_BYTES;

	assert(is_length_right(type, length));
	if (length > 0 && payload != behind)
		memmove(behind, payload, length);
	bytes_put32(frame + AT_MAGIC, MAGIC);
	bytes_put16(frame + AT_TYPE, (uint16_t)type);
	bytes_put16(frame + AT_ZERO, 0);
	bytes_put32(frame + AT_LENGTH, length);
	bytes_put64(frame + AT_NUMBER, number);
	bytes_put32(frame + AT_CRC, crc_of(frame, behind, length));
}

int ackproto_decode_header(struct ackproto_header *header,
			   const uint8_t bytes[ACKPROTO_HEADER_BYTES],
			   struct err *err)
{
	uint16_t type = bytes_get16(bytes + AT_TYPE);

	if (bytes_get32(bytes + AT_MAGIC) != MAGIC)
		return err_set(err, "the peer does not speak the "
				    "acknowledgement protocol");
	if (type < ACKPROTO_HELLO || type > ACKPROTO_REFUSE ||
	    bytes_get16(bytes + AT_ZERO) != 0)
		return err_set(err,
			       "the peer sent an unknown message (type %u)",
			       type);
	header->type = (enum ackproto_type)type;
	header->length = bytes_get32(bytes + AT_LENGTH);
	header->number = bytes_get64(bytes + AT_NUMBER);
	header->crc = bytes_get32(bytes + AT_CRC);
	if (!is_length_right(header->type, header->length))
		return err_set(err,
			       "the peer sent a message of type %u with an "
			       "impossible length of %u bytes",
			       type, header->length);
	if (header->type == ACKPROTO_BODIES && header->number == 0)
		return err_set(err, "the peer sent statements without a "
				    "message number");
	return 0;
}

int ackproto_check(const struct ackproto_header *header,
		   const uint8_t bytes[ACKPROTO_HEADER_BYTES],
		   const uint8_t *payload, struct err *err)
{
	uint32_t crc = crc_of(bytes, payload, header->length);

	if (crc != header->crc)
		return err_set(err,
			       "a message arrived damaged: bad checksum %08x "
			       "instead of %08x",
			       header->crc, crc);
	return 0;
}

void ackproto_encode_hello(const struct ackproto_hello *hello,
			   uint8_t payload[ACKPROTO_HELLO_BYTES])
{
	bytes_put16(payload + HELLO_AT_VERSION, hello->version);
	bytes_put16(payload + HELLO_AT_MODE, (uint16_t)hello->mode);
	memcpy(payload + HELLO_AT_RUN_ID, hello->run_id, RUN_ID_BYTES);
}

int ackproto_decode_hello(struct ackproto_hello *hello, const uint8_t *payload,
			  size_t length, struct err *err)
{
	uint16_t mode;

	if (length < HELLO_BYTES_MIN)
		return err_set(err, "the peer's greeting is cut short");
	hello->version = bytes_get16(payload + HELLO_AT_VERSION);
	if (hello->version != ACKPROTO_VERSION)
		return err_set(err,
			       "the peer speaks version %u of the "
			       "acknowledgement protocol, this program version "
			       "%u",
			       hello->version, ACKPROTO_VERSION);
	if (length != ACKPROTO_HELLO_BYTES)
		return err_set(err,
			       "the peer's greeting has %zu bytes instead "
			       "of %d",
			       length, ACKPROTO_HELLO_BYTES);
	mode = bytes_get16(payload + HELLO_AT_MODE);
	if (mode < ACKPROTO_NEW || mode > ACKPROTO_OBSERVE)
		return err_set(err, "the peer's greeting has unknown mode %u",
			       mode);
	hello->mode = (enum ackproto_mode)mode;
	memcpy(hello->run_id, payload + HELLO_AT_RUN_ID, RUN_ID_BYTES);
	if (is_zero(hello->run_id, RUN_ID_BYTES))
		return err_set(err, "the peer's greeting names no run");
	return 0;
}

void ackproto_encode_welcome(const struct ackproto_welcome *welcome,
			     uint8_t payload[ACKPROTO_WELCOME_BYTES])
{
	memset(payload, 0, ACKPROTO_WELCOME_BYTES);
	if (!welcome->has_run)
		return;
	payload[WELCOME_AT_HAS_RUN] = 1;
	bytes_put32(payload + WELCOME_AT_CYCLE, welcome->cycle);
	run_encode_body(&welcome->run, payload + WELCOME_AT_RUN);
	for (size_t i = 0; i < welcome->run.streams; i++) {
		bytes_put64(payload + WELCOME_AT_RESERVED + 8 * i,
			    welcome->reserved[i]);
		bytes_put64(payload + WELCOME_AT_DURABLE + 8 * i,
			    welcome->durable[i]);
	}
}

/* Numbers of streams that the run does not have are 0. */
static int decode_numbers(struct ackproto_welcome *welcome,
			  const uint8_t *payload, struct err *err)
{
	for (size_t i = 0; i < RUN_STREAMS_MAX; i++) {
		uint64_t reserved =
			bytes_get64(payload + WELCOME_AT_RESERVED + 8 * i);
		uint64_t durable =
			bytes_get64(payload + WELCOME_AT_DURABLE + 8 * i);

		if (reserved > ACKBODY_SEQUENCE_MAX || durable > reserved ||
		    (i >= welcome->run.streams && reserved != 0))
			return err_set(err,
				       "the collector's answer has impossible "
				       "numbers for stream %zu",
				       i);
		welcome->reserved[i] = reserved;
		welcome->durable[i] = durable;
	}
	return 0;
}

int ackproto_decode_welcome(struct ackproto_welcome *welcome,
			    const uint8_t *payload, size_t length,
			    struct err *err)
{
	if (length != ACKPROTO_WELCOME_BYTES)
		return err_set(err,
			       "the collector's answer has %zu bytes "
			       "instead of %d",
			       length, ACKPROTO_WELCOME_BYTES);
	if (payload[WELCOME_AT_HAS_RUN] > 1 ||
	    !is_zero(payload + WELCOME_AT_ZERO, 3))
		return err_set(err, "the collector's answer is malformed");
	memset(welcome, 0, sizeof(*welcome));
	if (payload[WELCOME_AT_HAS_RUN] == 0) {
		if (!is_zero(payload, length))
			return err_set(err, "the collector's answer speaks of "
					    "a run that it does not have");
		return 0;
	}
	welcome->has_run = true;
	welcome->cycle = bytes_get32(payload + WELCOME_AT_CYCLE);
	if (run_decode_body(&welcome->run, payload + WELCOME_AT_RUN, err) < 0)
		return err_prefix(err, "the collector's answer");
	return decode_numbers(welcome, payload, err);
}
