/* SPDX-License-Identifier: MIT */
#include "agent/agentserve.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agentallow.h"
#include "agent/agentchild.h"
#include "agent/agentflow.h"
#include "agent/agentlink.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"

#define STATUS_REFUSED 126
#define STATUS_MISSING 127
#define GOODBYE_MS     5000 /* for the peer to take the last frames */
#define DRAIN_MS       2000 /* a pipe that outlives its program */
#define LEFT_MAX       4
#define STEP_MS        250 /* how late a deadline may be noticed */

enum serve_state { SERVE_WAITING, SERVE_RUNNING, SERVE_SAID };

struct serve {
	const struct agentserve_config *config;
	struct agentlink *link;
	enum serve_state state;
	uint64_t said_ns; /* when EXIT was put */
	uint64_t
		silent_ns; /* since when an ended program's pipes say nothing */
	struct agentchild child;
	struct agentchild left[LEFT_MAX]; /* could not be ended */
	struct agentflow_sink in;
	struct agentflow_source out, error;
	struct agentwire_words words;
	struct err last; /* what was said of the last dial that failed */
};

static void say_of(struct serve *serve, const struct agentchild *child,
		   const char *what)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "%s (pid %d) %s", child->name,
		       (int)child->pid, what);
	serve->config->say(line);
}

/* ---- what could not be ended ---- */

static bool has_left(struct serve *serve)
{
	bool has = false;

	for (size_t i = 0; i < LEFT_MAX; i++) {
		agentchild_look(&serve->left[i]);
		has |= agentchild_is_there(&serve->left[i]);
	}
	return has;
}

static bool leave(struct serve *serve)
{
	for (size_t i = 0; i < LEFT_MAX; i++) {
		if (agentchild_is_there(&serve->left[i]))
			continue;
		say_of(serve, &serve->child,
		       "cannot be ended: it waits for its drive; no other "
		       "program will use a drive before it is gone");
		serve->left[i] = serve->child;
		memset(&serve->child, 0, sizeof(serve->child));
		return true;
	}
	return false; /* the connections before have left too many */
}

/* ---- a call ---- */

static void say_exit(struct serve *serve, struct agentwire_exit code)
{
	uint8_t payload[AGENTWIRE_EXIT_BYTES];

	agentwire_encode_exit(&code, payload);
	agentlink_put(serve->link, AGENTWIRE_EXIT, payload, sizeof(payload));
	serve->state = SERVE_SAID;
	serve->said_ns = clock_monotonic_ns();
}

static void refuse(struct serve *serve, uint8_t status, const struct err *why)
{
	char text[sizeof(why->text) + 64];
	int length =
		snprintf(text, sizeof(text), "plugpull-agent: %s\n", why->text);

	serve->config->say(why->text);
	agentlink_put(serve->link, AGENTWIRE_STDERR, text, (size_t)length);
	say_exit(serve, (struct agentwire_exit){AGENTWIRE_EXITED, status});
}

static void start(struct serve *serve)
{
	struct agentchild *child = &serve->child;
	struct agentallow allow;
	struct err err;

	switch (agentallow_check(&serve->words, serve->config->folder, &allow,
				 &err)) {
	case AGENTALLOW_REFUSED:
		refuse(serve, STATUS_REFUSED, &err);
		return;
	case AGENTALLOW_MISSING:
		refuse(serve, STATUS_MISSING, &err);
		return;
	case AGENTALLOW_YES:
		break;
	}
	if (has_left(serve) && allow.uses_drive) {
		(void)err_set(&err, "refused: a program of an earlier call "
				    "still waits for its drive");
		refuse(serve, STATUS_REFUSED, &err);
		return;
	}
	if (agentchild_start(child, allow.path, &serve->words, &err) < 0) {
		refuse(serve, STATUS_MISSING, &err);
		return;
	}
	serve->state = SERVE_RUNNING;
	serve->silent_ns = 0;
	agentflow_open_sink(&serve->in, AGENTWIRE_STDIN, child->in_fd);
	agentflow_open_source(&serve->out, AGENTWIRE_STDOUT, child->out_fd);
	agentflow_open_source(&serve->error, AGENTWIRE_STDERR, child->err_fd);
	say_of(serve, child, "runs");
}

