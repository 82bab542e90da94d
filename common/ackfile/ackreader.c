/* SPDX-License-Identifier: MIT */
#include "common/ackfile/ackreader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/acklog.h"

#define WINDOW_BYTES    ((size_t)1024 * 1024)
#define STEP_BYTES      ((size_t)64 * 1024)
#define FRAME_BYTES_MAX ((size_t)ACKLOG_HEADER_BYTES + ACKLOG_PAYLOAD_MAX)

/*
 * Looking for a good frame behind a bad one costs one checksum for each place
 * that looks like a header. A file made to look so everywhere is given up on
 * (as damaged) after this many times its own length.
 */
#define SCAN_EFFORT 8

struct ackreader {
	int fd;
	bool is_fd_owned;
	char *path;
	uint64_t size_bytes; /* when it was opened */
	uint8_t *window;     /* WINDOW_BYTES */
	uint64_t window_at;  /* file offset of its first byte */
	size_t window_used;
	struct ackreader_end end;
	struct acklog_frame frame; /* the one that bodies are taken from */
	size_t body_at;            /* within its payload */
	bool is_in_frame;
	bool is_finished;
	uint64_t torn_bytes;
	int result;        /* once finished: 0 or -1 */
	struct err reason; /* where result is -1 */
};

static int fill_window(struct ackreader *reader, uint64_t offset_bytes,
		       struct err *err)
{
	size_t skip = (size_t)(offset_bytes - reader->window_at);
	uint64_t left;

	if (offset_bytes >= reader->window_at && skip < reader->window_used) {
		reader->window_used -= skip;
		memmove(reader->window, reader->window + skip,
			reader->window_used);
	} else {
		reader->window_used = 0;
	}
	reader->window_at = offset_bytes;
	left = reader->size_bytes - offset_bytes;
	while (reader->window_used < WINDOW_BYTES &&
	       reader->window_used < left) {
		size_t want = WINDOW_BYTES - reader->window_used;
		ssize_t got;

		if (want > left - reader->window_used)
			want = (size_t)(left - reader->window_used);
		got = pread(reader->fd, reader->window + reader->window_used,
			    want, (off_t)(offset_bytes + reader->window_used));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(err, errno, "cannot read %s",
				       reader->path);
		if (got == 0)
			return err_set(err,
				       "cannot read %s: it became shorter "
				       "while it was read",
				       reader->path);
		reader->window_used += (size_t)got;
	}
	return 0;
}

/* COUNT bytes (at most a frame) at OFFSET_BYTES, all of them within the file;
 * good until the next call. */
static const uint8_t *look_at(struct ackreader *reader, uint64_t offset_bytes,
			      size_t count, struct err *err)
{
	uint64_t end = reader->window_at + reader->window_used;

	if (offset_bytes < reader->window_at || offset_bytes + count > end) {
		if (fill_window(reader, offset_bytes, err) < 0)
			return NULL;
	}
	return reader->window + (offset_bytes - reader->window_at);
}

/*
 * 1: a frame that is good by itself; 0: none, TRIAL says why; -1: cannot be
 * read. *EFFORT grows by the bytes that a checksum was made of.
 */
static int look_at_frame(struct ackreader *reader, uint64_t offset_bytes,
			 struct acklog_frame *frame, uint64_t *effort,
			 struct err *trial)
{
	uint64_t left = reader->size_bytes - offset_bytes;
	const uint8_t *bytes;
	size_t length;

	if (left < ACKLOG_HEADER_BYTES) {
		(void)err_set(trial, "the frame is incomplete");
		return 0;
	}
	bytes = look_at(reader, offset_bytes, ACKLOG_HEADER_BYTES, trial);
	if (bytes == NULL)
		return -1;
	if (acklog_decode_header(frame, bytes, trial) < 0)
		return 0;
	length = (size_t)ACKLOG_HEADER_BYTES + frame->length;
	if (left < length) {
		(void)err_set(trial, "the frame is incomplete");
		return 0;
	}
	bytes = look_at(reader, offset_bytes, length, trial);
	if (bytes == NULL)
		return -1;
	*effort += length;
	return acklog_check(frame, bytes, bytes + ACKLOG_HEADER_BYTES, trial) ==
	       0;
}

/* The next place at or behind *AT that begins like a frame. 1, 0 or -1. */
static int find_magic(struct ackreader *reader, uint64_t *at, struct err *err)
{
	uint8_t magic[4];

	bytes_put32(magic, ACKLOG_MAGIC);
	while (reader->size_bytes - *at >= sizeof(magic)) {
		uint64_t left = reader->size_bytes - *at;
		size_t count = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
		const uint8_t *bytes = look_at(reader, *at, count, err);
		const uint8_t *hit;

		if (bytes == NULL)
			return -1;
		hit = memmem(bytes, count, magic, sizeof(magic));
		if (hit != NULL) {
			*at += (uint64_t)(hit - bytes);
			return 1;
		}
		*at += count - (sizeof(magic) - 1);
	}
	return 0;
}

/*
 * Is there a good frame anywhere from AT on? 1, 0 or -1 (cannot be read). Where
 * the effort is used up the answer is 1: doubt about the log never repairs it.
 */
static int find_good_frame(struct ackreader *reader, uint64_t at,
			   struct err *err)
{
	uint64_t effort = 0;
	uint64_t effort_max =
		SCAN_EFFORT * (reader->size_bytes + FRAME_BYTES_MAX);

	for (;;) {
		struct acklog_frame frame;
		struct err trial;
		int found = find_magic(reader, &at, err);

		if (found <= 0)
			return found;
		found = look_at_frame(reader, at, &frame, &effort, &trial);
		if (found < 0)
			*err = trial;
		if (found != 0)
			return found;
		if (effort > effort_max)
			return 1;
		at++;
	}
}

