/* SPDX-License-Identifier: MIT */
/*
 * session - one client of the collector: bytes in, claims and payloads out,
 * answers back.
 *
 * Pure: no socket, no file, no clock. It knows the order of the protocol
 * (common/format/ackproto.h), who may say what, and where its buffers end. It
 * does not know whether a statement is true: the run's ledger does.
 *
 *   HELLO ---- hello ----> CLAIM --- session_welcome() ---> OPEN
 *   OPEN  ---- bodies ---> PAYLOAD - session_take() ------> OPEN
 *   any   ---- nonsense or session_refuse() --------------> OVER
 *
 * What was taken is confirmed by session_confirm(), and by nothing else (P2).
 * While an answer is still in the buffer no more input is wanted: a client that
 * does not read is not read from.
 */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackproto.h"

struct err;
struct session;

enum session_need {
	SESSION_BYTES,   /* more input */
	SESSION_CLAIM,   /* a verdict on session_hello(): welcome or refuse */
	SESSION_PAYLOAD, /* session_payload() to be taken or refused */
	SESSION_OVER,    /* nothing: it was refused */
};

struct session *session_new(struct err *err);
void session_free(struct session *session); /* NULL is allowed */

/* Where input goes and how much; NULL and 0 while none is wanted. Ends the
 * life of the payload that session_payload() gave. */
uint8_t *session_room(struct session *session, size_t *room);
/* COUNT bytes were put there. In OVER they are thrown away. */
void session_fed(struct session *session, size_t count);

/* What is needed next; looks at the input that is there. */
enum session_need session_need(struct session *session);

const struct ackproto_hello *session_hello(const struct session *session);
const uint8_t *session_payload(const struct session *session, uint32_t *length);

void session_welcome(struct session *session,
		     const struct ackproto_welcome *welcome);
void session_take(struct session *session);
/* True where a taken payload is not yet confirmed. */
bool session_is_waiting(const struct session *session);
void session_confirm(struct session *session);
/* The first refusal counts; the text is cut to fit. */
void session_refuse(struct session *session, const char *reason);
/* Why it is OVER. */
const char *session_reason(const struct session *session);

/* Nothing of a message has come that is not complete: it may stay so. */
bool session_is_idle(const struct session *session);

/* What is to be sent; *COUNT is 0 where nothing is. */
const uint8_t *session_output(const struct session *session, size_t *count);
void session_sent(struct session *session, size_t count);

#endif
