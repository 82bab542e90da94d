/* SPDX-License-Identifier: MIT */
/*
 * ackstore - bodies on their way to the log: packed into payloads, kept until
 * each is confirmed, given out again after a lost connection.
 *
 * Pure bookkeeping: no I/O, no clock, no lock, no allocation after
 * ackstore_new(). A payload that is full, or was given out, is never changed
 * again. Its memory has a fixed limit; ackstore_add() says when it is reached.
 */
#ifndef WRITER_ACKSTORE_H
#define WRITER_ACKSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/histogram.h"
#include "common/format/ackbody.h"

struct err;
struct ackstore;

#define ACKSTORE_PAYLOADS 64 /* of ACKPROTO_PAYLOAD_MAX bytes each */
/* Given out and not confirmed at most; the rest gathers into full payloads. */
#define ACKSTORE_FLYING_MAX 16
/* Moments of one payload that are timed; later ones in it are not. A flush
 * takes 9 bytes of it. */
#define ACKSTORE_MARKS_MAX 8192

struct ackstore *ackstore_new(struct err *err);
void ackstore_free(struct ackstore *store);

/* Packs BODY behind the others; false where there is no room. */
bool ackstore_add(struct ackstore *store, const struct ackbody *body);
/* Something in the body added last became durable at DURABLE_NS (monotonic):
 * the time from there to its confirmation is measured. */
void ackstore_mark(struct ackstore *store, uint64_t durable_ns);

/* How many moments are timed in the oldest payload not given out. */
unsigned int ackstore_moments(struct ackstore *store);

/* The oldest payload not given out; NULL if there is none, or too many fly.
 * It stays valid until it is confirmed. ackstore_sent() moves on to the next.
 */
const uint8_t *ackstore_next(struct ackstore *store, uint32_t *length);
void ackstore_sent(struct ackstore *store);

/* At NOW_NS it is known that payloads 1 ... NUMBER of this connection are safe;
 * false where that cannot be (so many were not sent). */
bool ackstore_confirm(struct ackstore *store, uint64_t number, uint64_t now_ns);
/* The same for everything that was given out. */
void ackstore_confirm_sent(struct ackstore *store, uint64_t now_ns);

/* A new connection: counts from 1, everything unconfirmed is given out again.
 */
void ackstore_rewind(struct ackstore *store);

bool ackstore_is_empty(const struct ackstore *store); /* all confirmed */
bool ackstore_is_flying(const struct ackstore *store);
/* Payloads ever confirmed; more than 0: the log exists. */
uint64_t ackstore_confirmed(const struct ackstore *store);

/* Highest number whose RESERVE is confirmed; 0 if none is. */
uint64_t ackstore_reserved(const struct ackstore *store, uint16_t stream);
/* Writes whose DURABLE statement is confirmed. */
uint64_t ackstore_confirmed_writes(const struct ackstore *store);
/* From what was marked to its confirmation. */
const struct histogram *ackstore_latency(const struct ackstore *store);

#endif
