/* SPDX-License-Identifier: MIT */
#include "common/drive/scsicmd.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/drive/bigendian.h"
#include "common/drive/drivetext.h"

#define OP_TEST_READY    0x00
#define OP_INQUIRY       0x12
#define OP_MODE_SELECT6  0x15
#define OP_MODE_SENSE6   0x1a
#define OP_CAPACITY10    0x25
#define OP_READ10        0x28
#define OP_WRITE10       0x2a
#define OP_SYNC10        0x35
#define OP_MODE_SELECT10 0x55
#define OP_MODE_SENSE10  0x5a
#define OP_READ16        0x88
#define OP_WRITE16       0x8a
#define OP_SYNC16        0x91
#define OP_SERVICE_IN16  0x9e
#define SERVICE_CAPACITY 0x10

#define FUA             0x08 /* of byte 1 of WRITE(10) and (16) */
#define NO_DESCRIPTORS  0x08 /* DBD */
#define PAGE_FORMAT     0x10 /* PF */
#define DPOFUA          0x10
#define PARAMETERS_SAVE 0x80 /* PS */
#define SUBPAGE_FORMAT  0x40 /* SPF */
#define WCE             0x04 /* of byte 2 of the caching page */
#define LBA10_END       (1ULL << 32)
#define BLOCKS10_MAX    65535U

#define KEY_RECOVERED  1
#define KEY_NOT_READY  2
#define KEY_ILLEGAL    5
#define KEY_ATTENTION  6
#define KEY_PROTECTED  7
#define CODE_OPCODE    0x20
#define CODE_NO_MEDIUM 0x3a

static struct scsicmd command(uint8_t opcode, uint8_t cdb_bytes,
			      enum scsicmd_direction direction,
			      uint32_t data_bytes)
{
	struct scsicmd made = {.cdb_bytes = cdb_bytes,
			       .direction = direction,
			       .data_bytes = data_bytes};

	made.cdb[0] = opcode;
	return made;
}

struct scsicmd scsicmd_test_ready(void)
{
	return command(OP_TEST_READY, 6, SCSICMD_NO_DATA, 0);
}

struct scsicmd scsicmd_inquiry(void)
{
	struct scsicmd made = command(OP_INQUIRY, 6, SCSICMD_FROM_DRIVE,
				      SCSICMD_INQUIRY_BYTES);

	bigendian_put16(made.cdb + 3, SCSICMD_INQUIRY_BYTES);
	return made;
}

struct scsicmd scsicmd_vital_page(uint8_t page)
{
	/* Old bridges look at one byte of the length only. */
	uint16_t room = page == SCSICMD_VPD_ATA ? SCSICMD_VPD_BYTES : 252;
	struct scsicmd made = command(OP_INQUIRY, 6, SCSICMD_FROM_DRIVE, room);

	made.cdb[1] = 1; /* EVPD */
	made.cdb[2] = page;
	bigendian_put16(made.cdb + 3, room);
	return made;
}

struct scsicmd scsicmd_mode_sense(uint8_t page, unsigned int control,
				  bool is_long)
{
	struct scsicmd made = command(
		is_long ? OP_MODE_SENSE10 : OP_MODE_SENSE6, is_long ? 10 : 6,
		SCSICMD_FROM_DRIVE, SCSICMD_MODE_BYTES);

	made.cdb[1] = NO_DESCRIPTORS;
	made.cdb[2] = (uint8_t)(control << 6 | page);
	made.cdb[is_long ? 8 : 4] = SCSICMD_MODE_BYTES;
	return made;
}

struct scsicmd scsicmd_mode_select(uint32_t data_bytes, bool is_long)
{
	struct scsicmd made =
		command(is_long ? OP_MODE_SELECT10 : OP_MODE_SELECT6,
			is_long ? 10 : 6, SCSICMD_TO_DRIVE, data_bytes);

	assert(data_bytes <= UINT8_MAX);
	made.cdb[1] = PAGE_FORMAT;
	made.cdb[is_long ? 8 : 4] = (uint8_t)data_bytes;
	return made;
}

struct scsicmd scsicmd_capacity(bool is_long)
{
	struct scsicmd made;

