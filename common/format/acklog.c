/* SPDX-License-Identifier: MIT */
#include "common/format/acklog.h"

#include <assert.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"

#define AT_MAGIC    0
#define AT_LENGTH   4
#define AT_INDEX    8
#define AT_ARRIVAL  16
#define AT_PREVIOUS 24
#define AT_CRC      28

static_assert(AT_CRC + 4 == ACKLOG_HEADER_BYTES, "the header has 32 bytes");

static uint32_t crc_of(const uint8_t header[ACKLOG_HEADER_BYTES],
		       const uint8_t *payload, uint32_t length)
{
	static const uint8_t zero[4];
	uint32_t crc = crc32c_extend(0, header, AT_CRC);

	crc = crc32c_extend(crc, zero, sizeof(zero));
	return crc32c_extend(crc, payload, length);
}

void acklog_encode(struct acklog_frame *frame, const uint8_t *payload,
		   uint8_t header[ACKLOG_HEADER_BYTES])
{
	assert(frame->length >= 1 && frame->length <= ACKLOG_PAYLOAD_MAX);
	bytes_put32(header + AT_MAGIC, ACKLOG_MAGIC);
	bytes_put32(header + AT_LENGTH, frame->length);
	bytes_put64(header + AT_INDEX, frame->index);
	bytes_put64(header + AT_ARRIVAL, frame->arrival_ns);
	bytes_put32(header + AT_PREVIOUS, frame->previous_crc);
	frame->crc = crc_of(header, payload, frame->length);
	bytes_put32(header + AT_CRC, frame->crc);
}

int acklog_decode_header(struct acklog_frame *frame,
			 const uint8_t header[ACKLOG_HEADER_BYTES],
			 struct err *err)
{
	uint32_t magic = bytes_get32(header + AT_MAGIC);

	if (magic != ACKLOG_MAGIC)
		return err_set(err, "no frame begins here (magic %08x)", magic);
	frame->length = bytes_get32(header + AT_LENGTH);
	frame->index = bytes_get64(header + AT_INDEX);
	frame->arrival_ns = bytes_get64(header + AT_ARRIVAL);
	frame->previous_crc = bytes_get32(header + AT_PREVIOUS);
	frame->crc = bytes_get32(header + AT_CRC);
	if (frame->length < 1 || frame->length > ACKLOG_PAYLOAD_MAX)
		return err_set(err, "impossible payload length of %u bytes",
			       frame->length);
	return 0;
}

int acklog_check(const struct acklog_frame *frame,
		 const uint8_t header[ACKLOG_HEADER_BYTES],
		 const uint8_t *payload, struct err *err)
{
	uint32_t crc = crc_of(header, payload, frame->length);

	if (crc != frame->crc)
		return err_set(err, "bad checksum %08x instead of %08x",
			       frame->crc, crc);
	return 0;
}
