/* SPDX-License-Identifier: MIT */
#include "writer/wstop.h"

#include "common/base/clock.h"

void wstop_init(struct wstop *stop)
{
	atomic_init(&stop->is_asked, false);
	atomic_init(&stop->is_failed, false);
	atomic_init(&stop->is_gone, false);
	atomic_init(&stop->is_unsent, false);
	pthread_mutex_init(&stop->mutex, NULL);
	stop->reason.text[0] = '\0';
	stop->failed_ns = 0;
	stop->gone_by = NULL;
	stop->gone_ns = 0;
}

/* With the mutex held. */
static void set_first(struct wstop *stop, const struct err *reason,
		      bool is_unsent)
{
	if (wstop_has_failed(stop))
		return;
	stop->reason = *reason;
	stop->failed_ns = clock_monotonic_ns();
	atomic_store(&stop->is_unsent, is_unsent);
}

void wstop_fail(struct wstop *stop, const struct err *reason, bool is_gone)
{
	pthread_mutex_lock(&stop->mutex);
	set_first(stop, reason, false);
	if (is_gone)
		atomic_store(&stop->is_gone, true);
	atomic_store_explicit(&stop->is_failed, true, memory_order_release);
	pthread_mutex_unlock(&stop->mutex);
}

void wstop_note_gone(struct wstop *stop, const char *by)
{
	pthread_mutex_lock(&stop->mutex);
	if (stop->gone_by == NULL) {
		stop->gone_by = by;
		stop->gone_ns = stop->failed_ns != 0 ? stop->failed_ns
						     : clock_monotonic_ns();
	}
	pthread_mutex_unlock(&stop->mutex);
}

const char *wstop_gone_by(struct wstop *stop, uint64_t *gone_ns)
{
	const char *by;

	pthread_mutex_lock(&stop->mutex);
	by = stop->gone_by;
	*gone_ns = stop->gone_ns;
	pthread_mutex_unlock(&stop->mutex);
	return by;
}

void wstop_fail_unsent(struct wstop *stop, const struct err *reason)
{
	pthread_mutex_lock(&stop->mutex);
	set_first(stop, reason, true);
	atomic_store_explicit(&stop->is_failed, true, memory_order_release);
	pthread_mutex_unlock(&stop->mutex);
}

void wstop_reason(struct wstop *stop, struct err *err)
{
	pthread_mutex_lock(&stop->mutex);
	*err = stop->reason;
	pthread_mutex_unlock(&stop->mutex);
}
