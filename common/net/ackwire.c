/* SPDX-License-Identifier: MIT */
#include "common/net/ackwire.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"

#define FRAME_MAX (ACKPROTO_HEADER_BYTES + ACKPROTO_PAYLOAD_MAX)
#define OUT_BYTES (2 * FRAME_MAX) /* one is under way, one waits behind it */
#define IN_BYTES  4096            /* the collector's frames are short */

static_assert(IN_BYTES >= ACKPROTO_HEADER_BYTES + ACKPROTO_WELCOME_BYTES,
	      "a welcome must fit");
static_assert(IN_BYTES >= ACKPROTO_HEADER_BYTES + ACKPROTO_TEXT_BYTES,
	      "a refusal must fit");

struct ackwire {
	struct channel *channel;
	const char *address; /* for messages; the channel keeps it */
	uint64_t sent;       /* number of the last frame queued */
	uint64_t confirmed;
	uint64_t told; /* the last confirmation that was handed out */
	bool is_refused;
	bool is_full; /* a frame was not taken for want of room */
	bool has_welcome;
	bool is_over;
	struct err reason; /* why it is over */
	struct ackproto_welcome welcome;
	size_t out_start, out_end;
	size_t in_end;
	uint8_t in[IN_BYTES];
	uint8_t out[OUT_BYTES];
};

static bool has_room(const struct ackwire *wire, size_t bytes)
{
	return OUT_BYTES - (wire->out_end - wire->out_start) >= bytes;
}

/* Sends what the socket takes. */
static int push(struct ackwire *wire, struct err *err)
{
	while (wire->out_start < wire->out_end) {
		ssize_t count = channel_write(
			wire->channel, wire->out + wire->out_start,
			wire->out_end - wire->out_start, err);

		if (count <= 0)
			return (int)count;
		wire->out_start += (size_t)count;
	}
	wire->out_start = 0;
	wire->out_end = 0;
	return 0;
}

static void queue(struct ackwire *wire, enum ackproto_type type,
		  const uint8_t *payload, uint32_t length)
{
	if (OUT_BYTES - wire->out_end < ACKPROTO_HEADER_BYTES + length) {
		memmove(wire->out, wire->out + wire->out_start,
			wire->out_end - wire->out_start);
		wire->out_end -= wire->out_start;
		wire->out_start = 0;
	}
	ackproto_encode(type, wire->sent, payload, length,
			wire->out + wire->out_end);
	wire->out_end += ACKPROTO_HEADER_BYTES + length;
}

static int take_refusal(struct ackwire *wire, const uint8_t *text,
			uint32_t length, struct err *err)
{
	int shown = length > ACKPROTO_TEXT_BYTES ? ACKPROTO_TEXT_BYTES
						 : (int)length;

	wire->is_refused = true;
	return err_set(err, "%s refused: %.*s", wire->address, shown,
		       (const char *)text);
}

static int take_frame(struct ackwire *wire,
		      const struct ackproto_header *header,
		      const uint8_t *payload, struct err *err)
{
	if (header->type == ACKPROTO_REFUSE)
		return take_refusal(wire, payload, header->length, err);
	if (header->type == ACKPROTO_WELCOME && !wire->has_welcome) {
		wire->has_welcome = true;
		return ackproto_decode_welcome(&wire->welcome, payload,
					       header->length, err);
	}
	if (header->type == ACKPROTO_CONFIRM && wire->has_welcome &&
	    header->number <= wire->sent && header->number >= wire->confirmed) {
		wire->confirmed = header->number;
		return 0;
	}
	return err_set(err, "an answer that fits no question");
}

/* Takes the frames that are complete and moves the rest to the front. */
static int take_frames(struct ackwire *wire, struct err *err)
{
	size_t at = 0;
	int result = 0;

	while (result == 0 && wire->in_end - at >= ACKPROTO_HEADER_BYTES) {
		const uint8_t *bytes = wire->in + at;
		const uint8_t *payload = bytes + ACKPROTO_HEADER_BYTES;
		struct ackproto_header header;

		result = ackproto_decode_header(&header, bytes, err);
		if (result == 0 &&
		    header.length > IN_BYTES - ACKPROTO_HEADER_BYTES)
			result = err_set(err, "an answer of %u bytes",
					 header.length);
		if (result < 0 ||
		    wire->in_end - at - ACKPROTO_HEADER_BYTES < header.length)
			break;
		result = ackproto_check(&header, bytes, payload, err);
		if (result == 0)
			result = take_frame(wire, &header, payload, err);
		at += ACKPROTO_HEADER_BYTES + header.length;
	}
	memmove(wire->in, wire->in + at, wire->in_end - at);
	wire->in_end -= at;
	if (result < 0 && !wire->is_refused)
		err_prefix(err, "%s: cannot understand the collector",
			   wire->address);
	return result;
}

/* Reads and takes what has arrived. */
static int pull(struct ackwire *wire, struct err *err)
{
	for (;;) {
		ssize_t count =
			channel_read(wire->channel, wire->in + wire->in_end,
				     IN_BYTES - wire->in_end, err);

		if (count <= 0)
			return (int)count;
		wire->in_end += (size_t)count;
		if (take_frames(wire, err) < 0)
			return -1;
	}
}

