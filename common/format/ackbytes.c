/* SPDX-License-Identifier: MIT */
#include "common/format/ackbytes.h"

void ackbytes_put_byte(struct ackbytes_sink *sink, uint8_t value)
{
	if (sink->used == sink->room) {
		sink->is_short = true;
		return;
	}
	sink->bytes[sink->used++] = value;
}

void ackbytes_put_varint(struct ackbytes_sink *sink, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		ackbytes_put_byte(sink, (uint8_t)(value | 0x80));
	ackbytes_put_byte(sink, (uint8_t)value);
}

uint8_t ackbytes_get_byte(struct ackbytes_source *source)
{
	if (source->at == source->length) {
		source->is_bad = true;
		return 0;
	}
	return source->bytes[source->at++];
}

/* One number has one encoding: the shortest. */
uint64_t ackbytes_get_varint(struct ackbytes_source *source)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < ACKBYTES_VARINT_MAX; i++) {
		uint8_t byte = ackbytes_get_byte(source);

		if (source->is_bad)
			return 0;
		if (i == ACKBYTES_VARINT_MAX - 1 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80 && (byte != 0 || i == 0))
			return value;
		if (byte == 0)
			break;
	}
	source->is_bad = true;
	return 0;
}

uint64_t ackbytes_get_varint_max(struct ackbytes_source *source, uint64_t max)
{
	uint64_t value = ackbytes_get_varint(source);

	if (value <= max)
		return value;
	source->is_bad = true;
	return 0;
}
