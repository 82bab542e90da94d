/* SPDX-License-Identifier: MIT */
/*
 * ackwire - the client's end of the ack protocol over a channel: hello and
 * welcome, numbered BODIES out, confirmations in.
 *
 * One thread uses a wire at a time and may both send and receive with it:
 * sending only queues and pushes what the socket takes, waiting happens in
 * ackwire_receive() alone, which keeps pushing while it waits. What is told
 * twice after a lost connection is the caller's business: it keeps the bodies
 * that were not confirmed and sends them on the next wire.
 */
#ifndef COMMON_NET_ACKWIRE_H
#define COMMON_NET_ACKWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackproto.h"

struct err;
struct channel_key;
struct ackwire;

struct ackwire_place {
	const char *address;           /* see channel.h */
	const struct channel_key *key; /* NULL: plain */
};

struct ackwire_answer {
	/* The collector said no, in words that err has: asking again does not
	 * help. False where the network or the collector was not there. */
	bool is_refused;
	struct ackproto_welcome welcome; /* filled on success only */
};

/*
 * Connects, says HELLO and waits for the answer, all until DEADLINE_NS
 * (monotonic). Fills hello's version itself. NULL with err.
 */
struct ackwire *ackwire_open(const struct ackwire_place *place,
			     const struct ackproto_hello *hello,
			     uint64_t deadline_ns,
			     struct ackwire_answer *answer, struct err *err);
void ackwire_close(struct ackwire *wire); /* NULL is allowed */

/*
 * Queues one BODIES frame (a copy; LENGTH 1 ... ACKPROTO_PAYLOAD_MAX) and
 * pushes; never waits. 1: queued, and *NUMBER is the number that will confirm
 * it (1, 2, 3 ... within this wire); 0: no room before the peer takes more, so
 * receive first; -1: the connection is over.
 */
int ackwire_send(struct ackwire *wire, const uint8_t *bodies, uint32_t length,
		 uint64_t *number, struct err *err);

/*
 * Waits for a confirmation until DEADLINE_NS, or until WAKE_FD (-1: none) can
 * be read, or until a frame can be queued again after ackwire_send() said 0.
 * 1: everything up to *CONFIRMED is safe in the log (P2); 0: nothing yet;
 * -1: the connection is over, after all confirmations that arrived before the
 * end were handed out. A deadline of 0 only looks.
 */
int ackwire_receive(struct ackwire *wire, uint64_t *confirmed, int wake_fd,
		    uint64_t deadline_ns, struct err *err);

/* After a -1: the collector ended it with a reason (err had it). */
bool ackwire_is_refused(const struct ackwire *wire);

#endif
