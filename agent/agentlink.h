/* SPDX-License-Identifier: MIT */
/*
 * agentlink - frames (agentwire.h) over a channel, with signs of life.
 *
 * Never waits: agentlink_turn() moves what moves. Each end is told ALIVE every
 * second; a peer that says nothing for AGENTLINK_DEAD_MS is dead, since its
 * power may be gone and nobody says goodbye then. Memory is fixed: who keeps to
 * the windows never finds the buffer full.
 */
#ifndef AGENT_AGENTLINK_H
#define AGENT_AGENTLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/agentwire.h"

struct err;
struct channel;
struct agentlink;

#define AGENTLINK_ALIVE_MS 1000
#define AGENTLINK_DEAD_MS  10000

/* Takes CHANNEL, whose handshake is done, also where it fails. */
struct agentlink *agentlink_new(struct channel *channel, struct err *err);
void agentlink_free(struct agentlink *link); /* NULL is allowed */

/* Queues a frame. After an error of the link nothing is queued any more; the
 * next agentlink_turn() says why. */
void agentlink_put(struct agentlink *link, enum agentwire_type type,
		   const void *payload, size_t length);

/* Reads, writes, and keeps alive. -1: the connection is over (what came before
 * the end can still be had with agentlink_next()). */
int agentlink_turn(struct agentlink *link, struct err *err);

/* 1: a frame, whose PAYLOAD is good until the next call; 0: none yet; -1: the
 * peer said what cannot be. */
int agentlink_next(struct agentlink *link, struct agentwire_header *header,
		   const uint8_t **payload, struct err *err);

int agentlink_fd(const struct agentlink *link);
short agentlink_events(const struct agentlink *link); /* to poll for */
/* Turn again before polling: what has arrived would not show in poll(). */
bool agentlink_has_more(const struct agentlink *link);
const char *agentlink_peer(const struct agentlink *link);

#endif
