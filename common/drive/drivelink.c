/* SPDX-License-Identifier: MIT */
#include "common/drive/drivelink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/err.h"

#define SECTOR_BYTES    512U /* of sysfs, whatever the drive's blocks */
#define STATUS_GOOD     0x00
#define STATUS_CHECK    0x02
#define DRIVER_MASK     0x0f /* above: suggestions of old kernels */
#define DRIVER_SENSE    0x08 /* there is sense data: no error by itself */
#define HOST_NO_CONNECT 0x01
#define HOST_TIME_OUT   0x03

static_assert(DRIVELINK_PATH_BYTES >= PATH_MAX, "realpath() wants that much");

static int kernel_control(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument);
}

static int kernel_device(int fd, dev_t *device)
{
	struct stat status;

	if (fstat(fd, &status) == -1 || !S_ISBLK(status.st_mode))
		return -1;
	*device = status.st_rdev;
	return 0;
}

const struct drivelink_system drivelink_kernel = {
	.sysfs = "/sys",
	.control = kernel_control,
	.device = kernel_device,
};

/* Decimal digits and a newline; false for anything else. */
static bool read_number(const char *folder, const char *name, uint64_t *value)
{
	char path[DRIVELINK_PATH_BYTES + 64];
	char text[32];
	char *end;
	ssize_t length;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	(void)close(fd); /* was only read */
	if (length <= 0)
		return false;
	text[length] = '\0';
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && (*end == '\0' || *end == '\n');
}

/* What the folder's device hangs on: "scsi", "nvme", "nvme-subsystem"... */
static enum drivelink_kind kind_of(const char *disk)
{
	char path[DRIVELINK_PATH_BYTES + 32];
	char where[DRIVELINK_PATH_BYTES];
	const char *name;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "%s/device/subsystem", disk);
	length = readlink(path, where, sizeof(where) - 1);
	if (length <= 0)
		return DRIVELINK_NONE;
	where[length] = '\0';
	name = strrchr(where, '/');
	name = name == NULL ? where : name + 1;
	if (strcmp(name, "scsi") == 0)
		return DRIVELINK_SCSI;
	if (strcmp(name, "nvme") == 0 || strcmp(name, "nvme-subsystem") == 0)
		return DRIVELINK_NVME;
	return DRIVELINK_NONE;
}

/* The drive's folder, and where a partition begins. */
static int find_disk(struct drivelink *link, dev_t device)
{
	char path[DRIVELINK_PATH_BYTES];
	uint64_t number = 0;
	char *slash;

	(void)snprintf(path, sizeof(path), "%s/dev/block/%u:%u",
		       link->system->sysfs, major(device), minor(device));
	if (realpath(path, link->disk) == NULL)
		return -1;
	if (!read_number(link->disk, "partition", &number))
		return 0;
	if (!read_number(link->disk, "start", &number) ||
	    number > UINT64_MAX / SECTOR_BYTES)
		return -1;
	link->start_bytes = number * SECTOR_BYTES;
	slash = strrchr(link->disk, '/');
	if (slash == NULL)
		return -1;
	*slash = '\0';
	return 0;
}

int drivelink_open(struct drivelink *link, int fd,
		   const struct drivelink_system *system, struct err *err)
{
	dev_t device;
	int nsid;

	memset(link, 0, sizeof(*link));
	link->fd = fd;
	link->system = system;
	if (system->device(fd, &device) == -1 ||
	    find_disk(link, device) == -1) {
		link->disk[0] = '\0';
		return 0;
	}
	link->kind = kind_of(link->disk);
	if (link->kind != DRIVELINK_NVME)
		return 0;
	nsid = system->control(fd, NVME_IOCTL_ID, NULL);
	if (nsid == -1)
		return err_sys(err, errno,
			       "cannot ask an NVMe drive for its namespace");
	link->nsid = (uint32_t)nsid;
	return 0;
}

int drivelink_nvme(const struct drivelink *link, const struct nvmecmd *command,
		   void *data, unsigned int timeout_ms,
		   struct drivelink_answer *answer)
{
	struct nvme_passthru_cmd pass = {
		.opcode = command->opcode,
		.nsid = command->nsid,
		.addr = (uint64_t)(uintptr_t)data,
		.data_len = command->data_bytes,
		.cdw10 = command->cdw10,
		.cdw11 = command->cdw11,
		.cdw12 = command->cdw12,
		.timeout_ms = timeout_ms,
	};
	int status;

