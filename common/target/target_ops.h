/* SPDX-License-Identifier: MIT */
/*
 * target_ops - what an engine (libaio, libnbd) gives to target.c; for the files
 * of common/target only.
 *
 * target.c checks requests, counts them and keeps them until they are handed
 * over; an engine only moves them. Its own structs begin with struct target and
 * struct target_queue.
 */
#ifndef COMMON_TARGET_TARGET_OPS_H
#define COMMON_TARGET_TARGET_OPS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/target/target.h"

enum target_request_kind {
	TARGET_REQUEST_READ,
	TARGET_REQUEST_WRITE,
	TARGET_REQUEST_FLUSH,
};

struct target_request {
	enum target_request_kind kind;
	bool is_fua;
	uint64_t tag;
	union {
		void *to;         /* of a read */
		const void *from; /* of a write */
	} buffer;
	size_t length;
	uint64_t offset_bytes;
};

struct target {
	const struct target_ops *ops;
	char name[TARGET_TEXT_BYTES];
	enum target_mode mode;
	struct target_info info;
	int fd; /* -1 where there is none (NBD) */
	/* The queue of target_read_once(), where the engine keeps it. */
	pthread_mutex_t once_lock;
	struct target_queue *once;
};

struct target_queue {
	struct target *target;
	unsigned int depth;
	unsigned int queued;    /* requests[0 ... queued): not handed over */
	unsigned int in_flight; /* handed over, not reaped */
	struct target_request *requests;
};

struct target_ops {
	/* Opening a queue is dear: the one for single reads is kept. */
	bool keeps_once_queue;
	/* Fills everything but ops, name, mode and once. */
	struct target *(*open)(const char *name, enum target_mode mode,
			       struct err *err);
	void (*close)(struct target *target);
	bool (*is_gone)(const struct target *target);
	/* NULL where info says it once and for all. */
	bool (*is_write_back)(const struct target *target);
	/* What lies below it; NULL where the system does not know. */
	struct stack *(*stack)(const struct target *target);
	/* What it speaks to the drive; NULL where its name says all. */
	const char *(*describe)(const struct target *target);
	/* NULL where it cannot. */
	int (*flush_waiting)(const struct target *target);
	/* Both for the engine's own fields; target.c frees nothing itself. */
	struct target_queue *(*queue_open)(struct target *target,
					   unsigned int depth, struct err *err);
	/* Must not block on the drive. */
	void (*queue_close)(struct target_queue *queue);
	/* Sends requests[0 ... queued); *TAKEN says how many surely went. */
	int (*submit)(struct target_queue *queue, unsigned int *taken);
	int (*reap)(struct target_queue *queue,
		    struct target_completion *completions, unsigned int room,
		    int timeout_ms);
};

extern const struct target_ops target_aio_ops;
extern const struct target_ops target_native_ops;
#ifdef HAVE_LIBNBD
extern const struct target_ops target_nbd_ops;
#endif

#endif
