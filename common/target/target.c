/* SPDX-License-Identifier: MIT */
#include "common/target/target.h"

#include <assert.h>
#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/target_ops.h"

static bool is_nbd_name(const char *name)
{
	return strncmp(name, "nbd", 3) == 0 && strstr(name, "://") != NULL;
}

static const struct target_ops *
choose_ops(const char *name, enum target_engine engine, struct err *err)
{
	if (!is_nbd_name(name))
		return engine == TARGET_ENGINE_NATIVE ? &target_native_ops
						      : &target_aio_ops;
	if (engine == TARGET_ENGINE_NATIVE) {
		(void)err_set(err,
			      "--engine native needs an NVMe or SCSI/ATA "
			      "drive; %s is neither",
			      name);
		return NULL;
	}
#ifdef HAVE_LIBNBD
	return &target_nbd_ops;
#else
	(void)err_set(err,
		      "cannot open %s: this build has no NBD support"
		      "\nhint: install libnbd and build again",
		      name);
	return NULL;
#endif
}

struct target *target_open(const char *name, enum target_mode mode,
			   struct err *err)
{
	return target_open_engine(name, mode, TARGET_ENGINE_USUAL, err);
}

struct target *target_open_engine(const char *name, enum target_mode mode,
				  enum target_engine engine, struct err *err)
{
	const struct target_ops *ops;
	struct target *target;

	if (name[0] == '\0' || strlen(name) >= TARGET_TEXT_BYTES) {
		(void)err_set(err,
			      "cannot open target '%.40s': its name must have "
			      "1 to %d bytes",
			      name, TARGET_TEXT_BYTES - 1);
		return NULL;
	}
	ops = choose_ops(name, engine, err);
	if (ops == NULL)
		return NULL;
	target = ops->open(name, mode, err);
	if (target == NULL)
		return NULL;
	target->ops = ops;
	target->mode = mode;
	memcpy(target->name, name, strlen(name) + 1); /* fits: see above */
	target->once = NULL;
	(void)pthread_mutex_init(&target->once_lock, NULL); /* cannot fail */
	return target;
}

void target_close(struct target *target)
{
	if (target == NULL)
		return;
	target_queue_close(target->once);
	(void)pthread_mutex_destroy(&target->once_lock); /* nobody holds it */
	target->ops->close(target);
}

const struct target_info *target_info(const struct target *target)
{
	return &target->info;
}

const char *target_name(const struct target *target)
{
	return target->name;
}

const char *target_describe_engine(const struct target *target)
{
	if (target->ops->describe != NULL)
		return target->ops->describe(target);
	return target->info.is_nbd ? "libnbd" : "libaio";
}

bool target_is_gone(const struct target *target)
{
	return target->ops->is_gone(target);
}

bool target_is_read_only(const struct target *target)
{
	int is_read_only = 0;

	return target->info.is_block_device && target->fd != -1 &&
	       ioctl(target->fd, BLKROGET, &is_read_only) == 0 &&
	       is_read_only != 0;
}

bool target_is_write_back(const struct target *target)
{
	if (target->ops->is_write_back == NULL)
		return target->info.is_write_back;
	return target->ops->is_write_back(target);
}

bool target_can_flush_waiting(const struct target *target)
{
	return target->ops->flush_waiting != NULL;
}

int target_flush_waiting(struct target *target)
{
	assert(target->info.has_flush);
	return target->ops->flush_waiting(target);
}

struct target_queue *target_queue_open(struct target *target,
				       unsigned int depth, struct err *err)
{
	struct target_queue *queue;
	struct target_request *requests;

	assert(depth >= 1 && depth <= TARGET_DEPTH_MAX);

	requests = calloc(depth, sizeof(*requests));
	if (requests == NULL) {
		(void)err_sys(err, errno, "cannot open a queue on %s",
			      target->name);
		return NULL;
	}
	queue = target->ops->queue_open(target, depth, err);
	if (queue == NULL) {
		free(requests);
		return NULL;
	}
	queue->target = target;
	queue->depth = depth;
	queue->queued = 0;
	queue->in_flight = 0;
	queue->requests = requests;
	return queue;
}

