/* SPDX-License-Identifier: MIT */
#include "common/target/fileid.h"

#include <assert.h>
#include <blkid/blkid.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UUID_BYTES  16
#define XFS_MAGIC   0x58465342 /* "XFSB" */
#define UUID_DIGITS 32

/* include/uapi/linux/fs.h, Linux 6.9. */
struct fileid_uuid2 {
	uint8_t length;
	uint8_t uuid[UUID_BYTES];
};
#define FILEID_GETFSUUID _IOR(0x15, 0, struct fileid_uuid2)

/* fs/xfs/libxfs/xfs_fs.h: struct xfs_fsop_geom_v1, on every xfs there is. */
struct fileid_xfs {
	uint32_t numbers[12];
	uint64_t blocks[4];
	uint8_t uuid[UUID_BYTES];
	uint32_t more[4];
};
#define FILEID_XFS_GEOMETRY _IOR('X', 100, struct fileid_xfs)

static_assert(sizeof(struct fileid_xfs) == 112, "as the kernel has it");

/* The kernel's huge_encode_dev(). */
static bool is_device_number(const struct statfs *system, dev_t device)
{
	uint32_t low = minor(device) & 0xffU;

	low |= major(device) << 8;
	low |= (minor(device) & ~0xffU) << 12;
	return (uint32_t)system->f_fsid.__val[0] == low &&
	       system->f_fsid.__val[1] == 0;
}

static bool is_all_zero(const uint8_t uuid[UUID_BYTES])
{
	for (size_t i = 0; i < UUID_BYTES; i++) {
		if (uuid[i] != 0)
			return false;
	}
	return true;
}

static bool ask_kernel(int fd, const struct statfs *system,
		       uint8_t uuid[UUID_BYTES])
{
	struct fileid_uuid2 answer = {0};
	struct fileid_xfs geometry = {0};

	if (ioctl(fd, FILEID_GETFSUUID, &answer) == 0 &&
	    answer.length == UUID_BYTES)
		memcpy(uuid, answer.uuid, UUID_BYTES);
	else if ((uint32_t)system->f_type == XFS_MAGIC &&
		 ioctl(fd, FILEID_XFS_GEOMETRY, &geometry) == 0)
		memcpy(uuid, geometry.uuid, UUID_BYTES);
	else
		return false;
	return !is_all_zero(uuid);
}

/* TO gets the first 32 hexadecimal digits of FROM, small; short ones (vfat has
 * eight) are followed by zeros. */
static bool copy_digits(const char *from, char to[UUID_DIGITS + 1])
{
	static const char digits[] = "0123456789abcdef";
	size_t used = 0;

	for (; *from != '\0' && used < UUID_DIGITS; from++) {
		char digit = *from >= 'A' && *from <= 'F'
				     ? (char)(*from - 'A' + 'a')
				     : *from;

		if (strchr(digits, digit) != NULL)
			to[used++] = digit;
	}
	if (used == 0)
		return false;
	memset(to + used, '0', UUID_DIGITS - used);
	to[UUID_DIGITS] = '\0';
	return true;
}

/* libblkid reads the drive below; only root may. */
static bool ask_drive(dev_t device, char to[UUID_DIGITS + 1])
{
	char *name = blkid_devno_to_devname(device);
	int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
	blkid_probe probe = fd == -1 ? NULL : blkid_new_probe();
	const char *uuid = NULL;
	bool is_known = false;

	if (probe != NULL && blkid_probe_set_device(probe, fd, 0, 0) == 0 &&
	    blkid_probe_enable_superblocks(probe, 1) == 0 &&
	    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_UUID) == 0 &&
	    blkid_do_safeprobe(probe) == 0 &&
	    blkid_probe_lookup_value(probe, "UUID", &uuid, NULL) == 0)
		is_known = copy_digits(uuid, to);
	blkid_free_probe(probe);
	if (fd != -1)
		(void)close(fd); /* nothing was written */
	free(name);
	return is_known;
}

int fileid_tell(int fd, char *text, size_t room)
{
	char digits[UUID_DIGITS + 1];
	uint8_t uuid[UUID_BYTES];
	struct statfs system;
	struct stat status;

	if (fstat(fd, &status) == -1 || fstatfs(fd, &system) == -1)
		return -1;
	(void)snprintf(digits, sizeof(digits), "%08x%08x",
		       (unsigned int)system.f_fsid.__val[0],
		       (unsigned int)system.f_fsid.__val[1]);
	if (is_device_number(&system, status.st_dev) &&
	    ask_kernel(fd, &system, uuid)) {
		for (size_t i = 0; i < UUID_BYTES; i++)
			(void)snprintf(digits + 2 * i, 3, "%02x", uuid[i]);
	} else if (is_device_number(&system, status.st_dev)) {
		(void)ask_drive(status.st_dev, digits); /* else as it is */
	}
	(void)snprintf(text, room, "file:%s:%llu", digits,
		       (unsigned long long)status.st_ino);
	return 0;
}
