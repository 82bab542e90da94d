/* SPDX-License-Identifier: MIT */
/*
 * ackout - statements out as the frames of an ack log, to any file descriptor.
 *
 * For a log that is made in one go and may be made again; what must survive a
 * crash half-way is ackfile.h. Frames are as large as they may be.
 */
#ifndef COMMON_ACKFILE_ACKOUT_H
#define COMMON_ACKFILE_ACKOUT_H

#include <stddef.h>
#include <stdint.h>

#include "common/format/acklog.h"

struct err;
struct ackbody;

struct ackout {
	int fd;           /* the caller's */
	const char *name; /* in messages; the caller's */
	uint64_t frames, bytes;
	uint32_t crc; /* of the last frame */
	size_t used;
	uint8_t payload[ACKLOG_PAYLOAD_MAX];
};

/* 256 KiB: on the heap. NULL with err. */
struct ackout *ackout_new(int fd, const char *name, struct err *err);
void ackout_free(struct ackout *out); /* NULL is allowed */

/* ARRIVAL_NS goes into the frame's header where this BODY begins the next. */
int ackout_say(struct ackout *out, const struct ackbody *body,
	       uint64_t arrival_ns, struct err *err);
/* Writes what is held back; blocks while FD takes nothing. */
int ackout_finish(struct ackout *out, uint64_t arrival_ns, struct err *err);

#endif
