/* SPDX-License-Identifier: MIT */
#include "writer/ackring.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "writer/ackbell.h"

#define RING_MASK (ACKRING_PLACES - 1)

static_assert((ACKRING_PLACES & RING_MASK) == 0, "a power of two");

struct ackring {
	struct ackbell *bell;
	atomic_size_t pushed;
	char apart[64]; /* the two counters are not to share a cache line */
	atomic_size_t popped;
	struct ackring_item items[ACKRING_PLACES];
};

struct ackring *ackring_new(struct ackbell *bell, struct err *err)
{
	struct ackring *ring = calloc(1, sizeof(*ring));

	if (!ring) {
		err_sys(err, ENOMEM,
			"cannot make a queue for acknowledgements");
		return NULL;
	}
	ring->bell = bell;
	return ring;
}

void ackring_free(struct ackring *ring)
{
	free(ring);
}

bool ackring_has_room(struct ackring *ring)
{
	size_t popped =
		atomic_load_explicit(&ring->popped, memory_order_acquire);
	size_t pushed =
		atomic_load_explicit(&ring->pushed, memory_order_relaxed);

	return pushed - popped < ACKRING_PLACES;
}

void ackring_push(struct ackring *ring, const struct ackring_item *item)
{
	size_t pushed =
		atomic_load_explicit(&ring->pushed, memory_order_relaxed);

	assert(ackring_has_room(ring));
	ring->items[pushed & RING_MASK] = *item;
	atomic_store_explicit(&ring->pushed, pushed + 1, memory_order_release);
	if (item->type != ACKBODY_COMPLETED)
		ackbell_ring(ring->bell);
}

const struct ackring_item *ackring_peek(struct ackring *ring, size_t ahead)
{
	size_t popped =
		atomic_load_explicit(&ring->popped, memory_order_relaxed);
	size_t pushed =
		atomic_load_explicit(&ring->pushed, memory_order_acquire);

	if (pushed - popped <= ahead)
		return NULL;
	return &ring->items[(popped + ahead) & RING_MASK];
}

void ackring_pop(struct ackring *ring, size_t count)
{
	size_t popped =
		atomic_load_explicit(&ring->popped, memory_order_relaxed);

	assert(count == 0 || ackring_peek(ring, count - 1));
	atomic_store_explicit(&ring->popped, popped + count,
			      memory_order_release);
}
