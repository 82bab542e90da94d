/* SPDX-License-Identifier: MIT */
#include "common/drive/driveio.h"

#include <assert.h>
#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/drive/atacmd.h"

#define LBA10_END       (1ULL << 32)
#define LBA48_END       (1ULL << 48)
#define BLOCKS10_MAX    65535U
#define KIB             1024U
#define REQUEST_MAX     (64U * 1024 * 1024)
#define REQUEST_UNKNOWN (128U * 1024) /* where sysfs does not say */

static int refuse_kind(const char *name, struct err *err)
{
	return err_set(err,
		       "--engine native needs an NVMe or SCSI/ATA drive; %s "
		       "is neither",
		       name);
}

/* ---- what the drive takes ---- */

/* The 16-byte command unless the drive does not know it. */
static bool knows_long_read(const struct drivelink *link, uint32_t block_bytes)
{
	const struct scsicmd command = scsicmd_read(0, 1, block_bytes, true);
	struct drivelink_answer answer;
	void *block = NULL;
	int status;

	if (posix_memalign(&block, 4096, block_bytes) != 0)
		return true;
	status = drivelink_ask(link, &command, block, DRIVEIO_TIMEOUT_MS,
			       &answer);
	free(block);
	return status == 0 || !scsicmd_is_unknown_opcode(&answer.sense);
}

static enum driveio_flush find_sync(const struct drivelink *link)
{
	const struct scsicmd wide = scsicmd_sync_cache(0, 0, true);
	const struct scsicmd narrow = scsicmd_sync_cache(0, 0, false);
	struct drivelink_answer answer;

	if (drivelink_ask(link, &wide, NULL, DRIVEIO_FLUSH_TIMEOUT_MS,
			  &answer) == 0)
		return DRIVEIO_FLUSH_SYNC16;
	if (!scsicmd_is_unknown_opcode(&answer.sense))
		return DRIVEIO_FLUSH_NONE;
	if (drivelink_ask(link, &narrow, NULL, DRIVEIO_FLUSH_TIMEOUT_MS,
			  &answer) == 0)
		return DRIVEIO_FLUSH_SYNC10;
	return DRIVEIO_FLUSH_NONE;
}

static enum driveio_flush find_ata_flush(const struct drivelink *link)
{
	const struct scsicmd command = atacmd_identify();
	uint8_t bytes[ATACMD_IDENTIFY_BYTES] = {0};
	struct drivelink_answer answer;
	struct atacmd_drive drive;

	if (drivelink_ask(link, &command, bytes, DRIVEIO_TIMEOUT_MS, &answer) <
		    0 ||
	    atacmd_parse_identify(bytes, answer.moved_bytes, &drive) == -1)
		return DRIVEIO_FLUSH_NONE;
	if (drive.has_flush_ext)
		return DRIVEIO_FLUSH_ATA_EXT;
	return drive.has_flush ? DRIVEIO_FLUSH_ATA : DRIVEIO_FLUSH_NONE;
}

static void find_commands(struct driveio *io)
{
	switch (io->facts.kind) {
	case DRIVEFACTS_NVME:
		io->flush = DRIVEIO_FLUSH_NVME;
		break;
	case DRIVEFACTS_ATA:
		io->flush = find_ata_flush(&io->link);
		break;
	case DRIVEFACTS_SCSI:
		io->flush = find_sync(&io->link);
		break;
	case DRIVEFACTS_NONE:
		break;
	}
	io->has_fua = io->facts.has_fua == DRIVEFACTS_YES;
	if (io->facts.kind != DRIVEFACTS_NVME)
		io->has_long =
			knows_long_read(&io->link, io->logical_block_bytes);
}

/* ---- how much at once ---- */

static uint32_t least(uint32_t limit, uint64_t value)
{
	return value > 0 && value < limit ? (uint32_t)value : limit;
}

/*
 * The kernel refuses what is more than the adapter takes (max_hw_sectors_kb) or
 * has more pages than it has segments, and the drive what is more than the
 * kernel found that it takes (max_sectors_kb). Buffers begin at a page.
 */
static uint32_t find_max_request(const struct driveio *io)
{
	long page_bytes = sysconf(_SC_PAGESIZE);
	uint32_t limit = REQUEST_MAX;
	uint32_t blocks_max = ATACMD_BLOCKS_MAX;
	uint64_t value = 0;
	bool is_known = false;

	if (io->facts.kind != DRIVEFACTS_NVME && !io->has_long)
		blocks_max = BLOCKS10_MAX;
	limit = least(limit, (uint64_t)blocks_max * io->logical_block_bytes);
	if (drivelink_read_number(&io->link, "queue/max_hw_sectors_kb",
				  &value) &&
	    value <= REQUEST_MAX / KIB) {
		limit = least(limit, value * KIB);
		is_known = true;
	}
	if (drivelink_read_number(&io->link, "queue/max_sectors_kb", &value) &&
	    value <= REQUEST_MAX / KIB) {
		limit = least(limit, value * KIB);
		is_known = true;
	}
	if (page_bytes > 0 &&
	    drivelink_read_number(&io->link, "queue/max_segments", &value) &&
	    value <= REQUEST_MAX / (uint64_t)page_bytes)
		limit = least(limit, value * (uint64_t)page_bytes);
	if (!is_known)
		limit = least(limit, REQUEST_UNKNOWN);
	return limit / io->logical_block_bytes * io->logical_block_bytes;
}

