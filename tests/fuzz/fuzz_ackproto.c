/* SPDX-License-Identifier: MIT */
/*
 * What a peer sends is taken whole or refused; what is taken encodes to the
 * bytes that came.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ackproto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_hello(const uint8_t *payload, size_t length)
{
	uint8_t again[ACKPROTO_HELLO_BYTES];
	struct ackproto_hello hello;
	struct err err;

	if (ackproto_decode_hello(&hello, payload, length, &err) < 0)
		return;
	ackproto_encode_hello(&hello, again);
	if (memcmp(again, payload, sizeof(again)) != 0)
		abort();
}

static void try_welcome(const uint8_t *payload, size_t length)
{
	uint8_t again[ACKPROTO_WELCOME_BYTES];
	struct ackproto_welcome welcome, back;
	struct err err;

	if (ackproto_decode_welcome(&welcome, payload, length, &err) < 0)
		return;
	ackproto_encode_welcome(&welcome, again);
	if (ackproto_decode_welcome(&back, again, sizeof(again), &err) < 0 ||
	    memcmp(back.reserved, welcome.reserved, sizeof(back.reserved)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ackproto_header header;
	struct err err;

	/* Without the frame's checksum in the way, too. */
	try_hello(data, size);
	try_welcome(data, size);
	if (size < ACKPROTO_HEADER_BYTES ||
	    ackproto_decode_header(&header, data, &err) < 0)
		return 0;
	data += ACKPROTO_HEADER_BYTES;
	size -= ACKPROTO_HEADER_BYTES;
	if (header.length > ACKPROTO_PAYLOAD_MAX)
		abort();
	if (header.length > size)
		return 0;
	(void)ackproto_check(&header, data - ACKPROTO_HEADER_BYTES, data, &err);
	if (header.type == ACKPROTO_HELLO)
		try_hello(data, header.length);
	if (header.type == ACKPROTO_WELCOME)
		try_welcome(data, header.length);
	return 0;
}
