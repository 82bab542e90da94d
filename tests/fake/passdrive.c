/* SPDX-License-Identifier: MIT */
#include "tests/fake/passdrive.h"

#include <errno.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/bytes.h"
#include "common/drive/bigendian.h"

#define NSID             5
#define KEY_OF_ILLEGAL   5
#define KEY_OF_ATTENTION 6

static struct passdrive *the_drive; /* an ioctl has no place for it */

/* ---- moving, the same for all ---- */

/* Counts one, holds it back; true where it fails. Called locked. */
static bool arrive(struct passdrive *drive)
{
	bool is_failing;

	drive->under_way++;
	if (drive->under_way > drive->most_under_way)
		drive->most_under_way = drive->under_way;
	(void)pthread_cond_broadcast(&drive->changed);
	while (drive->is_held)
		(void)pthread_cond_wait(&drive->changed, &drive->lock);
	drive->under_way--;
	is_failing = drive->fail_after == 0;
	if (drive->fail_after > 0)
		drive->fail_after--;
	return is_failing;
}

static void move(struct passdrive *drive, void *buffer, uint32_t length,
		 bool is_write)
{
	uint64_t at = drive->last_lba * drive->block_bytes;

	if (is_write)
		drive->writes++;
	else
		drive->reads++;
	if (at + length > PASSDRIVE_MEDIA_BYTES)
		return;
	if (is_write)
		memcpy(drive->media + at, buffer, length);
	else
		memcpy(buffer, drive->media + at, length);
}

/* ---- NVMe ---- */

static void identify(const struct passdrive *drive,
		     const struct nvme_passthru_cmd *command)
{
	uint8_t *to = (uint8_t *)(uintptr_t)command->addr;
	unsigned int shift = 0;

	memset(to, 0, 4096);
	if (command->cdw10 == 1) {
		memcpy(to + 4, "PASS1", 5);
		memcpy(to + 24, "Fake NVMe", 9);
		memcpy(to + 64, "1.0", 3);
		to[525] = drive->has_cache;
		bytes_put16(to + 528, 7);
		return;
	}
	while (1U << shift < drive->block_bytes)
		shift++;
	bytes_put64(to, drive->size_bytes / drive->block_bytes);
	bytes_put16(to + 128, drive->metadata_bytes);
	to[130] = (uint8_t)shift;
}

static int admin(struct passdrive *drive, struct nvme_passthru_cmd *command)
{
	switch (command->opcode) {
	case 0x02:
		memset((void *)(uintptr_t)command->addr, 0, 512);
		return 0;
	case 0x06:
		identify(drive, command);
		return 0;
	case 0x09:
		drive->sets++;
		if (!drive->is_stubborn)
			drive->is_cache_on = command->cdw11 & 1;
		return 0;
	case 0x0a:
		command->result = drive->is_cache_on;
		return 0;
	default:
		return 1;
	}
}

static int nvme_io(struct passdrive *drive, struct nvme_passthru_cmd *command)
{
	if (arrive(drive)) {
		if (drive->fail_errno != 0) {
			errno = drive->fail_errno;
			return -1;
		}
		if (drive->nvme_status != 0)
			return drive->nvme_status;
	}
	if (command->nsid != NSID)
		return 0x0b;
	if (command->opcode == 0) {
		drive->flushes++;
		return 0;
	}
	drive->last_lba = command->cdw10 | (uint64_t)command->cdw11 << 32;
	drive->last_blocks = (command->cdw12 & 0xffff) + 1;
	if ((command->cdw12 & 1U << 30) != 0)
		drive->fua_writes++;
	move(drive, (void *)(uintptr_t)command->addr, command->data_len,
	     command->opcode == 1);
	return 0;
}

/* ---- SCSI ---- */

static int refuse(struct sg_io_hdr *io, uint8_t key, uint8_t code)
{
	uint8_t sense[18] = {0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, code};

	io->status = 2;
	io->driver_status = 8;
	memcpy(io->sbp, sense, sizeof(sense));
	io->sb_len_wr = sizeof(sense);
	return 0;
}

