/* SPDX-License-Identifier: MIT */
/*
 * cyclestate - what the steps of one cycle hand on to one another, for cycle.c
 * and, where the host is cut too, hostcycle.c. The diagram is in cycle.h.
 */
#ifndef CAMPAIGN_CYCLESTATE_H
#define CAMPAIGN_CYCLESTATE_H

#include "campaign/chost.h"
#include "campaign/cycle.h"

enum cycle_state {
	CYCLE_CHECK,
	CYCLE_START,
	CYCLE_LOAD,
	CYCLE_ASK,
	CYCLE_OFF,
	CYCLE_WATCH,
	CYCLE_DARK,
	CYCLE_RESTORE,
	CYCLE_JUDGE,
	CYCLE_AGAIN,
	CYCLE_ABORT,
	CYCLE_DONE,
};

struct cycle {
	const struct cycle_order *order;
	struct outcome *outcome;
	struct command *writer;
	uint64_t begun_ns;  /* monotonic, as all here */
	uint64_t loaded_ns; /* the first write had completed */
	uint64_t off_ns;    /* the relay said off */
	uint64_t on_ns;     /* the relay said on */
	uint64_t waited_ns; /* in all, for what is not the campaign's own */
	bool may_be_off;
	bool must_stop;
	/* Of a host that is cut too. */
	struct chost_log log;
	char boot[CHOST_BOOT_BYTES]; /* before the cut */
};

uint64_t cyclestate_ms_since(uint64_t then_ns);
uint64_t cyclestate_from_now(uint64_t duration_ms); /* in nanoseconds */

/* The first trouble is the cause; what follows from it is not kept. */
void cyclestate_trouble(struct cycle *cycle, const char *what);
/* The same, and the campaign must not go on. */
void cyclestate_stop(struct cycle *cycle, const char *what);

/* Puts a step in the journal; NAME and VALUE (may be NULL, 0) go with it. */
int cyclestate_note(struct cycle *cycle, const char *step, const char *name,
		    int64_t value);

void cyclestate_phase(struct cycle *cycle, const char *what);
bool cyclestate_is_stopped(const struct cycle *cycle);

/* The time since THEN_NS went to a wait. */
void cyclestate_waited(struct cycle *cycle, uint64_t then_ns);

#endif
