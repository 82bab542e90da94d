/* SPDX-License-Identifier: MIT */
/*
 * target_nbd - an NBD export through libnbd, one connection for each queue.
 *
 * FLUSH and FUA are NBD's own (NBD_CMD_FLUSH, NBD_CMD_FLAG_FUA). A connection
 * that is lost takes what was in flight with it: those requests are unknown and
 * never come back as completions, not even as failed ones.
 */
#include <assert.h>
#include <errno.h>
#include <libnbd.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/identity.h"
#include "common/target/target_ops.h"

#define CONNECT_MS        20000
#define REQUEST_BYTES_MAX (32U * 1024 * 1024) /* what every server takes */
#define SECTOR_BYTES      512U
#define LOGICAL_BLOCK_MAX 65536

struct nbd_target {
	struct target base;
	pthread_mutex_t lock;
	/* The connection of no queue: a server may serve only one at a time. */
	struct nbd_handle *spare;
	atomic_bool is_lost;
};

struct nbd_slot {
	struct nbd_queue *queue;
	uint64_t tag;
	int64_t length;
};

struct nbd_queue {
	struct target_queue base;
	struct nbd_handle *handle;
	bool is_lost;
	struct nbd_slot *slots;
	struct nbd_slot **free_slots;
	unsigned int free_count;
	struct target_completion *done; /* a ring of depth entries */
	unsigned int done_first, done_count;
};

/* libnbd's sentence without the name of its function. */
static const char *nbd_reason(void)
{
	const char *text = nbd_get_error();
	const char *colon;

	if (text == NULL)
		return "the connection was lost";
	colon = strstr(text, ": ");
	if (strncmp(text, "nbd_", 4) == 0 && colon != NULL)
		return colon + 2;
	return text;
}

static bool is_alive(struct nbd_handle *handle)
{
	return nbd_aio_is_ready(handle) == 1 ||
	       nbd_aio_is_processing(handle) == 1;
}

enum wait_result { WAIT_TIMEOUT, WAIT_PROGRESS, WAIT_LOST, WAIT_SIGNAL };

/* One poll() and one step of libnbd; nbd_poll() would hide signals. */
static enum wait_result wait_step(struct nbd_handle *handle, int timeout_ms)
{
	unsigned int direction = nbd_aio_get_direction(handle);
	struct pollfd pollfd = {.fd = nbd_aio_get_fd(handle)};
	int result;

	if (pollfd.fd == -1)
		return WAIT_LOST;
	if ((direction & LIBNBD_AIO_DIRECTION_READ) != 0)
		pollfd.events |= POLLIN;
	if ((direction & LIBNBD_AIO_DIRECTION_WRITE) != 0)
		pollfd.events |= POLLOUT;
	result = poll(&pollfd, 1, timeout_ms);
	if (result == -1)
		return errno == EINTR ? WAIT_SIGNAL : WAIT_LOST;
	if (result == 0)
		return WAIT_TIMEOUT;
	if ((pollfd.events & POLLIN) != 0 &&
	    (pollfd.revents & (POLLIN | POLLHUP)) != 0)
		result = nbd_aio_notify_read(handle);
	else if ((pollfd.revents & POLLOUT) != 0)
		result = nbd_aio_notify_write(handle);
	else
		return WAIT_LOST;
	return result == -1 ? WAIT_LOST : WAIT_PROGRESS;
}

/* A peer that accepts and then says nothing must not hold us for ever. */
static int wait_connected(struct nbd_handle *handle, const char *uri,
			  struct err *err)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + CONNECT_MS * CLOCK_NS_PER_MS;

	while (nbd_aio_is_connecting(handle) == 1) {
		int left_ms = clock_until_ms(deadline_ns);

		if (left_ms == 0)
			return err_set(err,
				       "cannot connect to %s: no answer within "
				       "%d s",
				       uri, CONNECT_MS / 1000);
		if (nbd_poll(handle, left_ms) == -1 && nbd_get_errno() != EINTR)
			return err_set(err, "cannot connect to %s: %s", uri,
				       nbd_reason());
	}
	if (nbd_aio_is_ready(handle) != 1)
		return err_set(err,
			       "cannot connect to %s: the server ended "
			       "the connection",
			       uri);
	return 0;
}

