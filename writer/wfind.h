/* SPDX-License-Identifier: MIT */
/*
 * wfind - is this the drive of the run? (P10)
 *
 * Before it is opened by where its identity is found now, after that by the
 * descriptor, and by its label. Nothing is done to any drive before it is known
 * which one it is.
 */
#ifndef WRITER_WFIND_H
#define WRITER_WFIND_H

#include "common/target/refind.h"
#include "writer/wsettings.h"

struct err;
struct target;

struct wfind {
	const char *asked; /* --target */
	struct refind where;
	struct wsettings settings; /* with the name that the drive has now */
};

/* RUN is NULL where it is yet to begin. FOUND->settings hold the name to open,
 * and refer to FOUND. -1 with err. */
int wfind_settle(struct wfind *found, const struct wsettings *settings,
		 const struct run *run, struct err *err);

/* Is TARGET what was found? It may be NULL: then err says why it could not be
 * opened, and gets what else is known. */
int wfind_confirm(const struct wfind *found, const struct target *target,
		  struct err *err);

/* A run that is gone on with: its label must be there, unless the identity is
 * proof enough. */
int wfind_check_label(const struct wfind *found, struct target *target,
		      const struct run *run, struct err *err);

#endif