	assert(link->kind == DRIVELINK_NVME);
	assert((data != NULL) == (command->data_bytes > 0));

	status = link->system->control(link->fd,
				       command->is_admin ? NVME_IOCTL_ADMIN_CMD
							 : NVME_IOCTL_IO_CMD,
				       &pass);
	if (answer != NULL) {
		memset(answer, 0, sizeof(*answer));
		answer->result = pass.result;
		answer->moved_bytes = status == 0 ? command->data_bytes : 0;
	}
	/* EINTR: the kernel gave the command up when it reset the drive. */
	if (status == -1)
		return errno > 0 && errno != EINTR ? -errno : -EIO;
	return nvmecmd_errno((unsigned int)status);
}

static int direction_of(const struct scsicmd *command)
{
	switch (command->direction) {
	case SCSICMD_FROM_DRIVE:
		return SG_DXFER_FROM_DEV;
	case SCSICMD_TO_DRIVE:
		return SG_DXFER_TO_DEV;
	case SCSICMD_NO_DATA:
		return SG_DXFER_NONE;
	}
	abort();
}

static int host_errno(unsigned int host)
{
	switch (host) {
	case 0:
		return 0;
	case HOST_NO_CONNECT:
		return -ENODEV;
	case HOST_TIME_OUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

/* Good only where nobody on the way has anything to say. */
static int judge(const struct sg_io_hdr *io, const struct scsicmd_sense *sense)
{
	unsigned int driver = io->driver_status & DRIVER_MASK;

	if (io->host_status != 0)
		return host_errno(io->host_status);
	if (driver != 0 && driver != DRIVER_SENSE)
		return -EIO;
	if (io->status == STATUS_GOOD && driver == 0)
		return 0;
	if (io->status != STATUS_GOOD && io->status != STATUS_CHECK)
		return -EIO;
	return scsicmd_is_recovered(sense) ? 0 : scsicmd_errno(sense);
}

int drivelink_scsi(const struct drivelink *link, const struct scsicmd *command,
		   void *data, unsigned int timeout_ms,
		   struct drivelink_answer *answer)
{
	uint8_t cdb[SCSICMD_CDB_BYTES];
	uint8_t sense_bytes[SCSICMD_SENSE_BYTES] = {0};
	struct scsicmd_sense sense;
	struct sg_io_hdr io = {
		.interface_id = 'S',
		.dxfer_direction = direction_of(command),
		.cmd_len = command->cdb_bytes,
		.mx_sb_len = sizeof(sense_bytes),
		.dxfer_len = command->data_bytes,
		.dxferp = data,
		.cmdp = cdb,
		.sbp = sense_bytes,
		.timeout = timeout_ms,
	};
	size_t written;

	assert(link->kind == DRIVELINK_SCSI);
	assert((data != NULL) == (command->data_bytes > 0));

	memcpy(cdb, command->cdb, sizeof(cdb));
	if (answer != NULL)
		memset(answer, 0, sizeof(*answer));
	if (link->system->control(link->fd, SG_IO, &io) == -1)
		return errno > 0 ? -errno : -EIO;
	written = io.sb_len_wr < sizeof(sense_bytes) ? io.sb_len_wr
						     : sizeof(sense_bytes);
	sense = scsicmd_parse_sense(sense_bytes, written);
	if (answer != NULL) {
		answer->sense = sense;
		if (io.resid >= 0 && (uint32_t)io.resid <= command->data_bytes)
			answer->moved_bytes =
				command->data_bytes - (uint32_t)io.resid;
	}
	return judge(&io, &sense);
}

int drivelink_ask(const struct drivelink *link, const struct scsicmd *command,
		  void *data, unsigned int timeout_ms,
		  struct drivelink_answer *answer)
{
	struct drivelink_answer own;
	int status = 0;

	if (answer == NULL)
		answer = &own;
	for (unsigned int i = 0; i < DRIVELINK_ASKS_MAX; i++) {
		status =
			drivelink_scsi(link, command, data, timeout_ms, answer);
		if (status == 0 || !scsicmd_is_unit_attention(&answer->sense))
			break;
	}
	return status;
}

bool drivelink_read_number(const struct drivelink *link, const char *name,
			   uint64_t *value)
{
	return link->disk[0] != '\0' && read_number(link->disk, name, value);
}
