/* SPDX-License-Identifier: MIT */
/*
 * mountfacts - on which file system a file lies, and by which options that was
 * mounted: "barrier=0" and "nobarrier" make it send no FLUSH (P9).
 *
 * From /proc/self/mountinfo (proc_pid_mountinfo(5)), by the number of the mount
 * that statx() gives, since btrfs has device numbers of its own.
 */
#ifndef COMMON_TARGET_MOUNTFACTS_H
#define COMMON_TARGET_MOUNTFACTS_H

#include <stdbool.h>
#include <stdint.h>

#define MOUNTFACTS_NAME_BYTES 32
#define MOUNTFACTS_TEXT_BYTES 256

struct mountfacts {
	bool is_known;
	char type[MOUNTFACTS_NAME_BYTES];    /* "ext4" */
	char point[MOUNTFACTS_TEXT_BYTES];   /* where it is mounted */
	char options[MOUNTFACTS_TEXT_BYTES]; /* of the file system; cut off */
	bool is_barrierless;
	/* It sends a FLUSH for each fdatasync(), also of a file that nothing
	 * was written to since the last one. Others need not. */
	bool flushes_always;
};

/* Of the file or folder PATH. Not known where the system does not tell. */
void mountfacts_read(const char *path, struct mountfacts *facts);

/*
 * One LINE of mountinfo, which it changes: true if it is that of the mount ID.
 * FACTS are filled then. Pure.
 */
bool mountfacts_take(char *line, uint64_t id, struct mountfacts *facts);

#endif
