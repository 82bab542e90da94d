/* SPDX-License-Identifier: MIT */
/*
 * csettings - the campaign's INI file, checked to the last key.
 *
 * A section or key that does not exist, a key given twice, a bad value and a
 * missing key are refused with file, line and name: a campaign that runs all
 * night must not run with a misspelt wish. docs/CAMPAIGN.md has the keys as a
 * table. Long values go on in indented lines; in [hooks] each of those is a
 * line of the shell script.
 */
#ifndef CAMPAIGN_CSETTINGS_H
#define CAMPAIGN_CSETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/gates.h"

struct err;

#define CSETTINGS_TEXT_BYTES     1024
#define CSETTINGS_BOOT_TRIES_MAX 100

/* How the drive's own counters are read. */
enum csettings_counters {
	CSETTINGS_COUNTERS_AUTO, /* whichever answers */
	CSETTINGS_COUNTERS_SMARTCTL,
	CSETTINGS_COUNTERS_NVME,
	CSETTINGS_COUNTERS_NONE,
};

struct csettings {
	/* [campaign] */
	char name[CSETTINGS_TEXT_BYTES];
	uint64_t cycles, control_cycles;
	uint64_t seed;
	bool has_control_cycles, has_seed;
	bool stop_on_broken;
	double bound; /* a chance: 0.01 for 1% */
	/* [drive]; sizes 0: the writer's default */
	char target[CSETTINGS_TEXT_BYTES];
	char erase[CSETTINGS_TEXT_BYTES]; /* "": not given */
	uint64_t offset_bytes, size_bytes;
	char counters[CSETTINGS_TEXT_BYTES];
	enum csettings_counters counters_kind;
	char counters_device[CSETTINGS_TEXT_BYTES]; /* the target, as default */
	bool rescan; /* buses, where the drive is missing */
	/* [workload] */
	uint64_t block_bytes, queue_depth, streams; /* 0: not given */
	char pattern[CSETTINGS_TEXT_BYTES];         /* "": not given */
	char sync[CSETTINGS_TEXT_BYTES];            /* of the test arm */
	enum gates_sync sync_kind;
	bool fill;
	/* [power] and [cut] */
	char outlet[CSETTINGS_TEXT_BYTES];
	char outlets[CSETTINGS_TEXT_BYTES]; /* file of names; "": the relay's */
	bool has_session, is_session_given; /* one relay process for all */
	uint64_t off_time_ms, off_min_ms, off_max_ms;
	bool has_off_time, has_off_range;
	uint64_t return_timeout_ms, gone_timeout_ms;
	uint64_t after_min_ms, after_max_ms;
	uint64_t recuts;
	uint64_t recut_after_min_ms, recut_after_max_ms;
	uint64_t recut_off_min_ms, recut_off_max_ms;
	/* [host]; via "": its power stays, only the drive's is cut */
	char via[CSETTINGS_TEXT_BYTES];
	char ready[CSETTINGS_TEXT_BYTES];    /* "": none */
	char host_key[CSETTINGS_TEXT_BYTES]; /* the writer's; [collector]'s */
	uint64_t boot_timeout_ms, boot_tries;
	/* [collector]; connect "": start one of our own */
	char connect[CSETTINGS_TEXT_BYTES];
	char listen[CSETTINGS_TEXT_BYTES];    /* "": a Unix socket */
	char advertise[CSETTINGS_TEXT_BYTES]; /* to the writer; "": as here */
	char key[CSETTINGS_TEXT_BYTES];
	char log_dir[CSETTINGS_TEXT_BYTES];
	/* [commands]; "": the program beside our own */
	char writer[CSETTINGS_TEXT_BYTES];
	char verifier[CSETTINGS_TEXT_BYTES];
	char relay[CSETTINGS_TEXT_BYTES];
	char collector[CSETTINGS_TEXT_BYTES];
	char smartctl[CSETTINGS_TEXT_BYTES]; /* both found by PATH */
	char nvme[CSETTINGS_TEXT_BYTES];
	/* [hooks]; "": none */
	char after_off[CSETTINGS_TEXT_BYTES];
	char after_on[CSETTINGS_TEXT_BYTES];
	char verifier_options[CSETTINGS_TEXT_BYTES];
};

int csettings_read(struct csettings *settings, const char *path,
		   struct err *err);

/* The same from memory; NAME stands for the path in messages. */
int csettings_parse(struct csettings *settings, const char *text,
		    const char *name, struct err *err);

/* The drive loses its power together with the host that writes to it. */
bool csettings_cuts_host(const struct csettings *settings);

#endif
