/* SPDX-License-Identifier: MIT */
/*
 *   sysfs: NVMe or SCSI?  NVMe: Identify (2), Get Features, SMART log
 *                         SCSI: INQUIRY, capacity, mode page 08h, VPD 80h, 86h;
 *                               "ATA     ": IDENTIFY DEVICE, else SYNCHRONIZE
 *                               CACHE of the whole drive, and VPD 89h
 */
#include "common/drive/drivefacts.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/drive/atacmd.h"
#include "common/drive/drivecaching.h"
#include "common/drive/drivelink.h"
#include "common/drive/drivetext.h"

#define VERSION_SPC2   4 /* of INQUIRY; older ones may hang on a VPD page */
#define EXTENDED_BYTES 7 /* up to the cache bits of VPD page 86h */
#define HAS_VOLATILE   0x01
#define HAS_LASTING    0x02

struct asker {
	const struct drivelink *link;
	unsigned int timeout_ms;
	struct drivefacts *facts;
};

static enum drivefacts_answer yes_or_no(bool is_so)
{
	return is_so ? DRIVEFACTS_YES : DRIVEFACTS_NO;
}

static void copy_text(char *to, const char *from)
{
	(void)snprintf(to, DRIVEFACTS_TEXT_BYTES, "%s", from);
}

static void hint(struct drivefacts *facts, const char *text)
{
	(void)snprintf(facts->plp_hint, sizeof(facts->plp_hint), "%s", text);
}

/* BLOCKS times BYTES, at most what the result holds. */
static uint32_t bytes_of(uint32_t blocks, uint32_t bytes)
{
	uint64_t product = (uint64_t)blocks * bytes;

	return product > UINT32_MAX ? UINT32_MAX : (uint32_t)product;
}

static int failed(int status, const char *what, struct err *err)
{
	(void)err_sys(err, -status, "cannot ask the drive for %s", what);
	if (status == -EPERM || status == -EACCES)
		return err_hint(err, "commands past the kernel's block layer "
				     "need root");
	return -1;
}

/* ---- NVMe ---- */

static void hint_nvme(const struct asker *asker)
{
	const struct nvmecmd command = nvmecmd_get_health();
	uint8_t health[NVMECMD_HEALTH_BYTES] = {0};
	int status = drivelink_nvme(asker->link, &command, health,
				    asker->timeout_ms, NULL);

	if (status == 0 && nvmecmd_has_failed_backup(health, sizeof(health)))
		hint(asker->facts, "the drive says that the backup of its "
				   "cache has failed (critical warning, bit "
				   "4): no power-loss protection");
	else if (asker->facts->has_cache == DRIVEFACTS_NO)
		hint(asker->facts, "it has no volatile cache by its own word "
				   "(VWC = 0), as flash drives with power-loss "
				   "protection do");
}

static void ask_nvme_cache(const struct asker *asker)
{
	const struct nvmecmd command = nvmecmd_get_cache();
	struct drivefacts *facts = asker->facts;
	struct drivelink_answer answer;

	if (facts->has_cache != DRIVEFACTS_YES) {
		facts->is_cache_on = DRIVEFACTS_NO;
		return;
	}
	if (drivelink_nvme(asker->link, &command, NULL, asker->timeout_ms,
			   &answer) == 0)
		facts->is_cache_on =
			yes_or_no(nvmecmd_is_cache_on(answer.result));
}

