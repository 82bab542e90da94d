/* SPDX-License-Identifier: MIT */
/*
 * collector - the machine that keeps power keeps the acknowledgements: accept,
 * read, append, make durable, confirm.
 *
 * One thread, many clients. Each turn of the loop reads what the ready clients
 * have sent, appends it, makes each run's log durable once, and only then
 * confirms (P2). The order of a log is the order of arrival here, which is what
 * "cut asked" depends on (P11). A client in trouble is refused or dropped by
 * itself; a log in trouble stops its own run and no other.
 */
#ifndef COLLECTOR_COLLECTOR_H
#define COLLECTOR_COLLECTOR_H

#include <signal.h>

#include "collector/runlog.h"

struct err;
struct channel_key;
struct collector;

#define COLLECTOR_CLIENTS_MAX 256

struct collector_config {
	const char *address;
	const char *dir;
	const struct channel_key *key; /* NULL: plain */
	runlog_say *say;
};

struct collector *collector_open(const struct collector_config *config,
				 struct err *err);
void collector_close(struct collector *collector); /* NULL is allowed */

/* Where it listens in fact. */
const char *collector_address(const struct collector *collector);

/*
 * Serves until *STOP is set, by a signal that is blocked but during waiting
 * (WAIT_MASK is the mask to wait with). Then takes what was sent already,
 * confirms it and returns 0; -1 where waiting itself failed.
 */
int collector_run(struct collector *collector,
		  const volatile sig_atomic_t *stop, const sigset_t *wait_mask,
		  struct err *err);

#endif