static void give(struct sg_io_hdr *io, const void *bytes, size_t count)
{
	size_t length = count < io->dxfer_len ? count : io->dxfer_len;

	memcpy(io->dxferp, bytes, length);
	io->resid = (int)(io->dxfer_len - length);
}

static void make_identify(const struct passdrive *drive, bool is_cache_on,
			  uint8_t bytes[512])
{
	memcpy(bytes + 20, "APSS 2", 6);
	memcpy(bytes + 54, "aFekA AT", 8);
	bytes_put16(bytes + 2 * 49, 1 << 8);
	bytes_put16(bytes + 2 * 82, drive->has_cache ? 1 << 5 : 0);
	bytes_put16(bytes + 2 * 83, 0x4000 | 1 << 10 | 1 << 12 |
					    (drive->knows_sync ? 1 << 13 : 0));
	bytes_put16(bytes + 2 * 84,
		    (uint16_t)(0x4000 | (drive->has_fua ? 1 << 6 : 0)));
	bytes_put16(bytes + 2 * 85, is_cache_on ? 1 << 5 : 0);
	bytes_put16(bytes + 2 * 87, 0x4000);
}

/* SAT-3 10.4.7. */
static int give_bridged(const struct passdrive *drive, struct sg_io_hdr *io)
{
	uint8_t bytes[572] = {0, 0x89, 2, 0x38};

	bytes[56] = 0xec;
	make_identify(drive, drive->is_bridge_cache_on, bytes + 60);
	if (!drive->has_bridge_words)
		memset(bytes + 60 + 2 * 82, 0, 12);
	give(io, bytes, sizeof(bytes));
	return 0;
}

static int give_inquiry(const struct passdrive *drive, struct sg_io_hdr *io)
{
	uint8_t bytes[96] = {0, 0, 6, 2, 91};
	uint8_t pages[] = {0, 0, 0, drive->is_bridge ? 3 : 2, 0, 0x80, 0x89};
	uint8_t serial[] = {0, 0x80, 0, 5, 'P', 'A', 'S', 'S', '3'};

	if (io->cmdp[1] == 1 && io->cmdp[2] == 0)
		give(io, pages, sizeof(pages));
	else if (io->cmdp[1] == 1 && io->cmdp[2] == 0x80)
		give(io, serial, sizeof(serial));
	else if (io->cmdp[1] == 1 && io->cmdp[2] == 0x89 && drive->is_bridge)
		return give_bridged(drive, io);
	else if (io->cmdp[1] == 1)
		return refuse(io, KEY_OF_ILLEGAL, 0x24);
	memcpy(bytes + 8,
	       drive->kind == PASSDRIVE_ATA ? "ATA     Fake ATA        1.0 "
					    : "FAKE    Fake SCSI       1.0 ",
	       28);
	if (io->cmdp[1] == 0)
		give(io, bytes, sizeof(bytes));
	return 0;
}

static int give_capacity(const struct passdrive *drive, struct sg_io_hdr *io)
{
	uint64_t last = drive->size_bytes / drive->block_bytes - 1;
	uint8_t bytes[32] = {0};

	if (io->cmdp[0] == 0x9e && !drive->knows_long)
		return refuse(io, KEY_OF_ILLEGAL, 0x20);
	if (io->cmdp[0] == 0x9e) {
		bigendian_put64(bytes, last);
		bigendian_put32(bytes + 8, drive->block_bytes);
		give(io, bytes, 32);
		return 0;
	}
	bigendian_put32(bytes, last > UINT32_MAX ? UINT32_MAX : (uint32_t)last);
	bigendian_put32(bytes + 4, drive->block_bytes);
	give(io, bytes, 8);
	return 0;
}

