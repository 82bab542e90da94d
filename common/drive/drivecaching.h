/* SPDX-License-Identifier: MIT */
/*
 * drivecaching - the caching mode page of a SCSI device, with the bridges' ways
 * of showing it: MODE SENSE(10) or (6), by its own number or among all pages.
 */
#ifndef COMMON_DRIVE_DRIVECACHING_H
#define COMMON_DRIVE_DRIVECACHING_H

#include <stdbool.h>

#include "common/drive/drivelink.h"
#include "common/drive/scsicmd.h"

struct drivecaching {
	bool has_header; /* some MODE SENSE was answered */
	bool is_long;    /* by the 10-byte command */
	bool can_change; /* WCE is changeable; false also where unknown */
	struct scsicmd_caching now;
};

/* What cannot be read is absent: CACHING is always filled. */
void drivecaching_read(const struct drivelink *link, unsigned int timeout_ms,
		       struct drivecaching *caching);

/* Sets WCE by MODE SELECT and leaves the rest of the page as it was read. 0 or
 * -errno, -EOPNOTSUPP where the device shows no caching page. */
int drivecaching_set(const struct drivelink *link, unsigned int timeout_ms,
		     const struct drivecaching *caching, bool is_on);

#endif
