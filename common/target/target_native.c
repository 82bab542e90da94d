/* SPDX-License-Identifier: MIT */
/*
 * target_native - a drive by its own commands (common/drive/driveio.h), past
 * the kernel's block layer: every FLUSH and FUA write is sent, whatever the
 * kernel believes of the drive's cache, and none is ever sent twice (P11).
 *
 * A command blocks the thread that sends it. So each queue has a pool of
 * threads, as many as its depth but POOL_MAX at most; what is beyond that waits
 * for a thread. A FLUSH is sent by whichever is free: it covers what had been
 * reaped before it was queued, and that is over by then (P1).
 *
 * After a write or a flush has failed, the queue sends no more of them: they
 * come back with -ECANCELED. A drive that comes back in the middle of the end
 * of a run gets nothing of it.
 *
 * Opening, identity and "is it gone" are target_aio's, which opens the same
 * device with O_EXCL; its engine is not used.
 */
#include "common/target/target_native.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/drive/driveio.h"
#include "common/target/target_ops.h"

#define POOL_MAX    64
#define STACK_BYTES (256 * 1024) /* of a thread; it holds one command */

struct native_target {
	struct target base;
	struct target *below; /* NULL in a test, that has no device */
	struct driveio io;
};

struct native_queue {
	struct target_queue base;
	struct driveio io; /* with an fd of this queue's own */
	pthread_t threads[POOL_MAX];
	unsigned int threads_count;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t has_work, has_done;
	struct target_request *waiting; /* a ring of base.depth */
	unsigned int first_waiting, waiting_count;
	struct target_completion *done; /* likewise */
	unsigned int first_done, done_count;
	bool is_closing, has_failed;
};

/* ---- the pool ---- */

static int64_t carry_out(const struct driveio *io,
			 const struct target_request *request)
{
	switch (request->kind) {
	case TARGET_REQUEST_READ:
		return driveio_read(io, request->buffer.to, request->length,
				    request->offset_bytes);
	case TARGET_REQUEST_WRITE:
		/* Same address; the ioctls know no const. */
		return driveio_write(io, request->buffer.to, request->length,
				     request->offset_bytes, request->is_fua);
	case TARGET_REQUEST_FLUSH:
		return driveio_flush(io);
	}
	abort();
}

/* P1: in full, or the run ends. */
static bool is_failure(const struct target_request *request, int64_t result)
{
	if (request->kind == TARGET_REQUEST_WRITE)
		return result != (int64_t)request->length;
	return request->kind == TARGET_REQUEST_FLUSH && result < 0;
}

/* Waits for a request and takes it; false at the end. Called locked. */
static bool take(struct native_queue *queue, struct target_request *request)
{
	while (!queue->is_closing && queue->waiting_count == 0)
		(void)pthread_cond_wait(&queue->has_work, &queue->lock);
	if (queue->is_closing)
		return false;
	*request = queue->waiting[queue->first_waiting];
	queue->first_waiting = (queue->first_waiting + 1) % queue->base.depth;
	queue->waiting_count--;
	return true;
}

static void put_done(struct native_queue *queue, uint64_t tag, int64_t result)
{
	unsigned int at =
		(queue->first_done + queue->done_count) % queue->base.depth;

	assert(queue->done_count < queue->base.depth);
	queue->done[at] = (struct target_completion){tag, result};
	queue->done_count++;
	(void)pthread_cond_signal(&queue->has_done);
}

static void *worker_main(void *argument)
{
	struct native_queue *queue = argument;
	struct target_request request;

	(void)pthread_mutex_lock(&queue->lock); /* cannot fail */
	while (take(queue, &request)) {
		bool is_read = request.kind == TARGET_REQUEST_READ;
		int64_t result = -ECANCELED;

		if (is_read || !queue->has_failed) {
			(void)pthread_mutex_unlock(&queue->lock);
			result = carry_out(&queue->io, &request);
			(void)pthread_mutex_lock(&queue->lock);
		}
		if (is_failure(&request, result))
			queue->has_failed = true;
		put_done(queue, request.tag, result);
	}
	(void)pthread_mutex_unlock(&queue->lock);
	return NULL;
}