	if (!is_long)
		return command(OP_CAPACITY10, 10, SCSICMD_FROM_DRIVE, 8);
	made = command(OP_SERVICE_IN16, 16, SCSICMD_FROM_DRIVE,
		       SCSICMD_CAPACITY_BYTES);
	made.cdb[1] = SERVICE_CAPACITY;
	made.cdb[13] = SCSICMD_CAPACITY_BYTES;
	return made;
}

/* Address and length, where all commands of a size have them. */
static void put_range(struct scsicmd *made, uint64_t lba, uint32_t blocks)
{
	if (made->cdb_bytes == 16) {
		bigendian_put64(made->cdb + 2, lba);
		bigendian_put32(made->cdb + 10, blocks);
		return;
	}
	assert(lba < LBA10_END && blocks <= BLOCKS10_MAX);
	bigendian_put32(made->cdb + 2, (uint32_t)lba);
	bigendian_put16(made->cdb + 7, (uint16_t)blocks);
}

struct scsicmd scsicmd_sync_cache(uint64_t lba, uint32_t blocks, bool is_long)
{
	struct scsicmd made = command(is_long ? OP_SYNC16 : OP_SYNC10,
				      is_long ? 16 : 10, SCSICMD_NO_DATA, 0);

	put_range(&made, lba, blocks);
	return made;
}

struct scsicmd scsicmd_read(uint64_t lba, uint32_t blocks, uint32_t data_bytes,
			    bool is_long)
{
	struct scsicmd made =
		command(is_long ? OP_READ16 : OP_READ10, is_long ? 16 : 10,
			SCSICMD_FROM_DRIVE, data_bytes);

	put_range(&made, lba, blocks);
	return made;
}

struct scsicmd scsicmd_write(uint64_t lba, uint32_t blocks, uint32_t data_bytes,
			     bool is_long)
{
	struct scsicmd made =
		command(is_long ? OP_WRITE16 : OP_WRITE10, is_long ? 16 : 10,
			SCSICMD_TO_DRIVE, data_bytes);

	put_range(&made, lba, blocks);
	return made;
}

void scsicmd_set_fua(struct scsicmd *write)
{
	assert(write->cdb[0] == OP_WRITE10 || write->cdb[0] == OP_WRITE16);
	write->cdb[1] |= FUA;
}

int scsicmd_parse_inquiry(const uint8_t *bytes, size_t count,
			  struct scsicmd_inquiry_data *inquiry)
{
	if (count < 36 || bytes[4] < 31) /* it says how long it is, too */
		return -1;
	if (bytes[0] >> 5 != 0) /* no device at this address */
		return -1;
	memset(inquiry, 0, sizeof(*inquiry));
	inquiry->type = bytes[0] & 0x1f;
	inquiry->version = bytes[2];
	inquiry->is_ata = memcmp(bytes + 8, "ATA     ", 8) == 0;
	if (inquiry->is_ata)
		drivetext_clean(bytes + 16, 16, inquiry->model,
				sizeof(inquiry->model));
	else
		drivetext_clean(bytes + 8, 24, inquiry->model,
				sizeof(inquiry->model));
	drivetext_clean(bytes + 32, 4, inquiry->firmware,
			sizeof(inquiry->firmware));
	return 0;
}

int scsicmd_parse_vital(const uint8_t *bytes, size_t count, uint8_t page,
			const uint8_t **content)
{
	size_t length;

	if (count < 4 || bytes[1] != page)
		return -1;
	length = bigendian_get16(bytes + 2);
	if (length > count - 4)
		length = count - 4;
	*content = bytes + 4;
	return (int)length;
}

int scsicmd_parse_capacity(const uint8_t *bytes, size_t count, bool is_long,
			   uint64_t *blocks, uint32_t *block_bytes)
{
	uint64_t last;
	uint32_t size;

	if (count < (is_long ? 12U : 8U))
		return -1;
	last = is_long ? bigendian_get64(bytes) : bigendian_get32(bytes);
	size = bigendian_get32(bytes + (is_long ? 8 : 4));
	if (size < 512 || size > 65536 || (size & (size - 1)) != 0)
		return -1;
	if (!is_long && last == UINT32_MAX) /* more than it can say */
		return -1;
	if (last >= UINT64_MAX / size)
		return -1;
	*blocks = last + 1;
	*block_bytes = size;
	return 0;
}

