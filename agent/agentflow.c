/* SPDX-License-Identifier: MIT */
#include "agent/agentflow.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "agent/agentlink.h"
#include "common/base/err.h"

void agentflow_open_source(struct agentflow_source *source,
			   enum agentwire_type stream, int fd)
{
	*source = (struct agentflow_source){
		.stream = stream, .fd = fd, .credit = AGENTWIRE_WINDOW};
}

bool agentflow_wants_read(const struct agentflow_source *source)
{
	return !source->has_ended && source->credit > 0;
}

bool agentflow_read(struct agentflow_source *source, struct agentlink *link)
{
	uint8_t bytes[AGENTWIRE_DATA_MAX];
	size_t room =
		source->credit < sizeof(bytes) ? source->credit : sizeof(bytes);
	ssize_t count = read(source->fd, bytes, room);

	if (count < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (count <= 0) {
		source->has_ended = true;
		agentlink_put(link, source->stream, NULL, 0);
		return true;
	}
	source->credit -= (uint32_t)count;
	agentlink_put(link, source->stream, bytes, (size_t)count);
	return true;
}

void agentflow_credit(struct agentflow_source *source, uint32_t bytes)
{
	if (bytes > AGENTWIRE_WINDOW - source->credit)
		source->credit = AGENTWIRE_WINDOW;
	else
		source->credit += bytes;
}

void agentflow_open_sink(struct agentflow_sink *sink,
			 enum agentwire_type stream, int fd)
{
	sink->stream = stream;
	sink->fd = fd;
	sink->start = 0;
	sink->used = 0;
	sink->owed = 0;
	sink->has_ended = false;
	sink->is_broken = false;
}

int agentflow_take(struct agentflow_sink *sink, const uint8_t *bytes,
		   size_t length, struct err *err)
{
	if (length == 0)
		sink->has_ended = true;
	if (length > sizeof(sink->bytes) - sink->used - sink->owed)
		return err_set(err, "the peer does not keep to its window");
	if (sink->start + sink->used + length > sizeof(sink->bytes)) {
		memmove(sink->bytes, sink->bytes + sink->start, sink->used);
		sink->start = 0;
	}
	if (length > 0)
		memcpy(sink->bytes + sink->start + sink->used, bytes, length);
	sink->used += length;
	return 0;
}

bool agentflow_wants_write(const struct agentflow_sink *sink)
{
	return sink->used > 0;
}

static void give_back(struct agentflow_sink *sink, struct agentlink *link)
{
	const struct agentwire_credit credit = {sink->stream, sink->owed};
	uint8_t payload[AGENTWIRE_CREDIT_BYTES];

	if (sink->owed == 0 ||
	    (sink->used > 0 && sink->owed < AGENTWIRE_WINDOW / 4))
		return;
	agentwire_encode_credit(&credit, payload);
	agentlink_put(link, AGENTWIRE_CREDIT, payload, sizeof(payload));
	sink->owed = 0;
}

void agentflow_write(struct agentflow_sink *sink, struct agentlink *link)
{
	size_t count = sink->used < PIPE_BUF ? sink->used : PIPE_BUF;
	ssize_t done = (ssize_t)sink->used;

	if (!sink->is_broken)
		done = write(sink->fd, sink->bytes + sink->start, count);
	if (done < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (done <= 0) {
		sink->is_broken = true;
		done = (ssize_t)sink->used;
	}
	sink->start += (size_t)done;
	sink->used -= (size_t)done;
	sink->owed += (uint32_t)done;
	if (sink->used == 0)
		sink->start = 0;
	give_back(sink, link);
}
