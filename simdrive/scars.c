/* SPDX-License-Identifier: MIT */
#include "simdrive/scars.h"

#include <errno.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/err.h"

#define SCAR_ENCODED_BYTES (16 + SCARS_BLOCK_BYTES_MAX)

static void remove_at(struct scars *scars, unsigned int i)
{
	scars->count--;
	if (i != scars->count)
		scars->scars[i] = scars->scars[scars->count];
}

void scars_add(struct scars *scars, const struct scar *like, const uint8_t *old,
	       uint32_t block_bytes)
{
	struct scar *scar = NULL;

	scars_heal(scars, like->number, 1);
	if (scars->count == SCARS_MAX)
		return;
	scar = &scars->scars[scars->count++];
	*scar = *like;
	memset(scar->old, 0, sizeof(scar->old));
	if (old != NULL)
		memcpy(scar->old, old, block_bytes);
}

void scars_heal(struct scars *scars, uint64_t first, uint64_t blocks)
{
	for (unsigned int i = scars->count; i-- > 0;)
		if (scars->scars[i].number - first < blocks)
			remove_at(scars, i);
}

void scars_heal_kind(struct scars *scars, enum scar_kind kind)
{
	for (unsigned int i = scars->count; i-- > 0;)
		if (scars->scars[i].kind == kind)
			remove_at(scars, i);
}

struct scar *scars_find(struct scars *scars, uint64_t number)
{
	for (unsigned int i = 0; i < scars->count; i++)
		if (scars->scars[i].number == number)
			return &scars->scars[i];
	return NULL;
}

void scars_overlay(struct scars *scars, uint64_t first, uint64_t blocks,
		   uint32_t block_bytes, uint8_t *buffer)
{
	for (unsigned int i = scars->count; i-- > 0;) {
		struct scar *scar = &scars->scars[i];
		uint64_t at = scar->number - first;

		if (scar->kind != SCAR_STALE || at >= blocks)
			continue;
		memcpy(buffer + at * block_bytes, scar->old, block_bytes);
		if (--scar->reads_left == 0)
			remove_at(scars, i);
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
