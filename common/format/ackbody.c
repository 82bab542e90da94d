/* SPDX-License-Identifier: MIT */
#include "common/format/ackbody.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ackbytes.h"
#include "common/format/ackflushes.h"

#define SYNC_VALUE_MAX  UINT32_MAX
#define SYNC_TEXT_BYTES 32

/* What is told is printed one day: control characters become spaces. */
static void put_text(struct ackbytes_sink *sink, const char *text)
{
	assert(memchr(text, '\0', ACKBODY_TEXT_BYTES) != NULL);
	for (; *text != '\0'; text++) {
		uint8_t byte = (uint8_t)*text;

		ackbytes_put_byte(sink,
				  byte < 0x20 || byte == 0x7f ? ' ' : byte);
	}
}

static void get_text(struct ackbytes_source *source,
		     char text[ACKBODY_TEXT_BYTES])
{
	size_t count = source->length - source->at;

	if (count >= ACKBODY_TEXT_BYTES) {
		source->is_bad = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint8_t byte = ackbytes_get_byte(source);

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

static void put_run(struct ackbytes_sink *sink, const struct run *run)
{
	if (sink->room - sink->used < RUN_BODY_BYTES) {
		sink->is_short = true;
		return;
	}
	run_encode_body(run, sink->bytes + sink->used);
	sink->used += RUN_BODY_BYTES;
}

static void put_cycle(struct ackbytes_sink *sink,
		      const struct ackbody_cycle *cycle)
{
	assert(cycle->cycle >= 1);
	assert(cycle->streams >= 1 && cycle->streams <= RUN_STREAMS_MAX);
	assert(is_sync_right(cycle->sync, cycle->sync_value));
	ackbytes_put_varint(sink, cycle->cycle);
	ackbytes_put_byte(sink, (uint8_t)cycle->sync);
	ackbytes_put_varint(sink, cycle->sync_value);
	ackbytes_put_varint(sink, cycle->queue_depth);
	ackbytes_put_varint(sink, cycle->started_ns);
	ackbytes_put_varint(sink, cycle->streams);
	for (unsigned int i = 0; i < cycle->streams; i++) {
		assert(cycle->first_sequence[i] >= 1);
		assert(cycle->first_sequence[i] <= ACKBODY_SEQUENCE_MAX);
		ackbytes_put_varint(sink, cycle->first_sequence[i]);
	}
}

static void put_limit(struct ackbytes_sink *sink,
		      const struct ackbody_limit *limit)
{
	assert(limit->stream < RUN_STREAMS_MAX);
	assert(limit->sequence <= ACKBODY_SEQUENCE_MAX);
	ackbytes_put_varint(sink, limit->stream);
	ackbytes_put_varint(sink, limit->sequence);
}

static void put_ranges(struct ackbytes_sink *sink,
		       const struct ackbody_ranges *ranges)
{
	uint64_t above =
		0; /* the number after which the next range may start */

	assert(ranges->stream < RUN_STREAMS_MAX);
	assert(ranges->count >= 1 && ranges->count <= ACKBODY_RANGES_MAX);
	assert(ranges->completed_ns >= ranges->submitted_ns);
	ackbytes_put_varint(sink, ranges->stream);
	ackbytes_put_varint(sink, ranges->flush);
	ackbytes_put_varint(sink, ranges->submitted_ns);
	ackbytes_put_varint(sink, ranges->completed_ns - ranges->submitted_ns);
	ackbytes_put_varint(sink, ranges->count);
	for (unsigned int i = 0; i < ranges->count; i++) {
		const struct ackbody_range *range = &ranges->ranges[i];

		assert(range->first > above && range->last >= range->first);
		assert(range->last <= ACKBODY_SEQUENCE_MAX);
		ackbytes_put_varint(sink, range->first - above - 1);
		ackbytes_put_varint(sink, range->last - range->first);
		above = range->last;
	}
}

static void put_content(struct ackbytes_sink *sink, const struct ackbody *body)
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
		       body->note.event <= ACKBODY_EVENT_UNSENT);
		ackbytes_put_byte(sink, (uint8_t)body->note.event);
		ackbytes_put_varint(sink, body->note.at_ns);
		put_text(sink, body->note.text);
		return;
	case ACKBODY_END:
		ackbytes_put_varint(sink, body->note.at_ns);
		put_text(sink, body->note.text);
		return;
	case ACKBODY_FLUSHES:
		ackflushes_put(sink, &body->flushes);
		return;
	}
	abort(); /* no such type: our own mistake */
}