static int ask_nvme(const struct asker *asker, struct err *err)
{
	const struct nvmecmd ask_controller = nvmecmd_identify_controller();
	const struct nvmecmd ask_space =
		nvmecmd_identify_namespace(asker->link->nsid);
	struct drivefacts *facts = asker->facts;
	uint8_t bytes[NVMECMD_IDENTIFY_BYTES] = {0};
	struct nvmecmd_controller controller;
	struct nvmecmd_namespace space;
	int status = drivelink_nvme(asker->link, &ask_controller, bytes,
				    asker->timeout_ms, NULL);

	if (status < 0)
		return failed(status, "its identity", err);
	if (nvmecmd_parse_controller(bytes, sizeof(bytes), &controller) == -1)
		return failed(-EPROTO, "its identity", err);
	copy_text(facts->model, controller.model);
	copy_text(facts->serial, controller.serial);
	copy_text(facts->firmware, controller.firmware);
	facts->has_cache = yes_or_no(controller.has_cache);
	facts->has_flush = DRIVEFACTS_YES; /* both are mandatory */
	facts->has_fua = DRIVEFACTS_YES;
	ask_nvme_cache(asker);
	hint_nvme(asker);
	memset(bytes, 0, sizeof(bytes));
	status = drivelink_nvme(asker->link, &ask_space, bytes,
				asker->timeout_ms, NULL);
	if (status < 0 ||
	    nvmecmd_parse_namespace(bytes, sizeof(bytes), &space) == -1)
		return 0;
	facts->logical_block_bytes = space.logical_block_bytes;
	facts->size_bytes = space.blocks * space.logical_block_bytes;
	facts->atomic_write_bytes = bytes_of(
		space.atomic_pf_blocks != 0 ? space.atomic_pf_blocks
					    : controller.atomic_pf_blocks,
		space.logical_block_bytes);
	return 0;
}

/* ---- SCSI and ATA ---- */

static void take_ata(const struct atacmd_drive *drive, struct drivefacts *facts)
{
	if (drive->has_cache_word) {
		facts->has_cache = yes_or_no(drive->has_cache);
		facts->is_cache_on = yes_or_no(drive->is_cache_on);
	}
	if (drive->has_cache_word && !drive->has_cache && drive->is_flash)
		hint(facts, "it has no volatile cache by its own word (word "
			    "82), as flash drives with power-loss protection "
			    "do");
}

/* True where this is an ATA drive, and all is known of it. */
static bool ask_ata(const struct asker *asker)
{
	const struct scsicmd command = atacmd_identify();
	struct drivefacts *facts = asker->facts;
	uint8_t bytes[ATACMD_IDENTIFY_BYTES] = {0};
	struct atacmd_drive drive;
	struct drivelink_answer answer;

	if (drivelink_ask(asker->link, &command, bytes, asker->timeout_ms,
			  &answer) < 0 ||
	    atacmd_parse_identify(bytes, answer.moved_bytes, &drive) == -1)
		return false;
	facts->kind = DRIVEFACTS_ATA;
	copy_text(facts->model, drive.model);
	copy_text(facts->serial, drive.serial);
	copy_text(facts->firmware, drive.firmware);
	take_ata(&drive, facts);
	facts->has_fua = yes_or_no(drive.has_fua);
	if (drive.has_flush || drive.has_flush_ext)
		facts->has_flush = DRIVEFACTS_YES;
	else if (drive.has_cache_word)
		facts->has_flush = DRIVEFACTS_NO;
	return true;
}

static void ask_capacity(const struct asker *asker)
{
	uint8_t bytes[SCSICMD_CAPACITY_BYTES];
	struct drivefacts *facts = asker->facts;
	uint64_t blocks;
	uint32_t block_bytes;

	for (int is_long = 1; is_long >= 0; is_long--) {
		const struct scsicmd command = scsicmd_capacity(is_long == 1);
		struct drivelink_answer answer;

		memset(bytes, 0, sizeof(bytes));
		if (drivelink_ask(asker->link, &command, bytes,
				  asker->timeout_ms, &answer) < 0 ||
		    scsicmd_parse_capacity(bytes, answer.moved_bytes,
					   is_long == 1, &blocks,
					   &block_bytes) == -1)
			continue;
		facts->logical_block_bytes = block_bytes;
		facts->size_bytes = blocks * block_bytes;
		return;
	}
}

