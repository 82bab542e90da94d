/* SPDX-License-Identifier: MIT */
/*
 * scsicmd - SCSI commands as bytes, and what the answers mean.
 *
 * Pure: it sends nothing. An answer is bytes from a stranger; a decoder takes
 * its length and says no to what is too short or cannot be.
 *
 * Sources: SPC-4 (INQUIRY 6.6, MODE SENSE 6.13, 6.14, MODE SELECT 6.11, 6.12,
 * sense data 4.5, VPD pages 7.8) and SBC-3 (READ 5.11 to 5.14, READ CAPACITY
 * 5.15, 5.16, SYNCHRONIZE CACHE 5.22, 5.23, WRITE 5.32 to 5.35, caching mode
 * page 6.4.5).
 */
#ifndef COMMON_DRIVE_SCSICMD_H
#define COMMON_DRIVE_SCSICMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCSICMD_CDB_BYTES      16
#define SCSICMD_SENSE_BYTES    64
#define SCSICMD_INQUIRY_BYTES  96
#define SCSICMD_VPD_BYTES      572 /* the longest of interest: page 89h */
#define SCSICMD_MODE_BYTES     192 /* what bridges are used to be asked for */
#define SCSICMD_CAPACITY_BYTES 32
#define SCSICMD_TEXT_BYTES     64
#define SCSICMD_PAGE_MAX       64 /* of a caching mode page that is sent back */

enum scsicmd_direction {
	SCSICMD_NO_DATA,
	SCSICMD_FROM_DRIVE,
	SCSICMD_TO_DRIVE,
};

struct scsicmd {
	uint8_t cdb[SCSICMD_CDB_BYTES];
	uint8_t cdb_bytes;
	enum scsicmd_direction direction;
	uint32_t data_bytes;
};

#define SCSICMD_VPD_PAGES    0x00
#define SCSICMD_VPD_SERIAL   0x80
#define SCSICMD_VPD_EXTENDED 0x86
#define SCSICMD_VPD_ATA      0x89

#define SCSICMD_PAGE_CACHING 0x08
#define SCSICMD_PAGE_ALL     0x3f

#define SCSICMD_MODE_CURRENT    0
#define SCSICMD_MODE_CHANGEABLE 1

struct scsicmd scsicmd_test_ready(void);
struct scsicmd scsicmd_inquiry(void);
struct scsicmd scsicmd_vital_page(uint8_t page);
/* CONTROL is SCSICMD_MODE_...; IS_LONG takes the 10-byte command. */
struct scsicmd scsicmd_mode_sense(uint8_t page, unsigned int control,
				  bool is_long);
/* Not saved (SP = 0): the drive forgets it when its power goes. */
struct scsicmd scsicmd_mode_select(uint32_t data_bytes, bool is_long);
struct scsicmd scsicmd_capacity(bool is_long);
/*
 * The medium from LBA on, BLOCKS of it, 0: to its end. It returns when that is
 * done (IMMED = 0). IS_LONG takes the 16-byte command; LBA below 2^32 and at
 * most 65,535 blocks else.
 */
struct scsicmd scsicmd_sync_cache(uint64_t lba, uint32_t blocks, bool is_long);
/* IS_LONG takes the 16-byte command; LBA below 2^32 and at most 65,535 blocks
 * else. */
struct scsicmd scsicmd_read(uint64_t lba, uint32_t blocks, uint32_t data_bytes,
			    bool is_long);
struct scsicmd scsicmd_write(uint64_t lba, uint32_t blocks, uint32_t data_bytes,
			     bool is_long);
void scsicmd_set_fua(struct scsicmd *write);

struct scsicmd_inquiry_data {
	uint8_t type; /* 0: a direct access block device */
	uint8_t version;
	bool is_ata; /* T10 vendor "ATA     " (SAT-3 10.3.2) */
	char model[SCSICMD_TEXT_BYTES]; /* vendor, unless ATA, and product */
	char firmware[SCSICMD_TEXT_BYTES];
};

/* Each returns 0, or -1 where the answer cannot be one. */
int scsicmd_parse_inquiry(const uint8_t *bytes, size_t count,
			  struct scsicmd_inquiry_data *inquiry);
/* The page's own bytes inside of BYTES: its length, or -1. */
int scsicmd_parse_vital(const uint8_t *bytes, size_t count, uint8_t page,
			const uint8_t **content);
int scsicmd_parse_capacity(const uint8_t *bytes, size_t count, bool is_long,
			   uint64_t *blocks, uint32_t *block_bytes);

struct scsicmd_caching {
	bool has_fua; /* DPOFUA, of the header */
	bool has_page;
	bool is_cache_on; /* WCE; of the changeable values: it can be set */
	uint8_t page[SCSICMD_PAGE_MAX]; /* as it came; for MODE SELECT */
	size_t page_bytes;
};

int scsicmd_parse_mode(const uint8_t *bytes, size_t count, bool is_long,
		       struct scsicmd_caching *caching);
/* The parameter list that sets WCE and leaves the rest as it is: how many bytes
 * of TO (SCSICMD_PAGE_MAX + 8). */
size_t scsicmd_build_mode(const struct scsicmd_caching *caching, bool is_on,
			  bool is_long, uint8_t *to);

struct scsicmd_sense {
	bool is_valid;    /* the rest is unknown otherwise */
	bool is_deferred; /* about an earlier command */
	uint8_t key, code, qualifier;
};

/* Fixed (70h, 71h) and descriptor format (72h, 73h); whatever is too short or
 * of another kind is not valid. */
struct scsicmd_sense scsicmd_parse_sense(const uint8_t *bytes, size_t count);
bool scsicmd_is_unknown_opcode(const struct scsicmd_sense *sense);
bool scsicmd_is_unit_attention(const struct scsicmd_sense *sense);
/* The command was carried out, with some recovery on the way (key 1). */
bool scsicmd_is_recovered(const struct scsicmd_sense *sense);
/* -EOPNOTSUPP: no such command. -EINVAL: not with these values. */
int scsicmd_errno(const struct scsicmd_sense *sense);

#endif
