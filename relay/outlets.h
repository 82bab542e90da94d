/* SPDX-License-Identifier: MIT */
/*
 * outlets - outlets with names, in an INI file:
 *
 *   [outlet slot3]                     [outlet drive1]
 *   driver = lcus                      members = rail5, rail12
 *   address = /dev/serial/by-path/...
 *   channel = 1
 *   contact = nc
 *
 * Each is checked to the last key when the file is read, also those that are
 * not asked for: what is misspelt is found out before the power is cut.
 * docs/RELAYS.md has the keys as a table.
 */
#ifndef RELAY_OUTLETS_H
#define RELAY_OUTLETS_H

#include <stddef.h>

#include "relay/outlet.h"

struct err;
struct outlets;

#define OUTLETS_MAX         256 /* in one file */
#define OUTLETS_MEMBERS_MAX 8   /* switched as one */

/* NULL with err filled ("PATH:LINE: ..."). */
struct outlets *outlets_load(const char *path, struct err *err);
/* The same of a text, which NAME stands for in messages. */
struct outlets *outlets_of(const char *text, const char *name, struct err *err);
void outlets_free(struct outlets *outlets); /* takes NULL */

/* The I-th name of all, from 0; NULL behind the last. */
const char *outlets_name(const struct outlets *outlets, size_t i);

/*
 * What has to be switched for NAME: its members, or itself. 0 with err filled
 * where there is no such name. They are copies.
 */
size_t outlets_find(const struct outlets *outlets, const char *name,
		    struct outlet found[OUTLETS_MEMBERS_MAX], struct err *err);

#endif
