/* SPDX-License-Identifier: MIT */
/*
 * driveio - reads, writes and flushes of a drive by its own commands, whatever
 * the kernel believes of its cache.
 *
 * What is sent, by what the drive is:
 *
 *          read, write          FUA write            flush
 *   NVMe   Read, Write          Write, FUA           Flush
 *   ATA    READ, WRITE(16)      WRITE DMA FUA EXT    FLUSH CACHE (EXT)
 *   SCSI   READ, WRITE(16)      WRITE(16), FUA       SYNCHRONIZE CACHE(16)
 *
 * The 10-byte SCSI commands are taken only where a drive called the 16-byte
 * ones unknown. Nothing is sent twice (P11), split or cut short.
 */
#ifndef COMMON_DRIVE_DRIVEIO_H
#define COMMON_DRIVE_DRIVEIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/drive/drivefacts.h"
#include "common/drive/drivelink.h"

struct err;

/* The kernel's own default for all drives; when it is over, the drive is
 * reset. A flush may take longer. */
#define DRIVEIO_TIMEOUT_MS       30000
#define DRIVEIO_FLUSH_TIMEOUT_MS 60000

enum driveio_flush {
	DRIVEIO_FLUSH_NONE, /* it takes none */
	DRIVEIO_FLUSH_NVME,
	DRIVEIO_FLUSH_ATA, /* FLUSH CACHE */
	DRIVEIO_FLUSH_ATA_EXT,
	DRIVEIO_FLUSH_SYNC16,
	DRIVEIO_FLUSH_SYNC10,
};

struct driveio {
	struct drivelink link;
	struct drivefacts facts;
	enum driveio_flush flush;
	bool has_long; /* SCSI: READ(16), WRITE(16) */
	bool has_fua;
	uint32_t logical_block_bytes;
	uint32_t max_request_bytes; /* of one read or write */
	uint64_t start_bytes;       /* of the partition on the drive; else 0 */
	uint64_t size_bytes;        /* of the partition, or of the drive */
};

/*
 * FD is open on a drive or a partition of SIZE_BYTES, with the logical blocks
 * and the size that the kernel told of it. Refuses what is no drive, or what
 * the drive itself says otherwise. NAME is for the messages. The fd stays the
 * caller's.
 */
int driveio_open(struct driveio *io, int fd, const char *name,
		 const struct drivelink_system *system, struct err *err);

/*
 * Each blocks until the drive has answered or the kernel has given up. Offset
 * and length are multiples of the logical block, inside of the partition, and
 * the length at most max_request_bytes (asserted). How many bytes were moved,
 * or -errno. Any thread may call; IO is only read.
 */
int64_t driveio_read(const struct driveio *io, void *buffer, size_t length,
		     uint64_t offset_bytes);
int64_t driveio_write(const struct driveio *io, void *buffer, size_t length,
		      uint64_t offset_bytes, bool is_fua);
/* The whole drive; 0 or -errno. */
int driveio_flush(const struct driveio *io);

/* "NVMe pass-through, flush by NVMe Flush" and the like. Static. */
const char *driveio_describe(const struct driveio *io);

#endif
