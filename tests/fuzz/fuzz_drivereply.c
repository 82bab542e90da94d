/* SPDX-License-Identifier: MIT */
/*
 * What a drive answers may be any bytes: nothing is read behind their end, and
 * what is believed of them can be. The first byte names the decoder.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/drive/atacmd.h"
#include "common/drive/nvmecmd.h"
#include "common/drive/scsicmd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_so)
{
	if (!is_so)
		abort();
}

static bool is_block_size(uint32_t bytes)
{
	return bytes >= 512 && bytes <= 65536 && (bytes & (bytes - 1)) == 0;
}

static void try_nvme(const uint8_t *data, size_t size)
{
	struct nvmecmd_controller controller;
	struct nvmecmd_namespace space;

	if (nvmecmd_parse_controller(data, size, &controller) == 0)
		expect(controller.atomic_pf_blocks >= 1 &&
		       strlen(controller.model) < NVMECMD_TEXT_BYTES);
	if (nvmecmd_parse_namespace(data, size, &space) == 0)
		expect(is_block_size(space.logical_block_bytes) &&
		       space.blocks > 0 &&
		       space.blocks <= UINT64_MAX / space.logical_block_bytes);
	(void)nvmecmd_has_failed_backup(data, size);
}

static void try_mode(const uint8_t *data, size_t size, bool is_long)
{
	struct scsicmd_caching caching;
	uint8_t list[SCSICMD_PAGE_MAX + 8];
	size_t count;

	if (scsicmd_parse_mode(data, size, is_long, &caching) == -1 ||
	    !caching.has_page)
		return;
	expect(caching.page_bytes >= 3 &&
	       caching.page_bytes <= SCSICMD_PAGE_MAX);
	count = scsicmd_build_mode(&caching, false, is_long, list);
	expect(count <= sizeof(list));
	/* What is sent is the page that came, with the cache off. */
	expect((list[is_long ? 10 : 6] & 4) == 0);
}

static void try_scsi(const uint8_t *data, size_t size)
{
	struct scsicmd_inquiry_data inquiry;
	struct scsicmd_sense sense = scsicmd_parse_sense(data, size);
	const uint8_t *content;
	uint64_t blocks;
	uint32_t bytes;
	int length;

	expect(scsicmd_errno(&sense) < 0);
	expect(!sense.is_deferred || !scsicmd_is_recovered(&sense));
	(void)scsicmd_parse_inquiry(data, size, &inquiry);
	length = scsicmd_parse_vital(data, size, SCSICMD_VPD_SERIAL, &content);
	expect(length < 0 ||
	       (content == data + 4 && (size_t)length <= size - 4));
	for (int is_long = 0; is_long < 2; is_long++)
		if (scsicmd_parse_capacity(data, size, is_long == 1, &blocks,
					   &bytes) == 0)
			expect(is_block_size(bytes) && blocks > 0 &&
			       blocks <= UINT64_MAX / bytes);
	try_mode(data, size, true);
	try_mode(data, size, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct atacmd_drive drive;

	if (size == 0)
		return 0;
	switch (data[0] % 3) {
	case 0:
		try_scsi(data + 1, size - 1);
		break;
	case 1:
		try_nvme(data + 1, size - 1);
		break;
	default:
		if (atacmd_parse_identify(data + 1, size - 1, &drive) == 0)
			expect(is_block_size(drive.logical_block_bytes) &&
			       drive.blocks < 1ULL << 48);
		break;
	}
	return 0;
}
