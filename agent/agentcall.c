/* SPDX-License-Identifier: MIT */
#include "agent/agentcall.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agentflow.h"
#include "agent/agentguests.h"
#include "agent/agentlink.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define STEP_MS     250 /* how late a deadline may be noticed */
#define SIGNAL_BASE 128

struct call {
	const struct agentcall_config *config;
	struct agentlink *link;
	bool is_end_asked, has_exit, is_output_gone;
	struct agentwire_exit exit;
	struct agentflow_source in;
	struct agentflow_sink out, error;
};

static void ask_end(struct call *call, const char *why)
{
	if (call->is_end_asked)
		return;
	call->is_end_asked = true;
	call->config->say(why);
	agentlink_put(call->link, AGENTWIRE_END, NULL, 0);
}

static int take_frame(struct call *call, const struct agentwire_header *header,
		      const uint8_t *payload, struct err *err)
{
	struct agentwire_credit credit;

	switch (header->type) {
	case AGENTWIRE_STDOUT:
		return agentflow_take(&call->out, payload, header->length, err);
	case AGENTWIRE_STDERR:
		return agentflow_take(&call->error, payload, header->length,
				      err);
	case AGENTWIRE_CREDIT:
		if (agentwire_decode_credit(&credit, payload, err) < 0)
			return -1;
		agentflow_credit(&call->in, credit.bytes);
		return 0;
	case AGENTWIRE_EXIT:
		call->has_exit = true;
		return agentwire_decode_exit(&call->exit, payload, err);
	case AGENTWIRE_ALIVE:
		return 0;
	case AGENTWIRE_HELLO:
	case AGENTWIRE_RUN:
	case AGENTWIRE_STDIN:
	case AGENTWIRE_END:
		return err_set(err, "%s is no plugpull-agent serve",
			       agentlink_peer(call->link));
	}
	abort(); /* decoding lets no other type through */
}

static int take_frames(struct call *call, struct err *err)
{
	struct agentwire_header header;
	const uint8_t *payload;
	int got = 0;

	while (!call->has_exit &&
	       (got = agentlink_next(call->link, &header, &payload, err)) > 0)
		if (take_frame(call, &header, payload, err) < 0)
			return -1;
	return got < 0 ? -1 : 0;
}

static bool is_drained(const struct call *call)
{
	return !agentflow_wants_write(&call->out) &&
	       !agentflow_wants_write(&call->error);
}

/* Waits, and moves what is ready. Standard descriptors may be shared: they are
 * touched only where poll() says that they will not hold us up. */
static void wait_and_move(struct call *call)
{
	bool wants_in = !call->has_exit && agentflow_wants_read(&call->in);
	struct pollfd entries[4] = {
		{.fd = agentlink_fd(call->link),
		 .events = agentlink_events(call->link)},
		{.fd = wants_in ? call->in.fd : -1, .events = POLLIN},
		{.fd = agentflow_wants_write(&call->out) ? call->out.fd : -1,
		 .events = POLLOUT},
		{.fd = agentflow_wants_write(&call->error) ? call->error.fd
							   : -1,
		 .events = POLLOUT},
	};
	const struct timespec step = {
		.tv_nsec = agentlink_has_more(call->link)
				   ? 0
				   : STEP_MS * CLOCK_NS_PER_MS};

	if (call->has_exit)
		entries[0].fd = -1;
	if (ppoll(entries, 4, &step, call->config->wait_mask) <= 0)
		return;
	if (entries[1].revents != 0)
		(void)agentflow_read(&call->in, call->link);
	if (entries[2].revents != 0)
		agentflow_write(&call->out, call->link);
	if (entries[3].revents != 0)
		agentflow_write(&call->error, call->link);
}

/* Until the program has ended and all that it said is written. */
static int talk(struct call *call, struct err *err)
{
	struct err over;

	while (!call->has_exit || !is_drained(call)) {
		int turned =
			call->has_exit ? 0 : agentlink_turn(call->link, &over);

		if (take_frames(call, err) < 0)
			return -1;
		if (turned < 0 && !call->has_exit) {
			*err = over;
			return err_prefix(err, "the agent is lost");
		}
		if (call->out.is_broken)
			ask_end(call, "nobody reads standard output: the "
				      "program is ended");
		if (*call->config->stop > 0)
			ask_end(call, "told to stop: the program is ended");
		if (*call->config->stop > 1)
			return err_set(err, "told to stop twice: the "
					    "connection is given up");
		wait_and_move(call);
	}
	return 0;
}

static int begin(struct call *call, struct err *err)
{
	const struct agentcall_config *config = call->config;
	uint8_t *payload = malloc(AGENTWIRE_PAYLOAD_MAX);
	uint32_t length = 0;
	int result;

	if (payload == NULL)
		return err_set(err, "out of memory");
	result = agentwire_encode_words(config->words, config->count, payload,
					&length, err);
	if (result == 0)
		call->link = agentguests_wait(config, err);
	if (call->link == NULL)
		result = -1;
	else
		agentlink_put(call->link, AGENTWIRE_RUN, payload, length);
	free(payload);
	return result;
}

static int status_of(struct call *call, struct err *err)
{
	char line[64];

	if (call->out.is_broken)
		return err_set(err, "not all of the output was written");
	if (call->exit.ending == AGENTWIRE_EXITED)
		return call->exit.code;
	(void)snprintf(line, sizeof(line), "%.30s was ended by signal %u",
		       call->config->words[0], call->exit.code);
	call->config->say(line);
	return SIGNAL_BASE + call->exit.code;
}

int agentcall_run(const struct agentcall_config *config, struct err *err)
{
	struct call *call = calloc(1, sizeof(*call));
	int result = -1;

	if (call == NULL)
		return err_set(err, "out of memory");
	call->config = config;
	agentflow_open_source(&call->in, AGENTWIRE_STDIN, STDIN_FILENO);
	agentflow_open_sink(&call->out, AGENTWIRE_STDOUT, STDOUT_FILENO);
	agentflow_open_sink(&call->error, AGENTWIRE_STDERR, STDERR_FILENO);
	if (begin(call, err) == 0 && talk(call, err) == 0)
		result = status_of(call, err);
	agentlink_free(call->link);
	free(call);
	return result;
}
