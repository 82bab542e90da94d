/* SPDX-License-Identifier: MIT */
#include "simdrive/scars.h"

#include <errno.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/err.h"
#include "simdrive/trace.h"

#define SCAR_ENCODED_BYTES (16 + SCARS_BLOCK_BYTES_MAX)

static void tell(const struct scars *scars, const struct scar *scar,
		 enum trace_scar what, uint64_t request)
{
	trace_tell(scars->trace,
		   &(struct trace_event){
			   .type = TRACE_SCAR,
			   .flags = (uint8_t)what,
			   .length = scars->block_bytes,
			   .request = request,
			   .offset_bytes = scar->number * scars->block_bytes,
		   });
}

static void tell_new(const struct scars *scars, const struct scar *scar)
{
	static const enum trace_scar words[] = {
		[SCAR_UNREADABLE] = TRACE_SCAR_ERROR,
		[SCAR_HANGS] = TRACE_SCAR_HANGS,
		[SCAR_STALE] = TRACE_SCAR_STALE,
	};

	tell(scars, scar, words[scar->kind], 0);
}

static void heal_at(struct scars *scars, unsigned int i, uint64_t request)
{
	tell(scars, &scars->scars[i], TRACE_SCAR_HEALED, request);
	scars->count--;
	if (i != scars->count)
		scars->scars[i] = scars->scars[scars->count];
}

void scars_add(struct scars *scars, const struct scar *like, const uint8_t *old)
{
	struct scar *scar = NULL;

	scars_heal(scars, like->number, 1, 0);
	if (scars->count == SCARS_MAX)
		return;
	scar = &scars->scars[scars->count++];
	*scar = *like;
	memset(scar->old, 0, sizeof(scar->old));
	if (old != NULL)
		memcpy(scar->old, old, scars->block_bytes);
	tell_new(scars, scar);
}

void scars_heal(struct scars *scars, uint64_t first, uint64_t blocks,
		uint64_t request)
{
	for (unsigned int i = scars->count; i-- > 0;)
		if (scars->scars[i].number - first < blocks)
			heal_at(scars, i, request);
}

void scars_heal_kind(struct scars *scars, enum scar_kind kind)
{
	for (unsigned int i = scars->count; i-- > 0;)
		if (scars->scars[i].kind == kind)
			heal_at(scars, i, 0);
}

struct scar *scars_find(struct scars *scars, uint64_t number)
{
	for (unsigned int i = 0; i < scars->count; i++)
		if (scars->scars[i].number == number)
			return &scars->scars[i];
	return NULL;
}

static void tell_wrong_read(const struct scars *scars, const struct scar *scar,
			    uint64_t request)
{
	trace_tell(scars->trace,
		   &(struct trace_event){
			   .type = TRACE_READ_WRONG,
			   .data = scar->old,
			   .length = scars->block_bytes,
			   .request = request,
			   .offset_bytes = scar->number * scars->block_bytes,
		   });
}

void scars_overlay(struct scars *scars, uint64_t first, uint64_t blocks,
		   uint64_t request, uint8_t *buffer)
{
	const uint32_t size = scars->block_bytes;

	for (unsigned int i = scars->count; i-- > 0;) {
		struct scar *scar = &scars->scars[i];
		uint64_t at = scar->number - first;

		if (scar->kind != SCAR_STALE || at >= blocks)
			continue;
		if (memcmp(buffer + at * size, scar->old, size) != 0)
			tell_wrong_read(scars, scar, request);
		memcpy(buffer + at * size, scar->old, size);
		if (--scar->reads_left == 0)
			heal_at(scars, i, request);
	}
}

int scars_check(const struct scars *scars, uint64_t first, uint64_t blocks)
{
	int worst = 0;

	for (unsigned int i = 0; i < scars->count; i++) {
		if (scars->scars[i].number - first >= blocks)
			continue;
		if (scars->scars[i].kind == SCAR_HANGS)
			return SCARS_NO_ANSWER;
		if (scars->scars[i].kind == SCAR_UNREADABLE)
			worst = -EIO;
	}
	return worst;
}

size_t scars_encode(const struct scars *scars, uint8_t *buffer)
{
	bytes_put32(buffer, scars->count);
	for (unsigned int i = 0; i < scars->count; i++) {
		uint8_t *to = buffer + 4 + i * SCAR_ENCODED_BYTES;

		bytes_put64(to, scars->scars[i].number);
		bytes_put32(to + 8, (uint32_t)scars->scars[i].kind);
		bytes_put32(to + 12, scars->scars[i].reads_left);
		memcpy(to + 16, scars->scars[i].old, SCARS_BLOCK_BYTES_MAX);
	}
	return 4 + scars->count * (size_t)SCAR_ENCODED_BYTES;
}

int scars_decode(struct scars *scars, const uint8_t *buffer, size_t length,
		 struct err *err)
{
	uint32_t count = length >= 4 ? bytes_get32(buffer) : SCARS_MAX + 1;

	if (count > SCARS_MAX ||
	    length != 4 + count * (size_t)SCAR_ENCODED_BYTES)
		return err_set(err, "the list of marked blocks is damaged");
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *from = buffer + 4 + i * SCAR_ENCODED_BYTES;
		uint32_t kind = bytes_get32(from + 8);

		if (kind > SCAR_STALE || bytes_get32(from + 12) == 0)
			return err_set(err, "marked block %u is damaged", i);
		scars->scars[i].number = bytes_get64(from);
		scars->scars[i].kind = (enum scar_kind)kind;
		scars->scars[i].reads_left = bytes_get32(from + 12);
		memcpy(scars->scars[i].old, from + 16, SCARS_BLOCK_BYTES_MAX);
	}
	scars->count = count;
	return 0;
}
