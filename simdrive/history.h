/* SPDX-License-Identifier: MIT */
/*
 * history - the last writes that reached the media, each with the content that
 * was there before: what a fault needs to put an older version back.
 *
 * A write is current until a newer write to any of its bytes is accepted, and
 * durable once a FLUSH or its own FUA was acknowledged (P1). Only writes that
 * are both are worth damaging: anything else would not be a broken promise.
 */
#ifndef SIMDRIVE_HISTORY_H
#define SIMDRIVE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct history;

#define HISTORY_WRITES_MAX      256
#define HISTORY_BYTES_MAX       (32U * 1024 * 1024) /* of old content */
#define HISTORY_WRITE_BYTES_MAX (4U * 1024 * 1024)

struct history_write {
	uint64_t offset_bytes;
	size_t length;
	const uint8_t *old; /* content before it */
	uint64_t request;
	bool is_current, is_durable;
	uint64_t arena_start; /* private */
};

struct history *history_new(struct err *err);
void history_free(struct history *history);
void history_clear(struct history *history);

/* A newer write to these bytes has been accepted. */
void history_supersede(struct history *history, uint64_t offset_bytes,
		       size_t length);

/*
 * Remembers a write of at most HISTORY_WRITE_BYTES_MAX, which came with
 * REQUEST; the oldest are forgotten. Returns the room for its old content, to
 * be filled at once.
 */
uint8_t *history_add(struct history *history, uint64_t offset_bytes,
		     size_t length, uint64_t request, bool is_durable);

/* A FLUSH was acknowledged: what is remembered of requests up to this one is
 * durable now. */
void history_promise(struct history *history, uint64_t request);

/* From the oldest (0) to the newest. */
unsigned int history_count(const struct history *history);
struct history_write *history_at(struct history *history, unsigned int index);

#endif
