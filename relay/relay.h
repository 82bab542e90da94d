/* SPDX-License-Identifier: MIT */
/*
 * relay - switches one contact, for every board alike: retries with limits,
 * read-back where the board can, pauses that boards need. It speaks of the
 * drive's power; which state of the contact that is, the outlet knows.
 *
 * A state that was read back is what the board believes, not what the contact
 * does: a welded contact answers the same. That power is gone, only the drive's
 * disappearance shows; that is the campaign's business.
 */
#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include <stdbool.h>
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
int relay_switch(struct relay *relay, enum relay_state power,
		 enum relay_proof *proof, struct err *err);

/* PROOF other than READ_BACK: POWER is unknown. */
int relay_read(struct relay *relay, enum relay_state *power,
	       enum relay_proof *proof, struct err *err);

/* Both are channels of one board: from here on they have one port, OTHER's. One
 * thread at a time uses either. OTHER is freed last. */
void relay_share(struct relay *relay, struct relay *other);
/* Sends the command, and leaves all else to relay_switch(), which is called
 * next: so all channels of a board are told before the first is asked. */
void relay_start(struct relay *relay, enum relay_state power);

/* Opens the port, so that the command itself takes no longer than it must. */
int relay_prepare(struct relay *relay, struct err *err);
/* Monotonic: when the last command was through. */
uint64_t relay_done_ns(const struct relay *relay);

/* Can the board take power away for OFF_MS and give it back by itself? */
bool relay_can_pulse(const struct relay *relay, uint64_t off_ms);
/* Has it do so, and returns at once; only where relay_can_pulse(). */
int relay_pulse(struct relay *relay, uint64_t off_ms, struct err *err);

#endif
