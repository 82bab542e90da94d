/* SPDX-License-Identifier: MIT */
/*
 * agentserve - the end on the host that loses power: dials the controller for
 * ever, and runs one program for each connection.
 *
 *   dial -> HELLO -> wait for RUN -> run -> EXIT -> wait for the peer's close
 *     ^                  |            | connection lost: SIGTERM, SIGKILL
 *     +---- pause -------+------------+----------------------------------+
 *
 * It dials again only when the program of the connection before has ended. One
 * that cannot be ended, since it waits for its drive, is told and left; no
 * other program that uses a drive is started while it is there, so that never
 * two writers run.
 */
#ifndef AGENT_AGENTSERVE_H
#define AGENT_AGENTSERVE_H

#include <signal.h>

struct err;
struct channel_key;

#define AGENTSERVE_PAUSE_MIN_MS 500
#define AGENTSERVE_PAUSE_MAX_MS 5000
#define AGENTSERVE_DIAL_MS      5000

struct agentserve_config {
	const char *address;
	const struct channel_key *key; /* NULL: plain */
	const char *folder;            /* of the programs */
	void (*say)(const char *line);
	const volatile sig_atomic_t *stop;
	const sigset_t *wait_mask; /* while waiting: signals raise STOP */
};

/* Returns 0 once STOP is raised and nothing runs any more; -1 where it cannot
 * even begin. */
int agentserve_run(const struct agentserve_config *config, struct err *err);

#endif
