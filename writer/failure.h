/* SPDX-License-Identifier: MIT */
/*
 * failure - what a stream says when its drive fails it, and whether the drive
 * has gone. It ends the run (wstop) before it asks the drive anything, so that
 * no stream acknowledges meanwhile (P1); it repairs nothing.
 */
#ifndef WRITER_FAILURE_H
#define WRITER_FAILURE_H

#include <stdint.h>

struct run;
struct target;
struct wstop;

struct failure_place {
	struct target *target;
	struct wstop *stop;
	const struct run *run;
};

/* RESULT of a write of one block at OFFSET_BYTES: -errno, or too few bytes. */
void failure_of_write(const struct failure_place *place, uint64_t offset_bytes,
		      int64_t result);

/* "cannot WHAT TARGET: ERRNUM". */
void failure_of_queue(const struct failure_place *place, int errnum,
		      const char *what);

/* P9: the system has begun to drop what is asked of the drive. */
void failure_of_elision(const struct failure_place *place);

#endif
