/* SPDX-License-Identifier: MIT */
/*
 * drive_fake - a drive in memory behind the target's own door: whatever is
 * submitted is shown to the test, and the test says what each request answers,
 * when, and in which order.
 *
 * It is called by whoever uses the queue, in that thread; one thread at a time.
 */
#ifndef TESTS_FAKE_DRIVE_FAKE_H
#define TESTS_FAKE_DRIVE_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/target/target_ops.h"

struct drive_fake;

/* What ANSWER returns beside bytes moved and -errno. */
#define DRIVE_FAKE_HONEST INT64_MAX       /* all of it, moved */
#define DRIVE_FAKE_LATER  (INT64_MAX - 1) /* ask again at the next look */

struct drive_fake_hooks {
	void *context;
	/* REQUEST goes to the drive; may be NULL. */
	void (*submitted)(void *context, const struct target_request *request);
	/* What is answered to REQUEST? NULL: DRIVE_FAKE_HONEST. */
	int64_t (*answer)(void *context, const struct target_request *request);
	/* REQUEST is being reaped with RESULT; may be NULL. */
	void (*reaped)(void *context, const struct target_request *request,
		       int64_t result);
	/* A flush for which the caller waits: 0 or -errno. NULL: not here. */
	int (*flush_waiting)(void *context);
};

/* SIZE_BYTES of zeroes with logical blocks of LOGICAL_BYTES. */
struct drive_fake *drive_fake_new(uint64_t size_bytes, uint32_t logical_bytes,
				  const struct drive_fake_hooks *hooks);
void drive_fake_free(struct drive_fake *drive);

struct target *drive_fake_target(struct drive_fake *drive);
uint8_t *drive_fake_media(struct drive_fake *drive);
void drive_fake_set_gone(struct drive_fake *drive, bool is_gone);

#endif
