/* SPDX-License-Identifier: MIT */
/*
 * chost - the host whose power is cut together with its drive: does it answer,
 * is it the same boot, and does its writer still speak.
 *
 * Linux draws /proc/sys/kernel/random/boot_id afresh at each boot (random(4)):
 * another id behind the cut proves that the kernel of the writer, and with it
 * every command that it had in flight or would have sent again, is no more
 * (P11). What a connection says, or its silence, proves nothing of that kind.
 */
#ifndef CAMPAIGN_CHOST_H
#define CAMPAIGN_CHOST_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/rig.h"

struct err;

#define CHOST_BOOT_BYTES 40 /* a UUID as text, with room */
#define CHOST_QUIET_MS   2000
#define CHOST_FRESH_MS   1000

/* One question, at most TIMEOUT_MS. */
int chost_read_boot(struct rig *rig, uint64_t timeout_ms,
		    char boot[CHOST_BOOT_BYTES], struct err *err);

enum chost_answer {
	CHOST_BOOTED,
	CHOST_SAME_BOOT, /* it answers, and never lost its power */
	CHOST_SILENT,    /* for all its tries; or its power does not come */
	CHOST_STOPPED,   /* by a signal */
};

struct chost_coming {
	const char *old_boot; /* must not be the one that answers; "": any */
	uint64_t off_ms;      /* without power, where it is cycled again */
	char boot[CHOST_BOOT_BYTES]; /* of the host that answers */
	uint64_t boots;              /* how often it was waited for */
	uint64_t boot_ms;            /* the last time */
};

/*
 * The power is on: waits for the host, and for its "ready" command, at most
 * boot_timeout; then cycles the power again, until boot_tries is reached.
 */
enum chost_answer chost_await(struct rig *rig, struct chost_coming *coming,
			      struct err *err);

/* The log of the host's writer, which grows while it is at work. */
struct chost_log {
	char path[RIG_PATH_BYTES];
	uint64_t size_bytes;
	uint64_t grown_ns; /* monotonic, when it was last seen to have grown */
};

void chost_log_open(struct chost_log *log, const struct rig *rig,
		    const char *run);
void chost_log_look(struct chost_log *log);

#endif
