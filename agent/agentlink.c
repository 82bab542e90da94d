/* SPDX-License-Identifier: MIT */
#include "agent/agentlink.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"

#define IN_BYTES  ((size_t)2 * (AGENTWIRE_HEADER_BYTES + AGENTWIRE_PAYLOAD_MAX))
#define OUT_BYTES ((size_t)1024 * 1024)

struct agentlink {
	struct channel *channel;
	uint64_t heard_ns, alive_ns; /* last time; when to say it next */
	bool is_over;
	struct err reason; /* where it is over */
	size_t in_start, in_end, out_start, out_end;
	uint8_t in[IN_BYTES], out[OUT_BYTES];
};

struct agentlink *agentlink_new(struct channel *channel, struct err *err)
{
	struct agentlink *link = calloc(1, sizeof(*link));

	if (link == NULL) {
		channel_close(channel);
		(void)err_set(err, "out of memory");
		return NULL;
	}
	link->channel = channel;
	link->heard_ns = clock_monotonic_ns();
	return link;
}

void agentlink_free(struct agentlink *link)
{
	if (link == NULL)
		return;
	channel_close(link->channel);
	free(link);
}

static void end(struct agentlink *link)
{
	link->is_over = true;
}

/* Room for COUNT bytes at the end. */
static bool make_room(struct agentlink *link, size_t count)
{
	if (OUT_BYTES - link->out_end >= count)
		return true;
	memmove(link->out, link->out + link->out_start,
		link->out_end - link->out_start);
	link->out_end -= link->out_start;
	link->out_start = 0;
	return OUT_BYTES - link->out_end >= count;
}

void agentlink_put(struct agentlink *link, enum agentwire_type type,
		   const void *payload, size_t length)
{
	const struct agentwire_header header = {type, (uint32_t)length};

	if (link->is_over)
		return;
	if (!make_room(link, AGENTWIRE_HEADER_BYTES + length)) {
		(void)err_set(&link->reason, "%s takes nothing",
			      channel_peer(link->channel));
		end(link);
		return;
	}
	agentwire_encode_header(&header, link->out + link->out_end);
	link->out_end += AGENTWIRE_HEADER_BYTES;
	if (length > 0)
		memcpy(link->out + link->out_end, payload, length);
	link->out_end += length;
}

static int push(struct agentlink *link, struct err *err)
{
	while (link->out_start < link->out_end) {
		ssize_t count = channel_write(
			link->channel, link->out + link->out_start,
			link->out_end - link->out_start, err);

		if (count <= 0)
			return (int)count;
		link->out_start += (size_t)count;
	}
	link->out_start = 0;
	link->out_end = 0;
	return 0;
}

/* What does not fit stays with the sender until frames are taken. */
static int pull(struct agentlink *link, struct err *err)
{
	memmove(link->in, link->in + link->in_start,
		link->in_end - link->in_start);
	link->in_end -= link->in_start;
	link->in_start = 0;
	while (link->in_end < IN_BYTES) {
		ssize_t count =
			channel_read(link->channel, link->in + link->in_end,
				     IN_BYTES - link->in_end, err);

		if (count <= 0)
			return (int)count;
		link->in_end += (size_t)count;
		link->heard_ns = clock_monotonic_ns();
	}
	return 0;
}

static int keep_alive(struct agentlink *link, struct err *err)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - link->heard_ns > AGENTLINK_DEAD_MS * CLOCK_NS_PER_MS)
		return err_set(err, "%s: no sign of life for %d s",
			       channel_peer(link->channel),
			       AGENTLINK_DEAD_MS / 1000);
	if (now_ns < link->alive_ns)
		return 0;
	link->alive_ns = now_ns + AGENTLINK_ALIVE_MS * CLOCK_NS_PER_MS;
	/* Where older bytes wait they say the same. */
	if (link->out_start == link->out_end)
		agentlink_put(link, AGENTWIRE_ALIVE, NULL, 0);
	return 0;
}

int agentlink_turn(struct agentlink *link, struct err *err)
{
	struct err ignored;

	if (!link->is_over && pull(link, &link->reason) < 0)
		end(link);
	if (!link->is_over && keep_alive(link, &link->reason) < 0)
		end(link);
	if (!link->is_over && push(link, &link->reason) < 0) {
		/* What it said before it left says more. */
		(void)pull(link, &ignored);
		end(link);
	}
	if (link->is_over)
		*err = link->reason;
	return link->is_over ? -1 : 0;
}

int agentlink_next(struct agentlink *link, struct agentwire_header *header,
		   const uint8_t **payload, struct err *err)
{
	const uint8_t *bytes = link->in + link->in_start;
	size_t there = link->in_end - link->in_start;

	if (there < AGENTWIRE_HEADER_BYTES)
		return 0;
	if (agentwire_decode_header(header, bytes, err) < 0)
		return err_prefix(err, "%s", channel_peer(link->channel));
	if (there - AGENTWIRE_HEADER_BYTES < header->length)
		return 0;
	*payload = bytes + AGENTWIRE_HEADER_BYTES;
	link->in_start += AGENTWIRE_HEADER_BYTES + header->length;
	return 1;
}

int agentlink_fd(const struct agentlink *link)
{
	return channel_fd(link->channel);
}

short agentlink_events(const struct agentlink *link)
{
	return link->out_start < link->out_end ? POLLIN | POLLOUT : POLLIN;
}

bool agentlink_has_more(const struct agentlink *link)
{
	return !link->is_over && channel_has_pending(link->channel);
}

const char *agentlink_peer(const struct agentlink *link)
{
	return channel_peer(link->channel);
}
