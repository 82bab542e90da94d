/* SPDX-License-Identifier: MIT */
/*
 * wcache - the volatile cache of the drive, switched on or off for a run and
 * put back after it, whatever becomes of the writer.
 *
 * A process of its own is started before anything is changed. It knows a pipe
 * from the writer and nothing else, and no signal of a terminal or an init
 * system stops it but SIGKILL. When the pipe ends, by wcache_close() or because
 * the writer was killed, it opens the drive by its name, sees by the serial
 * number that it is the same, and sets the cache to what it was.
 *
 *   fork -> told what was before -> changed -> ... pipe ends -> put back
 *
 * A drive that went away came back with its own default: then it is tried for
 * WCACHE_TRY_MS and no longer. Until the process has ended, no other writer
 * switches this drive's cache: it waits for WCACHE_WAIT_MS and then refuses.
 */
#ifndef WRITER_WCACHE_H
#define WRITER_WCACHE_H

#include <stdbool.h>

struct err;
struct wcache;

#define WCACHE_TRY_MS  10000
#define WCACHE_WAIT_MS 20000 /* for the process, at an orderly end */

/*
 * Switches the cache of the drive NAME, and asks the drive whether it obeyed.
 * Call it before there are threads (it forks) and before the drive is opened
 * for the run. Refuses a drive that is in use. WAS_ON: what the drive said
 * before. NULL on failure; then everything is as it was.
 */
struct wcache *wcache_open(const char *name, bool is_on, bool *was_on,
			   struct err *err);

/*
 * Puts the cache back and frees. IS_GONE: the drive is away, so nobody waits
 * for it here. -1 where it could not be put back. NULL does nothing.
 */
int wcache_close(struct wcache *cache, bool is_gone, struct err *err);

#endif
