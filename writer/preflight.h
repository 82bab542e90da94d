/* SPDX-License-Identifier: MIT */
/*
 * preflight - what is known of a drive before it is tested: the queues on the
 * way down, what each drive says of itself, how a file's file system is
 * mounted; and what follows from it, whether a FLUSH would reach the drive
 * (flushway.h, P9).
 *
 * Nothing is written. Drives are asked by pass-through commands, which need
 * root; what cannot be asked is unknown, and says why.
 */
#ifndef WRITER_PREFLIGHT_H
#define WRITER_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/target/blockfacts.h"
#include "common/target/flushway.h"
#include "common/target/lineage.h"
#include "common/target/mountfacts.h"
#include "common/target/stack.h"

struct err;
struct target;

#define PREFLIGHT_ASKED_MAX  16    /* drives; more are not asked */
#define PREFLIGHT_TIMEOUT_MS 10000 /* for each command */

struct preflight {
	const struct target *target;
	bool is_native;
	char lineage[LINEAGE_TEXT_BYTES]; /* "" where it has none */
	struct mountfacts mount;          /* not known but for files */
	bool has_loop;                    /* some layer is a loop device ... */
	bool has_lazy_loop; /* ... whose file a clean fsync may not flush */
	char unknown[STACK_TEXT_BYTES]; /* below it, what was not found */
	size_t count;
	struct flushway_layer *layers; /* from the top down */
	struct blockfacts *blocks;     /* of each layer */
	struct flushway way;
};

/* May take seconds for each drive. preflight_free() is always right, also of
 * zeros. -1: no memory. */
int preflight_look(struct preflight *preflight, const struct target *target,
		   bool is_native, struct err *err);
void preflight_free(struct preflight *preflight);

/* A FLUSH arrives at the drivers also where nothing was written since the last
 * one: no file system lies between that may know better. */
bool preflight_must_arrive(const struct preflight *preflight);

/* "would a flush reach it? yes: ...", the first sentence for everybody. */
void preflight_tell(const struct preflight *preflight, char *text, size_t room);
/* One layer: its queue, and what its drive says. */
void preflight_tell_layer(const struct preflight *preflight, size_t i,
			  char *text, size_t room);
/* The I-th warning, I from 0; false: there is none. */
bool preflight_warning(const struct preflight *preflight, unsigned int i,
		       char *text, size_t room);
/* The I-th sentence for the log, I from 0; false: there is none. */
bool preflight_note(const struct preflight *preflight, unsigned int i,
		    char *text, size_t room);

#endif
