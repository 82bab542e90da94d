/* SPDX-License-Identifier: MIT */
/*
 * flushway - would a FLUSH reach the drive? (P9)
 *
 *   NBD                          its server takes FLUSH?   unknown, or no
 *   a driver that swallows it                              no
 *   --engine native                                        yes
 *   mounted without barriers                               no
 *   every queue says write back                            yes, or unknown
 *   a queue says write through   every such drive says that it has no volatile
 *                                cache, or that it is off? not needed, or no
 *
 * Pure. It weighs what the system says of each queue against what the drive
 * says of itself. What would be accused by mistake is refused; where nothing
 * can be known it says so.
 */
#ifndef COMMON_TARGET_FLUSHWAY_H
#define COMMON_TARGET_FLUSHWAY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/drive/drivefacts.h"
#include "common/target/mountfacts.h"
#include "common/target/queuefacts.h"

#define FLUSHWAY_TEXT_BYTES 384

struct flushway_layer {
	struct queuefacts queue;
	/* What the drive says; the kind is DRIVEFACTS_NONE where it was not
	 * asked, or could not be. */
	struct drivefacts drive;
	char why[FLUSHWAY_TEXT_BYTES]; /* it could not be asked; "" */
};

struct flushway_input {
	const struct flushway_layer *layers; /* from the top down */
	size_t count;
	const struct mountfacts *mount; /* of a file */
	const char *unknown;            /* what could not be found; "" */
	bool is_block_device;           /* layers[0] is the target's own */
	bool is_native, is_nbd, has_flush;
};

enum flushway_answer {
	FLUSHWAY_YES,
	FLUSHWAY_UNKNOWN,    /* nothing stands against it, nothing proves it */
	FLUSHWAY_NOT_NEEDED, /* completed is durable, by the drive's own word */
	FLUSHWAY_NO,
};

struct flushway {
	enum flushway_answer answer;
	char text[FLUSHWAY_TEXT_BYTES];   /* the reason, in one sentence */
	char remedy[FLUSHWAY_TEXT_BYTES]; /* the next step; "" */
};

void flushway_decide(const struct flushway_input *input, struct flushway *way);

/* "yes", "unknown", "not needed", "no". Static. */
const char *flushway_answer_name(enum flushway_answer answer);

#endif
