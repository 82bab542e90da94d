/* SPDX-License-Identifier: MIT */
/*
 * client - one connection of the collector: its channel, its session, its place
 * at a run, and how long it may take over what it is doing.
 *
 * It moves bytes and asks the run's log; the order of the protocol is the
 * session's. Nothing here waits. A turn goes: client_serve() for each,
 * runlog_commit_all() once, client_settle() for each (P2).
 */
#ifndef COLLECTOR_CLIENT_H
#define COLLECTOR_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/runlog.h"

struct channel;
struct client;
struct err;

#define CLIENT_HELLO_S 10 /* from the connection to a complete hello */
#define CLIENT_STALL_S 30 /* a message or an answer that does not move */
#define CLIENT_HOLD_S  5  /* a claim while another writer may be dead */
#define CLIENT_OVER_S  10 /* a refused client that does not leave */

struct client_house {
	struct runlog_set *runlogs;
	runlog_say *say;
};

/* Takes CHANNEL, also where it fails. */
struct client *client_new(const struct client_house *house,
			  struct channel *channel, struct err *err);
/* Closes the channel and gives the place back; NULL is allowed. */
void client_free(struct client *client);

int client_fd(const struct client *client);
/* What poll() is to wait for. */
short client_events(struct client *client);
/* Input is waiting that poll() does not see. */
bool client_has_pending(struct client *client);
/* Monotonic; UINT64_MAX where it may take for ever. */
uint64_t client_deadline_ns(const struct client *client);

/* Reads what there is, answers the hello, appends statements. */
void client_serve(struct client *client, short events);
/* Confirms what is durable by now, or refuses if the log is dead; sends. */
void client_settle(struct client *client);
/* Ends what took too long at NOW_NS. */
void client_expire(struct client *client, uint64_t now_ns);
/* It is over and can be freed. */
bool client_is_gone(const struct client *client);

/* Its claim waits for another writer, which may be dead, to leave. */
bool client_is_held(const struct client *client);
/* Finds out soon whether CLIENT is dead, if it is the writer that HELD waits
 * for. */
void client_probe_rival(struct client *client, const struct client *held);

#endif