static int get_run(struct ackbytes_source *source, struct run *run,
		   struct err *err)
{
	if (source->length != RUN_BODY_BYTES) {
		source->is_bad = true;
		return 0;
	}
	source->at = source->length;
	return run_decode_body(run, source->bytes, err);
}

static void get_cycle(struct ackbytes_source *source,
		      struct ackbody_cycle *cycle)
{
	cycle->cycle = (uint32_t)ackbytes_get_varint_max(source, UINT32_MAX);
	cycle->sync = (enum ackbody_sync)ackbytes_get_byte(source);
	cycle->sync_value = ackbytes_get_varint(source);
	cycle->queue_depth =
		(uint16_t)ackbytes_get_varint_max(source, UINT16_MAX);
	cycle->started_ns = ackbytes_get_varint(source);
	cycle->streams =
		(uint16_t)ackbytes_get_varint_max(source, RUN_STREAMS_MAX);
	if (cycle->cycle == 0 || cycle->streams == 0 ||
	    !is_sync_right(cycle->sync, cycle->sync_value))
		source->is_bad = true;
	for (unsigned int i = 0; i < RUN_STREAMS_MAX; i++)
		cycle->first_sequence[i] = 0;
	for (unsigned int i = 0; i < cycle->streams; i++) {
		cycle->first_sequence[i] =
			ackbytes_get_varint_max(source, ACKBODY_SEQUENCE_MAX);
		if (cycle->first_sequence[i] == 0)
			source->is_bad = true;
	}
}

static void get_limit(struct ackbytes_source *source,
		      struct ackbody_limit *limit)
{
	limit->stream =
		(uint16_t)ackbytes_get_varint_max(source, RUN_STREAMS_MAX - 1);
	limit->sequence = ackbytes_get_varint_max(source, ACKBODY_SEQUENCE_MAX);
}

static void get_ranges(struct ackbytes_source *source,
		       struct ackbody_ranges *ranges)
{
	uint64_t above = 0;

	ranges->stream =
		(uint16_t)ackbytes_get_varint_max(source, RUN_STREAMS_MAX - 1);
	ranges->flush = ackbytes_get_varint(source);
	ranges->submitted_ns = ackbytes_get_varint(source);
	ranges->completed_ns =
		ranges->submitted_ns +
		ackbytes_get_varint_max(source,
					UINT64_MAX - ranges->submitted_ns);
	ranges->count =
		(uint16_t)ackbytes_get_varint_max(source, ACKBODY_RANGES_MAX);
	if (ranges->count == 0)
		source->is_bad = true;
	for (unsigned int i = 0; i < ranges->count && !source->is_bad; i++) {
		struct ackbody_range *range = &ranges->ranges[i];

		if (above == ACKBODY_SEQUENCE_MAX) {
			source->is_bad = true;
			return;
		}
		range->first =
			above + 1 +
			ackbytes_get_varint_max(source, ACKBODY_SEQUENCE_MAX -
								above - 1);
		range->last =
			range->first +
			ackbytes_get_varint_max(source, ACKBODY_SEQUENCE_MAX -
								range->first);
		above = range->last;
	}
}

