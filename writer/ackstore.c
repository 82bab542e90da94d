/* SPDX-License-Identifier: MIT */
#include "writer/ackstore.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ackproto.h"

struct payload {
	uint32_t length;
	uint64_t writes; /* that its bodies promise */
	uint64_t reserved[RUN_STREAMS_MAX];
	unsigned int marks;
	uint64_t durable_ns[ACKSTORE_MARKS_MAX];
	uint8_t bytes[ACKPROTO_PAYLOAD_MAX];
};

/*
 * Payloads are counted from 0 for ever; confirmed <= sent <= open.
 * The one at `open` is being packed.
 */
struct ackstore {
	uint64_t confirmed, sent, open;
	uint64_t base; /* payload number 1 of this connection is `base` */
	uint64_t confirmed_writes;
	uint64_t reserved[RUN_STREAMS_MAX];
	struct histogram latency;
	struct payload payloads[ACKSTORE_PAYLOADS];
};

static struct payload *payload_of(struct ackstore *store, uint64_t index)
{
	return &store->payloads[index % ACKSTORE_PAYLOADS];
}

static bool open_next(struct ackstore *store)
{
	struct payload *payload = NULL;

	if (store->open + 1 - store->confirmed >= ACKSTORE_PAYLOADS)
		return false;
	store->open++;
	payload = payload_of(store, store->open);
	payload->length = 0;
	payload->writes = 0;
	payload->marks = 0;
	memset(payload->reserved, 0, sizeof(payload->reserved));
	return true;
}

static void note_content(struct payload *payload, const struct ackbody *body)
{
	struct ackbody_told told;

	if (body->type == ACKBODY_RESERVE)
		payload->reserved[body->limit.stream] = body->limit.sequence;
	if (!ackbody_is_durable(body))
		return;
	for (size_t i = 0; ackbody_told_at(body, i, &told); i++)
		for (size_t k = 0; k < told.count; k++)
			payload->writes +=
				told.ranges[k].last - told.ranges[k].first + 1;
}

static void confirm_one(struct ackstore *store, uint64_t now_ns)
{
	const struct payload *payload = payload_of(store, store->confirmed);

	store->confirmed_writes += payload->writes;
	for (unsigned int i = 0; i < RUN_STREAMS_MAX; i++)
		if (payload->reserved[i] > store->reserved[i])
			store->reserved[i] = payload->reserved[i];
	for (unsigned int i = 0; i < payload->marks; i++)
		histogram_add(&store->latency,
			      now_ns > payload->durable_ns[i]
				      ? now_ns - payload->durable_ns[i]
				      : 0);
	store->confirmed++;
}

struct ackstore *ackstore_new(struct err *err)
{
	struct ackstore *store = calloc(1, sizeof(*store));

	if (!store)
		err_sys(err, ENOMEM, "cannot keep acknowledgements");
	return store;
}

void ackstore_free(struct ackstore *store)
{
	free(store);
}

bool ackstore_add(struct ackstore *store, const struct ackbody *body)
{
	struct payload *payload = payload_of(store, store->open);
	size_t used = payload->length;

	if (ackbody_encode(body, payload->bytes, sizeof(payload->bytes),
			   &used) < 0) {
		if (!open_next(store))
			return false;
		payload = payload_of(store, store->open);
		used = 0;
		if (ackbody_encode(body, payload->bytes, sizeof(payload->bytes),
				   &used) < 0)
			abort(); /* ACKBODY_ENCODED_MAX fits into any */
	}
	payload->length = (uint32_t)used;
	note_content(payload, body);
	return true;
}

/* Many ranges of one flush became durable at one moment. */
void ackstore_mark(struct ackstore *store, uint64_t durable_ns)
{
	struct payload *payload = payload_of(store, store->open);

	if (payload->marks == ACKSTORE_MARKS_MAX ||
	    (payload->marks > 0 &&
	     payload->durable_ns[payload->marks - 1] == durable_ns))
		return;
	payload->durable_ns[payload->marks++] = durable_ns;
}

unsigned int ackstore_moments(struct ackstore *store)
{
	return payload_of(store, store->sent)->marks;
}

const uint8_t *ackstore_next(struct ackstore *store, uint32_t *length)
{
	struct payload *payload = payload_of(store, store->sent);

	if (store->sent - store->confirmed >= ACKSTORE_FLYING_MAX ||
	    payload->length == 0)
		return NULL;
	/* What was given out is closed: the next body opens another. */
	if (store->sent == store->open && !open_next(store))
		return NULL;
	*length = payload->length;
	return payload->bytes;
}

void ackstore_sent(struct ackstore *store)
{
	assert(store->sent < store->open);
	store->sent++;
}

bool ackstore_confirm(struct ackstore *store, uint64_t number, uint64_t now_ns)
{
	if (number > store->sent - store->base)
		return false;
	while (store->confirmed < store->base + number)
		confirm_one(store, now_ns);
	return true;
}

void ackstore_confirm_sent(struct ackstore *store, uint64_t now_ns)
{
	while (store->confirmed < store->sent)
		confirm_one(store, now_ns);
}

void ackstore_rewind(struct ackstore *store)
{
	store->sent = store->confirmed;
	store->base = store->confirmed;
}

bool ackstore_is_empty(const struct ackstore *store)
{
	return store->confirmed == store->open &&
	       store->payloads[store->open % ACKSTORE_PAYLOADS].length == 0;
}

bool ackstore_is_flying(const struct ackstore *store)
{
	return store->sent > store->confirmed;
}

uint64_t ackstore_confirmed(const struct ackstore *store)
{
	return store->confirmed;
}

uint64_t ackstore_reserved(const struct ackstore *store, uint16_t stream)
{
	return store->reserved[stream];
}

uint64_t ackstore_confirmed_writes(const struct ackstore *store)
{
	return store->confirmed_writes;
}

const struct histogram *ackstore_latency(const struct ackstore *store)
{
	return &store->latency;
}