/* A VPD page of at most SCSICMD_VPD_BYTES: its length, or -1. */
static int ask_vital(const struct asker *asker, uint8_t page, uint8_t *bytes,
		     const uint8_t **content)
{
	const struct scsicmd command = scsicmd_vital_page(page);
	struct drivelink_answer answer;

	memset(bytes, 0, SCSICMD_VPD_BYTES);
	if (drivelink_ask(asker->link, &command, bytes, asker->timeout_ms,
			  &answer) < 0)
		return -1;
	return scsicmd_parse_vital(bytes, answer.moved_bytes, page, content);
}

static void ask_extended(const struct asker *asker)
{
	uint8_t bytes[SCSICMD_VPD_BYTES];
	const uint8_t *content;
	struct drivefacts *facts = asker->facts;
	int length = ask_vital(asker, SCSICMD_VPD_EXTENDED, bytes, &content);

	if (length < EXTENDED_BYTES - 4)
		return;
	if ((content[2] & HAS_VOLATILE) != 0)
		facts->has_cache = DRIVEFACTS_YES;
	else if (facts->has_cache == DRIVEFACTS_UNKNOWN &&
		 facts->is_cache_on == DRIVEFACTS_NO)
		facts->has_cache = DRIVEFACTS_NO;
	if ((content[2] & HAS_LASTING) != 0)
		hint(facts, "it says that it has a cache that outlives its "
			    "power (VPD page 86h, NV_SUP)");
}

/*
 * A cache in use that one of the two shows is in use. That it is not is
 * believed where both say so: a bridge's page may be made up, and its copy of
 * the drive's words may be of when the drive was attached.
 */
static void weigh_cache(const struct atacmd_drive *drive,
			struct drivefacts *facts)
{
	const bool is_off = drive->has_cache_word && !drive->is_cache_on;

	if (drive->has_cache_word && drive->has_cache)
		facts->has_cache = DRIVEFACTS_YES;
	if (drive->has_cache_word && drive->is_cache_on)
		facts->has_cache = facts->is_cache_on = DRIVEFACTS_YES;
	else if (facts->is_cache_on == DRIVEFACTS_NO && !is_off)
		facts->is_cache_on = DRIVEFACTS_UNKNOWN;
	if (facts->has_cache == DRIVEFACTS_NO && !is_off)
		facts->has_cache = DRIVEFACTS_UNKNOWN;
}

/* A bridge may show the ATA drive behind it (SAT-3 10.4.7: IDENTIFY DEVICE from
 * byte 60 on). */
static void ask_bridge(const struct asker *asker)
{
	uint8_t bytes[SCSICMD_VPD_BYTES];
	const uint8_t *content;
	struct atacmd_drive drive;
	int length = ask_vital(asker, SCSICMD_VPD_ATA, bytes, &content);

	if (length < 56 + ATACMD_IDENTIFY_BYTES ||
	    atacmd_parse_identify(content + 56, ATACMD_IDENTIFY_BYTES,
				  &drive) == -1)
		return;
	asker->facts->is_bridge = true;
	weigh_cache(&drive, asker->facts);
}

static void ask_serial(const struct asker *asker)
{
	uint8_t bytes[SCSICMD_VPD_BYTES];
	const uint8_t *content;
	int length = ask_vital(asker, SCSICMD_VPD_SERIAL, bytes, &content);

	if (length > 0)
		drivetext_clean(content, (size_t)length, asker->facts->serial,
				sizeof(asker->facts->serial));
}

/* Only pages that it says it has, and each once. */
static void ask_pages(const struct asker *asker)
{
	uint8_t bytes[SCSICMD_VPD_BYTES];
	const uint8_t *list;
	int length = ask_vital(asker, SCSICMD_VPD_PAGES, bytes, &list);
	size_t count = length < 0 ? 0 : (size_t)length;

	if (count == 0)
		return;
	if (asker->facts->serial[0] == '\0' &&
	    memchr(list, SCSICMD_VPD_SERIAL, count) != NULL)
		ask_serial(asker);
	if (memchr(list, SCSICMD_VPD_EXTENDED, count) != NULL)
		ask_extended(asker);
	if (asker->facts->kind != DRIVEFACTS_ATA &&
	    memchr(list, SCSICMD_VPD_ATA, count) != NULL)
		ask_bridge(asker);
}

