/* SPDX-License-Identifier: MIT */
/*
 * driver - the contract between relay.c and one family of boards.
 *
 * A relay driver knows one board's bytes and nothing else: no options, no
 * printing, no retries, no sleeping. relay.c does all of that, once, for every
 * board. A driver is one file, driver_<name>.c, and one line in drivers.def.
 */
#ifndef RELAY_DRIVER_H
#define RELAY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct port;

enum relay_state { RELAY_OFF, RELAY_ON }; /* ON: the drive has power */

enum driver_link {
	DRIVER_LINK_LINE, /* a serial device, or tcp://HOST:PORT */
	DRIVER_LINK_UNIX, /* the path of a Unix socket */
};

struct relay_driver {
	const char *name;   /* first part of an outlet; never changes */
	const char *boards; /* known boards, for "plugpull-relay list" */
	enum driver_link link;
	unsigned int baud;         /* 8N1; 0 where the link has no rate */
	unsigned int channels_max; /* channels are numbered 1 ... this */
	/* The board hangs up after each command: relay.c opens anew. */
	bool is_one_shot;
	unsigned int settle_ms; /* from a command to the next byte sent */
	unsigned int answer_ms; /* the longest that a working board needs */

	/*
	 * Sends the command and checks the answer, if this board gives one. 0
	 * or -1; DEADLINE_NS is monotonic. 0 does not prove that the contact
	 * has moved.
	 */
	int (*set)(struct port *port, unsigned int channel,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err);

	/*
	 * 1: STATE is what the board says; 0: the board said nothing at all;
	 * -1: it said something that cannot be, or the port broke. NULL where
	 * no board of this family can tell its state.
	 */
	int (*get)(struct port *port, unsigned int channel,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err);
};

#endif
