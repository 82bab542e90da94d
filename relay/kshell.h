/* SPDX-License-Identifier: MIT */
/*
 * kshell - the words of NETIO's KSHELL, over a port that is open already: a
 * greeting, a login, and then one line a command, one line an answer, which
 * begins with a number.
 *
 * The password goes over the wire as it is: KSHELL has nothing better that all
 * of its boxes know.
 */
#ifndef RELAY_KSHELL_H
#define RELAY_KSHELL_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct port;

#define KSHELL_LINE_BYTES 256

/* Waits for "100 HELLO ..." and logs in. -1 where the box lets us not in; the
 * message never holds what it said of the password. */
int kshell_log_in(struct port *port, const char *user, const char *password,
		  uint64_t deadline_ns, struct err *err);

/*
 * Sends COMMAND, without its end, and takes one line: 1 with what stands behind
 * "250 " in ANSWER, without its end; 0 where nothing at all came until the
 * deadline; -1 for any other line, for half of one, or where the port broke.
 */
int kshell_ask(struct port *port, const char *command,
	       char answer[KSHELL_LINE_BYTES], uint64_t deadline_ns,
	       struct err *err);

#endif
