/* SPDX-License-Identifier: MIT */
/*
 * places - the buffers of one stream, and which write is in flight in which.
 *
 * Knows where the next number goes, and refuses it while an older write to the
 * same slot is in flight: two of them must never race. No I/O, no allocation
 * after places_new().
 */
#ifndef WRITER_PLACES_H
#define WRITER_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/run.h"

struct err;
struct places;

struct place {
	uint64_t sequence; /* 0: free */
	uint64_t slot;     /* of the region */
	uint8_t *buffer;   /* run->block_bytes */
};

/* RUN must outlive it. FIRST_SEQUENCE is the first number of the stream. */
struct places *places_new(const struct run *run, uint16_t stream,
			  uint64_t first_sequence, unsigned int depth,
			  struct err *err);
void places_free(struct places *places);
/* Gives up the buffers without freeing them: the drive may still use them. */
void places_abandon(struct places *places);

/* A buffer is free and nothing is in flight to the next number's slot. */
bool places_can_take(const struct places *places);
/* The place of the next number, and its index. */
struct place *places_take(struct places *places, unsigned int *index);
struct place *places_get(struct places *places, uint64_t index);
void places_release(struct places *places, unsigned int index);

#endif
