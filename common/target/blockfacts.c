/* SPDX-License-Identifier: MIT */
#include "common/target/blockfacts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/target/identity.h"

#define SECTOR_BYTES    512U /* of "size", whatever the drive's blocks are */
#define BLOCK_BYTES_MAX (1U << 30)
#define NUMBER_BYTES    32

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* 0 where there is none, or more than MAX. */
static uint64_t read_number(const char *folder, const char *name, uint64_t max)
{
	char text[NUMBER_BYTES], *end;
	unsigned long long value;

	if (!identity_read_text(folder, name, text, sizeof(text)))
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || text[0] == '-' || value > max)
		return 0;
	return value;
}

/* Drives without hardware tell by their names. */
static const char *transport_by_name(const char *name)
{
	static const char *const rows[][2] = {
		{"loop", "loop"},     {"md", "md"},       {"dm-", "dm"},
		{"nbd", "NBD"},       {"zram", "zram"},   {"ram", "RAM"},
		{"nullb", "null"},    {"vd", "virtio"},   {"mmcblk", "MMC"},
		{"bcache", "bcache"}, {"ublkb", "ublk"},  {"rbd", "RBD"},
		{"pmem", "pmem"},     {"xvd", "Xen"},     {"zd", "zvol"},
		{"drbd", "DRBD"},     {"mtdblock", "MTD"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(name, rows[i][0], strlen(rows[i][0])) == 0)
			return rows[i][1];
	}
	return NULL;
}

/* All others by what they hang on; the first that fits, the nearest bus last:
 * a USB bridge has an ATA drive behind it, but not in the path. */
static const char *transport_by_path(const char *disk, const char *vendor)
{
	static const char *const rows[][2] = {
		{"/usb", "USB"},      {"/session", "iSCSI"},
		{"/rport-", "FC"},    {"/end_device-", "SAS"},
		{"/ata", "SATA"},     {"/mmc_host/", "MMC"},
		{"/virtio", "virtio"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strstr(disk, rows[i][0]) == NULL)
			continue;
		if (strcmp(rows[i][1], "SAS") == 0 &&
		    strcmp(vendor, "ATA") == 0)
			return "SATA"; /* through the adapter's translation */
		return rows[i][1];
	}
	return vendor[0] == '\0' ? "other" : "SCSI";
}

static void read_nvme_transport(const char *disk, struct blockfacts *facts)
{
	char fabric[NUMBER_BYTES];

	(void)snprintf(facts->transport, sizeof(facts->transport), "NVMe");
	if (identity_read_text(disk, "device/transport", fabric,
			       sizeof(fabric)) &&
	    strcmp(fabric, "pcie") != 0)
		(void)snprintf(facts->transport, sizeof(facts->transport),
			       "NVMe/%s", fabric);
}

static void read_transport(const char *disk, const char *vendor,
			   struct blockfacts *facts)
{
	const char *name = last_name(disk);
	const char *transport;

	if (strncmp(name, "nvme", 4) == 0) {
		read_nvme_transport(disk, facts);
		return;
	}
	transport = transport_by_name(name);
	if (transport == NULL)
		transport = transport_by_path(disk, vendor);
	(void)snprintf(facts->transport, sizeof(facts->transport), "%s",
		       transport);
}

static void read_model(const char *disk, const char *vendor,
		       struct blockfacts *facts)
{
	char model[BLOCKFACTS_TEXT_BYTES - 32];

	if (!identity_read_text(disk, "device/model", model, sizeof(model)))
		(void)identity_read_text(disk, "device/name", model,
					 sizeof(model)); /* "" will do */
	/* libata says ATA where a SCSI drive has its maker. */
	(void)snprintf(facts->model, sizeof(facts->model), "%.30s%s%s",
		       strcmp(vendor, "ATA") == 0 ? "" : vendor,
		       strcmp(vendor, "ATA") == 0 || vendor[0] == '\0' ? ""
								       : " ",
		       model);
}

void blockfacts_read(const struct identity *identity, struct blockfacts *facts)
{
	const char *disk = identity->disk;
	const char *node = identity->node;
	char vendor[NUMBER_BYTES];
	char *part;

	memset(facts, 0, sizeof(*facts));
	(void)identity_read_text(disk, "device/vendor", vendor, sizeof(vendor));
	if (strncmp(vendor, "0x", 2) == 0)
		vendor[0] = '\0'; /* of virtio and PCI, a mere number */
	read_transport(disk, vendor, facts);
	read_model(disk, vendor, facts);
	(void)snprintf(facts->serial, sizeof(facts->serial), "%.127s",
		       identity->serial);
	part = strrchr(facts->serial, ':');
	if (identity->is_partition && part != NULL)
		*part = '\0'; /* ":partN" */
	if (!identity_read_text(disk, "device/firmware_rev", facts->firmware,
				sizeof(facts->firmware)))
		(void)identity_read_text(disk, "device/rev", facts->firmware,
					 sizeof(facts->firmware));
	if (!identity_read_text(disk, "wwid", facts->wwn, sizeof(facts->wwn)))
		(void)identity_read_text(disk, "device/wwid", facts->wwn,
					 sizeof(facts->wwn));
	facts->size_bytes =
		SECTOR_BYTES *
		read_number(node, "size", (uint64_t)INT64_MAX / SECTOR_BYTES);
	facts->logical_block_bytes = (uint32_t)read_number(
		disk, "queue/logical_block_size", BLOCK_BYTES_MAX);
	facts->physical_block_bytes = (uint32_t)read_number(
		disk, "queue/physical_block_size", BLOCK_BYTES_MAX);
	facts->is_read_only = read_number(node, "ro", 1) == 1;
	facts->is_removable = read_number(disk, "removable", 1) == 1;
}

void blockfacts_name(const struct blockfacts *facts, char *text, size_t room)
{
	if (facts->model[0] != '\0')
		(void)snprintf(text, room, "%s", facts->model);
	else
		(void)snprintf(text, room, "%s drive", facts->transport);
}