static void ask_sync(const struct asker *asker)
{
	struct drivefacts *facts = asker->facts;

	for (int is_long = 1; is_long >= 0; is_long--) {
		const struct scsicmd command =
			scsicmd_sync_cache(0, 0, is_long == 1);
		struct drivelink_answer answer;
		int status = drivelink_ask(asker->link, &command, NULL,
					   asker->timeout_ms, &answer);

		if (status == 0)
			facts->has_flush = DRIVEFACTS_YES;
		else if (status == -EINVAL || status == -EOPNOTSUPP)
			facts->has_flush = DRIVEFACTS_NO;
		else
			facts->has_flush = DRIVEFACTS_UNKNOWN;
		if (facts->has_flush != DRIVEFACTS_NO)
			return;
	}
}

static int ask_scsi(const struct asker *asker, struct err *err)
{
	const struct scsicmd command = scsicmd_inquiry();
	struct drivefacts *facts = asker->facts;
	uint8_t bytes[SCSICMD_INQUIRY_BYTES] = {0};
	struct scsicmd_inquiry_data inquiry;
	struct drivelink_answer answer;
	struct drivecaching caching;
	int status = drivelink_ask(asker->link, &command, bytes,
				   asker->timeout_ms, &answer);

	if (status < 0)
		return failed(status, "its identity", err);
	if (scsicmd_parse_inquiry(bytes, answer.moved_bytes, &inquiry) == -1)
		return failed(-EPROTO, "its identity", err);
	copy_text(facts->model, inquiry.model);
	copy_text(facts->firmware, inquiry.firmware);
	ask_capacity(asker);
	if (!inquiry.is_ata || !ask_ata(asker)) {
		drivecaching_read(asker->link, asker->timeout_ms, &caching);
		if (caching.has_header)
			facts->has_fua = yes_or_no(caching.now.has_fua);
		if (caching.now.has_page)
			facts->is_cache_on = yes_or_no(caching.now.is_cache_on);
		if (caching.now.is_cache_on || caching.can_change)
			facts->has_cache = DRIVEFACTS_YES;
		ask_sync(asker);
	}
	if (inquiry.version >= VERSION_SPC2)
		ask_pages(asker);
	return 0;
}

int drivefacts_ask_link(const struct drivelink *link, unsigned int timeout_ms,
			struct drivefacts *facts, struct err *err)
{
	const struct asker asker = {link, timeout_ms, facts};

	assert(timeout_ms > 0);

	memset(facts, 0, sizeof(*facts));
	switch (link->kind) {
	case DRIVELINK_NVME:
		facts->kind = DRIVEFACTS_NVME;
		return ask_nvme(&asker, err);
	case DRIVELINK_SCSI:
		facts->kind = DRIVEFACTS_SCSI;
		return ask_scsi(&asker, err);
	case DRIVELINK_NONE:
		break;
	}
	return 0;
}

int drivefacts_ask(int fd, unsigned int timeout_ms, struct drivefacts *facts,
		   struct err *err)
{
	struct drivelink link;

	if (drivelink_open(&link, fd, &drivelink_kernel, err) == -1)
		return -1;
	return drivefacts_ask_link(&link, timeout_ms, facts, err);
}

const char *drivefacts_kind_name(enum drivefacts_kind kind)
{
	static const char *const names[] = {
		[DRIVEFACTS_NONE] = "none",
		[DRIVEFACTS_NVME] = "NVMe",
		[DRIVEFACTS_SCSI] = "SCSI",
		[DRIVEFACTS_ATA] = "ATA",
	};

	return names[kind];
}

const char *drivefacts_answer_name(enum drivefacts_answer answer)
{
	static const char *const names[] = {
		[DRIVEFACTS_UNKNOWN] = "unknown",
		[DRIVEFACTS_NO] = "no",
		[DRIVEFACTS_YES] = "yes",
	};

	return names[answer];
}
