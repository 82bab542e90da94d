/* SPDX-License-Identifier: MIT */
/*
 * drivelink - hands a command to a drive, past the block layer, and tells what
 * came of it.
 *
 * It never sends a command twice, and neither does the kernel: a pass-through
 * command that was in flight when the drive lost its power comes back with an
 * error, while the kernel repeats a FLUSH of its own on the drive that came
 * back, and reports success (P11). SG_IO returns 0 for a command that failed:
 * the status of the drive, of the host adapter and of the driver decide, not
 * the return value.
 *
 * Which devices are drives is sysfs's word: device mapper passes these ioctls
 * on to what lies below it, with addresses that mean another place there.
 */
#ifndef COMMON_DRIVE_DRIVELINK_H
#define COMMON_DRIVE_DRIVELINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/drive/nvmecmd.h"
#include "common/drive/scsicmd.h"

struct err;

#define DRIVELINK_PATH_BYTES 4096

enum drivelink_kind {
	DRIVELINK_NONE,
	DRIVELINK_NVME,
	DRIVELINK_SCSI,
};

/* The kernel, or a test's stand-in for it. */
struct drivelink_system {
	const char *sysfs; /* "/sys" */
	/* As ioctl(2): -1 and errno. */
	int (*control)(int fd, unsigned long request, void *argument);
	/* The device that FD is open on; -1: none. */
	int (*device)(int fd, dev_t *device);
};

extern const struct drivelink_system drivelink_kernel;

struct drivelink {
	const struct drivelink_system *system;
	int fd; /* the caller's */
	enum drivelink_kind kind;
	uint32_t nsid;        /* NVMe */
	uint64_t start_bytes; /* of a partition on its drive; else 0 */
	char disk[DRIVELINK_PATH_BYTES]; /* folder of the drive in sysfs; "" */
};

struct drivelink_answer {
	uint32_t result;      /* NVMe: dword 0 of the completion */
	uint32_t moved_bytes; /* SCSI: without what the drive left over */
	struct scsicmd_sense sense;
};

/*
 * What FD is open on. 0, also where that is no drive (DRIVELINK_NONE); -1 where
 * it looks like one and does not answer.
 */
int drivelink_open(struct drivelink *link, int fd,
		   const struct drivelink_system *system, struct err *err);

/*
 * Sends one command, and blocks until it is done. DATA has the command's
 * data_bytes. When TIMEOUT_MS is over, the kernel aborts the command and resets
 * the drive. ANSWER may be NULL.
 *
 * 0, or -errno: -EOPNOTSUPP and -EINVAL where the drive does not know the
 * command or its values, -ENODEV where it is gone, -ETIMEDOUT, -EPERM and
 * -EACCES from the system, -EIO for all else.
 */
int drivelink_nvme(const struct drivelink *link, const struct nvmecmd *command,
		   void *data, unsigned int timeout_ms,
		   struct drivelink_answer *answer);
int drivelink_scsi(const struct drivelink *link, const struct scsicmd *command,
		   void *data, unsigned int timeout_ms,
		   struct drivelink_answer *answer);

/*
 * The same for questions, which may be asked again: a SCSI device answers the
 * first command after a reset with a unit attention. At most
 * DRIVELINK_ASKS_MAX times.
 */
int drivelink_ask(const struct drivelink *link, const struct scsicmd *command,
		  void *data, unsigned int timeout_ms,
		  struct drivelink_answer *answer);

#define DRIVELINK_ASKS_MAX 4

/* A number from a file in the drive's folder; false where there is none. */
bool drivelink_read_number(const struct drivelink *link, const char *name,
			   uint64_t *value);

#endif
