/* SPDX-License-Identifier: MIT */
/*
 * send - puts one event on record at a collector: the client behind --send.
 *
 * It returns success only after the collector has confirmed the event (P2); a
 * campaign may cut the power as soon as "cut asked" is confirmed, and not
 * before (P11).
 */
#ifndef COLLECTOR_SEND_H
#define COLLECTOR_SEND_H

#include <stdint.h>

struct channel_key;
struct err;

struct send_order {
	const char *event;             /* "cut-asked", "cut-seen", ... */
	const char *run;               /* its id */
	const char *address;           /* of the collector */
	const struct channel_key *key; /* NULL: plain */
	const char *text;              /* NULL: none */
	uint64_t timeout_ms;           /* for all of it */
};

int send_event(const struct send_order *order, struct err *err);

#endif
