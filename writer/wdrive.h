/* SPDX-License-Identifier: MIT */
/*
 * wdrive - the drive of a run, as the command line wants it: opened by the
 * engine that was asked for, created where it is a new file, and with its
 * volatile cache switched.
 */
#ifndef WRITER_WDRIVE_H
#define WRITER_WDRIVE_H

#include <stdbool.h>

#include "writer/wsettings.h"

struct err;
struct target;
struct wcache;

#define WDRIVE_TEXT_BYTES 80

/* What was done to the drive, for the log and the summary. */
struct wdrive_words {
	char engine[WDRIVE_TEXT_BYTES];
	bool is_native;
	bool has_cache; /* --write-cache: the rest holds */
	bool was_cache_on, is_cache_on;
};

/*
 * Switches the cache of a drive that may be written to (guard.h) first, so that
 * everything after it sees the drive as it is tested. RUN is NULL where it is
 * yet to begin. *CACHE is NULL without --write-cache; it is to be closed also
 * where this fails. NULL on failure.
 */
struct target *wdrive_open(const struct wsettings *settings,
			   const struct run *run, struct wcache **cache,
			   struct wdrive_words *words, struct err *err);

/* The I-th sentence about it for the log, I from 0; false: there is none. */
bool wdrive_note(const struct wdrive_words *words, unsigned int i, char *text,
		 unsigned int room);

#endif
