/* SPDX-License-Identifier: MIT */
/*
 * ackclient - keeps the ack log informed, in a thread of its own: sends to a
 * collector, or appends to a log file beside the writer (P2).
 *
 * Streams hand over what they have to say through rings (ackring.h) and ask
 * ackclient_reserved() how far they may issue; neither ever blocks. Whoever
 * sets up or ends a cycle uses ackclient_say() and ackclient_wait().
 *
 * A lost collector is told once, and looked for again until the timeout;
 * meanwhile everything unconfirmed is kept and then repeated. When the timeout
 * is over the client has failed, for good, and says so by wstop_fail().
 */
#ifndef WRITER_ACKCLIENT_H
#define WRITER_ACKCLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/histogram.h"
#include "common/format/ackbody.h"
#include "common/format/run.h"

struct ackclient;
struct ackring;
struct channel_key;
struct err;
struct wstop;

struct ackclient_setup {
	const char *collector; /* address, or NULL: log_path */
	const struct channel_key *key;
	const char *log_path;
	uint8_t run_id[RUN_ID_BYTES]; /* not needed to resume a log file */
	bool is_resume;
	uint64_t timeout_ms; /* how long a lost collector is waited for */
	struct wstop *stop;
	void (*note)(const char *text); /* tells people, from this thread */
};

/* What the log says already; all zero for a new run. */
struct ackclient_before {
	bool has_run;
	struct run run;
	uint32_t cycle;
	uint64_t reserved[RUN_STREAMS_MAX];
	uint64_t repaired_bytes; /* of a torn tail that was cut off */
};

/* Connects (or creates or opens the log file). SETUP is copied, what it points
 * to must outlive the client. */
struct ackclient *ackclient_open(const struct ackclient_setup *setup,
				 struct ackclient_before *before,
				 struct err *err);

/* Starts the thread and STREAMS rings. */
int ackclient_start(struct ackclient *client, uint16_t streams,
		    struct err *err);
struct ackring *ackclient_ring(struct ackclient *client, uint16_t stream);

/* Queues one body behind everything that the streams have handed over so far;
 * waits for room while there is none. */
int ackclient_say(struct ackclient *client, const struct ackbody *body,
		  struct err *err);
/* Waits until everything said is confirmed: 0, or -1 where the client failed
 * or the time is over. */
int ackclient_wait(struct ackclient *client, uint64_t timeout_ms,
		   struct err *err);

/* The highest number of STREAM that may be issued, by what is confirmed. */
uint64_t ackclient_reserved(struct ackclient *client, uint16_t stream);
/* Durable writes whose acknowledgement is confirmed. */
uint64_t ackclient_confirmed_writes(struct ackclient *client);
/* Monotonic time of the last confirmation; 0 if there was none. */
uint64_t ackclient_confirmed_ns(struct ackclient *client);
/* From the moment something was durable (P1) until its confirmation was here:
 * what is lost in between is known by media proof only (P5). */
void ackclient_latency(struct ackclient *client, struct histogram *latency);

/* Ends the thread and closes; does not wait for confirmations. -1 where
 * closing the log file failed. NULL is allowed. */
int ackclient_close(struct ackclient *client, struct err *err);

#endif
