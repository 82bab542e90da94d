/* SPDX-License-Identifier: MIT */
#include "common/drive/atacmd.h"

#include <assert.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/drive/drivetext.h"

#define OP_PASS_THROUGH16 0x85
#define PROTOCOL_NO_DATA  3
#define PROTOCOL_PIO_IN   4
#define PROTOCOL_DMA      6
#define EXTEND            0x01 /* of byte 1: 48-bit registers */
#define LENGTH_IN_COUNT   0x02 /* of byte 2: T_LENGTH */
#define LENGTH_IN_BLOCKS  0x04 /* BYT_BLOK */
#define FROM_DRIVE        0x08 /* T_DIR */
#define LOGICAL_BLOCKS    0x10 /* T_TYPE: not blocks of 512 bytes */

#define ATA_WRITE_DMA_FUA_EXT 0x3d
#define ATA_FLUSH_CACHE       0xe7
#define ATA_FLUSH_CACHE_EXT   0xea
#define ATA_IDENTIFY          0xec
#define ATA_SET_FEATURES      0xef
#define FEATURE_CACHE_ON      0x02
#define FEATURE_CACHE_OFF     0x82
#define LBA_MODE              0x40 /* of the device register */
#define LBA48_END             (1ULL << 48)

static struct scsicmd through(uint8_t protocol, uint8_t ata,
			      enum scsicmd_direction direction,
			      uint32_t data_bytes)
{
	struct scsicmd made = {.cdb_bytes = 16,
			       .direction = direction,
			       .data_bytes = data_bytes};

	made.cdb[0] = OP_PASS_THROUGH16;
	made.cdb[1] = (uint8_t)(protocol << 1);
	made.cdb[14] = ata;
	return made;
}

struct scsicmd atacmd_identify(void)
{
	struct scsicmd made =
		through(PROTOCOL_PIO_IN, ATA_IDENTIFY, SCSICMD_FROM_DRIVE,
			ATACMD_IDENTIFY_BYTES);

	made.cdb[2] = FROM_DRIVE | LENGTH_IN_BLOCKS | LENGTH_IN_COUNT;
	made.cdb[6] = 1;
	return made;
}

struct scsicmd atacmd_flush(bool is_long)
{
	struct scsicmd made =
		through(PROTOCOL_NO_DATA,
			is_long ? ATA_FLUSH_CACHE_EXT : ATA_FLUSH_CACHE,
			SCSICMD_NO_DATA, 0);

	if (is_long)
		made.cdb[1] |= EXTEND;
	return made;
}

struct scsicmd atacmd_set_cache(bool is_on)
{
	struct scsicmd made =
		through(PROTOCOL_NO_DATA, ATA_SET_FEATURES, SCSICMD_NO_DATA, 0);

	made.cdb[4] = is_on ? FEATURE_CACHE_ON : FEATURE_CACHE_OFF;
	return made;
}

struct scsicmd atacmd_write_fua(uint64_t lba, uint32_t blocks,
				uint32_t data_bytes)
{
	struct scsicmd made = through(PROTOCOL_DMA, ATA_WRITE_DMA_FUA_EXT,
				      SCSICMD_TO_DRIVE, data_bytes);

	assert(blocks >= 1 && blocks <= ATACMD_BLOCKS_MAX);
	assert(lba < LBA48_END);

	made.cdb[1] |= EXTEND;
	made.cdb[2] = LOGICAL_BLOCKS | LENGTH_IN_BLOCKS | LENGTH_IN_COUNT;
	/* 65,536 is written as 0. Each register: what was first (bits 15:8)
	 * and then (7:0). */
	made.cdb[5] = (uint8_t)(blocks >> 8);
	made.cdb[6] = (uint8_t)blocks;
	made.cdb[7] = (uint8_t)(lba >> 24);
	made.cdb[8] = (uint8_t)lba;
	made.cdb[9] = (uint8_t)(lba >> 32);
	made.cdb[10] = (uint8_t)(lba >> 8);
	made.cdb[11] = (uint8_t)(lba >> 40);
	made.cdb[12] = (uint8_t)(lba >> 16);
	made.cdb[13] = LBA_MODE;
	return made;
}

