/* SPDX-License-Identifier: MIT */
#include "common/drive/nvmecmd.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/drive/drivetext.h"

#define ADMIN_GET_LOG      0x02
#define ADMIN_IDENTIFY     0x06
#define ADMIN_SET_FEATURES 0x09
#define ADMIN_GET_FEATURES 0x0a
#define IO_FLUSH           0x00
#define IO_WRITE           0x01
#define IO_READ            0x02

#define CNS_NAMESPACE     0x00
#define CNS_CONTROLLER    0x01
#define FEATURE_CACHE     0x06
#define LOG_HEALTH        0x02
#define NSID_ALL          0xffffffffU
#define FUA               (1U << 30) /* of command dword 12 */
#define BLOCK_SHIFT_MIN   9
#define BLOCK_SHIFT_MAX   16 /* the largest that any system takes */
#define NSFEAT_OWN_ATOMIC 0x02
#define BACKUP_FAILED     0x10

struct nvmecmd nvmecmd_identify_controller(void)
{
	return (struct nvmecmd){.is_admin = true,
				.opcode = ADMIN_IDENTIFY,
				.cdw10 = CNS_CONTROLLER,
				.data_bytes = NVMECMD_IDENTIFY_BYTES};
}

struct nvmecmd nvmecmd_identify_namespace(uint32_t nsid)
{
	return (struct nvmecmd){.is_admin = true,
				.opcode = ADMIN_IDENTIFY,
				.nsid = nsid,
				.cdw10 = CNS_NAMESPACE,
				.data_bytes = NVMECMD_IDENTIFY_BYTES};
}

struct nvmecmd nvmecmd_get_cache(void)
{
	return (struct nvmecmd){.is_admin = true,
				.opcode = ADMIN_GET_FEATURES,
				.cdw10 = FEATURE_CACHE};
}

struct nvmecmd nvmecmd_set_cache(bool is_on)
{
	return (struct nvmecmd){.is_admin = true,
				.opcode = ADMIN_SET_FEATURES,
				.cdw10 = FEATURE_CACHE,
				.cdw11 = is_on ? 1 : 0};
}

struct nvmecmd nvmecmd_get_health(void)
{
	const uint32_t dwords = NVMECMD_HEALTH_BYTES / 4;

	return (struct nvmecmd){.is_admin = true,
				.opcode = ADMIN_GET_LOG,
				.nsid = NSID_ALL,
				.cdw10 = (dwords - 1) << 16 | LOG_HEALTH,
				.data_bytes = NVMECMD_HEALTH_BYTES};
}

struct nvmecmd nvmecmd_flush(uint32_t nsid)
{
	return (struct nvmecmd){.opcode = IO_FLUSH, .nsid = nsid};
}

static struct nvmecmd move(uint32_t nsid, uint64_t lba, uint32_t blocks,
			   uint32_t data_bytes)
{
	assert(blocks >= 1 && blocks <= NVMECMD_BLOCKS_MAX);
	return (struct nvmecmd){.nsid = nsid,
				.cdw10 = (uint32_t)lba,
				.cdw11 = (uint32_t)(lba >> 32),
				.cdw12 = blocks - 1,
				.data_bytes = data_bytes};
}

struct nvmecmd nvmecmd_read(uint32_t nsid, uint64_t lba, uint32_t blocks,
			    uint32_t data_bytes)
{
	struct nvmecmd command = move(nsid, lba, blocks, data_bytes);

	command.opcode = IO_READ;
	return command;
}

struct nvmecmd nvmecmd_write(uint32_t nsid, uint64_t lba, uint32_t blocks,
			     uint32_t data_bytes, bool is_fua)
{
	struct nvmecmd command = move(nsid, lba, blocks, data_bytes);

	command.opcode = IO_WRITE;
	if (is_fua)
		command.cdw12 |= FUA;
	return command;
}

int nvmecmd_parse_controller(const uint8_t *bytes, size_t count,
			     struct nvmecmd_controller *controller)
{
	if (count < NVMECMD_IDENTIFY_BYTES)
		return -1;
	memset(controller, 0, sizeof(*controller));
	drivetext_clean(bytes + 4, 20, controller->serial,
			sizeof(controller->serial));
	drivetext_clean(bytes + 24, 40, controller->model,
			sizeof(controller->model));
	drivetext_clean(bytes + 64, 8, controller->firmware,
			sizeof(controller->firmware));
	controller->has_cache = (bytes[525] & 1) != 0;
	controller->atomic_pf_blocks = bytes_get16(bytes + 528) + 1U;
	return 0;
}

/* A write within a boundary is whole; boundaries that do not begin at block 0
 * promise nothing to an aligned write but its single blocks. */
static uint32_t own_atomic_blocks(const uint8_t *bytes)
{
	uint32_t blocks = bytes_get16(bytes + 36) + 1U;     /* NAWUPF */
	uint32_t boundary_offset = bytes_get16(bytes + 42); /* NABO */
	uint32_t boundary_blocks = bytes_get16(bytes + 44); /* NABSPF */

	if ((bytes[24] & NSFEAT_OWN_ATOMIC) == 0 || blocks == 1)
		return 0;
	if (boundary_blocks == 0)
		return blocks;
	if (boundary_offset != 0)
		return 1;
	boundary_blocks++;
	return boundary_blocks < blocks ? boundary_blocks : blocks;
}

int nvmecmd_parse_namespace(const uint8_t *bytes, size_t count,
			    struct nvmecmd_namespace *space)
{
	unsigned int format, shift;

	if (count < NVMECMD_IDENTIFY_BYTES)
		return -1;
	/* FLBAS: bits 3:0, and above 16 formats 6:5 in front of them. */
	format = bytes[26] & 0x0f;
	if (bytes[25] > 15)
		format |= (bytes[26] & 0x60U) >> 1;
	if (format > bytes[25] || format > 63)
		return -1;
	shift = bytes[128 + 4 * format + 2];
	if (shift < BLOCK_SHIFT_MIN || shift > BLOCK_SHIFT_MAX)
		return -1;
	memset(space, 0, sizeof(*space));
	space->blocks = bytes_get64(bytes);
	space->logical_block_bytes = 1U << shift;
	space->metadata_bytes = bytes_get16(bytes + 128 + 4 * format);
	space->atomic_pf_blocks = own_atomic_blocks(bytes);
	if (space->blocks == 0 || space->blocks > UINT64_MAX >> shift)
		return -1;
	return 0;
}

bool nvmecmd_is_cache_on(uint32_t result)
{
	return (result & 1) != 0;
}

bool nvmecmd_has_failed_backup(const uint8_t *bytes, size_t count)
{
	return count >= NVMECMD_HEALTH_BYTES && (bytes[0] & BACKUP_FAILED) != 0;
}

int nvmecmd_errno(unsigned int status)
{
	unsigned int type = status >> 8 & 7;
	unsigned int code = status & 0xff;

	if (type == 0 && code == 0)
		return 0;
	if (type != 0)
		return -EIO;
	switch (code) {
	case 0x01:
		return -EOPNOTSUPP;
	case 0x02:
		return -EINVAL;
	case 0x0b: /* invalid namespace: it is gone */
		return -ENODEV;
	case 0x20: /* namespace is write protected */
		return -EROFS;
	default:
		return -EIO;
	}
}
