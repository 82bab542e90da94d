/* SPDX-License-Identifier: MIT */
/*
 * supervisor - keeps a simulated drive and its power switch.
 *
 * The drive is a process, nbdkit with our plugin, so that a power cut can be
 * what it is: the process ends, its memory is gone and every connection drops.
 * The supervisor starts it, passes on what comes through the control socket,
 * and knows nothing of caches and faults.
 *
 *            start, restore                      cut
 *    off ---------------------> on ---------------------------> off
 *           start_drive()            the plugin ends itself
 *
 * A cut while off and a restore while on change nothing and are answered ok.
 */
#ifndef SIMDRIVE_SUPERVISOR_H
#define SIMDRIVE_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct supervisor;

#define SUPERVISOR_FAULTS_MAX 4

struct supervisor_config {
	const char *socket, *control, *media;
	const char *trace;   /* NULL: none */
	const char *serial;  /* NULL: made from the path of the media */
	uint64_t size_bytes; /* 0: as large as the media are */
	uint64_t logical_block_bytes, cache_bytes, drain_ms;
	bool drains_random;
	unsigned int cut_drain; /* enum model_cut_drain */
	uint64_t flush_ms, ready_ms;
	const char *fault_cuts; /* NULL: all */
	uint64_t spare_bytes, bypass_bytes, seed, fault_every;
	const char *faults[SUPERVISOR_FAULTS_MAX]; /* NAME[=ARG] */
	unsigned int fault_count;
};

/* Makes the media if need be and starts the drive: when this returns, its
 * socket accepts. SIGINT, SIGTERM and SIGHUP are blocked from here on. */
struct supervisor *supervisor_open(const struct supervisor_config *config,
				   struct err *err);

/* Obeys the control socket until a signal tells it to end. -1 where the drive
 * has ended by itself. */
int supervisor_run(struct supervisor *supervisor, struct err *err);

/* Switches the drive off in good order: its cache is drained. Removes the
 * sockets. */
void supervisor_close(struct supervisor *supervisor);

#endif
