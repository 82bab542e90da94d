/* SPDX-License-Identifier: MIT */
#include "relay/answer.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/port.h"

#define SHOWN_BYTES    16U /* of an answer, in a message */
#define WANT_BYTES_MAX 16U
#define NO_END         (-1)

/* WANTED bytes are all that is waited for; 0: it is not known how many. */
static ssize_t read_answer(struct port *port, uint8_t *answer, size_t room,
			   size_t wanted, int end, uint64_t deadline_ns,
			   struct err *err)
{
	uint64_t until_ns = deadline_ns;
	size_t used = 0;

	while (used < room) {
		ssize_t count = port_read(port, answer + used, room - used,
					  until_ns, err);

		if (count < 0)
			return -1;
		if (count == 0)
			return (ssize_t)used;
		used += (size_t)count;
		if (used == wanted || answer[used - 1] == end)
			return (ssize_t)used;
		until_ns = clock_monotonic_ns() +
			   ANSWER_QUIET_MS * CLOCK_NS_PER_MS;
	}
	return err_set(err, "the board does not stop answering");
}

static ssize_t ask(struct port *port, const void *request, size_t count,
		   uint64_t deadline_ns, struct err *err)
{
	if (port_discard_input(port, err) < 0)
		return -1;
	return port_write(port, request, count, deadline_ns, err);
}

ssize_t answer_ask(struct port *port, const void *request, size_t count,
		   uint8_t *answer, size_t room, uint64_t deadline_ns,
		   struct err *err)
{
	if (ask(port, request, count, deadline_ns, err) < 0)
		return -1;
	return read_answer(port, answer, room, 0, NO_END, deadline_ns, err);
}

ssize_t answer_ask_bytes(struct port *port, const void *request, size_t count,
			 uint8_t *answer, size_t wanted, uint64_t deadline_ns,
			 struct err *err)
{
	if (ask(port, request, count, deadline_ns, err) < 0)
		return -1;
	return read_answer(port, answer, wanted, wanted, NO_END, deadline_ns,
			   err);
}

ssize_t answer_ask_until(struct port *port, const void *request, size_t count,
			 uint8_t *answer, size_t room, uint8_t end,
			 uint64_t deadline_ns, struct err *err)
{
	if (ask(port, request, count, deadline_ns, err) < 0)
		return -1;
	return read_answer(port, answer, room, 0, end, deadline_ns, err);
}

int answer_want(struct port *port, const void *request, size_t count,
		const void *reply, size_t reply_count, const char *what,
		uint64_t deadline_ns, struct err *err)
{
	uint8_t answer[WANT_BYTES_MAX];
	ssize_t got = 0;

	assert(reply_count > 0 && reply_count <= WANT_BYTES_MAX);

	got = answer_ask_bytes(port, request, count, answer, reply_count,
			       deadline_ns, err);
	if (got < 0)
		return -1;
	if (got == 0)
		return err_set(err, "the board does not answer %s in time",
			       what);
	if ((size_t)got != reply_count ||
	    memcmp(answer, reply, reply_count) != 0)
		return answer_refuse(answer, (size_t)got, what, err);
	return 0;
}

int answer_refuse(const uint8_t *answer, size_t count, const char *what,
		  struct err *err)
{
	char text[3 * SHOWN_BYTES + 1] = "";

	for (size_t i = 0; i < count && i < SHOWN_BYTES; i++)
		(void)snprintf(text + 3 * i, 4, " %02x", answer[i]);
	return err_set(err, "the answer to %s makes no sense:%s%s", what, text,
		       count > SHOWN_BYTES ? " ..." : "");
}
