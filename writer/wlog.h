/* SPDX-License-Identifier: MIT */
/*
 * wlog - the ack log of a cycle, for what the writer itself says in it: the
 * frame around the streams' own acknowledgements (ackclient.h).
 */
#ifndef WRITER_WLOG_H
#define WRITER_WLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "writer/ackclient.h"

struct channel_key;
struct err;
struct wgone;
struct wsettings;
struct wstop;

struct wlog {
	struct channel_key *key;
	struct ackclient *acks;
	struct ackclient_before before; /* what stood there already */
	struct ackbody body;            /* big; one at a time is said */
	uint64_t timeout_ms;
	bool is_failure_said;
	struct wgone *gone; /* NULL: nothing is known */
};

/* -1 with err; wlog_close() is right in any case, also of zeros. */
int wlog_open(struct wlog *log, const struct wsettings *settings,
	      struct wstop *stop, struct err *err);
int wlog_close(struct wlog *log, struct err *err);

/* BODY is filled but for its type. */
int wlog_say(struct wlog *log, enum ackbody_type type, struct err *err);
int wlog_say_limit(struct wlog *log, enum ackbody_type type, uint16_t stream,
		   uint64_t sequence, struct err *err);
/* The first line of TEXT, as far as it fits. */
int wlog_say_note(struct wlog *log, enum ackbody_event event, const char *text,
		  struct err *err);
/* The end of the cycle, likewise. */
int wlog_say_end(struct wlog *log, const char *text, struct err *err);
/* Why STOP has failed, once, where it has. */
void wlog_say_failure(struct wlog *log, struct wstop *stop);

/* Waits until all that was said is kept. */
int wlog_confirm(struct wlog *log, struct err *err);

#endif
