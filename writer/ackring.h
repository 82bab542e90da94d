/* SPDX-License-Identifier: MIT */
/*
 * ackring - what one stream has to say, on its way to the thread that keeps
 * the ack log informed.
 *
 * One pusher and one popper, no lock, a fixed number of places, nothing
 * allocated after ackring_new(). A pusher that finds no room keeps its ranges
 * and comes again: that is the back-pressure.
 */
#ifndef WRITER_ACKRING_H
#define WRITER_ACKRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackbody.h"

struct ackbell;
struct err;
struct ackring;

#define ACKRING_PLACES 2048

struct ackring_item {
	enum ackbody_type type; /* DURABLE, COMPLETED or RESERVE */
	uint64_t flush;
	uint64_t submitted_ns, completed_ns;
	struct ackbody_range range; /* RESERVE: only last counts */
};

/* BELL is rung for what has to be in the log soon: promises and reservations.
 * It outlives the ring. */
struct ackring *ackring_new(struct ackbell *bell, struct err *err);
void ackring_free(struct ackring *ring);

/* The stream's side. */
bool ackring_has_room(struct ackring *ring);
void ackring_push(struct ackring *ring, const struct ackring_item *item);

/* The other side: the AHEAD-th item not popped yet, or NULL. */
const struct ackring_item *ackring_peek(struct ackring *ring, size_t ahead);
void ackring_pop(struct ackring *ring, size_t count);

#endif
