/* SPDX-License-Identifier: MIT */
/*
 * relay - switches one outlet, for every board alike: retries with limits,
 * read-back where the board can, pauses that boards need.
 *
 * A state that was read back is what the board believes, not what the contact
 * does: a welded contact answers the same. That power is gone, only the drive's
 * disappearance shows; that is the campaign's business.
 */
#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include <signal.h>
#include <stdint.h>

#include "relay/driver.h"

struct outlet;
struct port;
struct relay;

enum relay_proof {
	RELAY_PROOF_READ_BACK, /* the board says that it is so */
	RELAY_PROOF_NONE,      /* no board of this family can tell */
	RELAY_PROOF_SILENT,    /* it was asked and did not answer */
};

/* Opens the way to a board; relay_open_port() is the real one. */
struct port *relay_open_port(const struct outlet *outlet, struct err *err);

/*
 * OPEN is called with the first command, and again after trouble. OUTLET must
 * live as long as the relay. NULL with err filled: no memory.
 */
struct relay *relay_new(const struct outlet *outlet,
			struct port *(*open)(const struct outlet *outlet,
					     struct err *err),
			struct err *err);
void relay_free(struct relay *relay); /* takes NULL; switches nothing */

/*
 * Off is tried a few times within seconds and then given up: a late cut is a
 * second, unplanned one. On is tried longer: a drive must not stay dark. Before
 * each repetition a board that can tell is asked whether it is done already. -1
 * where the board was out of reach or says that it did not switch.
 */
int relay_switch(struct relay *relay, enum relay_state state,
		 enum relay_proof *proof, struct err *err);

/* PROOF other than READ_BACK: STATE is unknown. */
int relay_read(struct relay *relay, enum relay_state *state,
	       enum relay_proof *proof, struct err *err);

/*
 * Off, OFF_MS of pause, on. Where *STOP becomes true power comes back at once,
 * and the result is -1: it was not the pause that was asked for. On is tried
 * even where off has failed halfway.
 */
int relay_cycle(struct relay *relay, uint64_t off_ms,
		const volatile sig_atomic_t *stop, enum relay_proof *proof,
		struct err *err);

#endif
