/* SPDX-License-Identifier: MIT */
#include "common/format/ackbody.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

#define VARINT_BYTES_MAX 10
#define SYNC_VALUE_MAX   UINT32_MAX
#define SYNC_TEXT_BYTES  32

/* Content being written; is_short once something did not fit. */
struct sink {
	uint8_t *bytes;
	size_t room, used;
	bool is_short;
};

/* Content being read; is_bad once something was not there or not canonical. */
struct source {
	const uint8_t *bytes;
	size_t length, at;
	bool is_bad;
};

static void put_byte(struct sink *sink, uint8_t value)
{
	if (sink->used == sink->room) {
		sink->is_short = true;
		return;
	}
	sink->bytes[sink->used++] = value;
}

static void put_varint(struct sink *sink, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(sink, (uint8_t)(value | 0x80));
	put_byte(sink, (uint8_t)value);
}

/* What is told is printed one day: control characters become spaces. */
static void put_text(struct sink *sink, const char *text)
{
	assert(memchr(text, '\0', ACKBODY_TEXT_BYTES) != NULL);
	for (; *text != '\0'; text++) {
		uint8_t byte = (uint8_t)*text;

		put_byte(sink, byte < 0x20 || byte == 0x7f ? ' ' : byte);
	}
}

static uint8_t get_byte(struct source *source)
{
	if (source->at == source->length) {
		source->is_bad = true;
		return 0;
	}
	return source->bytes[source->at++];
}

