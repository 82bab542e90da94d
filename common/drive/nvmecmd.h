/* SPDX-License-Identifier: MIT */
/*
 * nvmecmd - NVMe commands as numbers, and what the answers mean.
 *
 * Pure: it sends nothing. An answer is bytes from a stranger; a decoder takes
 * its length and says no to what is too short or cannot be.
 *
 * Sources: NVM Express Base Specification 2.0 (Identify: 5.17, Features: 5.16
 * and 5.27, SMART log: 5.16.1.3) and NVM Command Set Specification 1.0 (Read:
 * 3.2.4, Write: 3.2.6; Flush is 7.1 of the base specification).
 */
#ifndef COMMON_DRIVE_NVMECMD_H
#define COMMON_DRIVE_NVMECMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVMECMD_IDENTIFY_BYTES 4096
#define NVMECMD_HEALTH_BYTES   512
#define NVMECMD_TEXT_BYTES     64
#define NVMECMD_BLOCKS_MAX     65536 /* of one read or write */

/* Command dwords that are not here are 0. */
struct nvmecmd {
	bool is_admin;
	uint8_t opcode;
	uint32_t nsid;
	uint32_t cdw10, cdw11, cdw12;
	uint32_t data_bytes; /* either way; 0 none */
};

struct nvmecmd nvmecmd_identify_controller(void);
struct nvmecmd nvmecmd_identify_namespace(uint32_t nsid);
/* Feature 06h, Volatile Write Cache; the current value. */
struct nvmecmd nvmecmd_get_cache(void);
/* Not saved (SV = 0): the drive forgets it when its power goes. */
struct nvmecmd nvmecmd_set_cache(bool is_on);
/* Log page 02h, SMART / Health Information. */
struct nvmecmd nvmecmd_get_health(void);
struct nvmecmd nvmecmd_flush(uint32_t nsid);
/* BLOCKS is 1 to NVMECMD_BLOCKS_MAX, DATA_BYTES what they hold. */
struct nvmecmd nvmecmd_read(uint32_t nsid, uint64_t lba, uint32_t blocks,
			    uint32_t data_bytes);
struct nvmecmd nvmecmd_write(uint32_t nsid, uint64_t lba, uint32_t blocks,
			     uint32_t data_bytes, bool is_fua);

struct nvmecmd_controller {
	char serial[NVMECMD_TEXT_BYTES];
	char model[NVMECMD_TEXT_BYTES];
	char firmware[NVMECMD_TEXT_BYTES];
	bool has_cache;            /* VWC bit 0 */
	uint32_t atomic_pf_blocks; /* AWUPF + 1 */
};

struct nvmecmd_namespace {
	uint64_t blocks; /* NSZE */
	uint32_t logical_block_bytes;
	uint32_t metadata_bytes; /* of each block */
	/* NAWUPF + 1, cut down to its boundary; 0: the controller's counts. */
	uint32_t atomic_pf_blocks;
};

/* 0, or -1 where the answer cannot be one. */
int nvmecmd_parse_controller(const uint8_t *bytes, size_t count,
			     struct nvmecmd_controller *controller);
int nvmecmd_parse_namespace(const uint8_t *bytes, size_t count,
			    struct nvmecmd_namespace *space);
/* Dword 0 of the completion of nvmecmd_get_cache(). */
bool nvmecmd_is_cache_on(uint32_t result);
/* The drive itself says that what backs its cache up has failed (critical
 * warning, bit 4). False for an answer that is too short. */
bool nvmecmd_has_failed_backup(const uint8_t *bytes, size_t count);

/*
 * What a status (15 bits, as the kernel gives it: status code in bits 7:0, its
 * type in 10:8, "more" and "do not retry" above) is as an -errno; 0 for
 * success. -EOPNOTSUPP: no such command. -EINVAL: not with these values.
 */
int nvmecmd_errno(unsigned int status);

#endif