static struct nbd_handle *connect_uri(const char *uri, struct err *err)
{
	struct nbd_handle *handle = nbd_create();

	if (handle == NULL || nbd_set_full_info(handle, true) == -1 ||
	    nbd_aio_connect_uri(handle, uri) == -1) {
		(void)err_set(err, "cannot connect to %s: %s", uri,
			      nbd_reason());
		goto fail;
	}
	if (wait_connected(handle, uri, err) == 0)
		return handle;
fail:
	nbd_close(handle);
	return NULL;
}

static void disconnect(struct nbd_handle *handle)
{
	if (handle != NULL && nbd_aio_is_ready(handle) == 1)
		(void)nbd_aio_disconnect(handle, 0); /* only good manners */
	nbd_close(handle);
}

static void read_identity(struct nbd_handle *handle, struct target_info *info)
{
	char *description = nbd_get_export_description(handle);
	char text[TARGET_TEXT_BYTES - 8];

	if (description == NULL)
		return;
	identity_clean(description, strlen(description), text, sizeof(text));
	if (text[0] != '\0')
		(void)snprintf(info->identity, sizeof(info->identity), "nbd:%s",
			       text);
	free(description);
}

static int inspect(struct nbd_handle *handle, const char *name,
		   struct target_info *info, struct err *err)
{
	int64_t size_bytes = nbd_get_size(handle);
	int64_t block_bytes = nbd_get_block_size(handle, LIBNBD_SIZE_MINIMUM);
	int64_t max_bytes = nbd_get_block_size(handle, LIBNBD_SIZE_MAXIMUM);

	if (size_bytes <= 0)
		return err_set(err, "cannot use %s: its size is 0 bytes", name);
	if (block_bytes < SECTOR_BYTES)
		block_bytes = SECTOR_BYTES;
	if (block_bytes > LOGICAL_BLOCK_MAX ||
	    (block_bytes & (block_bytes - 1)) != 0)
		return err_set(err,
			       "cannot use %s: blocks of %lld bytes are not "
			       "understood",
			       name, (long long)block_bytes);
	if (max_bytes <= 0 || max_bytes > REQUEST_BYTES_MAX)
		max_bytes = REQUEST_BYTES_MAX;
	info->size_bytes = (uint64_t)size_bytes;
	info->logical_block_bytes = (uint32_t)block_bytes;
	info->max_request_bytes = (uint32_t)max_bytes;
	info->is_nbd = true;
	info->has_flush = nbd_can_flush(handle) == 1;
	info->has_fua = nbd_can_fua(handle) == 1;
	info->is_write_back = info->has_flush;
	read_identity(handle, info);
	(void)snprintf(info->erase_name, sizeof(info->erase_name), "%s", name);
	return 0;
}

static struct target *nbd_target_open(const char *name, enum target_mode mode,
				      struct err *err)
{
	struct nbd_target *target = calloc(1, sizeof(*target));

	if (target == NULL) {
		(void)err_sys(err, errno, "cannot open %s", name);
		return NULL;
	}
	target->base.fd = -1;
	target->spare = connect_uri(name, err);
	if (target->spare == NULL)
		goto fail;
	if (inspect(target->spare, name, &target->base.info, err) == -1)
		goto fail;
	if (mode == TARGET_WRITE && nbd_is_read_only(target->spare) != 0) {
		(void)err_set(err,
			      "cannot open %s for writing: the server "
			      "offers it for reading only",
			      name);
		goto fail;
	}
	(void)pthread_mutex_init(&target->lock, NULL); /* cannot fail */
	return &target->base;
fail:
	disconnect(target->spare);
	free(target);
	return NULL;
}

static void nbd_target_close(struct target *base)
{
	struct nbd_target *target = (struct nbd_target *)base;

	disconnect(target->spare);
	(void)pthread_mutex_destroy(&target->lock); /* nobody holds it */
	free(target);
}

