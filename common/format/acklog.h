/* SPDX-License-Identifier: MIT */
/*
 * acklog - the framing of the ack log file: chained, checksummed frames, each
 * with a payload of bodies (ackbody.h). Pure; ackfile.h does the I/O.
 *
 * Header (little endian): magic "PPL1", payload length u32, index u64 (from 0),
 * arrival u64 (wall clock ns of the host that keeps the log), CRC of the frame
 * before (0 for the first), CRC-32C of header (this field as zero) and payload.
 */
#ifndef COMMON_FORMAT_ACKLOG_H
#define COMMON_FORMAT_ACKLOG_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define ACKLOG_HEADER_BYTES 32
#define ACKLOG_PAYLOAD_MAX  (256 * 1024)
#define ACKLOG_MAGIC        0x314c5050U /* "PPL1" */

struct acklog_frame {
	uint32_t length; /* of the payload, 1 ... ACKLOG_PAYLOAD_MAX */
	uint64_t index;
	uint64_t arrival_ns;
	uint32_t previous_crc;
	uint32_t crc;
};

/* Encodes the header for PAYLOAD and stores the CRC in FRAME->crc. */
void acklog_encode(struct acklog_frame *frame, const uint8_t *payload,
		   uint8_t header[ACKLOG_HEADER_BYTES]);

/* -1 where the header by itself is impossible (magic, length). */
int acklog_decode_header(struct acklog_frame *frame,
			 const uint8_t header[ACKLOG_HEADER_BYTES],
			 struct err *err);

/* -1 where the CRC of header and payload is not FRAME->crc. */
int acklog_check(const struct acklog_frame *frame,
		 const uint8_t header[ACKLOG_HEADER_BYTES],
		 const uint8_t *payload, struct err *err);

#endif