/* ---- opening ---- */

/* Blocks with extra bytes would need buffers for them. */
static int check_metadata(const struct driveio *io, const char *name,
			  struct err *err)
{
	const struct nvmecmd command =
		nvmecmd_identify_namespace(io->link.nsid);
	uint8_t bytes[NVMECMD_IDENTIFY_BYTES] = {0};
	struct nvmecmd_namespace space;

	if (drivelink_nvme(&io->link, &command, bytes, DRIVEIO_TIMEOUT_MS,
			   NULL) < 0 ||
	    nvmecmd_parse_namespace(bytes, sizeof(bytes), &space) == -1)
		return err_set(err, "cannot ask %s for its block size", name);
	if (space.metadata_bytes == 0)
		return 0;
	return err_set(err,
		       "--engine native: the blocks of %s carry %u bytes of "
		       "metadata each\nhint: format it without, or take "
		       "--engine libaio",
		       name, space.metadata_bytes);
}

static int check_sizes(struct driveio *io, const char *name, struct err *err)
{
	const struct drivefacts *facts = &io->facts;
	uint64_t end_bytes;

	if (facts->logical_block_bytes == 0 || facts->size_bytes == 0)
		return err_set(err, "cannot ask %s for its size", name);
	if (facts->logical_block_bytes != io->logical_block_bytes)
		return err_set(err,
			       "--engine native: %s has blocks of %u bytes, "
			       "the kernel takes them for %u",
			       name, facts->logical_block_bytes,
			       io->logical_block_bytes);
	if (io->start_bytes % io->logical_block_bytes != 0)
		return err_set(err,
			       "--engine native: %s does not begin at a block",
			       name);
	if (__builtin_add_overflow(io->start_bytes, io->size_bytes,
				   &end_bytes) ||
	    end_bytes > facts->size_bytes)
		return err_set(err,
			       "--engine native: %s ends at byte %llu of its "
			       "drive, which says that it has %llu",
			       name, (unsigned long long)end_bytes,
			       (unsigned long long)facts->size_bytes);
	return 0;
}

/* The 10-byte commands do not reach behind 2^32 blocks. */
static int check_reach(const struct driveio *io, const char *name,
		       struct err *err)
{
	uint64_t blocks =
		(io->start_bytes + io->size_bytes) / io->logical_block_bytes;

	if (io->facts.kind == DRIVEFACTS_NVME || io->has_long ||
	    blocks <= LBA10_END)
		return 0;
	return err_set(err,
		       "--engine native: %s has more than 2^32 blocks, and "
		       "does not know READ(16)",
		       name);
}

static int ask_kernel(struct driveio *io, const char *name, struct err *err)
{
	const struct drivelink *link = &io->link;
	int block_bytes = 0;

	if (link->system->control(link->fd, BLKGETSIZE64, &io->size_bytes) ==
		    -1 ||
	    link->system->control(link->fd, BLKSSZGET, &block_bytes) == -1)
		return err_sys(err, errno, "cannot tell the size of %s", name);
	if (block_bytes < 512 || io->size_bytes < (unsigned int)block_bytes)
		return err_set(err, "cannot use %s: its size is %llu bytes",
			       name, (unsigned long long)io->size_bytes);
	io->logical_block_bytes = (uint32_t)block_bytes;
	io->start_bytes = link->start_bytes;
	return 0;
}

int driveio_open(struct driveio *io, int fd, const char *name,
		 const struct drivelink_system *system, struct err *err)
{
	memset(io, 0, sizeof(*io));
	if (drivelink_open(&io->link, fd, system, err) == -1)
		return err_prefix(err, "%s", name);
	if (io->link.kind == DRIVELINK_NONE)
		return refuse_kind(name, err);
	if (ask_kernel(io, name, err) == -1)
		return -1;
	if (drivefacts_ask_link(&io->link, DRIVEIO_TIMEOUT_MS, &io->facts,
				err) == -1)
		return err_prefix(err, "--engine native: %s", name);
	if (check_sizes(io, name, err) == -1 ||
	    (io->facts.kind == DRIVEFACTS_NVME &&
	     check_metadata(io, name, err) == -1))
		return -1;
	find_commands(io);
	io->max_request_bytes = find_max_request(io);
	if (io->max_request_bytes == 0)
		return err_set(err,
			       "--engine native: %s takes no request of "
			       "a block",
			       name);
	return check_reach(io, name, err);
}

/* ---- moving ---- */