/* Lets an idle connection notice that its server has ended. */
static bool is_spare_lost(struct nbd_handle *spare)
{
	return wait_step(spare, 0) == WAIT_LOST || !is_alive(spare);
}

static bool nbd_target_is_gone(const struct target *base)
{
	/* The drive is asked, and asking moves libnbd's state along: the
	 * memory itself was never const. */
	struct nbd_target *target = (struct nbd_target *)(uintptr_t)base;

	(void)pthread_mutex_lock(&target->lock); /* cannot fail */
	if (target->spare != NULL && is_spare_lost(target->spare))
		target->is_lost = true;
	(void)pthread_mutex_unlock(&target->lock);
	return target->is_lost;
}

static struct nbd_handle *take_spare(struct nbd_target *target)
{
	struct nbd_handle *handle;

	(void)pthread_mutex_lock(&target->lock); /* cannot fail */
	handle = target->spare;
	target->spare = NULL;
	(void)pthread_mutex_unlock(&target->lock);
	return handle;
}

/* A server that has come back is another drive until the target is opened
 * again (P10): no queue connects to it behind the caller's back. */
static struct nbd_handle *get_handle(struct nbd_target *target, struct err *err)
{
	struct nbd_handle *handle = take_spare(target);

	if (handle != NULL && is_spare_lost(handle)) {
		disconnect(handle);
		target->is_lost = true;
	}
	if (target->is_lost) {
		(void)err_set(err,
			      "cannot open a queue on %s: the connection "
			      "was lost",
			      target->base.name);
		return NULL;
	}
	return handle != NULL ? handle : connect_uri(target->base.name, err);
}

static void queue_free(struct nbd_queue *queue)
{
	free(queue->slots);
	free(queue->free_slots);
	free(queue->done);
	free(queue);
}

static struct target_queue *nbd_queue_open(struct target *base,
					   unsigned int depth, struct err *err)
{
	struct nbd_queue *queue = calloc(1, sizeof(*queue));

	if (queue == NULL)
		goto fail_memory;
	queue->slots = calloc(depth, sizeof(*queue->slots));
	queue->free_slots = calloc(depth, sizeof(struct nbd_slot *));
	queue->done = calloc(depth, sizeof(*queue->done));
	if (queue->slots == NULL || queue->free_slots == NULL ||
	    queue->done == NULL)
		goto fail_memory;
	for (unsigned int i = 0; i < depth; i++) {
		queue->slots[i].queue = queue;
		queue->free_slots[queue->free_count++] = &queue->slots[i];
	}
	queue->handle = get_handle((struct nbd_target *)base, err);
	if (queue->handle != NULL)
		return &queue->base;
	queue_free(queue);
	return NULL;
fail_memory:
	(void)err_sys(err, ENOMEM, "cannot open a queue of %u requests on %s",
		      depth, base->name);
	if (queue != NULL)
		queue_free(queue);
	return NULL;
}

/* Nothing moves data once the handle is closed, so nothing need be leaked. */
static void nbd_queue_close(struct target_queue *base)
{
	struct nbd_queue *queue = (struct nbd_queue *)base;
	struct nbd_target *target = (struct nbd_target *)base->target;

	(void)pthread_mutex_lock(&target->lock); /* cannot fail */
	if (target->spare == NULL && !queue->is_lost && base->in_flight == 0 &&
	    nbd_aio_is_ready(queue->handle) == 1) {
		target->spare = queue->handle;
		queue->handle = NULL;
	}
	(void)pthread_mutex_unlock(&target->lock);
	disconnect(queue->handle);
	queue_free(queue);
}

static void mark_lost(struct nbd_queue *queue)
{
	struct nbd_target *target = (struct nbd_target *)queue->base.target;

	queue->is_lost = true;
	target->is_lost = true;
}

/* libnbd gives ENOTCONN to what was in flight when the connection broke (no
 * server can send it): such a request is unknown and is not reported. */
