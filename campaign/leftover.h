/* SPDX-License-Identifier: MIT */
/*
 * leftover - the writer of a cycle that the journal leaves open, where the
 * campaign itself was broken off.
 *
 * P11 across a crash: power must not come back to it. A process of this machine
 * can be looked for; a writer on a host whose power is cut may be at work
 * behind a connection that ended, and is ended by a power cycle.
 */
#ifndef CAMPAIGN_LEFTOVER_H
#define CAMPAIGN_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

struct err;
struct rig;

struct leftover {
	pid_t pid; /* 0: there is none */
	uint64_t birth;
	bool may_write; /* on a host that was not seen to boot since */
};

/* The next line of the journal, and its step. */
void leftover_take(struct leftover *leftover, const char *step,
		   const json_t *line);

/* -1 where its command still runs. */
int leftover_check(const struct leftover *leftover, struct err *err);

/* On a host: power cycle of OFF_MS, and the host is back as another boot. */
int leftover_end(const struct leftover *leftover, struct rig *rig,
		 uint64_t off_ms, struct err *err);

#endif
