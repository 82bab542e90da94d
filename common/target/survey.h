/* SPDX-License-Identifier: MIT */
/*
 * survey - every drive and partition of this machine, and whether it may be
 * tested: the guard's questions, asked of all without a test.
 *
 * Devices are opened read only and a few MiB of either end are read; nothing is
 * written and nothing is held open. Each is asked by a process of its own,
 * which is left alone when its time is over: a drive that hangs, hangs nobody
 * else. Call it while no other thread runs.
 */
#ifndef COMMON_TARGET_SURVEY_H
#define COMMON_TARGET_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/target/inventory.h"
#include "common/target/lineage.h"

struct err;

#define SURVEY_TEXT_BYTES 256
/* Two labels of 1 MiB, and the least region between them. */
#define SURVEY_BYTES_MIN (2ULL * 1024 * 1024 + 4096)

enum survey_answer {
	SURVEY_FREE,    /* may be tested; what it holds is lost then */
	SURVEY_REFUSED, /* reason says why */
	SURVEY_UNASKED, /* could not be told: no right to, no answer */
};

struct survey_row {
	struct inventory_name name;
	char path[INVENTORY_NAME_BYTES + 8];
	struct blockfacts facts;
	char identity[IDENTITY_TEXT_BYTES];
	char by_id[SURVEY_TEXT_BYTES]; /* "/dev/disk/by-id/..."; "" none */
	char erase_name[IDENTITY_TEXT_BYTES]; /* what --erase must repeat */
	char lineage[LINEAGE_TEXT_BYTES];     /* drives below it */
	enum survey_answer answer;
	char reason[SURVEY_TEXT_BYTES]; /* "" where it is free */
	/* Whole drives with this serial number, this one included: 0 where it
	 * has none, and for partitions and layers. */
	unsigned int same_serial;
};

struct survey {
	size_t count;
	struct survey_row rows[INVENTORY_NAMES_MAX];
};

/* Waits at most TIMEOUT_MS (1 ... 600,000) for a drive with its partitions; up
 * to SURVEY_PARALLEL_MAX are asked at once. Free with survey_free(). */
struct survey *survey_new(unsigned int timeout_ms, struct err *err);
void survey_free(struct survey *survey);

#define SURVEY_PARALLEL_MAX 16

#endif