static int say_damage(const struct ackreader *reader, struct err *err)
{
	const struct err why = *err;

	return err_set(
		err,
		"%s: frame %" PRIu64 " at byte %" PRIu64 ": %s; no verdict",
		reader->path, reader->end.frames, reader->end.bytes, why.text);
}

/* Behind a frame that is not good: a torn tail (0), or damage (-1). */
static int judge_tail(struct ackreader *reader, const struct err *why,
		      struct err *err)
{
	int found = find_good_frame(reader, reader->end.bytes + 1, err);

	if (found == 0) {
		reader->torn_bytes = reader->size_bytes - reader->end.bytes;
		return 0;
	}
	if (found < 0)
		return -1;
	*err = *why;
	return say_damage(reader, err);
}

/* A frame that is good by itself must also follow the one before. */
static int check_chain(const struct ackreader *reader, struct err *err)
{
	const struct acklog_frame *frame = &reader->frame;

	if (frame->index != reader->end.frames)
		return err_set(err,
			       "it calls itself frame %" PRIu64
			       "; the log was spliced",
			       frame->index);
	if (frame->previous_crc != reader->end.crc)
		return err_set(err,
			       "it follows a frame with checksum %08x, not "
			       "%08x; the log was spliced",
			       frame->previous_crc, reader->end.crc);
	return 0;
}

/* 1: reader->frame is the next good frame; 0: the end; -1: damage. */
static int next_frame(struct ackreader *reader, struct err *err)
{
	uint64_t effort = 0;
	struct err why;
	int found;

	if (reader->end.bytes == reader->size_bytes)
		return 0;
	found = look_at_frame(reader, reader->end.bytes, &reader->frame,
			      &effort, &why);
	if (found == 0)
		return judge_tail(reader, &why, err);
	if (found < 0) {
		*err = why;
		return -1;
	}
	if (check_chain(reader, err) < 0)
		return say_damage(reader, err);
	reader->is_in_frame = true;
	reader->body_at = 0;
	return 1;
}

/* 1: a body of the frame; 0: the frame is used up, and counted; -1. */
static int next_body(struct ackreader *reader, struct ackbody *body,
		     struct err *err)
{
	const struct acklog_frame *frame = &reader->frame;
	const uint8_t *payload =
		look_at(reader, reader->end.bytes + ACKLOG_HEADER_BYTES,
			frame->length, err);
	int got;

	if (payload == NULL)
		return -1;
	got = ackbody_decode(body, payload, frame->length, &reader->body_at,
			     err);
	if (got < 0)
		return say_damage(reader, err);
	if (got > 0)
		return 1;
	reader->is_in_frame = false;
	reader->end.frames++;
	reader->end.bytes += ACKLOG_HEADER_BYTES + frame->length;
	reader->end.crc = frame->crc;
	return 0;
}

static int finish(struct ackreader *reader, int result, const struct err *err)
{
	reader->is_finished = true;
	reader->result = result;
	if (result < 0)
		reader->reason = *err;
	return result;
}

struct ackreader *ackreader_open_fd(int fd, const char *path, struct err *err)
{
	struct ackreader *reader;
	struct stat about;

	if (fstat(fd, &about) < 0) {
		(void)err_sys(err, errno, "cannot read %s", path);
		return NULL;
	}
	if (!S_ISREG(about.st_mode)) {
		(void)err_set(err, "cannot read %s: it is not a regular file",
			      path);
		return NULL;
	}
	reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		goto fail;
	reader->fd = fd;
	reader->size_bytes = (uint64_t)about.st_size;
	reader->path = strdup(path);
	reader->window = malloc(WINDOW_BYTES);
	if (reader->path == NULL || reader->window == NULL)
		goto fail;
	return reader;
fail:
	ackreader_close(reader);
	(void)err_set(err, "cannot read %s: out of memory", path);
	return NULL;
}

struct ackreader *ackreader_open(const char *path, struct err *err)
{
	/* O_NONBLOCK: a FIFO must not hold us up before it is refused. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct ackreader *reader;

	if (fd < 0) {
		(void)err_sys(err, errno, "cannot open %s", path);
		return NULL;
	}
	reader = ackreader_open_fd(fd, path, err);
	if (reader == NULL) {
		(void)close(fd); /* nothing was written */
		return NULL;
	}
	reader->is_fd_owned = true;
	return reader;
}

void ackreader_close(struct ackreader *reader)
{
	if (reader == NULL)
		return;
	if (reader->is_fd_owned)
		(void)close(reader->fd); /* nothing was written */
	free(reader->path);
	free(reader->window);
	free(reader);
}

int ackreader_next(struct ackreader *reader, struct ackbody *body,
		   uint64_t *arrival_ns, struct err *err)
{
	while (!reader->is_finished) {
		int got = 1;

		if (!reader->is_in_frame)
			got = next_frame(reader, err);
		if (got <= 0)
			return finish(reader, got, err);
		got = next_body(reader, body, err);
		if (got < 0)
			return finish(reader, got, err);
		if (got == 0)
			continue;
		if (arrival_ns != NULL)
			*arrival_ns = reader->frame.arrival_ns;
		return 1;
	}
	if (reader->result < 0)
		*err = reader->reason;
	return reader->result;
}

uint64_t ackreader_torn_bytes(const struct ackreader *reader)
{
	return reader->torn_bytes;
}

int ackreader_reject(const struct ackreader *reader, struct err *err)
{
	return say_damage(reader, err);
}

struct ackreader_end ackreader_end(const struct ackreader *reader)
{
	return reader->end;
}