struct range {
	uint64_t lba;
	uint32_t blocks;
	uint32_t bytes;
};

static struct range range_of(const struct driveio *io, size_t length,
			     uint64_t offset_bytes)
{
	assert(length > 0 && length <= io->max_request_bytes);
	assert(length % io->logical_block_bytes == 0);
	assert(offset_bytes % io->logical_block_bytes == 0);
	assert(offset_bytes <= io->size_bytes &&
	       length <= io->size_bytes - offset_bytes);

	return (struct range){
		.lba = (io->start_bytes + offset_bytes) /
		       io->logical_block_bytes,
		.blocks = (uint32_t)(length / io->logical_block_bytes),
		.bytes = (uint32_t)length,
	};
}

static int64_t move_nvme(const struct driveio *io,
			 const struct nvmecmd *command, void *buffer)
{
	int status = drivelink_nvme(&io->link, command, buffer,
				    DRIVEIO_TIMEOUT_MS, NULL);

	return status < 0 ? status : (int64_t)command->data_bytes;
}

static int64_t move_scsi(const struct driveio *io,
			 const struct scsicmd *command, void *buffer)
{
	struct drivelink_answer answer;
	int status = drivelink_scsi(&io->link, command, buffer,
				    DRIVEIO_TIMEOUT_MS, &answer);

	return status < 0 ? status : (int64_t)answer.moved_bytes;
}

int64_t driveio_read(const struct driveio *io, void *buffer, size_t length,
		     uint64_t offset_bytes)
{
	struct range range = range_of(io, length, offset_bytes);
	struct nvmecmd nvme;
	struct scsicmd scsi;

	if (io->facts.kind == DRIVEFACTS_NVME) {
		nvme = nvmecmd_read(io->link.nsid, range.lba, range.blocks,
				    range.bytes);
		return move_nvme(io, &nvme, buffer);
	}
	scsi = scsicmd_read(range.lba, range.blocks, range.bytes, io->has_long);
	return move_scsi(io, &scsi, buffer);
}

int64_t driveio_write(const struct driveio *io, void *buffer, size_t length,
		      uint64_t offset_bytes, bool is_fua)
{
	struct range range = range_of(io, length, offset_bytes);
	struct nvmecmd nvme;
	struct scsicmd scsi;

	assert(!is_fua || io->has_fua);

	if (io->facts.kind == DRIVEFACTS_NVME) {
		nvme = nvmecmd_write(io->link.nsid, range.lba, range.blocks,
				     range.bytes, is_fua);
		return move_nvme(io, &nvme, buffer);
	}
	if (is_fua && io->facts.kind == DRIVEFACTS_ATA) {
		scsi = atacmd_write_fua(range.lba, range.blocks, range.bytes);
		return move_scsi(io, &scsi, buffer);
	}
	scsi = scsicmd_write(range.lba, range.blocks, range.bytes,
			     io->has_long);
	if (is_fua)
		scsicmd_set_fua(&scsi);
	return move_scsi(io, &scsi, buffer);
}

int driveio_flush(const struct driveio *io)
{
	struct nvmecmd nvme;
	struct scsicmd scsi;

	switch (io->flush) {
	case DRIVEIO_FLUSH_NVME:
		nvme = nvmecmd_flush(io->link.nsid);
		return drivelink_nvme(&io->link, &nvme, NULL,
				      DRIVEIO_FLUSH_TIMEOUT_MS, NULL);
	case DRIVEIO_FLUSH_ATA:
		scsi = atacmd_flush(false);
		break;
	case DRIVEIO_FLUSH_ATA_EXT:
		scsi = atacmd_flush(true);
		break;
	case DRIVEIO_FLUSH_SYNC16:
		scsi = scsicmd_sync_cache(0, 0, true);
		break;
	case DRIVEIO_FLUSH_SYNC10:
		scsi = scsicmd_sync_cache(0, 0, false);
		break;
	case DRIVEIO_FLUSH_NONE:
		return -EOPNOTSUPP;
	}
	return drivelink_scsi(&io->link, &scsi, NULL, DRIVEIO_FLUSH_TIMEOUT_MS,
			      NULL);
}

const char *driveio_describe(const struct driveio *io)
{
	static const char *const names[] = {
		[DRIVEIO_FLUSH_NONE] = "SCSI pass-through, no flush",
		[DRIVEIO_FLUSH_NVME] = "NVMe pass-through, Flush",
		[DRIVEIO_FLUSH_ATA] = "ATA pass-through, FLUSH CACHE",
		[DRIVEIO_FLUSH_ATA_EXT] = "ATA pass-through, FLUSH CACHE EXT",
		[DRIVEIO_FLUSH_SYNC16] =
			"SCSI pass-through, SYNCHRONIZE CACHE(16)",
		[DRIVEIO_FLUSH_SYNC10] =
			"SCSI pass-through, SYNCHRONIZE CACHE(10)",
	};

	return names[io->flush];
}
