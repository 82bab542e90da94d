/* SPDX-License-Identifier: MIT */
/*
 * ackbody - the statements that writer, collector and campaign put on record.
 *
 * The same bytes travel in the ack protocol and rest in the ack log: a payload
 * is a run of bodies, each one type byte, a varint length and its content
 * (docs/FORMATS.md). Numbers inside are varints where they are usually small,
 * so that one flush of 32 writes costs about 9 bytes among others of its kind,
 * and about 22 alone. Pure; no allocation.
 */
#ifndef COMMON_FORMAT_ACKBODY_H
#define COMMON_FORMAT_ACKBODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/run.h"

struct err;

#define ACKBODY_RANGES_MAX   256 /* in one body; more need several bodies */
#define ACKBODY_FLUSHES_MAX  64
#define ACKBODY_TEXT_BYTES   240
#define ACKBODY_ENCODED_MAX  8192      /* no encoded body is longer */
#define ACKBODY_SEQUENCE_MAX INT64_MAX /* no sequence number is higher */

enum ackbody_type {
	ACKBODY_RUN = 1,   /* first body of every log */
	ACKBODY_CYCLE,     /* a cycle begins */
	ACKBODY_RESERVE,   /* no number above this one will be issued yet */
	ACKBODY_DURABLE,   /* durable by P1 */
	ACKBODY_COMPLETED, /* the drive said done, nothing was flushed */
	ACKBODY_EVENT,     /* cut asked, cut seen, restored, error, note */
	ACKBODY_ISSUED,    /* the stream has stopped: highest number issued */
	ACKBODY_END,       /* the cycle has ended in order; text says why */
	ACKBODY_FLUSHES,   /* as DURABLE, of several flushes */
};

enum ackbody_sync {
	ACKBODY_SYNC_FLUSH_COUNT, /* a FLUSH after every N completed writes */
	ACKBODY_SYNC_FLUSH_MS,    /* a FLUSH every N ms */
	ACKBODY_SYNC_FUA,
	ACKBODY_SYNC_NONE, /* the control arm: nothing becomes durable */
};

enum ackbody_event {
	ACKBODY_EVENT_CUT_ASKED = 1, /* P11: logged before the power is cut */
	ACKBODY_EVENT_CUT_SEEN,      /* the writer or campaign saw it go */
	ACKBODY_EVENT_RESTORED,
	ACKBODY_EVENT_ERROR,
	ACKBODY_EVENT_NOTE,
	/* P9: flushes of this run were never sent to the drive, as the writer
	 * has found out or its user has accepted; the text says where they
	 * ended. */
	ACKBODY_EVENT_UNSENT,
};

struct ackbody_range {
	uint64_t first, last; /* both included; 1 <= first <= last */
};

struct ackbody_cycle {
	uint32_t cycle; /* from 1 */
	enum ackbody_sync sync;
	uint64_t sync_value; /* N or ms; 0 for fua and none */
	uint16_t queue_depth;
	uint64_t started_ns; /* wall clock of the writer's host */
	uint16_t streams;
	uint64_t first_sequence[RUN_STREAMS_MAX]; /* of each stream */
};

/* DURABLE and COMPLETED. For FUA, and for COMPLETED, flush is 0. */
struct ackbody_ranges {
	uint16_t stream;
	uint64_t flush; /* number of the flush within the cycle, from 1 */
	uint64_t submitted_ns; /* monotonic, writer's host: the flush, or 0 */
	uint64_t completed_ns; /* the same clock: reaped; >= submitted_ns */
	uint16_t count; /* 1 ... ACKBODY_RANGES_MAX, ascending, disjoint */
	struct ackbody_range ranges[ACKBODY_RANGES_MAX];
};

struct ackbody_flush {
	uint64_t number; /* within the cycle, from 1 */
	uint64_t submitted_ns, completed_ns;
	struct ackbody_range range;
};

/* FLUSHES: each is a DURABLE with one range. From one to the next all but the
 * range stays as it is, or the number ascends and submitted_ns does not
 * descend. Ranges are in any order. */
struct ackbody_flushes {
	uint16_t stream;
	uint16_t count; /* 2 ... ACKBODY_FLUSHES_MAX */
	struct ackbody_flush flushes[ACKBODY_FLUSHES_MAX];
};

/* What one flush did, whatever statement tells it; the ranges are in that. */
struct ackbody_told {
	uint16_t stream;
	uint64_t flush, submitted_ns, completed_ns;
	uint16_t count;
	const struct ackbody_range *ranges;
};

/* RESERVE: never above; ISSUED: highest issued (0 or first - 1: none). */
struct ackbody_limit {
	uint16_t stream;
	uint64_t sequence;
};

struct ackbody_note {                  /* EVENT and END */
	enum ackbody_event event;      /* EVENT only */
	uint64_t at_ns;                /* monotonic, of whoever speaks */
	char text[ACKBODY_TEXT_BYTES]; /* never a control character */
};

struct ackbody {
	enum ackbody_type type;
	union {
		struct run run;
		struct ackbody_cycle cycle;
		struct ackbody_limit limit;
		struct ackbody_ranges ranges;
		struct ackbody_flushes flushes;
		struct ackbody_note note;
	};
};

/* Appends BODY to BUFFER at *USED; -1 where ROOM is too small (no err: the
 * caller starts another payload). BODY keeps the ranges said above (asserted);
 * control characters in a text become spaces. */
int ackbody_encode(const struct ackbody *body, uint8_t *buffer, size_t room,
		   size_t *used);

/*
 * Decodes the body at *AT of a payload of LENGTH bytes and moves *AT behind it.
 * 1: a body; 0: the payload ends here; -1: err says what is wrong. Everything
 * is range-checked: what decodes can be used without fear.
 */
int ackbody_decode(struct ackbody *body, const uint8_t *payload, size_t length,
		   size_t *at, struct err *err);

/* DURABLE or FLUSHES: it promises. */
bool ackbody_is_durable(const struct ackbody *body);

/* What DURABLE, COMPLETED and FLUSHES tell, one flush after another (I from 0);
 * false where there is no more, and for all other statements. */
bool ackbody_told_at(const struct ackbody *body, size_t i,
		     struct ackbody_told *told);

bool ackbody_is_same_cycle(const struct ackbody_cycle *a,
			   const struct ackbody_cycle *b);

/* "flush:32", "flush:5ms", "fua", "none". TEXT has 32 bytes. */
void ackbody_sync_text(enum ackbody_sync sync, uint64_t value, char *text);
int ackbody_sync_parse(const char *text, enum ackbody_sync *sync,
		       uint64_t *value, struct err *err);

#endif
