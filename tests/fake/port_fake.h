/* SPDX-License-Identifier: MIT */
/*
 * port_fake - a port that follows a script: what must be written, and what
 * comes back for it. It never waits: where the script gives nothing, a read
 * meets its deadline at once.
 */
#ifndef TESTS_FAKE_PORT_FAKE_H
#define TESTS_FAKE_PORT_FAKE_H

#include <stdbool.h>

#include "relay/port.h"

/* Bytes are hexadecimal ("A0 01 01 A2"), or text behind a quote ("'cut\n"). */
struct port_fake_step {
	const char *wants; /* one write, whole; NULL ends the script */
	const char *gives; /* NULL: silence; "": the board is gone */
};

struct port_fake;

/* LEFTOVER lies unread in the port from the start; may be NULL. */
struct port_fake *port_fake_new(const struct port_fake_step *steps,
				const char *leftover);
struct port *port_fake_port(struct port_fake *fake);

/* The reads give at most COUNT bytes at a time. */
void port_fake_set_chunk(struct port_fake *fake, size_t count);

/* Every step was taken and nothing else was written. */
bool port_fake_is_done(const struct port_fake *fake);

/* port_close() leaves it alone, so that a test can still ask. */
void port_fake_free(struct port_fake *fake);

#endif
