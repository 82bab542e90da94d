/* SPDX-License-Identifier: MIT */
/*
 * wstop - the one place that says that the writing has to end, and why.
 *
 * The first failure wins: P1 and P2 forbid every acknowledgement after it, so
 * all streams look here before they hand one over. Any thread may call.
 */
#ifndef WRITER_WSTOP_H
#define WRITER_WSTOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct wstop {
	atomic_bool is_asked;  /* stop in order: final flush, then report */
	atomic_bool is_failed; /* stop at once, acknowledge nothing more */
	atomic_bool is_gone;   /* the failure is that the drive went away */
	atomic_bool is_unsent; /* the first failure: flushes are not sent */
	pthread_mutex_t mutex;
	struct err reason;   /* of the first failure */
	uint64_t failed_ns;  /* monotonic */
	const char *gone_by; /* what first showed that it is gone; NULL */
	uint64_t gone_ns;    /* monotonic */
};

void wstop_init(struct wstop *stop);
void wstop_fail(struct wstop *stop, const struct err *reason, bool is_gone);
/* BY ("an error", a literal) shows that the drive is gone: the first one is
 * kept, with the time of the failure that it explains. */
void wstop_note_gone(struct wstop *stop, const char *by);
/* NULL where nothing has; else *GONE_NS is when. */
const char *wstop_gone_by(struct wstop *stop, uint64_t *gone_ns);
/* Likewise: the drive is not asked for what it is to promise (P9). */
void wstop_fail_unsent(struct wstop *stop, const struct err *reason);
/* Copies the first reason; only where is_failed. */
void wstop_reason(struct wstop *stop, struct err *err);

static inline bool wstop_has_failed(struct wstop *stop)
{
	return atomic_load_explicit(&stop->is_failed, memory_order_acquire);
}

static inline bool wstop_is_asked(struct wstop *stop)
{
	return atomic_load_explicit(&stop->is_asked, memory_order_relaxed);
}

#endif
