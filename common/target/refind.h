/* SPDX-License-Identifier: MIT */
/*
 * refind - where the drive of a run is now, whatever its name is (P10).
 *
 * A drive that comes back after a power cut may have another /dev name, and its
 * old name may be another drive's: the kernel hands out names in the order of
 * arrival and keeps back those that are still open. So where the name does not
 * lead to the run's drive, the one block device with the run's identity is
 * taken instead. An identity that several devices have, or that makers hand out
 * many times, finds nothing.
 *
 * refind_resolve() asks sysfs and opens nothing. What it says holds only after
 * refind_confirm(), which asks the descriptor that was opened since: its
 * identity must be the same, and its disk sequence number (BLKGETDISKSEQ, Linux
 * 5.15, never used twice) the one in sysfs.
 */
#ifndef COMMON_TARGET_REFIND_H
#define COMMON_TARGET_REFIND_H

#include <stdbool.h>

#include "common/target/target.h"

#define REFIND_WHY_BYTES 320

struct refind_request {
	/* --target: as for target_open(), or "id:TEXT": the one block device of
	 * which TEXT is the serial number, the WWN or the whole identity. */
	const char *name;
	/* Of the run; "" where there is none, or it is not known. */
	const char *identity;
	const char *sysfs; /* NULL: "/sys"; tests have one of their own */
	/* Called with one line for people; NULL: nobody wants to know. */
	void (*note)(const char *text);
};

struct refind {
	char path[TARGET_TEXT_BYTES]; /* what to open: NAME, or "/dev/sdc" */
	bool is_elsewhere;            /* it is not NAME */
	/* Its identity is no proof, since others have it, too, or may have;
	 * only a label tells it from them. */
	bool is_shared;
	char identity[TARGET_TEXT_BYTES]; /* as found; "" nothing is known */
	char why[REFIND_WHY_BYTES];       /* what was looked for in vain; "" */
};

/*
 * 0 with WHERE. A name that leads nowhere, or to another drive than the run's,
 * stays as it is where the right one is not found: opening it or comparing
 * identities is refused by the caller, and WHERE->why is the hint to that.
 * Files and nbd:// names stay as they are. -1 with err: "id:TEXT" is not the
 * name of exactly one device.
 */
int refind_resolve(const struct refind_request *request, struct refind *where,
		   struct err *err);

/* 0: TARGET, opened as WHERE->path, is what was meant. -1 with err. */
int refind_confirm(const struct refind *where, const struct target *target,
		   struct err *err);

/* Puts what is known into ERR, which says why WHERE->path (of NAME) could not
 * be opened: the error begins with "cannot open NAME" or "cannot use NAME". */
void refind_explain(const struct refind *where, const char *name,
		    struct err *err);

/* All three, and target_open(). *WHERE holds also where it returns NULL. */
struct target *refind_open(const struct refind_request *request,
			   enum target_mode mode, struct refind *where,
			   struct err *err);

#endif
