/* SPDX-License-Identifier: MIT */
/*
 * blockfacts - what sysfs says of a block device besides its identity: for
 * lists and for people. Nothing is decided by it.
 *
 * It reads small files and asks no drive. Text of a drive is cleaned and
 * bounded; a number that makes no sense is 0, unknown.
 */
#ifndef COMMON_TARGET_BLOCKFACTS_H
#define COMMON_TARGET_BLOCKFACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct identity;

#define BLOCKFACTS_TEXT_BYTES 128

struct blockfacts {
	/* Of the whole drive; "" unknown. */
	char model[BLOCKFACTS_TEXT_BYTES]; /* with the vendor before it */
	char serial[BLOCKFACTS_TEXT_BYTES];
	char firmware[BLOCKFACTS_TEXT_BYTES];
	char wwn[BLOCKFACTS_TEXT_BYTES]; /* "naa.5...", "eui.0...", NGUID */
	/*
	 * What it hangs on: "NVMe", "NVMe/tcp", "SATA", "SAS", "USB", "SCSI",
	 * "FC", "iSCSI", "MMC", "virtio", "loop", "md", "dm", "NBD", "zram",
	 * "null", "bcache", else "other". A SATA drive behind a SAS adapter is
	 * "SATA", one behind a USB bridge is "USB".
	 */
	char transport[BLOCKFACTS_TEXT_BYTES];
	uint64_t size_bytes; /* of this very device; 0: no medium */
	uint32_t logical_block_bytes, physical_block_bytes;
	bool is_read_only, is_removable;
};

void blockfacts_read(const struct identity *identity, struct blockfacts *facts);

/* "SAMSUNG MZ7", "virtio drive": the model, else the transport. */
void blockfacts_name(const struct blockfacts *facts, char *text, size_t room);

#endif