/* One number has one encoding: the shortest. */
static uint64_t get_varint(struct source *source)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < VARINT_BYTES_MAX; i++) {
		uint8_t byte = get_byte(source);

		if (source->is_bad)
			return 0;
		if (i == VARINT_BYTES_MAX - 1 && byte > 1)
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

static uint64_t get_varint_max(struct source *source, uint64_t max)
{
	uint64_t value = get_varint(source);

	if (value <= max)
		return value;
	source->is_bad = true;
	return 0;
}

static void get_text(struct source *source, char text[ACKBODY_TEXT_BYTES])
{
	size_t count = source->length - source->at;

	if (count >= ACKBODY_TEXT_BYTES) {
		source->is_bad = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint8_t byte = get_byte(source);

		if (byte < 0x20 || byte == 0x7f)
			source->is_bad = true;
		text[i] = (char)byte;
	}
	text[count] = '\0';
}

static bool is_sync_right(enum ackbody_sync sync, uint64_t value)
{
	switch (sync) {
	case ACKBODY_SYNC_FLUSH_COUNT:
	case ACKBODY_SYNC_FLUSH_MS:
		return value >= 1 && value <= SYNC_VALUE_MAX;
	case ACKBODY_SYNC_FUA:
	case ACKBODY_SYNC_NONE:
		return value == 0;
	}
	return false;
}

static void put_run(struct sink *sink, const struct run *run)
{
	if (sink->room - sink->used < RUN_BODY_BYTES) {
		sink->is_short = true;
		return;
	}
	run_encode_body(run, sink->bytes + sink->used);
	sink->used += RUN_BODY_BYTES;
}

static void put_cycle(struct sink *sink, const struct ackbody_cycle *cycle)
{
	assert(cycle->cycle >= 1);
	assert(cycle->streams >= 1 && cycle->streams <= RUN_STREAMS_MAX);
	assert(is_sync_right(cycle->sync, cycle->sync_value));
	put_varint(sink, cycle->cycle);
	put_byte(sink, (uint8_t)cycle->sync);
	put_varint(sink, cycle->sync_value);
	put_varint(sink, cycle->queue_depth);
	put_varint(sink, cycle->started_ns);
	put_varint(sink, cycle->streams);
	for (unsigned int i = 0; i < cycle->streams; i++) {
		assert(cycle->first_sequence[i] >= 1);
		assert(cycle->first_sequence[i] <= ACKBODY_SEQUENCE_MAX);
		put_varint(sink, cycle->first_sequence[i]);
	}
}

static void put_limit(struct sink *sink, const struct ackbody_limit *limit)
{
	assert(limit->stream < RUN_STREAMS_MAX);
	assert(limit->sequence <= ACKBODY_SEQUENCE_MAX);
	put_varint(sink, limit->stream);
	put_varint(sink, limit->sequence);
}

static void put_ranges(struct sink *sink, const struct ackbody_ranges *ranges)
{
	uint64_t above =
		0; /* the number after which the next range may start */

	assert(ranges->stream < RUN_STREAMS_MAX);
	assert(ranges->count >= 1 && ranges->count <= ACKBODY_RANGES_MAX);
	assert(ranges->completed_ns >= ranges->submitted_ns);
	put_varint(sink, ranges->stream);
	put_varint(sink, ranges->flush);
	put_varint(sink, ranges->submitted_ns);
	put_varint(sink, ranges->completed_ns - ranges->submitted_ns);
	put_varint(sink, ranges->count);
	for (unsigned int i = 0; i < ranges->count; i++) {
		const struct ackbody_range *range = &ranges->ranges[i];

		assert(range->first > above && range->last >= range->first);
		assert(range->last <= ACKBODY_SEQUENCE_MAX);
		put_varint(sink, range->first - above - 1);
		put_varint(sink, range->last - range->first);
		above = range->last;
	}
}

static void put_content(struct sink *sink, const struct ackbody *body)
{
	switch (body->type) {
	case ACKBODY_RUN:
		put_run(sink, &body->run);
		return;
	case ACKBODY_CYCLE:
		put_cycle(sink, &body->cycle);
		return;
	case ACKBODY_RESERVE:
	case ACKBODY_ISSUED:
		put_limit(sink, &body->limit);
		return;
	case ACKBODY_DURABLE:
	case ACKBODY_COMPLETED:
		put_ranges(sink, &body->ranges);
		return;
	case ACKBODY_EVENT:
		assert(body->note.event >= ACKBODY_EVENT_CUT_ASKED &&
		       body->note.event <= ACKBODY_EVENT_NOTE);
		put_byte(sink, (uint8_t)body->note.event);
		put_varint(sink, body->note.at_ns);
		put_text(sink, body->note.text);
		return;
	case ACKBODY_END:
		put_varint(sink, body->note.at_ns);
		put_text(sink, body->note.text);
		return;
	}
	abort(); /* no such type: our own mistake */
}

static int get_run(struct source *source, struct run *run, struct err *err)
{
	if (source->length != RUN_BODY_BYTES) {
		source->is_bad = true;
		return 0;
	}
	source->at = source->length;
	return run_decode_body(run, source->bytes, err);
}

static void get_cycle(struct source *source, struct ackbody_cycle *cycle)
{
	cycle->cycle = (uint32_t)get_varint_max(source, UINT32_MAX);
	cycle->sync = (enum ackbody_sync)get_byte(source);
	cycle->sync_value = get_varint(source);
	cycle->queue_depth = (uint16_t)get_varint_max(source, UINT16_MAX);
	cycle->started_ns = get_varint(source);
	cycle->streams = (uint16_t)get_varint_max(source, RUN_STREAMS_MAX);
	if (cycle->cycle == 0 || cycle->streams == 0 ||
	    !is_sync_right(cycle->sync, cycle->sync_value))
		source->is_bad = true;
	for (unsigned int i = 0; i < RUN_STREAMS_MAX; i++)
		cycle->first_sequence[i] = 0;
	for (unsigned int i = 0; i < cycle->streams; i++) {
		cycle->first_sequence[i] =
			get_varint_max(source, ACKBODY_SEQUENCE_MAX);
		if (cycle->first_sequence[i] == 0)
			source->is_bad = true;
	}
}

static void get_limit(struct source *source, struct ackbody_limit *limit)
{
	limit->stream = (uint16_t)get_varint_max(source, RUN_STREAMS_MAX - 1);
	limit->sequence = get_varint_max(source, ACKBODY_SEQUENCE_MAX);
}

static void get_ranges(struct source *source, struct ackbody_ranges *ranges)
{
	uint64_t above = 0;

	ranges->stream = (uint16_t)get_varint_max(source, RUN_STREAMS_MAX - 1);
	ranges->flush = get_varint(source);
	ranges->submitted_ns = get_varint(source);
	ranges->completed_ns =
		ranges->submitted_ns +
		get_varint_max(source, UINT64_MAX - ranges->submitted_ns);
	ranges->count = (uint16_t)get_varint_max(source, ACKBODY_RANGES_MAX);
	if (ranges->count == 0)
		source->is_bad = true;
	for (unsigned int i = 0; i < ranges->count && !source->is_bad; i++) {
		struct ackbody_range *range = &ranges->ranges[i];

		if (above == ACKBODY_SEQUENCE_MAX) {
			source->is_bad = true;
			return;
		}
		range->first = above + 1 +
			       get_varint_max(source,
					      ACKBODY_SEQUENCE_MAX - above - 1);
		range->last = range->first +
			      get_varint_max(source, ACKBODY_SEQUENCE_MAX -
							     range->first);
		above = range->last;
	}
}

static void get_note(struct source *source, enum ackbody_type type,
		     struct ackbody_note *note)
{
	note->event = ACKBODY_EVENT_NOTE;
	if (type == ACKBODY_EVENT) {
		uint8_t event = get_byte(source);

		if (event < ACKBODY_EVENT_CUT_ASKED ||
		    event > ACKBODY_EVENT_NOTE)
			source->is_bad = true;
		else
			note->event = (enum ackbody_event)event;
	}
	note->at_ns = get_varint(source);
	get_text(source, note->text);
}

static int get_content(struct source *source, struct ackbody *body,
		       struct err *err)
{
	switch (body->type) {
	case ACKBODY_RUN:
		return get_run(source, &body->run, err);
	case ACKBODY_CYCLE:
		get_cycle(source, &body->cycle);
		return 0;
	case ACKBODY_RESERVE:
	case ACKBODY_ISSUED:
		get_limit(source, &body->limit);
		return 0;
	case ACKBODY_DURABLE:
	case ACKBODY_COMPLETED:
		get_ranges(source, &body->ranges);
		return 0;
	case ACKBODY_EVENT:
	case ACKBODY_END:
		get_note(source, body->type, &body->note);
		return 0;
	}
	return err_set(err, "unknown type %d", (int)body->type);
}

static const char *type_name(enum ackbody_type type)
{
	switch (type) {
	case ACKBODY_RUN:
		return "run";
	case ACKBODY_CYCLE:
		return "cycle";
	case ACKBODY_RESERVE:
		return "reserve";
	case ACKBODY_DURABLE:
		return "durable";
	case ACKBODY_COMPLETED:
		return "completed";
	case ACKBODY_EVENT:
		return "event";
	case ACKBODY_ISSUED:
		return "issued";
	case ACKBODY_END:
		return "end";
	}
	return "unknown";
}

int ackbody_encode(const struct ackbody *body, uint8_t *buffer, size_t room,
		   size_t *used)
{
	uint8_t content[ACKBODY_ENCODED_MAX - 1 - VARINT_BYTES_MAX];
	struct sink inner = {.bytes = content, .room = sizeof(content)};
	struct sink outer = {.bytes = buffer, .room = room, .used = *used};

	assert(*used <= room);
	put_content(&inner, body);
	assert(!inner.is_short);
	put_byte(&outer, (uint8_t)body->type);
	put_varint(&outer, inner.used);
	if (outer.is_short || outer.room - outer.used < inner.used)
		return -1;
	memcpy(buffer + outer.used, content, inner.used);
	*used = outer.used + inner.used;
	return 0;
}

int ackbody_decode(struct ackbody *body, const uint8_t *payload, size_t length,
		   size_t *at, struct err *err)
{
	struct source outer = {.bytes = payload, .length = length, .at = *at};
	struct source inner = {0};

	assert(*at <= length);
	if (*at == length)
		return 0;
	body->type = (enum ackbody_type)get_byte(&outer);
	inner.length = get_varint_max(&outer, ACKBODY_ENCODED_MAX);
	if (outer.is_bad || inner.length > outer.length - outer.at)
		return err_set(err,
			       "statement at byte %zu of the payload: "
			       "its length is impossible",
			       *at);
	inner.bytes = payload + outer.at;
	if (get_content(&inner, body, err) < 0)
		return err_prefix(err, "statement at byte %zu of the payload",
				  *at);
	if (inner.is_bad || inner.at != inner.length)
		return err_set(err,
			       "statement at byte %zu of the payload: "
			       "malformed \"%s\"",
			       *at, type_name(body->type));
	*at = outer.at + inner.length;
	return 1;
}

void ackbody_sync_text(enum ackbody_sync sync, uint64_t value, char *text)
{
	const char *unit = sync == ACKBODY_SYNC_FLUSH_MS ? "ms" : "";

	switch (sync) {
	case ACKBODY_SYNC_FLUSH_COUNT:
	case ACKBODY_SYNC_FLUSH_MS:
		(void)snprintf(text, SYNC_TEXT_BYTES, "flush:%llu%s",
			       (unsigned long long)value, unit);
		return;
	case ACKBODY_SYNC_FUA:
		memcpy(text, "fua", sizeof("fua"));
		return;
	case ACKBODY_SYNC_NONE:
		memcpy(text, "none", sizeof("none"));
		return;
	}
	abort();
}

static int parse_flush(const char *digits, enum ackbody_sync *sync,
		       uint64_t *value)
{
	uint64_t number = 0;

	if (*digits < '0' || *digits > '9')
		return -1;
	for (; *digits >= '0' && *digits <= '9'; digits++) {
		number = number * 10 + (uint64_t)(*digits - '0');
		if (number > SYNC_VALUE_MAX)
			return -1;
	}
	if (number == 0 || (*digits != '\0' && strcmp(digits, "ms") != 0))
		return -1;
	*sync = *digits == '\0' ? ACKBODY_SYNC_FLUSH_COUNT
				: ACKBODY_SYNC_FLUSH_MS;
	*value = number;
	return 0;
}

int ackbody_sync_parse(const char *text, enum ackbody_sync *sync,
		       uint64_t *value, struct err *err)
{
	if (strcmp(text, "fua") == 0 || strcmp(text, "none") == 0) {
		*sync = *text == 'f' ? ACKBODY_SYNC_FUA : ACKBODY_SYNC_NONE;
		*value = 0;
		return 0;
	}
	if (strncmp(text, "flush:", 6) == 0 &&
	    parse_flush(text + 6, sync, value) == 0)
		return 0;
	return err_set(err,
		       "cannot use sync mode \"%s\": it is flush:N, "
		       "flush:Nms, fua or none, N from 1 to %lu",
		       text, (unsigned long)SYNC_VALUE_MAX);
}
