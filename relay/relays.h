/* SPDX-License-Identifier: MIT */
/*
 * relays - one outlet, or several that are switched as one: the 5 V and the 12
 * V rail of a drive, the two supplies of a host.
 *
 * Each board has a thread of its own, and is told of all its channels before
 * one is read back; all ports are open and all drain times are over before the
 * first is switched. What lies between the first and the last
 * command is measured: a drive whose rails fall one behind the other has seen
 * another fault than a cut.
 *
 * It keeps each outlet's book (ledger of its switchings, opbook.h), its least
 * time without power and the time between two switchings.
 */
#ifndef RELAY_RELAYS_H
#define RELAY_RELAYS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/relay.h"

struct err;
struct outlet;
struct relays;

struct relays_told {
	enum relay_state power; /* of the drive */
	enum relay_proof proof; /* the weakest of all */
	uint64_t took_ns;       /* from the order to the last command's end */
	uint64_t skew_ns;       /* between the first and the last command */
};

/* OUTLETS are copied. NULL: no memory. */
struct relays *relays_new(const struct outlet *outlets, size_t count,
			  struct port *(*open)(const struct outlet *outlet,
					       struct err *err),
			  struct err *err);
void relays_free(struct relays *relays); /* takes NULL; switches nothing */

/* As relay_switch(), of the drive's POWER. Where one of several does not
 * switch off, the others are switched on again: half a cut is none. */
int relays_switch(struct relays *relays, enum relay_state power,
		  struct relays_told *told, struct err *err);
/* Power is on where all are on, off where all are off; else that is an error.
 */
int relays_read(struct relays *relays, struct relays_told *told,
		struct err *err);

/* Can OFF_MS be left to the board? Only one outlet alone can. */
bool relays_can_pulse(const struct relays *relays, uint64_t off_ms);
/* -1: not even the mechanics of the contacts could do it; err says why. */
int relays_check_off(const struct relays *relays, uint64_t off_ms,
		     struct err *err);

/*
 * Off, OFF_MS of pause, on: by the board's own clock where it can
 * (relays_can_pulse()), else by ours. Where *STOP becomes true power comes back
 * at once, and the result is -1. On is tried even where off has failed halfway.
 */
int relays_cycle(struct relays *relays, uint64_t off_ms,
		 const volatile sig_atomic_t *stop, struct relays_told *told,
		 struct err *err);

#endif
