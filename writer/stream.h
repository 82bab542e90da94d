/* SPDX-License-Identifier: MIT */
/*
 * stream - one stream of numbered writes: issue, submit, reap, flush, hand over
 * what may be acknowledged.
 *
 * It decides the order of things and nothing else: what is durable says
 * durable.h (P1, P5), how far it may issue says ackclient.h, when to end says
 * wstop.h. It does not pause before the drive is really gone (P2), never has
 * two writes to one slot in flight, allocates nothing while it runs, and with
 * FUA never sends a flush, which would hide a drive that ignores FUA.
 *
 * stream_run() is a thread; stream_new() and stream_free() belong to whoever
 * starts it.
 */
#ifndef WRITER_STREAM_H
#define WRITER_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "common/format/run.h"

struct ackclient;
struct err;
struct stream;
struct target;
struct wstop;

struct stream_setup {
	const struct run *run;
	const struct ackbody_cycle *cycle;
	struct target *target;
	struct ackclient *acks;
	struct wstop *stop;
	uint64_t drain_timeout_ms;
	uint16_t stream;
	bool is_unsent;         /* flushes prove nothing: W stays (P5, P9) */
	uint64_t reserved;      /* the highest number asked for already */
	uint64_t last_sequence; /* ends after this one; UINT64_MAX: none */
};

/* Written by the stream alone, read by anybody while it runs. */
struct stream_counts {
	atomic_uint_fast64_t issued;    /* writes handed to the system */
	atomic_uint_fast64_t completed; /* in full and without error */
	atomic_uint_fast64_t durable;
	atomic_uint_fast64_t flushes; /* completed */
	atomic_uint_fast64_t flying; /* writes and flushes, now or at the end */
	atomic_uint_fast64_t highest; /* number issued */
	atomic_bool is_done;
};

struct stream *stream_new(const struct stream_setup *setup, struct err *err);
/* Where requests were never answered, their buffers and queue are left alone:
 * the drive may still use them. */
void stream_free(struct stream *stream);
/* After that: waits for the drive, however long, where a stream's thread still
 * waits for it. The process is to stay until then (P11): it looks ended when
 * its first thread is. */
void stream_await_left(void);

int stream_start(struct stream *stream, struct err *err);
/* Again and again while it runs, by the thread that joins it: acts for the
 * stream where its own thread waits in the system. */
void stream_watch(struct stream *stream);
void stream_join(struct stream *stream);
/* After stream_join(): requests were never answered. */
bool stream_is_abandoned(const struct stream *stream);
struct stream_counts *stream_counts(struct stream *stream);

#endif
