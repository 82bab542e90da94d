/* SPDX-License-Identifier: MIT */
/*
 * stream_parts - what a stream is made of; for the files writer/stream*.c only.
 *
 *   stream.c        the order of things, in the stream's own thread
 *   stream_new.c    making and freeing
 *   stream_wait.c   a flush for which the thread itself waits in the system,
 *                   and who acts for the stream meanwhile
 */
#ifndef WRITER_STREAM_PARTS_H
#define WRITER_STREAM_PARTS_H

#include <pthread.h>

#include "common/format/record.h"
#include "writer/durable.h"
#include "writer/failure.h"
#include "writer/speaker.h"
#include "writer/stream.h"

struct target_completion;

/* For what is in flight after an orderly stop. */
#define STREAM_FINISH_MS 120000

/* MUTEX is held by whoever acts: by the thread while it runs. */
struct stream_wait {
	pthread_mutex_t mutex;
	uint64_t since_ns;   /* the thread waits for a flush; 0: it does not */
	uint64_t asked_ns;   /* seen meanwhile: it is to stop; 0: not seen */
	uint64_t took_ns;    /* the last flush */
	bool is_left;        /* it came back too late: nothing is its own */
	struct stream *next; /* that was left */
};

struct stream {
	struct stream_setup setup;
	struct stream_counts counts;
	struct target_queue *queue;
	struct record_cipher *cipher;
	struct durable *durable;
	struct places *places;
	struct speaker speaker;
	struct failure_place failure;
	struct record record; /* what all writes have in common */
	pthread_t thread;
	struct stream_wait wait;

	unsigned int depth;
	unsigned int batch_max;
	unsigned int flying; /* writes and flushes */
	unsigned int failed; /* of them, those that came back with an error */

	struct speaker_flush flights[DURABLE_FLUSHES_MAX]; /* number 0: free */
	unsigned int flushing, flushing_max;
	struct speaker_flush last_flush; /* the newest that has completed */
	uint64_t flush_due_ns;
	uint64_t since_flush; /* completed since the last flush went out */

	uint64_t now_ns;
};

static inline void stream_count(atomic_uint_fast64_t *counter, uint64_t value)
{
	atomic_store_explicit(counter, value, memory_order_relaxed);
}

void stream_hand_over(struct stream *stream, bool is_last);
/* Counts a flush as submitted now (P1: nothing is reaped before it goes out),
 * and gives its tag. */
uint64_t stream_begin_flush(struct stream *stream);
void stream_take(struct stream *stream,
		 const struct target_completion *completions, int got);
void stream_fail_queue(struct stream *stream, int errnum, const char *what);

void stream_wait_init(struct stream_wait *wait);
/* Is it worth while, and does it hold up nothing else? */
bool stream_may_wait(const struct stream *stream);
/* One flush, begun and taken. False: the stream was left meanwhile; its thread
 * must end, and touch nothing. */
bool stream_wait_flush(struct stream *stream);
/* Until stream_await_left(). */
void stream_wait_keep(struct stream *stream);

#endif