void target_queue_close(struct target_queue *queue)
{
	if (queue == NULL)
		return;
	free(queue->requests);
	queue->requests = NULL;
	queue->target->ops->queue_close(queue);
}

static struct target_request *queue_add(struct target_queue *queue,
					enum target_request_kind kind,
					uint64_t tag)
{
	struct target_request *request;

	assert(queue->queued + queue->in_flight < queue->depth);

	request = &queue->requests[queue->queued++];
	memset(request, 0, sizeof(*request));
	request->kind = kind;
	request->tag = tag;
	return request;
}

static bool is_range(const struct target *target, size_t length,
		     uint64_t offset_bytes)
{
	const struct target_info *info = &target->info;

	return length > 0 && length <= info->size_bytes &&
	       offset_bytes <= info->size_bytes - length &&
	       length % info->logical_block_bytes == 0 &&
	       offset_bytes % info->logical_block_bytes == 0;
}

static bool is_inside(const struct target *target, size_t length,
		      uint64_t offset_bytes)
{
	return length <= target->info.max_request_bytes &&
	       is_range(target, length, offset_bytes);
}

static bool is_aligned(const void *buffer)
{
	return (uintptr_t)buffer % TARGET_ALIGNMENT == 0;
}

void target_queue_write(struct target_queue *queue, uint64_t tag,
			const void *buffer, size_t length,
			uint64_t offset_bytes, bool is_fua)
{
	struct target_request *request;

	assert(queue->target->mode == TARGET_WRITE);
	assert(is_aligned(buffer));
	assert(is_inside(queue->target, length, offset_bytes));
	assert(!is_fua || queue->target->info.has_fua);

	request = queue_add(queue, TARGET_REQUEST_WRITE, tag);
	request->buffer.from = buffer;
	request->length = length;
	request->offset_bytes = offset_bytes;
	request->is_fua = is_fua;
}

void target_queue_read(struct target_queue *queue, uint64_t tag, void *buffer,
		       size_t length, uint64_t offset_bytes)
{
	struct target_request *request;

	assert(is_aligned(buffer));
	assert(is_inside(queue->target, length, offset_bytes));

	request = queue_add(queue, TARGET_REQUEST_READ, tag);
	request->buffer.to = buffer;
	request->length = length;
	request->offset_bytes = offset_bytes;
}

void target_queue_flush(struct target_queue *queue, uint64_t tag)
{
	assert(queue->target->info.has_flush);
	(void)queue_add(queue, TARGET_REQUEST_FLUSH, tag); /* all is in TAG */
}

int target_queue_submit(struct target_queue *queue)
{
	unsigned int taken = 0;
	int result;

	if (queue->queued == 0)
		return 0;
	result = queue->target->ops->submit(queue, &taken);
	assert(taken <= queue->queued);
	queue->in_flight += taken;
	queue->queued = 0;
	return result;
}

int target_queue_reap(struct target_queue *queue,
		      struct target_completion *completions, unsigned int room,
		      int timeout_ms)
{
	int count;

	assert(room > 0);
	assert(timeout_ms >= 0 || queue->in_flight > 0);

	count = queue->target->ops->reap(queue, completions, room, timeout_ms);
	if (count > 0) {
		assert((unsigned int)count <= queue->in_flight);
		queue->in_flight -= (unsigned int)count;
	}
	return count;
}

void *target_buffer_new(size_t bytes, struct err *err)
{
	void *buffer = NULL;
	int errnum;

	errnum = posix_memalign(&buffer, TARGET_ALIGNMENT, bytes);
	if (errnum != 0) {
		(void)err_sys(err, errnum, "cannot get %zu bytes of memory",
			      bytes);
		return NULL;
	}
	memset(buffer, 0, bytes);
	return buffer;
}

/* What drives still hold, so that it stays reachable: no leak. */
static struct held {
	struct held *next;
	void *what;
} * held;
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

