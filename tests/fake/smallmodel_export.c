/* SPDX-License-Identifier: MIT */
#include "tests/fake/smallmodel_export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/format/acklog.h"
#include "tests/fake/smallmodel_judge.h"

#define PAYLOAD_MAX 8192

struct payload {
	uint8_t bytes[PAYLOAD_MAX];
	size_t used;
};

static void put_hex(FILE *to, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++) {
		(void)putc(digits[bytes[i] >> 4], to); /* closing tells */
		(void)putc(digits[bytes[i] & 15], to);
	}
}

void smallmodel_export_world(FILE *to, const struct small_world *world)
{
	uint8_t body[RUN_BODY_BYTES];

	run_encode_body(&world->run, body);
	(void)fputs("R ", to);
	put_hex(to, body, sizeof(body));
	(void)putc('\n', to);
}

static void encode(void *context, const struct ackbody *body)
{
	struct payload *payload = context;

	if (ackbody_encode(body, payload->bytes, sizeof(payload->bytes),
			   &payload->used) < 0)
		abort();
}

void smallmodel_export_log(FILE *to, const struct small_world *world,
			   const struct small_past *past,
			   const struct small_log *log)
{
	struct payload payload = {.used = 0};
	struct acklog_frame frame = {.index = 0};
	uint8_t header[ACKLOG_HEADER_BYTES];

	(void)fputs("L ", to);
	if (log->is_missing) {
		(void)putc('-', to);
	} else {
		smallmodel_judge_tell(world, past, log, encode, &payload);
		frame.length = (uint32_t)payload.used;
		acklog_encode(&frame, payload.bytes, header);
		put_hex(to, header, sizeof(header));
		put_hex(to, payload.bytes, payload.used);
	}
	for (unsigned int i = 0; i < past->writes; i++)
		(void)fprintf(to, " %u:%" PRIu64, past->write[i].stream,
			      past->write[i].sequence);
	(void)putc('\n', to);
}

static void export_content(FILE *to, struct small_content *content,
			   unsigned int number)
{
	if (content->is_exported)
		return;
	content->is_exported = true;
	(void)fprintf(to, "A %u ", number);
	if (content->atom.kind == SMALL_UNREADABLE)
		(void)fputs("unreadable", to);
	else if (content->atom.kind == SMALL_HUNG)
		(void)fputs("hung", to);
	else if (content->atom.kind == SMALL_GONE)
		(void)fputs("gone", to);
	else
		put_hex(to, content->bytes, RUN_ATOM_BYTES);
	(void)putc('\n', to);
}

static void put_counts(FILE *to, const uint8_t *counts)
{
	(void)putc(' ', to);
	for (size_t i = 0; i < SMALL_CLASSES_COUNT; i++)
		(void)putc('0' + counts[i], to);
}

void smallmodel_export_end(FILE *to, struct small_world *world,
			   const struct small_media *media,
			   const struct small_outcome *outcome)
{
	unsigned int places = smallmodel_places(world->bounds), i;

	for (i = 0; i < places; i++)
		export_content(to, &world->contents[media->at[i].number],
			       media->at[i].number);
	for (i = 0; i < places; i++)
		(void)fprintf(to, "%s%u", i == 0 ? "M " : ",",
			      media->at[i].number);
	(void)fprintf(to, " %s %u %u %u %u %u %u", outcome->classes,
		      outcome->completed_lost, outcome->shadow_lost,
		      outcome->judged, outcome->by_log, outcome->by_media,
		      outcome->status);
	put_counts(to, outcome->atoms);
	put_counts(to, outcome->writes);
	(void)putc('\n', to);
}
