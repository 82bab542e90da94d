/* SPDX-License-Identifier: MIT */
#include "writer/wstop.h"

#include "common/base/clock.h"

void wstop_init(struct wstop *stop)
{
	atomic_init(&stop->is_asked, false);
	atomic_init(&stop->is_failed, false);
	atomic_init(&stop->is_gone, false);
	pthread_mutex_init(&stop->mutex, NULL);
	stop->reason.text[0] = '\0';
	stop->failed_ns = 0;
}

void wstop_fail(struct wstop *stop, const struct err *reason, bool is_gone)
{
	pthread_mutex_lock(&stop->mutex);
	if (!wstop_has_failed(stop)) {
		stop->reason = *reason;
		stop->failed_ns = clock_monotonic_ns();
	}
	if (is_gone)
		atomic_store(&stop->is_gone, true);
	atomic_store_explicit(&stop->is_failed, true, memory_order_release);
	pthread_mutex_unlock(&stop->mutex);
}

void wstop_reason(struct wstop *stop, struct err *err)
{
	pthread_mutex_lock(&stop->mutex);
	*err = stop->reason;
	pthread_mutex_unlock(&stop->mutex);
}
