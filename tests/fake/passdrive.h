/* SPDX-License-Identifier: MIT */
/*
 * passdrive - a drive in memory behind the ioctls of pass-through commands: an
 * NVMe, an ATA or a SCSI drive that counts what it is sent, fails as told, and
 * holds commands back until the test lets them go.
 *
 * There is one at a time; any thread may send commands to it.
 */
#ifndef TESTS_FAKE_PASSDRIVE_H
#define TESTS_FAKE_PASSDRIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/drive/drivelink.h"
#include "tests/fake/sysfs_fake.h"

#define PASSDRIVE_MEDIA_BYTES (1024 * 1024) /* the rest of it is not kept */

enum passdrive_kind {
	PASSDRIVE_NVME,
	PASSDRIVE_ATA,
	PASSDRIVE_SCSI,
};

/* The test sets what is above the line before it sends anything. */
struct passdrive {
	enum passdrive_kind kind;
	uint32_t block_bytes;
	uint64_t size_bytes;      /* that the drive says */
	uint64_t partition_bytes; /* that the kernel says; 0: all of it */
	uint16_t metadata_bytes;  /* NVMe */
	bool has_cache, is_cache_on, is_stubborn; /* ignores being switched */
	bool has_fua;
	bool knows_long, knows_sync, knows_mode10, has_caching_page;
	bool is_bridge; /* a SCSI one shows an ATA drive in VPD page 89h ... */
	bool has_bridge_words, is_bridge_cache_on; /* ... and what that says */
	unsigned int attentions;                   /* so many commands first */

	/* What reads, writes and flushes get; 0: what they ask for. */
	int fail_errno; /* of the ioctl */
	int nvme_status;
	uint8_t scsi_status;
	uint16_t host_status, driver_status;
	uint8_t sense[32];
	uint8_t sense_bytes;
	int left_over;           /* resid */
	unsigned int fail_after; /* so many first */
	bool is_held;

	/* ---- counted */
	unsigned int commands, reads, writes, fua_writes, flushes, sets;
	unsigned int under_way, most_under_way;
	uint8_t last_cdb[16]; /* of a read, write or flush */
	uint64_t last_lba;
	uint32_t last_blocks;
	uint8_t media[PASSDRIVE_MEDIA_BYTES];

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct sysfs_fake sysfs;
	struct drivelink_system system;
};

/* An honest one of 1 GiB with blocks of 512 bytes and a cache switched on; its
 * folder in the made-up SYSFS is d/disk. */
void passdrive_init(struct passdrive *drive, enum passdrive_kind kind,
		    const struct sysfs_fake *sysfs);
void passdrive_hold(struct passdrive *drive, bool is_held);
/* Waits until so many reads, writes and flushes are held. */
void passdrive_await(struct passdrive *drive, unsigned int under_way);

#endif