static int take_credit(struct serve *serve, const uint8_t *payload,
		       struct err *err)
{
	struct agentwire_credit credit;

	if (agentwire_decode_credit(&credit, payload, err) < 0)
		return -1;
	if (credit.stream == AGENTWIRE_STDOUT)
		agentflow_credit(&serve->out, credit.bytes);
	if (credit.stream == AGENTWIRE_STDERR)
		agentflow_credit(&serve->error, credit.bytes);
	return 0;
}

static int take_frame(struct serve *serve,
		      const struct agentwire_header *header,
		      const uint8_t *payload, struct err *err)
{
	bool is_running = serve->state == SERVE_RUNNING;

	switch (header->type) {
	case AGENTWIRE_RUN:
		if (serve->state != SERVE_WAITING)
			return err_set(err, "a second call on one connection");
		if (agentwire_decode_words(&serve->words, payload,
					   header->length, err) < 0)
			return -1;
		start(serve);
		return 0;
	case AGENTWIRE_STDIN:
		return is_running ? agentflow_take(&serve->in, payload,
						   header->length, err)
				  : 0;
	case AGENTWIRE_CREDIT:
		return is_running ? take_credit(serve, payload, err) : 0;
	case AGENTWIRE_END:
		agentchild_end(&serve->child);
		return 0;
	case AGENTWIRE_ALIVE:
		return 0;
	case AGENTWIRE_HELLO:
	case AGENTWIRE_STDOUT:
	case AGENTWIRE_STDERR:
	case AGENTWIRE_EXIT:
		return err_set(err, "%s is no plugpull-agent call",
			       agentlink_peer(serve->link));
	}
	abort(); /* decoding lets no other type through */
}

static int take_frames(struct serve *serve, struct err *err)
{
	struct agentwire_header header;
	const uint8_t *payload;
	int got;

	while ((got = agentlink_next(serve->link, &header, &payload, err)) > 0)
		if (take_frame(serve, &header, payload, err) < 0)
			return -1;
	return got;
}

/* The program has ended, and all that it said is under way. */
static bool is_all_said(struct serve *serve, bool has_moved)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!serve->child.has_ended)
		return false;
	if (serve->out.has_ended && serve->error.has_ended)
		return true;
	/* Somebody else has its pipes, or the peer is slow. */
	if (has_moved || serve->silent_ns == 0 || serve->out.credit == 0 ||
	    serve->error.credit == 0)
		serve->silent_ns = now_ns;
	return now_ns - serve->silent_ns > DRAIN_MS * CLOCK_NS_PER_MS;
}

static void move_data(struct serve *serve)
{
	struct agentchild *child = &serve->child;
	bool has_moved = false;

	agentchild_look(child);
	if (agentflow_wants_write(&serve->in))
		agentflow_write(&serve->in, serve->link);
	else if (serve->in.has_ended)
		agentchild_close_in(child);
	if (agentflow_wants_read(&serve->out))
		has_moved |= agentflow_read(&serve->out, serve->link);
	if (agentflow_wants_read(&serve->error))
		has_moved |= agentflow_read(&serve->error, serve->link);
	if (!is_all_said(serve, has_moved))
		return;
	agentchild_close(child);
	say_exit(serve, child->exit);
}

static void wait_for_news(struct serve *serve)
{
	const struct agentchild *child = &serve->child;
	bool is_running = serve->state == SERVE_RUNNING;
	struct pollfd entries[5] = {
		{.fd = agentlink_fd(serve->link),
		 .events = agentlink_events(serve->link)},
		{.fd = is_running && !child->has_ended ? child->pid_fd : -1,
		 .events = POLLIN},
		{.fd = is_running && agentflow_wants_write(&serve->in)
			       ? child->in_fd
			       : -1,
		 .events = POLLOUT},
		{.fd = is_running && agentflow_wants_read(&serve->out)
			       ? child->out_fd
			       : -1,
		 .events = POLLIN},
		{.fd = is_running && agentflow_wants_read(&serve->error)
			       ? child->err_fd
			       : -1,
		 .events = POLLIN},
	};
	const struct timespec step = {
		.tv_nsec = agentlink_has_more(serve->link)
				   ? 0
				   : STEP_MS * CLOCK_NS_PER_MS};

	(void)ppoll(entries, 5, &step, serve->config->wait_mask);
}

