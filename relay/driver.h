/* SPDX-License-Identifier: MIT */
/*
 * driver - the contract between relay.c and one family of boards.
 *
 * A relay driver knows one board's words and nothing else: no command line, no
 * printing, no retries, no sleeping, and no drive: it switches a contact, or
 * what stands for one in a box. relay.c does all the rest, once, for every
 * board. A driver is one file, driver_<name>.c, and one line in drivers.def.
 */
#ifndef RELAY_DRIVER_H
#define RELAY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct outlet;
struct port;

/* Of a contact: ON is what the board calls so (its coil is driven, the socket
 * has power, the line is asserted). Whether the drive has power then is the
 * outlet's to know (outlet.h). */
enum relay_state { RELAY_OFF, RELAY_ON };

enum driver_link {
	DRIVER_LINK_LINE, /* a serial device, or tcp://HOST:PORT */
	DRIVER_LINK_TCP,  /* tcp://HOST[:PORT]; tcp_port where none is given */
	DRIVER_LINK_UNIX, /* the path of a Unix socket */
	DRIVER_LINK_URL,  /* http:// or https://; open() is the driver's */
	DRIVER_LINK_PATH, /* an absolute path; open() is the driver's */
	DRIVER_LINK_NAME, /* any other word; open() is the driver's */
};

/* What an outlet can be told in an INI file besides what every outlet can. */
struct driver_key {
	const char *name;
	const char *help;      /* for "plugpull-relay list" */
	const char *otherwise; /* where it is not given; NULL: it must be */
	bool is_secret; /* the value is a file that holds it, never itself */
};

/* The board takes power away for a time and gives it back by itself. */
struct driver_pulse {
	bool has_off, has_on;             /* the contact's state meanwhile */
	uint32_t min_ms, max_ms, step_ms; /* 0, 0, 0: it has none */
};

struct relay_driver {
	const char *name;   /* first part of an outlet; never changes */
	const char *boards; /* known boards, for "plugpull-relay list" */
	enum driver_link link;
	unsigned int baud;     /* 8N1; 0 where the link has no rate */
	unsigned int tcp_port; /* of DRIVER_LINK_TCP */
	unsigned int channel_first, channel_last; /* inclusive; as printed on
						   * the board; both 1 where
						   * there is one */
	const struct driver_key *keys; /* ends with name NULL; NULL: none */
	/* Between two commands the board hangs up, or must be: relay.c opens
	 * anew for each. */
	bool is_one_shot;
	/* The contact keeps its state only as long as the port is open. */
	bool is_held;
	unsigned int settle_ms; /* from a command to the next byte sent */
	unsigned int answer_ms; /* the longest that a working board needs */
	/* An interruption shorter than this is no such thing: the contact needs
	 * the time to let go and to stop bouncing. */
	unsigned int shortest_ms;
	struct driver_pulse pulse;

	/* Refuses what cannot be of OUTLET's address and keys, before anything
	 * is opened. NULL: there is nothing more to check. */
	int (*check)(const struct outlet *outlet, struct err *err);

	/* The way to the board. NULL: by the link, port_open_line() or a
	 * socket. Where the driver has its own, the port may be one that only
	 * its close() is called of. */
	struct port *(*open)(const struct outlet *outlet, uint64_t deadline_ns,
			     struct err *err);

	/*
	 * Sends the command and checks the answer, if this board gives one. 0
	 * or -1; DEADLINE_NS is monotonic. 0 does not prove that the contact
	 * has moved.
	 */
	int (*set)(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err);

	/*
	 * 1: STATE is what the board says; 0: the board said nothing at all;
	 * -1: it said something that cannot be, or the port broke. NULL where
	 * no board of this family can tell its state.
	 */
	int (*get)(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err);

	/* The contact goes to STATE for MS, a multiple of step_ms within the
	 * limits, and back by itself. Returns when the board has taken the
	 * command. NULL where no board of this family can. */
	int (*pulse_for)(struct port *port, const struct outlet *outlet,
			 enum relay_state state, uint32_t ms,
			 uint64_t deadline_ns, struct err *err);

	/* Has the board of OUTLET that clock? NULL: every board has, for which
	 * pulse_for is given. */
	bool (*can_pulse)(const struct outlet *outlet);
};

#endif
