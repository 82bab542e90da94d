/* SPDX-License-Identifier: MIT */
/*
 * ackpack - what a stream has said, packed into as few bytes as will hold it.
 *
 * Touching ranges of one flush become one range. Several flushes share a
 * statement, and each keeps its number and times. Pure but for the ring.
 */
#ifndef WRITER_ACKPACK_H
#define WRITER_ACKPACK_H

#include <stddef.h>
#include <stdint.h>

struct ackbody;
struct ackring;

/* Makes BODY of the oldest items of STREAM's ring and tells how many: 0 where
 * there are none. They stay in the ring. */
size_t ackpack_body(struct ackring *ring, uint16_t stream,
		    struct ackbody *body);

#endif