static void get_note(struct ackbytes_source *source, enum ackbody_type type,
		     struct ackbody_note *note)
{
	note->event = ACKBODY_EVENT_NOTE;
	if (type == ACKBODY_EVENT) {
		uint8_t event = ackbytes_get_byte(source);

		if (event < ACKBODY_EVENT_CUT_ASKED ||
		    event > ACKBODY_EVENT_UNSENT)
			source->is_bad = true;
		else
			note->event = (enum ackbody_event)event;
	}
	note->at_ns = ackbytes_get_varint(source);
	get_text(source, note->text);
}

static int get_content(struct ackbytes_source *source, struct ackbody *body,
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
	case ACKBODY_FLUSHES:
		ackflushes_get(source, &body->flushes);
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
	case ACKBODY_FLUSHES:
		return "flushes";
	}
	return "unknown";
}

int ackbody_encode(const struct ackbody *body, uint8_t *buffer, size_t room,
		   size_t *used)
{
	uint8_t content[ACKBODY_ENCODED_MAX - 1 - ACKBYTES_VARINT_MAX];
	struct ackbytes_sink inner = {.bytes = content,
				      .room = sizeof(content)};
	struct ackbytes_sink outer = {
		.bytes = buffer, .room = room, .used = *used};

	assert(*used <= room);
	put_content(&inner, body);
	assert(!inner.is_short);
	ackbytes_put_byte(&outer, (uint8_t)body->type);
	ackbytes_put_varint(&outer, inner.used);
	if (outer.is_short || outer.room - outer.used < inner.used)
		return -1;
	memcpy(buffer + outer.used, content, inner.used);
	*used = outer.used + inner.used;
	return 0;
}

int ackbody_decode(struct ackbody *body, const uint8_t *payload, size_t length,
		   size_t *at, struct err *err)
{
	struct ackbytes_source outer = {
		.bytes = payload, .length = length, .at = *at};
	struct ackbytes_source inner = {0};

	assert(*at <= length);
	if (*at == length)
		return 0;
	body->type = (enum ackbody_type)ackbytes_get_byte(&outer);
	inner.length = ackbytes_get_varint_max(&outer, ACKBODY_ENCODED_MAX);
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

bool ackbody_is_durable(const struct ackbody *body)
{
	return body->type == ACKBODY_DURABLE || body->type == ACKBODY_FLUSHES;
}

static bool tell_flush(const struct ackbody_flushes *flushes, size_t i,
		       struct ackbody_told *told)
{
	const struct ackbody_flush *flush = &flushes->flushes[i];

	if (i >= flushes->count)
		return false;
	told->stream = flushes->stream;
	told->flush = flush->number;
	told->submitted_ns = flush->submitted_ns;
	told->completed_ns = flush->completed_ns;
	told->count = 1;
	told->ranges = &flush->range;
	return true;
}

bool ackbody_told_at(const struct ackbody *body, size_t i,
		     struct ackbody_told *told)
{
	const struct ackbody_ranges *ranges = &body->ranges;

	if (body->type == ACKBODY_FLUSHES)
		return tell_flush(&body->flushes, i, told);
	if (i > 0 ||
	    (body->type != ACKBODY_DURABLE && body->type != ACKBODY_COMPLETED))
		return false;
	told->stream = ranges->stream;
	told->flush = ranges->flush;
	told->submitted_ns = ranges->submitted_ns;
	told->completed_ns = ranges->completed_ns;
	told->count = ranges->count;
	told->ranges = ranges->ranges;
	return true;
}

bool ackbody_is_same_cycle(const struct ackbody_cycle *a,
			   const struct ackbody_cycle *b)
{
	if (a->cycle != b->cycle || a->sync != b->sync ||
	    a->sync_value != b->sync_value ||
	    a->queue_depth != b->queue_depth ||
	    a->started_ns != b->started_ns || a->streams != b->streams)
		return false;
	for (size_t i = 0; i < a->streams; i++)
		if (a->first_sequence[i] != b->first_sequence[i])
			return false;
	return true;
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