static int on_complete(void *user_data, int *error)
{
	struct nbd_slot *slot = user_data;
	struct nbd_queue *queue = slot->queue;
	struct target_completion *completion;

	assert(queue->done_count < queue->base.depth);
	queue->free_slots[queue->free_count++] = slot;
	if (*error == ENOTCONN) {
		mark_lost(queue);
		return 1;
	}
	completion = &queue->done[(queue->done_first + queue->done_count) %
				  queue->base.depth];
	completion->tag = slot->tag;
	completion->result = *error == 0 ? slot->length : -(int64_t)*error;
	queue->done_count++;
	return 1;
}

/* The cookie, or -1. */
static int64_t call_libnbd(struct nbd_queue *queue, struct nbd_slot *slot,
			   const struct target_request *request)
{
	nbd_completion_callback callback = {.callback = on_complete,
					    .user_data = slot};

	switch (request->kind) {
	case TARGET_REQUEST_READ:
		return nbd_aio_pread(queue->handle, request->buffer.to,
				     request->length, request->offset_bytes,
				     callback, 0);
	case TARGET_REQUEST_WRITE:
		return nbd_aio_pwrite(
			queue->handle, request->buffer.from, request->length,
			request->offset_bytes, callback,
			request->is_fua ? LIBNBD_CMD_FLAG_FUA : 0);
	case TARGET_REQUEST_FLUSH:
		return nbd_aio_flush(queue->handle, callback, 0);
	}
	abort();
}

static int send_request(struct nbd_queue *queue,
			const struct target_request *request)
{
	struct nbd_slot *slot;
	int errnum;

	assert(queue->free_count > 0);
	slot = queue->free_slots[--queue->free_count];
	slot->tag = request->tag;
	slot->length = (int64_t)request->length; /* 0 of a flush */
	if (call_libnbd(queue, slot, request) >= 0)
		return 0;
	errnum = nbd_get_errno();
	queue->free_slots[queue->free_count++] = slot;
	if (is_alive(queue->handle))
		return errnum > 0 ? -errnum : -EIO;
	mark_lost(queue);
	return -ENOTCONN;
}

/* What the socket does not take now waits in libnbd and goes out in reap. */
static int nbd_submit(struct target_queue *base, unsigned int *taken)
{
	struct nbd_queue *queue = (struct nbd_queue *)base;

	while (*taken < base->queued) {
		int result = send_request(queue, &base->requests[*taken]);

		if (result != 0)
			return result;
		++*taken;
	}
	return 0;
}

static int take_done(struct nbd_queue *queue,
		     struct target_completion *completions, unsigned int room)
{
	unsigned int count = 0;

	while (count < room && queue->done_count > 0) {
		completions[count++] = queue->done[queue->done_first];
		queue->done_first = (queue->done_first + 1) % queue->base.depth;
		queue->done_count--;
	}
	return (int)count;
}

static int nbd_reap(struct target_queue *base,
		    struct target_completion *completions, unsigned int room,
		    int timeout_ms)
{
	struct nbd_queue *queue = (struct nbd_queue *)base;
	unsigned int limit_ms = timeout_ms < 0 ? 0 : (unsigned int)timeout_ms;
	uint64_t deadline_ns =
		clock_monotonic_ns() + limit_ms * CLOCK_NS_PER_MS;
	enum wait_result result = WAIT_PROGRESS;
	int wait_ms = -1;

	/* Waits for the first only; the rest is what has already come. */
	while (!queue->is_lost && result == WAIT_PROGRESS &&
	       queue->done_count < room) {
		unsigned int before = queue->done_count;

		if (timeout_ms >= 0)
			wait_ms = clock_until_ms(deadline_ns);
		result = wait_step(queue->handle, before > 0 ? 0 : wait_ms);
	}
	if (result == WAIT_LOST)
		mark_lost(queue);
	if (queue->done_count > 0)
		return take_done(queue, completions, room);
	return queue->is_lost ? -ENOTCONN : 0;
}

const struct target_ops target_nbd_ops = {
	.keeps_once_queue = false,
	.open = nbd_target_open,
	.close = nbd_target_close,
	.is_gone = nbd_target_is_gone,
	.queue_open = nbd_queue_open,
	.queue_close = nbd_queue_close,
	.submit = nbd_submit,
	.reap = nbd_reap,
};