static uint16_t word(const uint8_t *bytes, unsigned int number)
{
	return bytes_get16(bytes + (size_t)number * 2);
}

/* Words 83, 84, 87 and 106 carry a mark in bits 15:14 where they mean
 * anything. */
static bool is_marked(uint16_t value)
{
	return (value & 0xc000) == 0x4000;
}

/* Each word holds two characters, the first one in its upper half. */
static void text(const uint8_t *bytes, unsigned int first, unsigned int count,
		 char *to, size_t room)
{
	uint8_t turned[ATACMD_TEXT_BYTES];

	assert(count * 2 <= sizeof(turned));
	for (unsigned int i = 0; i < count; i++) {
		turned[2 * i] = bytes[2 * (first + i) + 1];
		turned[2 * i + 1] = bytes[2 * (first + i)];
	}
	drivetext_clean(turned, (size_t)count * 2, to, room);
}

/* Word 255: where its lower half is A5h, all bytes add up to 0. */
static bool has_right_sum(const uint8_t *bytes)
{
	uint8_t sum = 0;

	if (bytes[510] != 0xa5)
		return true;
	for (unsigned int i = 0; i < ATACMD_IDENTIFY_BYTES; i++)
		sum = (uint8_t)(sum + bytes[i]);
	return sum == 0;
}

static void take_size(const uint8_t *bytes, bool has_48,
		      struct atacmd_drive *drive)
{
	uint32_t words = 0;

	drive->blocks = bytes_get32(bytes + 2 * 60);
	if (has_48)
		drive->blocks = bytes_get64(bytes + 2 * 100);
	if (drive->blocks >= LBA48_END)
		drive->blocks = 0;
	drive->logical_block_bytes = 512;
	if (is_marked(word(bytes, 106)) && (word(bytes, 106) & 1 << 12) != 0)
		words = bytes_get32(bytes + 2 * 117);
	if (words >= 256 && words <= 32768 && (words & (words - 1)) == 0)
		drive->logical_block_bytes = words * 2;
}

int atacmd_parse_identify(const uint8_t *bytes, size_t count,
			  struct atacmd_drive *drive)
{
	uint16_t can = 0, more = 0;
	bool has_48;

	if (count < ATACMD_IDENTIFY_BYTES || !has_right_sum(bytes))
		return -1;
	if ((word(bytes, 0) & 0x8000) != 0) /* ATAPI, or nothing at all */
		return -1;
	memset(drive, 0, sizeof(*drive));
	text(bytes, 10, 10, drive->serial, sizeof(drive->serial));
	text(bytes, 23, 4, drive->firmware, sizeof(drive->firmware));
	text(bytes, 27, 20, drive->model, sizeof(drive->model));
	if (is_marked(word(bytes, 83)))
		can = word(bytes, 83);
	if (is_marked(word(bytes, 84)))
		more = word(bytes, 84);
	has_48 = (can & 1 << 10) != 0;
	drive->has_flush = (can & 1 << 12) != 0;
	drive->has_flush_ext = has_48 && (can & 1 << 13) != 0;
	drive->has_fua = has_48 && (more & 1 << 6) != 0 &&
			 (word(bytes, 49) & 1 << 8) != 0;
	drive->has_cache_word = can != 0 && is_marked(word(bytes, 87));
	drive->has_cache = (word(bytes, 82) & 1 << 5) != 0;
	drive->is_cache_on =
		drive->has_cache && (word(bytes, 85) & 1 << 5) != 0;
	drive->is_flash = word(bytes, 217) == 1;
	take_size(bytes, has_48, drive);
	return 0;
}