static void take_page(const uint8_t *page, size_t length,
		      struct scsicmd_caching *caching)
{
	if (length < 3 || length > SCSICMD_PAGE_MAX)
		return;
	caching->has_page = true;
	caching->is_cache_on = (page[2] & WCE) != 0;
	memcpy(caching->page, page, length);
	caching->page_bytes = length;
}

/* Pages follow one another, each with its length. */
static void find_caching(const uint8_t *bytes, size_t count,
			 struct scsicmd_caching *caching)
{
	size_t at = 0;

	while (!caching->has_page && count - at >= 4) {
		bool is_sub = (bytes[at] & SUBPAGE_FORMAT) != 0;
		size_t length = is_sub ? 4U + bigendian_get16(bytes + at + 2)
				       : 2U + bytes[at + 1];

		if (length > count - at)
			return;
		if (!is_sub && (bytes[at] & 0x3f) == SCSICMD_PAGE_CACHING)
			take_page(bytes + at, length, caching);
		at += length;
	}
}

int scsicmd_parse_mode(const uint8_t *bytes, size_t count, bool is_long,
		       struct scsicmd_caching *caching)
{
	size_t header = is_long ? 8 : 4;
	size_t total, descriptors;

	if (count < header)
		return -1;
	total = is_long ? bigendian_get16(bytes) + 2U : bytes[0] + 1U;
	if (total < count)
		count = total;
	if (count < header)
		return -1;
	descriptors = is_long ? bigendian_get16(bytes + 6) : bytes[3];
	memset(caching, 0, sizeof(*caching));
	caching->has_fua = (bytes[is_long ? 3 : 2] & DPOFUA) != 0;
	if (descriptors <= count - header)
		find_caching(bytes + header + descriptors,
			     count - header - descriptors, caching);
	return 0;
}

size_t scsicmd_build_mode(const struct scsicmd_caching *caching, bool is_on,
			  bool is_long, uint8_t *to)
{
	size_t header = is_long ? 8 : 4;
	uint8_t *page = to + header;

	assert(caching->has_page && caching->page_bytes >= 3);

	/* Its fields are reserved for a MODE SELECT, or 0 for a disk. */
	memset(to, 0, header);
	memcpy(page, caching->page, caching->page_bytes);
	page[0] &= (uint8_t)~PARAMETERS_SAVE;
	page[2] = (uint8_t)((page[2] & ~WCE) | (is_on ? WCE : 0));
	return header + caching->page_bytes;
}

struct scsicmd_sense scsicmd_parse_sense(const uint8_t *bytes, size_t count)
{
	struct scsicmd_sense sense = {.is_valid = false};
	unsigned int format = count == 0 ? 0 : bytes[0] & 0x7fU;

	if ((format == 0x72 || format == 0x73) && count >= 4) {
		sense.key = bytes[1] & 0x0f;
		sense.code = bytes[2];
		sense.qualifier = bytes[3];
	} else if ((format == 0x70 || format == 0x71) && count >= 8) {
		sense.key = bytes[2] & 0x0f;
		if (count >= 14 && bytes[7] >= 6) {
			sense.code = bytes[12];
			sense.qualifier = bytes[13];
		}
	} else {
		return sense;
	}
	sense.is_valid = true;
	sense.is_deferred = format == 0x71 || format == 0x73;
	return sense;
}

bool scsicmd_is_unknown_opcode(const struct scsicmd_sense *sense)
{
	return sense->is_valid && !sense->is_deferred &&
	       sense->key == KEY_ILLEGAL && sense->code == CODE_OPCODE;
}

bool scsicmd_is_unit_attention(const struct scsicmd_sense *sense)
{
	return sense->is_valid && !sense->is_deferred &&
	       sense->key == KEY_ATTENTION;
}

bool scsicmd_is_recovered(const struct scsicmd_sense *sense)
{
	return sense->is_valid && !sense->is_deferred &&
	       sense->key == KEY_RECOVERED;
}

int scsicmd_errno(const struct scsicmd_sense *sense)
{
	if (!sense->is_valid || sense->is_deferred)
		return -EIO;
	switch (sense->key) {
	case KEY_ILLEGAL:
		return sense->code == CODE_OPCODE ? -EOPNOTSUPP : -EINVAL;
	case KEY_NOT_READY:
		return sense->code == CODE_NO_MEDIUM ? -ENOMEDIUM : -EIO;
	case KEY_PROTECTED:
		return -EROFS;
	default:
		return -EIO;
	}
}
