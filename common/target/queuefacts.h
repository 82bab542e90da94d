/* SPDX-License-Identifier: MIT */
/*
 * queuefacts - what sysfs says of the queue of one drive or layer: for the
 * pre-flight, which compares it with what the drive says of itself.
 *
 * Reads small files (Documentation/ABI/stable/sysfs-block) and asks no drive. A
 * number that makes no sense is 0, unknown.
 */
#ifndef COMMON_TARGET_QUEUEFACTS_H
#define COMMON_TARGET_QUEUEFACTS_H

#include <stdbool.h>
#include <stdint.h>

#define QUEUEFACTS_TEXT_BYTES 32

enum queuefacts_cache {
	QUEUEFACTS_SILENT,  /* no such file, or another word in it */
	QUEUEFACTS_BACK,    /* the kernel sends FLUSH and FUA */
	QUEUEFACTS_THROUGH, /* the kernel completes FLUSH itself, strips FUA */
};

struct queuefacts {
	char name[QUEUEFACTS_TEXT_BYTES]; /* of the kernel: "sdb" */
	enum queuefacts_cache cache;
	bool has_fua;   /* queue/fua: the driver can; not that it does */
	bool is_bottom; /* nothing is known below it */
	bool is_loop;
	bool is_hidden_path; /* nvme0c1n1, which has no node in /dev */
	bool is_rotational;
	/* The module, else the driver, of the host adapter, the bridge or the
	 * controller that it hangs on: "ahci", "uas", "nvme"; "". */
	char driver[QUEUEFACTS_TEXT_BYTES];
	int channel; /* C of a SCSI device's H:C:T:L; -1: it has none */
	char scheduler[QUEUEFACTS_TEXT_BYTES]; /* the one in force; "" */
	uint64_t max_sectors_kb, max_hw_sectors_kb, nr_requests;
	uint64_t atomic_unit_bytes; /* queue/atomic_write_unit_max_bytes */
	uint64_t timeout_ms;        /* of one command */
	unsigned int major, minor;  /* 0, 0: unknown */
};

/* DISK is the device's real folder in sysfs. */
void queuefacts_read(const char *disk, struct queuefacts *facts);

/* "write back", "write through", "silent". Static. */
const char *queuefacts_cache_name(enum queuefacts_cache cache);

#endif
