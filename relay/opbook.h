/* SPDX-License-Identifier: MIT */
/*
 * opbook - the book of one named outlet: how often its contact was switched in
 * its life, and when last, in any process since this system started.
 *
 * A file NAME.outlet in opbook_folder(): one line of text, replaced whole and
 * locked while the outlet is in use, so that two programs cannot switch one
 * outlet at a time. Times are CLOCK_BOOTTIME, and count for this boot only.
 */
#ifndef RELAY_OPBOOK_H
#define RELAY_OPBOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "relay/driver.h"

struct err;
struct opbook;

#define OPBOOK_NAME_BYTES 96
#define OPBOOK_WORN       100000 /* switchings of a hobby relay under load */

/*
 * $PLUGPULL_STATE, else /var/lib/plugpull where we are root, else
 * $XDG_STATE_HOME/plugpull or ~/.local/state/plugpull; made where it is
 * missing. NULL: there is none; err says why.
 */
const char *opbook_folder(struct err *err);

/* Locks it; another program that has it is an error that names it. */
struct opbook *opbook_open(const char *name, struct err *err);
void opbook_close(struct opbook *book); /* takes NULL */

uint64_t opbook_operations(const struct opbook *book);
/* How long ago it was switched last, and to what; false: not since this system
 * started. */
bool opbook_last(const struct opbook *book, uint64_t *ago_ms,
		 enum relay_state *power);
/* It is switched now. To be called before the command: a switching that nobody
 * counted is worse than one that did not happen. */
int opbook_note(struct opbook *book, enum relay_state power, struct err *err);
/* It was switched: what is waited for counts from here. */
int opbook_done(struct opbook *book, struct err *err);

#endif
