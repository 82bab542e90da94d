/* SPDX-License-Identifier: MIT */
/*
 * drivefacts - what a drive says of itself: who it is, whether it has a
 * volatile cache and uses it, and which promises it can be asked for.
 *
 * It asks the drive by pass-through commands (NVMe Identify and Get Features,
 * SCSI INQUIRY, MODE SENSE and SYNCHRONIZE CACHE, ATA IDENTIFY DEVICE) and
 * believes the answers only as far as their bytes go. What the kernel thinks of
 * the drive (queue/write_cache) is not asked here: the two are compared by
 * others, and a difference is the finding.
 *
 * Nothing is changed on the drive. It refuses to know about device mapper, md,
 * loop, virtio and NBD devices: those are no drives, and a device mapper would
 * hand commands to a drive below it under wrong addresses.
 */
#ifndef COMMON_DRIVE_DRIVEFACTS_H
#define COMMON_DRIVE_DRIVEFACTS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

#define DRIVEFACTS_TEXT_BYTES 64
#define DRIVEFACTS_HINT_BYTES 160

enum drivefacts_kind {
	DRIVEFACTS_NONE, /* takes no pass-through commands; all is unknown */
	DRIVEFACTS_NVME,
	DRIVEFACTS_SCSI, /* SAS, USB bridges, virtio-scsi, RAID volumes */
	DRIVEFACTS_ATA,  /* behind libata or a host adapter's translation */
};

enum drivefacts_answer {
	DRIVEFACTS_UNKNOWN, /* it does not say */
	DRIVEFACTS_NO,
	DRIVEFACTS_YES,
};

struct drivefacts {
	enum drivefacts_kind kind;
	/* Printable, blanks trimmed and folded; "" unknown. */
	char model[DRIVEFACTS_TEXT_BYTES];
	char serial[DRIVEFACTS_TEXT_BYTES];
	char firmware[DRIVEFACTS_TEXT_BYTES];

	/* A volatile write cache: NVMe VWC bit 0, ATA word 82 bit 5, a SCSI
	 * caching mode page. */
	enum drivefacts_answer has_cache;
	/* It is in use: NVMe feature 06h WCE, ATA word 85 bit 5, SCSI WCE.
	 * DRIVEFACTS_NO where there is no cache. */
	enum drivefacts_answer is_cache_on;
	/* Takes FLUSH, FLUSH CACHE (EXT) or SYNCHRONIZE CACHE. NO: it was sent
	 * one and called it illegal. */
	enum drivefacts_answer has_flush;
	/* Takes FUA writes: every NVMe drive, ATA word 84 bit 6, SCSI DPOFUA.
	 */
	enum drivefacts_answer has_fua;

	/* The largest aligned write that is promised to be all or nothing when
	 * the power fails: NVMe NAWUPF, else AWUPF; 0: unknown. */
	uint32_t atomic_write_bytes;
	uint32_t logical_block_bytes; /* 0: unknown */
	uint64_t size_bytes;          /* of the whole drive; 0: unknown */

	/* A SCSI device that says itself that an ATA drive is behind it (VPD
	 * page 89h): a bridge or a translating host adapter. Its cache is in
	 * use where its caching page or the ATA drive's words say so, and is
	 * not only where both do. */
	bool is_bridge;
	/* What points to or against power-loss protection, in one sentence for
	 * people; "" where nothing does. Never a proof. */
	char plp_hint[DRIVEFACTS_HINT_BYTES];
};

/*
 * Asks the drive open as FD (a block device or a partition of one; read only is
 * enough for root). TIMEOUT_MS (at least 1) is the kernel's for each command:
 * when it is over, the kernel resets the drive, so take 10,000 or more on a
 * drive that is being tested. At most DRIVEFACTS_COMMANDS_MAX commands are
 * sent; one is a SYNCHRONIZE CACHE of the whole drive to a SCSI device. Blocks.
 *
 * 0, also where kind is DRIVEFACTS_NONE or a part stayed unknown; -1 where the
 * drive could not be asked at all: no right to (CAP_SYS_ADMIN, CAP_SYS_RAWIO),
 * gone, or no answer.
 */
int drivefacts_ask(int fd, unsigned int timeout_ms, struct drivefacts *facts,
		   struct err *err);

/* The same where the drive is known already. */
struct drivelink;
int drivefacts_ask_link(const struct drivelink *link, unsigned int timeout_ms,
			struct drivefacts *facts, struct err *err);

/* "NVMe", "SCSI", "ATA", "none"; "unknown", "no", "yes". Static. */
const char *drivefacts_kind_name(enum drivefacts_kind kind);
const char *drivefacts_answer_name(enum drivefacts_answer answer);

#define DRIVEFACTS_COMMANDS_MAX 64

#endif