/* Signals are for the program's own threads. */
static int start_workers(struct native_queue *queue, unsigned int wanted)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int errnum;

	errnum = pthread_attr_init(&attributes);
	if (errnum != 0)
		return -errnum;
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (errnum == 0 && queue->threads_count < wanted) {
		errnum = pthread_create(&queue->threads[queue->threads_count],
					&attributes, worker_main, queue);
		if (errnum == 0)
			queue->threads_count++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -errnum;
}

/* Only while no command is with the drive: then none of them is far. */
static void stop_workers(struct native_queue *queue)
{
	(void)pthread_mutex_lock(&queue->lock);
	queue->is_closing = true;
	(void)pthread_cond_broadcast(&queue->has_work);
	(void)pthread_mutex_unlock(&queue->lock);
	for (unsigned int i = 0; i < queue->threads_count; i++)
		(void)pthread_join(queue->threads[i], NULL);
}

/* ---- queues ---- */

static void queue_free(struct native_queue *queue)
{
	if (queue == NULL)
		return;
	if (queue->io.link.fd != -1)
		(void)close(queue->io.link.fd); /* each write told its result */
	free(queue->waiting);
	free(queue->done);
	free(queue);
}

/* Waiting ends by the clock that deadlines are of. */
static void init_locks(struct native_queue *queue)
{
	pthread_condattr_t attributes;

	(void)pthread_mutex_init(&queue->lock, NULL); /* these cannot fail */
	(void)pthread_cond_init(&queue->has_work, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&queue->has_done, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

static struct target_queue *
native_queue_open(struct target *target, unsigned int depth, struct err *err)
{
	const struct native_target *native =
		(const struct native_target *)target;
	struct native_queue *queue = calloc(1, sizeof(*queue));
	int result = -ENOMEM;

	if (queue == NULL)
		goto fail;
	queue->io = native->io;
	queue->base.depth = depth; /* the threads use it at once */
	/* An abandoned queue keeps its file: the number may be another's by
	 * the time that a thread takes it up. */
	queue->io.link.fd = fcntl(native->io.link.fd, F_DUPFD_CLOEXEC, 0);
	if (queue->io.link.fd == -1) {
		result = -errno;
		goto fail;
	}
	queue->waiting = calloc(depth, sizeof(*queue->waiting));
	queue->done = calloc(depth, sizeof(*queue->done));
	if (queue->waiting == NULL || queue->done == NULL)
		goto fail;
	init_locks(queue);
	result = start_workers(queue, depth < POOL_MAX ? depth : POOL_MAX);
	if (result == 0)
		return &queue->base;
	stop_workers(queue);
fail:
	(void)err_sys(err, -result, "cannot open a queue of %u requests on %s",
		      depth, target->name);
	queue_free(queue);
	return NULL;
}

/* A thread that waits for a dead drive cannot be called back. */
static void native_queue_close(struct target_queue *base)
{
	struct native_queue *queue = (struct native_queue *)base;

	if (base->in_flight > 0) {
		(void)pthread_mutex_lock(&queue->lock);
		queue->is_closing = true; /* what waits is not sent any more */
		(void)pthread_cond_broadcast(&queue->has_work);
		(void)pthread_mutex_unlock(&queue->lock);
		for (unsigned int i = 0; i < queue->threads_count; i++)
			(void)pthread_detach(queue->threads[i]);
		target_queue_abandon(base);
		return;
	}
	stop_workers(queue);
	(void)pthread_cond_destroy(&queue->has_work); /* nobody waits */
	(void)pthread_cond_destroy(&queue->has_done);
	(void)pthread_mutex_destroy(&queue->lock);
	queue_free(queue);
}

static int native_submit(struct target_queue *base, unsigned int *taken)
{
	struct native_queue *queue = (struct native_queue *)base;

	(void)pthread_mutex_lock(&queue->lock);
	for (unsigned int i = 0; i < base->queued; i++) {
		unsigned int at =
			(queue->first_waiting + queue->waiting_count) %
			base->depth;

		assert(queue->waiting_count < base->depth);
		queue->waiting[at] = base->requests[i];
		queue->waiting_count++;
		(void)pthread_cond_signal(&queue->has_work);
	}
	(void)pthread_mutex_unlock(&queue->lock);
	*taken = base->queued;
	return 0;
}

/* Until something is done or the time is over; called locked. */
static void await_done(struct native_queue *queue, int timeout_ms)
{
	unsigned int wait_ms = timeout_ms < 0 ? 0 : (unsigned int)timeout_ms;
	uint64_t deadline_ns = clock_monotonic_ns() + wait_ms * CLOCK_NS_PER_MS;
	const struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(deadline_ns % CLOCK_NS_PER_S)};
	int errnum = 0;

	while (queue->done_count == 0 && errnum == 0 && timeout_ms != 0) {
		if (timeout_ms < 0)
			errnum = pthread_cond_wait(&queue->has_done,
						   &queue->lock);
		else
			errnum = pthread_cond_timedwait(
				&queue->has_done, &queue->lock, &deadline);
	}
}

static int native_reap(struct target_queue *base,
		       struct target_completion *completions, unsigned int room,
		       int timeout_ms)
{
	struct native_queue *queue = (struct native_queue *)base;
	unsigned int count = 0;

	(void)pthread_mutex_lock(&queue->lock);
	await_done(queue, timeout_ms);
	while (count < room && queue->done_count > 0) {
		completions[count++] = queue->done[queue->first_done];
		queue->first_done = (queue->first_done + 1) % base->depth;
		queue->done_count--;
	}
	(void)pthread_mutex_unlock(&queue->lock);
	return (int)count;
}

/* ---- the target ---- */

static void native_close(struct target *target)
{
	struct native_target *native = (struct native_target *)target;

	if (native->below != NULL)
		native->below->ops->close(native->below);
	free(native);
}

static bool native_is_gone(const struct target *target)
{
	const struct native_target *native =
		(const struct native_target *)target;

	return native->below != NULL &&
	       native->below->ops->is_gone(native->below);
}

static const char *native_describe(const struct target *target)
{
	return driveio_describe(&((const struct native_target *)target)->io);
}

/* What the drive takes, instead of what the kernel would. */
static void take_facts(struct native_target *native)
{
	struct target_info *info = &native->base.info;

	info->has_flush = native->io.flush != DRIVEIO_FLUSH_NONE;
	info->has_fua = native->io.has_fua;
	info->is_write_back = true; /* nothing stands in between */
	info->max_request_bytes = native->io.max_request_bytes;
}

static struct target *native_open(const char *name, enum target_mode mode,
				  struct err *err)
{
	struct native_target *native = calloc(1, sizeof(*native));
	struct target *below;

	if (native == NULL) {
		(void)err_sys(err, errno, "cannot open %s", name);
		return NULL;
	}
	below = target_aio_ops.open(name, mode, err);
	if (below == NULL)
		goto fail;
	below->ops = &target_aio_ops;
	if (driveio_open(&native->io, below->fd, name, &drivelink_kernel,
			 err) == -1)
		goto fail_below;
	native->below = below;
	native->base.fd = below->fd;
	native->base.info = below->info;
	take_facts(native);
	return &native->base;
fail_below:
	target_aio_ops.close(below);
fail:
	free(native);
	return NULL;
}

const struct target_ops target_native_ops = {
	.keeps_once_queue = true,
	.open = native_open,
	.close = native_close,
	.is_gone = native_is_gone,
	.describe = native_describe,
	.queue_open = native_queue_open,
	.queue_close = native_queue_close,
	.submit = native_submit,
	.reap = native_reap,
};

struct target *target_native_over(const struct driveio *io)
{
	struct native_target *native = calloc(1, sizeof(*native));

	if (native == NULL)
		return NULL;
	native->base.ops = &target_native_ops;
	native->base.mode = TARGET_WRITE;
	native->base.fd = io->link.fd;
	native->io = *io;
	native->base.info.is_block_device = true;
	native->base.info.size_bytes = io->size_bytes;
	native->base.info.logical_block_bytes = io->logical_block_bytes;
	take_facts(native);
	(void)pthread_mutex_init(&native->base.once_lock, NULL);
	return &native->base;
}
