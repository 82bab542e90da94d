/* SPDX-License-Identifier: MIT */
/*
 * vectors - tests/vectors/relay.tsv: what boards are sent and answer, by
 * protocol, each row with its public source. A driver's test takes the rows of
 * its protocols, all of them.
 */
#ifndef TESTS_FAKE_VECTORS_H
#define TESTS_FAKE_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "relay/driver.h"

struct outlet;

#define VECTORS_MAX        64 /* rows of one protocol */
#define VECTORS_WORD_BYTES 48
#define VECTORS_HEX_BYTES  1024

struct vector {
	char action[VECTORS_WORD_BYTES];
	unsigned int channel; /* 0 where the row has none */
	char sent[VECTORS_HEX_BYTES];
	char reply[VECTORS_HEX_BYTES]; /* "" for "-" */
};

/* How many rows PROTOCOL has; fails the test where it has none, or where the
 * file cannot be read. Marked "unverified" they are left out. */
size_t vectors_of(const char *protocol, struct vector rows[VECTORS_MAX]);

bool vectors_is(const struct vector *row, const char *action);

/* Sends ROW's "on" or "off" to OUTLET, whose channel it sets, through its
 * driver's set(), over a port that wants and gives what ROW says. */
void vectors_switch(const struct vector *row, struct outlet *outlet);
/* The same with get(); what was told. Fails where nothing was. */
enum relay_state vectors_read(const struct vector *row, struct outlet *outlet);

#endif
