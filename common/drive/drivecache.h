/* SPDX-License-Identifier: MIT */
/*
 * drivecache - switches the volatile cache of a drive on or off: NVMe Set
 * Features 06h, ATA SET FEATURES 02h and 82h, SCSI MODE SELECT page 08h.
 *
 * Nothing is saved: the drive's own default stands after its next power cycle.
 * The kernel is made to look at the drive again, so that it flushes a drive
 * that has a cache now.
 */
#ifndef COMMON_DRIVE_DRIVECACHE_H
#define COMMON_DRIVE_DRIVECACHE_H

#include <stdbool.h>

#include "common/drive/drivefacts.h"
#include "common/drive/drivelink.h"

struct err;

/*
 * Sets it and asks the drive whether it obeyed. BEFORE: what it said before,
 * already filled on any return but where it could not be asked. NAME is for the
 * messages. Refuses a drive without a cache that can be switched.
 */
int drivecache_set(const struct drivelink *link, const char *name, bool is_on,
		   struct drivefacts *before, struct err *err);

#define DRIVECACHE_TIMEOUT_MS 30000 /* of each command */

#endif