static int move(struct ackwire *wire, struct err *err)
{
	struct err later;
	int result = push(wire, err);

	if (result == 0)
		return pull(wire, err);
	/* A refusal may still lie in the socket: it says more than "broken
	 * pipe". */
	if (pull(wire, &later) < 0 && wire->is_refused)
		*err = later;
	return -1;
}

/* Both directions once. What is over stays so, for the same reason. */
static int turn(struct ackwire *wire, struct err *err)
{
	if (!wire->is_over && move(wire, &wire->reason) < 0)
		wire->is_over = true;
	if (wire->is_over)
		*err = wire->reason;
	return wire->is_over ? -1 : 0;
}

/* 1: something happened on the wire; 0: time is over, or WAKE_FD. */
static int wait_wire(struct ackwire *wire, int wake_fd, uint64_t deadline_ns,
		     struct err *err)
{
	struct pollfd entries[2] = {
		{.fd = channel_fd(wire->channel), .events = POLLIN},
		{.fd = wake_fd, .events = POLLIN},
	};
	struct timespec left;
	int count;

	if (wire->out_start < wire->out_end)
		entries[0].events = POLLIN | POLLOUT;
	/* poll() would round up to a millisecond: an age for a confirmation. */
	left = clock_until(deadline_ns);
	count = ppoll(entries, 2, &left, NULL);
	if (count < 0 && errno != EINTR)
		return err_sys(err, errno, "cannot wait for %s", wire->address);
	return count > 0 && entries[0].revents != 0;
}

static int wait_welcome(struct ackwire *wire, uint64_t deadline_ns,
			struct err *err)
{
	int result;

	for (;;) {
		result = turn(wire, err);
		if (result < 0 || wire->has_welcome)
			return result;
		if (wait_wire(wire, -1, deadline_ns, err) < 0)
			return -1;
		if (clock_until_ms(deadline_ns) == 0)
			return err_set(err, "%s: no answer in time",
				       wire->address);
	}
}

struct ackwire *ackwire_open(const struct ackwire_place *place,
			     const struct ackproto_hello *hello,
			     uint64_t deadline_ns,
			     struct ackwire_answer *answer, struct err *err)
{
	struct ackproto_hello said = *hello;
	uint8_t payload[ACKPROTO_HELLO_BYTES];
	struct ackwire *wire = calloc(1, sizeof(*wire));

	answer->is_refused = false;
	if (wire == NULL) {
		err_sys(err, ENOMEM, "cannot talk to %s", place->address);
		return NULL;
	}
	wire->channel =
		channel_connect(place->address, place->key, deadline_ns, err);
	if (wire->channel == NULL) {
		if (strchr(err->text, '\n') == NULL)
			err_hint(err, "see that plugpull-collector listens "
				      "there");
		goto fail;
	}
	wire->address = channel_peer(wire->channel);
	said.version = ACKPROTO_VERSION;
	ackproto_encode_hello(&said, payload);
	queue(wire, ACKPROTO_HELLO, payload, sizeof(payload));
	if (wait_welcome(wire, deadline_ns, err) < 0) {
		/* TLS looks like a collector that hangs up. */
		if (place->key == NULL && !wire->is_refused)
			err_hint(err, "a collector that has a key wants --key "
				      "here, too");
		goto fail;
	}
	answer->welcome = wire->welcome;
	return wire;
fail:
	answer->is_refused = wire->is_refused;
	ackwire_close(wire);
	return NULL;
}

void ackwire_close(struct ackwire *wire)
{
	if (wire == NULL)
		return;
	channel_close(wire->channel);
	free(wire);
}

int ackwire_send(struct ackwire *wire, const uint8_t *bodies, uint32_t length,
		 uint64_t *number, struct err *err)
{
	assert(length >= 1 && length <= ACKPROTO_PAYLOAD_MAX);

	if (wire->is_over) {
		*err = wire->reason;
		return -1;
	}
	wire->is_full = !has_room(wire, ACKPROTO_HEADER_BYTES + length);
	if (wire->is_full)
		return 0;
	*number = ++wire->sent;
	queue(wire, ACKPROTO_BODIES, bodies, length);
	/* Where this fails, ackwire_receive() says so, and why: what the
	 * collector has said before the end is still to be read. */
	(void)push(wire, err);
	return 1;
}

int ackwire_receive(struct ackwire *wire, uint64_t *confirmed, int wake_fd,
		    uint64_t deadline_ns, struct err *err)
{
	bool was_full = wire->is_full;
	int result;

	for (;;) {
		result = turn(wire, err);
		/* What was confirmed before the end is safe all the same. */
		if (wire->confirmed > wire->told) {
			wire->told = wire->confirmed;
			*confirmed = wire->confirmed;
			return 1;
		}
		if (result < 0)
			return -1;
		wire->is_full = wire->is_full && !has_room(wire, FRAME_MAX);
		if (was_full && !wire->is_full)
			return 0;
		result = wait_wire(wire, wake_fd, deadline_ns, err);
		if (result <= 0)
			return result;
	}
}

bool ackwire_is_refused(const struct ackwire *wire)
{
	return wire->is_refused;
}
