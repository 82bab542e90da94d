/* SPDX-License-Identifier: MIT */
/*
 * answer - asking a board and taking what it says, whole: the answers of cheap
 * boards have no length and often no end, so that an answer is over when it is
 * as long as it must be, when its last byte has come, or when the board has
 * fallen silent. What came before the question was no answer to it.
 *
 * Knows no board.
 */
#ifndef RELAY_ANSWER_H
#define RELAY_ANSWER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct port;

#define ANSWER_QUIET_MS 100U /* so long a silence ends an answer */

/*
 * Each drops what lies unread, sends the COUNT bytes of REQUEST and returns how
 * many bytes came for it until DEADLINE_NS: 0 where the board said nothing, -1
 * where the port broke.
 */

/* Until the board falls silent; -1 also where it says more than ROOM bytes. */
ssize_t answer_ask(struct port *port, const void *request, size_t count,
		   uint8_t *answer, size_t room, uint64_t deadline_ns,
		   struct err *err);
/* No more than WANTED bytes, and at once when they are there. */
ssize_t answer_ask_bytes(struct port *port, const void *request, size_t count,
			 uint8_t *answer, size_t wanted, uint64_t deadline_ns,
			 struct err *err);
/* At once when the last byte that came is END; else as answer_ask(). */
ssize_t answer_ask_until(struct port *port, const void *request, size_t count,
			 uint8_t *answer, size_t room, uint8_t end,
			 uint64_t deadline_ns, struct err *err);

/* Sends a command and wants exactly REPLY, of at most 16 bytes, for it: 0 or
 * -1. WHAT names the command in the message. */
int answer_want(struct port *port, const void *request, size_t count,
		const void *reply, size_t reply_count, const char *what,
		uint64_t deadline_ns, struct err *err);

/* Returns -1: "the answer to WHAT makes no sense: 00 01 ...". */
int answer_refuse(const uint8_t *answer, size_t count, const char *what,
		  struct err *err);

#endif
