/* SPDX-License-Identifier: MIT */
/*
 * sock - stream sockets by address: "HOST:PORT", "[V6]:PORT", "unix:PATH".
 *
 * All sockets are non-blocking and closed on exec. TCP sockets send small
 * frames at once and notice a dead peer within SOCK_DEAD_PEER_S. It knows
 * nothing of keys; it only says, or refuses, what leaves this host.
 */
#ifndef COMMON_NET_SOCK_H
#define COMMON_NET_SOCK_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define SOCK_TEXT_BYTES  160
#define SOCK_DEAD_PEER_S 15

enum sock_reach {
	SOCK_LOCAL_ONLY, /* loopback and Unix sockets, else refused by name */
	SOCK_ANYWHERE,
};

/* A connected socket, waiting until the deadline (monotonic); or -1. */
int sock_connect(const char *address, enum sock_reach reach,
		 uint64_t deadline_ns, struct err *err);

/* A listening socket, or -1; BOUND says where it listens in fact. A Unix
 * socket that nobody listens on any more is replaced. */
int sock_listen(const char *address, enum sock_reach reach,
		char bound[SOCK_TEXT_BYTES], struct err *err);

/* A waiting connection and where it comes from; -1 with *AGAIN true where
 * there is none. */
int sock_accept(int listener, char peer[SOCK_TEXT_BYTES], bool *again,
		struct err *err);

/* A dead peer ends the connection within SECONDS from now on (at least 3). */
void sock_set_patience(int fd, int seconds);

/* Removes the name of a Unix socket; nothing for other addresses. */
void sock_unlink(const char *address);

#endif