static int give_mode(const struct passdrive *drive, struct sg_io_hdr *io)
{
	bool is_long = io->cmdp[0] == 0x5a;
	size_t header = is_long ? 8 : 4;
	uint8_t bytes[8 + 20] = {0};
	size_t count = header + (drive->has_caching_page ? 20 : 0);

	if (is_long && !drive->knows_mode10)
		return refuse(io, KEY_OF_ILLEGAL, 0x20);
	bytes[is_long ? 1 : 0] = (uint8_t)(count - (is_long ? 2 : 1));
	bytes[is_long ? 3 : 2] = drive->has_fua ? 0x10 : 0;
	bytes[header] = 0x88;
	bytes[header + 1] = 18;
	if (drive->is_cache_on || io->cmdp[2] >> 6 == 1)
		bytes[header + 2] = 4;
	give(io, bytes, count);
	return 0;
}

static int take_mode(struct passdrive *drive, const struct sg_io_hdr *io)
{
	const uint8_t *bytes = io->dxferp;
	size_t header = io->cmdp[0] == 0x55 ? 8 : 4;

	drive->sets++;
	if (!drive->is_stubborn)
		drive->is_cache_on = (bytes[header + 2] & 4) != 0;
	return 0;
}

static int give_identify(const struct passdrive *drive, struct sg_io_hdr *io)
{
	uint8_t bytes[512] = {0};

	make_identify(drive, drive->is_cache_on, bytes);
	give(io, bytes, sizeof(bytes));
	return 0;
}

/* Reads, writes and flushes, by SCSI or ATA. */
static int scsi_io(struct passdrive *drive, struct sg_io_hdr *io, bool is_write,
		   bool is_fua)
{
	memcpy(drive->last_cdb, io->cmdp, io->cmd_len);
	if (arrive(drive)) {
		if (drive->fail_errno != 0) {
			errno = drive->fail_errno;
			return -1;
		}
		io->status = drive->scsi_status;
		io->host_status = drive->host_status;
		io->driver_status = drive->driver_status;
		io->resid = drive->left_over;
		io->sb_len_wr = drive->sense_bytes;
		memcpy(io->sbp, drive->sense, drive->sense_bytes);
	}
	if (io->dxfer_len == 0)
		drive->flushes++;
	else
		move(drive, io->dxferp, io->dxfer_len, is_write);
	if (is_fua)
		drive->fua_writes++;
	return 0;
}

static int ata(struct passdrive *drive, struct sg_io_hdr *io)
{
	const uint8_t *cdb = io->cmdp;

	switch (cdb[14]) {
	case 0xec:
		return give_identify(drive, io);
	case 0xef:
		drive->sets++;
		if (!drive->is_stubborn)
			drive->is_cache_on = cdb[4] == 0x02;
		return 0;
	case 0x3d:
		drive->last_lba =
			cdb[8] | (uint64_t)cdb[10] << 8 |
			(uint64_t)cdb[12] << 16 | (uint64_t)cdb[7] << 24 |
			(uint64_t)cdb[9] << 32 | (uint64_t)cdb[11] << 40;
		drive->last_blocks = (uint32_t)cdb[5] << 8 | cdb[6];
		return scsi_io(drive, io, true, true);
	default:
		return scsi_io(drive, io, false, false);
	}
}

static int move_long(struct passdrive *drive, struct sg_io_hdr *io)
{
	if (!drive->knows_long)
		return refuse(io, KEY_OF_ILLEGAL, 0x20);
	drive->last_lba = bigendian_get64(io->cmdp + 2);
	drive->last_blocks = bigendian_get32(io->cmdp + 10);
	return scsi_io(drive, io, io->cmdp[0] == 0x8a, (io->cmdp[1] & 8) != 0);
}

static int move_short(struct passdrive *drive, struct sg_io_hdr *io)
{
	drive->last_lba = bigendian_get32(io->cmdp + 2);
	drive->last_blocks = bigendian_get16(io->cmdp + 7);
	return scsi_io(drive, io, io->cmdp[0] == 0x2a, (io->cmdp[1] & 8) != 0);
}

