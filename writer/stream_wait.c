/* SPDX-License-Identifier: MIT */
/*
 * stream_wait - a flush for which the stream's thread waits in the system.
 *
 * Through the engine's queue a flush costs two changes of threads, which is
 * most of a flush that takes some microseconds. So at depth 1, where nothing
 * could be sent meanwhile anyway, a drive that is quick is flushed by the
 * thread itself. A thread that waits there sees neither time nor stop. Should
 * the drive not answer, then whoever watches does what the thread would have
 * done, through stream_watch(): tell what has completed, end after the same
 * times, leave the flush unanswered. The mutex says whose turn it is.
 */
#include <errno.h>

#include "common/base/clock.h"
#include "common/target/target.h"
#include "writer/stream_parts.h"
#include "writer/wstop.h"

/* A slower flush has no use for it, and is left to the queue. */
#define QUICK_NS CLOCK_NS_PER_MS
#define LATE_NS  (5 * CLOCK_NS_PER_MS) /* to be watched from here on */

/* Only whoever watches touches it, and whoever ends the process. */
static struct stream *left;

void stream_wait_init(struct stream_wait *wait)
{
	pthread_mutex_init(&wait->mutex, NULL);
	wait->took_ns = UINT64_MAX;
}

bool stream_may_wait(const struct stream *stream)
{
	return stream->depth == 1 && stream->wait.took_ns < QUICK_NS &&
	       target_can_flush_waiting(stream->setup.target);
}

bool stream_wait_flush(struct stream *stream)
{
	struct stream_wait *wait = &stream->wait;
	struct target_completion completion;

	/* P1: nothing is reaped between here and the flush. */
	completion.tag = stream_begin_flush(stream);
	wait->since_ns = stream->now_ns;
	pthread_mutex_unlock(&wait->mutex);
	completion.result = target_flush_waiting(stream->setup.target);
	pthread_mutex_lock(&wait->mutex);
	wait->since_ns = 0;
	wait->asked_ns = 0;
	if (wait->is_left)
		return false;
	stream_take(stream, &completion, 1);
	return true;
}

/* As drain() does it. */
static void watch_failed(struct stream *stream)
{
	const struct stream_setup *setup = &stream->setup;

	durable_fail(stream->durable);
	stream_hand_over(stream, false);
	if (stream->now_ns - setup->stop->failed_ns <
	    setup->drain_timeout_ms * CLOCK_NS_PER_MS)
		return;
	stream->wait.is_left = true;
	atomic_store(&stream->counts.is_done, true);
}

static void watch_waiting(struct stream *stream)
{
	struct stream_wait *wait = &stream->wait;
	struct wstop *stop = stream->setup.stop;

	stream->now_ns = clock_monotonic_ns();
	if (stream->now_ns < wait->since_ns + LATE_NS)
		return;
	if (!wait->asked_ns && wstop_is_asked(stop))
		wait->asked_ns = stream->now_ns;
	if (wait->asked_ns && !wstop_has_failed(stop) &&
	    stream->now_ns - wait->asked_ns >
		    STREAM_FINISH_MS * CLOCK_NS_PER_MS)
		stream_fail_queue(stream, ETIMEDOUT, "finish the writes to");
	if (wstop_has_failed(stop))
		watch_failed(stream);
	else
		stream_hand_over(stream, false);
}

void stream_watch(struct stream *stream)
{
	struct stream_wait *wait = &stream->wait;

	if (pthread_mutex_trylock(&wait->mutex) != 0)
		return; /* its thread acts */
	if (wait->since_ns && !wait->is_left)
		watch_waiting(stream);
	pthread_mutex_unlock(&wait->mutex);
}

void stream_wait_keep(struct stream *stream)
{
	stream->wait.next = left;
	left = stream;
}

void stream_await_left(void)
{
	while (left) {
		struct stream *stream = left;

		left = stream->wait.next;
		pthread_join(stream->thread, NULL);
		stream->wait.is_left = false;
		stream->flying = 0; /* it has answered after all */
		stream_free(stream);
	}
}
