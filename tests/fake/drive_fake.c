/* SPDX-License-Identifier: MIT */
#include "tests/fake/drive_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define REQUEST_BYTES_MAX (1024U * 1024)

struct drive_fake {
	struct target base;
	struct drive_fake_hooks hooks;
	uint8_t *media;
	bool is_gone;
};

/* Requests that are in flight, oldest first. */
struct fake_queue {
	struct target_queue base;
	struct fake_queue *next; /* that was left behind */
	unsigned int flying;
	struct target_request *requests;
};

/* What was closed with requests in flight: its buffers are the drive's, and
 * stay reachable, so that no sanitizer takes them for lost. */
static struct fake_queue *left_behind;

static struct drive_fake *drive_of(const struct target_queue *queue)
{
	return (struct drive_fake *)queue->target;
}

static void fake_close(struct target *target)
{
	(void)target; /* drive_fake_free() does it */
}

static bool fake_is_gone(const struct target *target)
{
	return ((const struct drive_fake *)target)->is_gone;
}

static struct target_queue *fake_queue_open(struct target *target,
					    unsigned int depth, struct err *err)
{
	struct fake_queue *queue = calloc(1, sizeof(*queue));

	(void)target;
	(void)err;
	if (queue == NULL)
		abort();
	queue->requests = calloc(depth, sizeof(*queue->requests));
	if (queue->requests == NULL)
		abort();
	return &queue->base;
}

static void fake_queue_close(struct target_queue *base)
{
	struct fake_queue *queue = (struct fake_queue *)base;

	if (queue->flying > 0) {
		queue->next = left_behind;
		left_behind = queue;
		return;
	}
	free(queue->requests);
	free(queue);
}

static int fake_submit(struct target_queue *base, unsigned int *taken)
{
	struct fake_queue *queue = (struct fake_queue *)base;
	const struct drive_fake_hooks *hooks = &drive_of(base)->hooks;

	for (; *taken < base->queued; ++*taken) {
		queue->requests[queue->flying++] = base->requests[*taken];
		if (hooks->submitted != NULL)
			hooks->submitted(hooks->context,
					 &base->requests[*taken]);
	}
	return 0;
}

static int64_t move(struct drive_fake *drive,
		    const struct target_request *request)
{
	uint8_t *at = drive->media + request->offset_bytes;

	if (request->kind == TARGET_REQUEST_WRITE)
		memcpy(at, request->buffer.from, request->length);
	if (request->kind == TARGET_REQUEST_READ)
		memcpy(request->buffer.to, at, request->length);
	return (int64_t)request->length; /* 0 of a flush */
}

/* DRIVE_FAKE_LATER, or what REQUEST completes with. */
static int64_t serve(struct drive_fake *drive,
		     const struct target_request *request)
{
	const struct drive_fake_hooks *hooks = &drive->hooks;
	int64_t result = DRIVE_FAKE_HONEST;

	if (hooks->answer != NULL)
		result = hooks->answer(hooks->context, request);
	if (result == DRIVE_FAKE_HONEST)
		result = move(drive, request);
	if (result != DRIVE_FAKE_LATER && hooks->reaped != NULL)
		hooks->reaped(hooks->context, request, result);
	return result;
}

static int fake_reap(struct target_queue *base,
		     struct target_completion *completions, unsigned int room,
		     int timeout_ms)
{
	struct fake_queue *queue = (struct fake_queue *)base;
	unsigned int kept = 0;
	int count = 0;

	for (unsigned int i = 0; i < queue->flying; i++) {
		struct target_request request = queue->requests[i];
		int64_t result = DRIVE_FAKE_LATER;

		if ((unsigned int)count < room)
			result = serve(drive_of(base), &request);
		if (result == DRIVE_FAKE_LATER) {
			queue->requests[kept++] = request;
			continue;
		}
		completions[count++] =
			(struct target_completion){request.tag, result};
	}
	queue->flying = kept;
	if (count == 0 && timeout_ms != 0)
		clock_sleep_ms(1);
	return count;
}

static int fake_flush_waiting(const struct target *target)
{
	const struct drive_fake *drive = (const struct drive_fake *)target;

	return drive->hooks.flush_waiting(drive->hooks.context);
}

static const struct target_ops fake_ops = {
	.close = fake_close,
	.is_gone = fake_is_gone,
	.queue_open = fake_queue_open,
	.queue_close = fake_queue_close,
	.submit = fake_submit,
	.reap = fake_reap,
};

static const struct target_ops fake_waiting_ops = {
	.close = fake_close,
	.is_gone = fake_is_gone,
	.flush_waiting = fake_flush_waiting,
	.queue_open = fake_queue_open,
	.queue_close = fake_queue_close,
	.submit = fake_submit,
	.reap = fake_reap,
};

struct drive_fake *drive_fake_new(uint64_t size_bytes, uint32_t logical_bytes,
				  const struct drive_fake_hooks *hooks)
{
	struct drive_fake *drive = calloc(1, sizeof(*drive));
	struct target_info *info = NULL;

	if (drive == NULL)
		abort();
	info = &drive->base.info;
	drive->media = calloc(1, size_bytes);
	if (drive->media == NULL)
		abort();
	if (hooks != NULL)
		drive->hooks = *hooks;
	drive->base.ops =
		drive->hooks.flush_waiting ? &fake_waiting_ops : &fake_ops;
	drive->base.mode = TARGET_WRITE;
	drive->base.fd = -1;
	(void)pthread_mutex_init(&drive->base.once_lock, NULL);
	(void)snprintf(drive->base.name, sizeof(drive->base.name), "fake");
	(void)snprintf(info->identity, sizeof(info->identity), "fake-1");
	info->size_bytes = size_bytes;
	info->logical_block_bytes = logical_bytes;
	info->has_flush = true;
	info->has_fua = true;
	info->is_write_back = true;
	info->max_request_bytes = REQUEST_BYTES_MAX;
	return drive;
}

void drive_fake_free(struct drive_fake *drive)
{
	(void)pthread_mutex_destroy(&drive->base.once_lock);
	free(drive->media);
	free(drive);
}

struct target *drive_fake_target(struct drive_fake *drive)
{
	return &drive->base;
}

uint8_t *drive_fake_media(struct drive_fake *drive)
{
	return drive->media;
}

void drive_fake_set_gone(struct drive_fake *drive, bool is_gone)
{
	drive->is_gone = is_gone;
}
