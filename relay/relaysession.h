/* SPDX-License-Identifier: MIT */
/*
 * relaysession - commands one a line, answers one a line, as long as whoever
 * gives them is there: the port stays open and stays ours, a contact that needs
 * its port open keeps its state, and nothing has to be started in front of a
 * cut.
 *
 *   on                   ok on read-back took_us=1234 skew_us=0
 *   off                  ok off read-back took_us=...
 *   status               ok on read-back | ok unknown none
 *   cycle MS             ok on read-back took_us=...
 *   end                  (it ends; the contact stays as it is)
 *   anything else        error TEXT
 *
 * Where the commands end without "end", whoever gave them is lost: the outlet's
 * when_lost is carried out.
 */
#ifndef RELAY_RELAYSESSION_H
#define RELAY_RELAYSESSION_H

#include <signal.h>

#include "relay/outlet.h"

struct err;
struct relays;

#define RELAYSESSION_LINE_BYTES 128

/* FROM and TO are file descriptors; blocks until the end, or until *STOP. 0
 * after "end", else -1 with err filled. */
int relaysession_run(struct relays *relays, enum outlet_lost when_lost,
		     int from, int to, const volatile sig_atomic_t *stop,
		     struct err *err);

#endif
