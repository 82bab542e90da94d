/* SPDX-License-Identifier: MIT */
/*
 * ackreader - an ack log file from front to back, in constant memory.
 *
 * It tells a torn tail (the writing host died in mid-sentence: the last frame
 * is incomplete or damaged and no good frame lies behind it) from damage before
 * the tail (P9: no verdict). The file may still be growing: what was there when
 * it was opened is read, once.
 */
#ifndef COMMON_ACKFILE_ACKREADER_H
#define COMMON_ACKFILE_ACKREADER_H

#include <stdint.h>

struct err;
struct ackbody;
struct ackreader;

struct ackreader *ackreader_open(const char *path, struct err *err);
/* Reads FD, which stays the caller's; PATH is its name in messages. */
struct ackreader *ackreader_open_fd(int fd, const char *path, struct err *err);
void ackreader_close(struct ackreader *reader); /* NULL is allowed */

/*
 * The next body. 1: a body (its frame's arrival time in *ARRIVAL_NS, may be
 * NULL); 0: the end; -1: damage before the tail, err names frame and byte.
 * After 0, ackreader_torn_bytes() tells how many bytes of torn tail were left.
 */
int ackreader_next(struct ackreader *reader, struct ackbody *body,
		   uint64_t *arrival_ns, struct err *err);
uint64_t ackreader_torn_bytes(const struct ackreader *reader);

/* For a caller who cannot believe the last body: puts frame and byte around
 * ERR. Returns -1. */
int ackreader_reject(const struct ackreader *reader, struct err *err);

/* What the good frames read so far come to; the next one is appended here. */
struct ackreader_end {
	uint64_t frames;
	uint64_t bytes;
	uint32_t crc; /* of the last frame; 0 if there is none */
};

struct ackreader_end ackreader_end(const struct ackreader *reader);

#endif
