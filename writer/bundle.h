/* SPDX-License-Identifier: MIT */
/*
 * bundle - a few writes whose content is made at once, which is faster than one
 * by one (record_build_many), and which are then queued in their order.
 */
#ifndef WRITER_BUNDLE_H
#define WRITER_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/record.h"

struct target_queue;

#define BUNDLE_MAX 8

struct bundle {
	struct record records[BUNDLE_MAX];
	uint8_t *buffers[BUNDLE_MAX]; /* the caller's, until they complete */
	unsigned int tags[BUNDLE_MAX];
	unsigned int count;
};

/* Builds what was put in, and queues it for a target; IS_FUA for all. */
void bundle_queue(struct bundle *bundle, struct record_cipher *cipher,
		  struct target_queue *queue, bool is_fua);

#endif
