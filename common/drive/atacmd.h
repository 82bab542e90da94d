/* SPDX-License-Identifier: MIT */
/*
 * atacmd - ATA commands inside of the SCSI command ATA PASS-THROUGH(16), and
 * what IDENTIFY DEVICE answers.
 *
 * Pure: it sends nothing. An answer is bytes from a stranger; the decoder takes
 * its length and says no to what is too short or carries a wrong checksum.
 *
 * Sources: SAT-3 12.2.3 (ATA PASS-THROUGH(16)) and ACS-3 7.12 (IDENTIFY
 * DEVICE), 7.10 (FLUSH CACHE EXT), 7.45 (SET FEATURES), 7.65 (WRITE DMA FUA
 * EXT).
 */
#ifndef COMMON_DRIVE_ATACMD_H
#define COMMON_DRIVE_ATACMD_H

#include "common/drive/scsicmd.h"

#define ATACMD_IDENTIFY_BYTES 512
#define ATACMD_TEXT_BYTES     64
#define ATACMD_BLOCKS_MAX     65536 /* of one write */

struct scsicmd atacmd_identify(void);
/* IS_LONG: FLUSH CACHE EXT, else FLUSH CACHE. */
struct scsicmd atacmd_flush(bool is_long);
/* SET FEATURES 02h or 82h. */
struct scsicmd atacmd_set_cache(bool is_on);
/* WRITE DMA FUA EXT; BLOCKS is 1 to ATACMD_BLOCKS_MAX, LBA below 2^48. */
struct scsicmd atacmd_write_fua(uint64_t lba, uint32_t blocks,
				uint32_t data_bytes);

struct atacmd_drive {
	char serial[ATACMD_TEXT_BYTES];
	char model[ATACMD_TEXT_BYTES];
	char firmware[ATACMD_TEXT_BYTES];
	bool has_cache_word; /* words 82 to 87 say something at all */
	bool has_cache;      /* word 82 bit 5 */
	bool is_cache_on;    /* word 85 bit 5 */
	bool has_flush;      /* word 83 bit 12 */
	bool has_flush_ext;  /* word 83 bit 13 */
	bool has_fua;        /* word 84 bit 6, with DMA and 48-bit addresses */
	bool is_flash;       /* word 217: it does not rotate */
	uint64_t blocks;     /* 0 unknown */
	uint32_t logical_block_bytes;
};

/* 0, or -1 where the answer cannot be one. */
int atacmd_parse_identify(const uint8_t *bytes, size_t count,
			  struct atacmd_drive *drive);

#endif
