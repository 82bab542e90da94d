/* SPDX-License-Identifier: MIT */
/*
 * scars - blocks that a fault marked at a cut and that answer wrongly after
 * the power is back: with an error, with older content, or never.
 *
 * A new write heals its blocks. Scars outlive the process in the saved state.
 */
#ifndef SIMDRIVE_SCARS_H
#define SIMDRIVE_SCARS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct trace_sink;

#define SCARS_MAX             1024
#define SCARS_BLOCK_BYTES_MAX 4096

enum scar_kind { SCAR_UNREADABLE, SCAR_HANGS, SCAR_STALE };

struct scar {
	uint64_t number; /* of the logical block */
	enum scar_kind kind;
	uint32_t reads_left; /* at least 1; SCAR_STALE: then it is healed */
	uint8_t old[SCARS_BLOCK_BYTES_MAX]; /* SCAR_STALE */
};

struct scars {
	const struct trace_sink
		*trace; /* hears of every scar and every healing */
	uint32_t block_bytes;
	unsigned int count;
	struct scar scars[SCARS_MAX];
};

/* Without effect where SCARS_MAX blocks are marked already. OLD only for
 * SCAR_STALE, one block long. */
void scars_add(struct scars *scars, const struct scar *like,
	       const uint8_t *old);
/* REQUEST is the write that heals them, 0 where it is none. */
void scars_heal(struct scars *scars, uint64_t first, uint64_t blocks,
		uint64_t request);
void scars_heal_kind(struct scars *scars, enum scar_kind kind);

/* The scar of one block, or NULL. */
struct scar *scars_find(struct scars *scars, uint64_t number);

/* Lays the stale content of blocks FIRST ... over BUFFER, counts these reads
 * and tells where the answer of read REQUEST is wrong by it. */
void scars_overlay(struct scars *scars, uint64_t first, uint64_t blocks,
		   uint64_t request, uint8_t *buffer);

/* The worst that a read of these blocks meets: 0, -EIO, or SCARS_NO_ANSWER. */
#define SCARS_NO_ANSWER 1
int scars_check(const struct scars *scars, uint64_t first, uint64_t blocks);

/* Bytes: encode stores at most SCARS_ENCODED_MAX and returns how many. */
#define SCARS_ENCODED_MAX (4 + SCARS_MAX * (16 + SCARS_BLOCK_BYTES_MAX))
size_t scars_encode(const struct scars *scars, uint8_t *buffer);
int scars_decode(struct scars *scars, const uint8_t *buffer, size_t length,
		 struct err *err);

#endif