/* Until the connection is over, for whatever reason. */
static void serve_link(struct serve *serve)
{
	struct err err = {""}, over;
	int result = 0;

	serve->state = SERVE_WAITING;
	agentlink_put(serve->link, AGENTWIRE_HELLO, NULL, 0);
	for (;;) {
		int turned = agentlink_turn(serve->link, &over);

		result = take_frames(serve, &err);
		if (result == 0 && serve->state == SERVE_RUNNING)
			move_data(serve);
		if (turned < 0 && result == 0)
			err = over;
		if (turned < 0 || result < 0)
			break;
		if (*serve->config->stop)
			agentchild_end(&serve->child);
		if (*serve->config->stop && serve->state == SERVE_WAITING)
			return;
		if (serve->state == SERVE_SAID &&
		    clock_monotonic_ns() - serve->said_ns >
			    GOODBYE_MS * CLOCK_NS_PER_MS)
			return;
		wait_for_news(serve);
	}
	if (serve->state != SERVE_SAID || result < 0)
		serve->config->say(err.text);
}

/* P11: nothing is started before the last program is gone. */
static void end_child(struct serve *serve)
{
	struct agentchild *child = &serve->child;

	if (agentchild_is_there(child)) {
		say_of(serve, child, "is ended: its connection is over");
		agentchild_end(child);
	}
	agentchild_close(child);
	while (agentchild_is_there(child)) {
		struct pollfd entry = {.fd = child->pid_fd, .events = POLLIN};

		/* A second SIGTERM to us changes nothing. */
		(void)poll(&entry, 1, STEP_MS);
		agentchild_look(child);
		if (agentchild_is_blocked(child) && leave(serve))
			return;
	}
}

static void pause_for(struct serve *serve, uint64_t pause_ms)
{
	uint64_t until_ns = clock_monotonic_ns() + pause_ms * CLOCK_NS_PER_MS;

	while (!*serve->config->stop && clock_until_ms(until_ns) > 0) {
		struct timespec left = clock_until(until_ns);

		(void)ppoll(NULL, 0, &left, serve->config->wait_mask);
	}
}

static bool dial(struct serve *serve)
{
	const struct agentserve_config *config = serve->config;
	uint64_t deadline_ns =
		clock_monotonic_ns() + AGENTSERVE_DIAL_MS * CLOCK_NS_PER_MS;
	struct err err = {""};
	struct channel *channel = channel_connect(config->address, config->key,
						  deadline_ns, &err);

	serve->link = channel == NULL ? NULL : agentlink_new(channel, &err);
	if (serve->link != NULL) {
		serve->last.text[0] = '\0';
		return true;
	}
	/* Once, not twice a second for the length of a night. */
	if (strcmp(err.text, serve->last.text) != 0)
		config->say(err.text);
	serve->last = err;
	return false;
}

static void reset_child(struct agentchild *child)
{
	memset(child, 0, sizeof(*child));
	child->pid_fd = child->in_fd = child->out_fd = child->err_fd = -1;
}

int agentserve_run(const struct agentserve_config *config, struct err *err)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	uint64_t pause_ms = AGENTSERVE_PAUSE_MIN_MS;

	if (serve == NULL)
		return err_set(err, "out of memory");
	serve->config = config;
	while (!*config->stop) {
		if (dial(serve)) {
			reset_child(&serve->child);
			serve_link(serve);
			end_child(serve);
			agentlink_free(serve->link);
			pause_ms = AGENTSERVE_PAUSE_MIN_MS;
		}
		pause_for(serve, pause_ms);
		pause_ms *= 2;
		if (pause_ms > AGENTSERVE_PAUSE_MAX_MS)
			pause_ms = AGENTSERVE_PAUSE_MAX_MS;
	}
	free(serve);
	return 0;
}
