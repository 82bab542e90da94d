/* SPDX-License-Identifier: MIT */
#include "writer/ackbell.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/err.h"

struct ackbell {
	int fd;
	atomic_bool is_armed;
};

struct ackbell *ackbell_new(struct err *err)
{
	struct ackbell *bell = calloc(1, sizeof(*bell));

	if (!bell) {
		err_sys(err, ENOMEM, "cannot make a bell");
		return NULL;
	}
	bell->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (bell->fd < 0) {
		err_sys(err, errno, "cannot make a bell");
		free(bell);
		return NULL;
	}
	return bell;
}

void ackbell_free(struct ackbell *bell)
{
	if (!bell)
		return;
	(void)close(bell->fd); /* holds no data */
	free(bell);
}

void ackbell_ring(struct ackbell *bell)
{
	/* What was said is visible before the question whether anybody waits:
	 * ackbell_arm() has the same two steps the other way round. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&bell->is_armed, memory_order_relaxed) ||
	    !atomic_exchange(&bell->is_armed, false))
		return;
	/* Where it fails, the thread wakes by itself a little later. */
	(void)eventfd_write(bell->fd, 1);
}

void ackbell_arm(struct ackbell *bell)
{
	atomic_store(&bell->is_armed, true);
	atomic_thread_fence(memory_order_seq_cst);
}

void ackbell_disarm(struct ackbell *bell)
{
	eventfd_t rung;

	if (atomic_exchange(&bell->is_armed, false))
		return; /* nobody rang */
	/* Fails where who rings has not come to it: then the next wait ends at
	 * once. */
	(void)eventfd_read(bell->fd, &rung);
}

int ackbell_fd(const struct ackbell *bell)
{
	return bell->fd;
}