static int scsi(struct passdrive *drive, struct sg_io_hdr *io)
{
	if (drive->attentions > 0) {
		drive->attentions--;
		return refuse(io, KEY_OF_ATTENTION, 0x29);
	}
	switch (io->cmdp[0]) {
	case 0x12:
		return give_inquiry(drive, io);
	case 0x1a:
	case 0x5a:
		return give_mode(drive, io);
	case 0x15:
	case 0x55:
		return take_mode(drive, io);
	case 0x25:
	case 0x9e:
		return give_capacity(drive, io);
	case 0x28:
	case 0x2a:
		return move_short(drive, io);
	case 0x88:
	case 0x8a:
		return move_long(drive, io);
	case 0x35:
	case 0x91:
		if (!drive->knows_sync ||
		    (io->cmdp[0] == 0x91 && !drive->knows_long))
			return refuse(io, KEY_OF_ILLEGAL, 0x20);
		return scsi_io(drive, io, false, false);
	case 0x85:
		if (drive->kind == PASSDRIVE_ATA)
			return ata(drive, io);
		return refuse(io, KEY_OF_ILLEGAL, 0x20);
	default:
		return refuse(io, KEY_OF_ILLEGAL, 0x20);
	}
}

/* ---- the kernel ---- */

static int answer(struct passdrive *drive, unsigned long request,
		  void *argument)
{
	switch (request) {
	case BLKGETSIZE64:
		*(uint64_t *)argument = drive->partition_bytes != 0
						? drive->partition_bytes
						: drive->size_bytes;
		return 0;
	case BLKSSZGET:
		*(int *)argument = (int)drive->block_bytes;
		return 0;
	case NVME_IOCTL_ID:
		return NSID;
	case NVME_IOCTL_ADMIN_CMD:
		drive->commands++;
		return admin(drive, argument);
	case NVME_IOCTL_IO_CMD:
		drive->commands++;
		return nvme_io(drive, argument);
	case SG_IO:
		drive->commands++;
		return scsi(drive, argument);
	default:
		errno = ENOTTY;
		return -1;
	}
}

static int control(int fd, unsigned long request, void *argument)
{
	int result;

	(void)fd; /* there is one drive */
	(void)pthread_mutex_lock(&the_drive->lock);
	result = answer(the_drive, request, argument);
	(void)pthread_mutex_unlock(&the_drive->lock);
	return result;
}

static int device(int fd, dev_t *number)
{
	(void)fd;
	*number = makedev(8, 0);
	return 0;
}

void passdrive_init(struct passdrive *drive, enum passdrive_kind kind,
		    const struct sysfs_fake *sysfs)
{
	memset(drive, 0, sizeof(*drive));
	drive->kind = kind;
	drive->block_bytes = 512;
	drive->size_bytes = 1ULL << 30;
	drive->has_cache = drive->is_cache_on = drive->has_fua = true;
	drive->knows_long = drive->knows_sync = drive->knows_mode10 = true;
	drive->has_caching_page = true;
	(void)pthread_mutex_init(&drive->lock, NULL);
	(void)pthread_cond_init(&drive->changed, NULL);
	drive->sysfs = *sysfs;
	drive->system = (struct drivelink_system){.sysfs = drive->sysfs.root,
						  .control = control,
						  .device = device};
	sysfs_fake_put(sysfs, "d/disk/queue/max_hw_sectors_kb", "512\n");
	sysfs_fake_put(sysfs, "d/disk/queue/max_segments", "128\n");
	sysfs_fake_put(sysfs, "d/disk/device/model", "x\n");
	sysfs_fake_link(sysfs, "d/disk/device/subsystem",
			kind == PASSDRIVE_NVME ? "class/nvme" : "bus/scsi");
	sysfs_fake_link(sysfs, "dev/block/8:0", "d/disk");
	the_drive = drive;
}

void passdrive_hold(struct passdrive *drive, bool is_held)
{
	(void)pthread_mutex_lock(&drive->lock);
	drive->is_held = is_held;
	(void)pthread_cond_broadcast(&drive->changed);
	(void)pthread_mutex_unlock(&drive->lock);
}

void passdrive_await(struct passdrive *drive, unsigned int under_way)
{
	(void)pthread_mutex_lock(&drive->lock);
	while (drive->under_way < under_way)
		(void)pthread_cond_wait(&drive->changed, &drive->lock);
	(void)pthread_mutex_unlock(&drive->lock);
}