static void hold(void *what)
{
	struct held *one = what == NULL ? NULL : malloc(sizeof(*one));

	if (one == NULL) /* without memory it is kept all the same */
		return;
	(void)pthread_mutex_lock(&held_lock); /* cannot fail */
	*one = (struct held){.next = held, .what = what};
	held = one;
	(void)pthread_mutex_unlock(&held_lock);
}

void target_buffer_abandon(void *buffer)
{
	hold(buffer);
}

void target_queue_abandon(struct target_queue *queue)
{
	hold(queue);
}

/* Waits for the only request in flight. A signal does not end the wait. */
static int reap_one(struct target_queue *queue, size_t length,
		    uint64_t deadline_ns)
{
	struct target_completion completion;
	int count;

	do {
		count = target_queue_reap(queue, &completion, 1,
					  clock_until_ms(deadline_ns));
	} while (count == 0 && clock_monotonic_ns() < deadline_ns);
	if (count < 0)
		return count;
	if (count == 0)
		return -ETIMEDOUT;
	if (completion.result < 0)
		return (int)completion.result;
	return (uint64_t)completion.result == length ? 0 : -ESTALE;
}

/* Where the engine keeps its queue, what is in flight is the kernel's, also
 * when waiting for it has failed; else it ends with the connection. */
static void end_once(struct target *target, struct target_queue *queue,
		     void *piece)
{
	bool is_held = target->ops->keeps_once_queue && queue->in_flight > 0;

	if (target->ops->keeps_once_queue && !is_held)
		target->once = queue;
	else
		target_queue_close(queue);
	if (is_held)
		target_buffer_abandon(piece);
	else
		free(piece);
}

/* At most one request. */
static int read_piece(struct target *target, void *buffer, size_t length,
		      uint64_t offset_bytes, uint64_t deadline_ns)
{
	struct target_queue *queue = target->once;
	struct err ignored; /* the caller wants a number */
	void *piece;
	int result;

	target->once = NULL;
	if (queue == NULL)
		queue = target_queue_open(target, 1, &ignored);
	if (queue == NULL)
		return target_is_gone(target) ? -ENODEV : -EAGAIN;
	piece = target_buffer_new(length, &ignored);
	if (piece == NULL) {
		target->once = queue;
		return -ENOMEM;
	}
	target_queue_read(queue, 0, piece, length, offset_bytes);
	result = target_queue_submit(queue);
	if (result == 0)
		result = reap_one(queue, length, deadline_ns);
	if (result == 0)
		memcpy(buffer, piece, length);
	end_once(target, queue, piece);
	return result;
}

int target_read_once(struct target *target, void *buffer, size_t length,
		     uint64_t offset_bytes, int timeout_ms)
{
	const struct target_info *info = &target->info;
	size_t most = info->max_request_bytes / info->logical_block_bytes *
		      info->logical_block_bytes;
	uint64_t deadline_ns;
	size_t done = 0;
	int result = 0;

	assert(timeout_ms >= 0);
	if (!is_range(target, length, offset_bytes))
		return -EINVAL;

	(void)pthread_mutex_lock(&target->once_lock); /* cannot fail */
	/* The drive's time, not that of others who read before. */
	deadline_ns = clock_monotonic_ns() +
		      (unsigned int)timeout_ms * CLOCK_NS_PER_MS;
	while (result == 0 && done < length) {
		size_t piece = length - done < most ? length - done : most;

		result = read_piece(target, (char *)buffer + done, piece,
				    offset_bytes + done, deadline_ns);
		done += piece;
	}
	(void)pthread_mutex_unlock(&target->once_lock);
	return result;
}

bool target_answers(struct target *target, int timeout_ms)
{
	size_t length = target->info.logical_block_bytes;
	struct err ignored; /* no memory: not the drive's fault */
	void *buffer = target_buffer_new(length, &ignored);
	int first, last;

	if (buffer == NULL || target->info.size_bytes < length) {
		free(buffer);
		return true;
	}
	first = target_read_once(target, buffer, length, 0, timeout_ms);
	last = first;
	if (first < 0 && first != -ETIMEDOUT)
		last = target_read_once(target, buffer, length,
					target->info.size_bytes - length,
					timeout_ms);
	free(buffer);
	return first == 0 || last == 0;
}
