/* SPDX-License-Identifier: MIT */
#include "common/drive/drivecache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/drive/atacmd.h"
#include "common/drive/drivecaching.h"

static const char *word(bool is_on)
{
	return is_on ? "on" : "off";
}

static int send(const struct drivelink *link, enum drivefacts_kind kind,
		bool is_on)
{
	struct drivecaching caching;
	struct nvmecmd nvme;
	struct scsicmd scsi;

	switch (kind) {
	case DRIVEFACTS_NVME:
		nvme = nvmecmd_set_cache(is_on);
		return drivelink_nvme(link, &nvme, NULL, DRIVECACHE_TIMEOUT_MS,
				      NULL);
	case DRIVEFACTS_ATA:
		scsi = atacmd_set_cache(is_on);
		return drivelink_ask(link, &scsi, NULL, DRIVECACHE_TIMEOUT_MS,
				     NULL);
	case DRIVEFACTS_SCSI:
		drivecaching_read(link, DRIVECACHE_TIMEOUT_MS, &caching);
		return drivecaching_set(link, DRIVECACHE_TIMEOUT_MS, &caching,
					is_on);
	case DRIVEFACTS_NONE:
		break;
	}
	return -EOPNOTSUPP;
}

/* A SCSI disk's cache is looked at again on a rescan; without the right to one
 * the kernel goes on as before, and the queue's own word tells of it. */
static void rescan(const struct drivelink *link)
{
	char path[DRIVELINK_PATH_BYTES + 32];
	int fd;

	if (link->kind != DRIVELINK_SCSI || link->disk[0] == '\0')
		return;
	(void)snprintf(path, sizeof(path), "%s/device/rescan", link->disk);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd == -1)
		return;
	if (write(fd, "1", 1) == -1) {
		/* see above */
	}
	(void)close(fd); /* a file of the kernel's, not of a disk */
}

int drivecache_set(const struct drivelink *link, const char *name, bool is_on,
		   struct drivefacts *before, struct err *err)
{
	struct drivefacts now;
	int status;

	if (link->kind == DRIVELINK_NONE)
		return err_set(err,
			       "--write-cache %s needs an NVMe or SCSI/ATA "
			       "drive; %s is neither",
			       word(is_on), name);
	if (drivefacts_ask_link(link, DRIVECACHE_TIMEOUT_MS, before, err) == -1)
		return err_prefix(err, "--write-cache %s: %s", word(is_on),
				  name);
	if (before->is_cache_on == DRIVEFACTS_UNKNOWN ||
	    (is_on && before->has_cache == DRIVEFACTS_NO))
		return err_set(
			err, "--write-cache %s: %s %s", word(is_on), name,
			before->has_cache == DRIVEFACTS_NO
				? "says that it has no cache"
				: "does not say whether its cache is on");
	if ((before->is_cache_on == DRIVEFACTS_YES) == is_on)
		return 0;
	status = send(link, before->kind, is_on);
	if (status < 0)
		return err_sys(err, -status, "--write-cache %s: %s refuses it",
			       word(is_on), name);
	rescan(link);
	if (drivefacts_ask_link(link, DRIVECACHE_TIMEOUT_MS, &now, err) == -1)
		return err_prefix(err, "--write-cache %s: %s", word(is_on),
				  name);
	if (now.is_cache_on == (is_on ? DRIVEFACTS_YES : DRIVEFACTS_NO))
		return 0;
	return err_set(err,
		       "--write-cache %s: %s accepted it and did not obey: its "
		       "cache is still %s",
		       word(is_on), name, word(!is_on));
}
