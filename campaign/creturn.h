/* SPDX-License-Identifier: MIT */
/*
 * creturn - the time until a drive is back: how long to pause between two tries
 * to open it, and what may help it to be seen.
 *
 * A drive of this machine ends a pause early when the kernel says that a block
 * device has come or changed. One that is missing for long is looked for: SCSI
 * hosts and the PCI bus are scanned again, as ports without hot-plug need it.
 */
#ifndef CAMPAIGN_CRETURN_H
#define CAMPAIGN_CRETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

#define CRETURN_SCRIPT_BYTES 1024

struct rig;
struct uevent_listener;

struct creturn {
	struct rig *rig;
	struct uevent_listener *listener; /* NULL: nothing is heard */
	bool is_here;                     /* a device of this machine */
	uint64_t begun_ns, pause_ms;
	unsigned int rescans;
	struct err trouble; /* of the last one; "" */
};

void creturn_begin(struct creturn *wait, struct rig *rig);
void creturn_end(struct creturn *wait);

/* A pause, which a signal ends; and before it a scan, where one is due. */
void creturn_pause(struct creturn *wait);

/* What was done, for the record: false where nothing was. */
bool creturn_tell(const struct creturn *wait, char *text, unsigned int room);

/* For /bin/sh: scans everything under SYSFS again; fails where it could not. */
void creturn_script(const char *sysfs, char script[CRETURN_SCRIPT_BYTES]);

#endif
