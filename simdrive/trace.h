/* SPDX-License-Identifier: MIT */
/*
 * trace - what a simulated drive truly did, told event by event while it does
 * it: what a verdict about this drive can be held against.
 *
 * Pure. The model tells each event to a sink, in the order in which things
 * happened, and tells all that belongs to a request before the request returns.
 * Replaying WRITE, TO_MEDIA, DAMAGE and PARTIAL over the first content of the
 * media gives their content at every CUT and STOP. The bytes of an event are
 * in docs/FORMATS.md.
 */
#ifndef SIMDRIVE_TRACE_H
#define SIMDRIVE_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct damage_write;

#define TRACE_MAGIC        0x52545050U /* "PPTR" */
#define TRACE_HEADER_BYTES 40

enum trace_type {
	TRACE_ON = 1,     /* length: logical block; offset: size of the media */
	TRACE_WRITE,      /* arrived; flags: TRACE_FUA; data */
	TRACE_WRITE_DONE, /* is answered with success */
	TRACE_FLUSH,
	TRACE_FLUSH_DONE,
	TRACE_TO_MEDIA, /* this part of that write went to the media */
	TRACE_DAMAGE,   /* a fault put this there; data */
	TRACE_CUT,
	TRACE_PARTIAL, /* at the cut this part of that write got there; data */
	TRACE_SCAR,    /* flags: enum trace_scar; length 0: the whole drive */
	TRACE_READ_WRONG, /* answered with what it does not hold; data */
	TRACE_STOP,
};

#define TRACE_FUA 1

enum trace_scar {
	TRACE_SCAR_ERROR = 1,
	TRACE_SCAR_HANGS,
	TRACE_SCAR_DEAD,
	TRACE_SCAR_STALE,
	TRACE_SCAR_HEALED,
};

struct trace_event {
	enum trace_type type;
	uint8_t flags;
	const uint8_t *data; /* LENGTH bytes, or NULL where none follow */
	size_t length;
	uint64_t request; /* 0: it belongs to none */
	uint64_t offset_bytes;
	uint64_t time_ns; /* filled in by who listens: the model has no clock */
};

struct trace_sink {
	/* NULL: nobody listens. The event and its data are the caller's. */
	void (*tell)(void *context, const struct trace_event *event);
	void *context;
};

/* Tells the sink, if anybody listens. */
void trace_tell(const struct trace_sink *sink, const struct trace_event *event);

/* Tells of write REQUEST, or of the part of it that WRITE is. */
void trace_tell_write(const struct trace_sink *sink, enum trace_type type,
		      const struct damage_write *write, uint64_t request);

/* Tells what concerns the whole drive. */
void trace_tell_moment(const struct trace_sink *sink, enum trace_type type,
		       uint8_t flags, uint64_t request);

/* Stores TRACE_HEADER_BYTES; the event's data, if any, follow behind them. */
void trace_encode_header(const struct trace_event *event, uint8_t *header);

#endif
