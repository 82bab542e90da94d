/* SPDX-License-Identifier: MIT */
/*
 * ackproto - the frames between a writer (or campaign) and the collector.
 *
 * A client says HELLO and gets WELCOME or REFUSE. Then it sends BODIES frames,
 * numbered from 1 within the connection; the collector appends each payload to
 * the run's log, makes it durable and answers CONFIRM with the highest number
 * that is safe (P2). After a lost connection the client says HELLO again and
 * repeats every body that was not confirmed; saying a thing twice is harmless.
 *
 * HELLO with mode NEW claims a run that the collector does not have; its first
 * BODIES frame holds the RUN body. RESUME claims a run that it has. OBSERVE
 * claims nothing: it may only send EVENT bodies (the campaign's cut asked,
 * P11). One writer a run at a time; a second is refused by name.
 */
#ifndef COMMON_FORMAT_ACKPROTO_H
#define COMMON_FORMAT_ACKPROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/run.h"

struct err;

#define ACKPROTO_VERSION      2
#define ACKPROTO_HEADER_BYTES 24
#define ACKPROTO_PAYLOAD_MAX  (64 * 1024)
#define ACKPROTO_TEXT_BYTES   400

enum ackproto_type {
	ACKPROTO_HELLO = 1,
	ACKPROTO_BODIES,
	ACKPROTO_WELCOME,
	ACKPROTO_CONFIRM, /* no payload; number is what is confirmed */
	ACKPROTO_REFUSE,  /* payload: text, lower case, the reason */
};

enum ackproto_mode { ACKPROTO_NEW = 1, ACKPROTO_RESUME, ACKPROTO_OBSERVE };

struct ackproto_header {
	enum ackproto_type type;
	uint32_t length; /* of the payload */
	uint64_t number;
	uint32_t crc; /* of header (this field as zero) and payload */
};

struct ackproto_hello {
	uint16_t version;
	enum ackproto_mode mode;
	uint8_t run_id[RUN_ID_BYTES];
};

/* What the log already says; a NEW run: has_run false, all else 0. */
struct ackproto_welcome {
	bool has_run;
	struct run run;
	uint32_t cycle; /* the last one; 0 before the first */
	uint64_t reserved[RUN_STREAMS_MAX];
	uint64_t durable[RUN_STREAMS_MAX]; /* highest number known durable */
};

#define ACKPROTO_HELLO_BYTES   20
#define ACKPROTO_WELCOME_BYTES (8 + RUN_BODY_BYTES + 16 * RUN_STREAMS_MAX)

/* FRAME has room for header + length; PAYLOAD may be NULL if length is 0, or
 * already lie behind the header. */
void ackproto_encode(enum ackproto_type type, uint64_t number,
		     const uint8_t *payload, uint32_t length, uint8_t *frame);
int ackproto_decode_header(struct ackproto_header *header,
			   const uint8_t bytes[ACKPROTO_HEADER_BYTES],
			   struct err *err);
int ackproto_check(const struct ackproto_header *header,
		   const uint8_t bytes[ACKPROTO_HEADER_BYTES],
		   const uint8_t *payload, struct err *err);

void ackproto_encode_hello(const struct ackproto_hello *hello,
			   uint8_t payload[ACKPROTO_HELLO_BYTES]);
int ackproto_decode_hello(struct ackproto_hello *hello, const uint8_t *payload,
			  size_t length, struct err *err);
void ackproto_encode_welcome(const struct ackproto_welcome *welcome,
			     uint8_t payload[ACKPROTO_WELCOME_BYTES]);
int ackproto_decode_welcome(struct ackproto_welcome *welcome,
			    const uint8_t *payload, size_t length,
			    struct err *err);

#endif
