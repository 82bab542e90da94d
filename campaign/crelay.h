/* SPDX-License-Identifier: MIT */
/*
 * crelay - the outlet: plugpull-relay in a session of its own for the whole
 * campaign, or a command for each switching where the user named one.
 *
 * A session has its port open and to itself, so that a cut waits for nothing;
 * a contact that needs its port open keeps its state; and where the campaign is
 * lost, the session does with the power what the outlet's when_lost says. One
 * that has ended is begun anew with the next command.
 */
#ifndef CAMPAIGN_CRELAY_H
#define CAMPAIGN_CRELAY_H

#include <stdbool.h>
#include <stdint.h>

struct crelay;
struct csettings;
struct err;

enum crelay_power {
	CRELAY_ON,
	CRELAY_OFF,
	CRELAY_UNREAD, /* the board has no read-back */
};

/* What a switching was like, as far as the relay tells. */
struct crelay_told {
	bool is_known;
	uint64_t took_us, skew_us;
};

/* SETTINGS and PREFIX (the relay's command line) must live as long. Starts
 * nothing yet. NULL: no memory. */
struct crelay *crelay_open(const struct csettings *settings, const char *prefix,
			   struct err *err);
/* Takes NULL; switches nothing. */
void crelay_close(struct crelay *relay);

int crelay_switch(struct crelay *relay, bool is_on, struct crelay_told *told,
		  struct err *err);
int crelay_read(struct crelay *relay, enum crelay_power *power,
		struct err *err);

/* Off, OFF_MS, on: by the board's own clock where it can. An interruption that
 * the contact's mechanics cannot make is refused. */
int crelay_interrupt(struct crelay *relay, uint64_t off_ms, struct err *err);

#endif
