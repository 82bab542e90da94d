/* SPDX-License-Identifier: MIT */
#include "collector/client.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/session.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"

#define LINE_BYTES 800

enum client_wait {
	WAIT_HELLO,
	WAIT_HELD,
	WAIT_NONE,
	WAIT_STALL,
	WAIT_OVER,
};

struct client {
	const struct client_house *house;
	struct channel *channel;
	struct session *session;
	struct runlog *runlog; /* NULL: no place */
	enum client_wait wait;
	uint64_t deadline_ns;
	bool has_shaken; /* the handshake is done */
	bool has_moved;  /* in this turn something became complete */
	bool is_gone;
	struct err held_reason;
};

static void say(const struct client *client, const char *what, const char *more)
{
	const char *peer = channel_peer(client->channel);
	char line[LINE_BYTES];

	if (client->runlog != NULL)
		(void)snprintf(line, sizeof(line), "run %s: %s %s%s",
			       runlog_name(client->runlog), peer, what, more);
	else
		(void)snprintf(line, sizeof(line), "%s %s%s", peer, what, more);
	client->house->say(line);
}

static void set_wait(struct client *client, enum client_wait wait,
		     unsigned int seconds)
{
	client->wait = wait;
	client->deadline_ns = clock_monotonic_ns() + seconds * CLOCK_NS_PER_S;
}

static void leave_run(struct client *client)
{
	if (client->runlog == NULL)
		return;
	runlog_release(client->house->runlogs, client->runlog,
		       session_hello(client->session)->mode);
	client->runlog = NULL;
}

struct client *client_new(const struct client_house *house,
			  struct channel *channel, struct err *err)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client == NULL) {
		err_sys(err, ENOMEM, "cannot keep another client");
		channel_close(channel);
		return NULL;
	}
	client->house = house;
	client->channel = channel;
	client->session = session_new(err);
	if (client->session == NULL) {
		client_free(client);
		return NULL;
	}
	set_wait(client, WAIT_HELLO, CLIENT_HELLO_S);
	return client;
}

void client_free(struct client *client)
{
	if (client == NULL)
		return;
	leave_run(client);
	channel_close(client->channel);
	session_free(client->session);
	free(client);
}

int client_fd(const struct client *client)
{
	return channel_fd(client->channel);
}

static bool has_output(const struct client *client)
{
	size_t count;

	(void)session_output(client->session, &count);
	return count > 0;
}

static bool has_room(struct client *client)
{
	size_t room;

	(void)session_room(client->session, &room);
	return room > 0;
}

short client_events(struct client *client)
{
	short events = 0;

	if (!client->has_shaken)
		return channel_wants(client->channel);
	if (has_room(client))
		events |= POLLIN;
	if (has_output(client))
		events |= POLLOUT;
	return events;
}

bool client_has_pending(struct client *client)
{
	return client->has_shaken && channel_has_pending(client->channel) &&
	       has_room(client);
}

uint64_t client_deadline_ns(const struct client *client)
{
	return client->wait == WAIT_NONE ? UINT64_MAX : client->deadline_ns;
}

static void refuse(struct client *client, const char *reason)
{
	session_refuse(client->session, reason);
	say(client, "refused: ", session_reason(client->session));
	leave_run(client);
	set_wait(client, WAIT_OVER, CLIENT_OVER_S);
}

/* A channel's error begins with the peer's address, and so does say(). */
static const char *without_peer(const struct client *client,
				const struct err *err)
{
	const char *peer = channel_peer(client->channel);
	size_t length = strlen(peer);

	if (strncmp(err->text, peer, length) == 0 &&
	    strncmp(err->text + length, ": ", 2) == 0)
		return err->text + length + 2;
	return err->text;
}

static void end(struct client *client, const struct err *err)
{
	bool is_writer =
		client->runlog != NULL &&
		session_hello(client->session)->mode != ACKPROTO_OBSERVE;

	client->is_gone = true;
	if (is_writer)
		say(client, "has left: ", without_peer(client, err));
	else if (!client->has_shaken)
		say(client, "turned away: ", without_peer(client, err));
}

static void shake(struct client *client)
{
	struct err err;
	int result = channel_handshake(client->channel, &err);

	if (result < 0)
		end(client, &err);
	client->has_shaken = result > 0;
}

static void read_input(struct client *client)
{
	struct err err;
	size_t room;
	uint8_t *to = session_room(client->session, &room);

	while (room > 0) {
		ssize_t count = channel_read(client->channel, to, room, &err);

		if (count < 0)
			end(client, &err);
		if (count <= 0)
			return;
		session_fed(client->session, (size_t)count);
		to += count;
		room -= (size_t)count;
	}
}

static void claim(struct client *client)
{
	const struct ackproto_hello *hello = session_hello(client->session);
	struct ackproto_welcome welcome;
	struct err err;
	bool is_busy;

	client->runlog =
		runlog_claim(client->house->runlogs, hello, &is_busy, &err);
	if (client->runlog == NULL && !is_busy) {
		refuse(client, err.text);
		return;
	}
	if (client->runlog == NULL) {
		client->held_reason = err;
		if (client->wait != WAIT_HELD)
			set_wait(client, WAIT_HELD, CLIENT_HOLD_S);
		return;
	}
	runlog_fill_welcome(client->runlog, hello->mode, &welcome);
	session_welcome(client->session, &welcome);
	client->wait = WAIT_NONE;
	client->has_moved = true;
	if (hello->mode != ACKPROTO_OBSERVE)
		say(client, "writes",
		    hello->mode == ACKPROTO_NEW ? " a new run" : " on");
}

static void append(struct client *client)
{
	uint32_t length;
	const uint8_t *payload = session_payload(client->session, &length);
	struct err err;

	if (runlog_append(client->house->runlogs, client->runlog, payload,
			  length, &err) < 0) {
		refuse(client, err.text);
		return;
	}
	session_take(client->session);
	client->has_moved = true;
}

/* Takes everything that is complete, so that at the end of a turn the input
 * holds the beginning of one message at most. */
static void work(struct client *client)
{
	enum session_need need;

	while ((need = session_need(client->session)) != SESSION_BYTES) {
		if (need == SESSION_PAYLOAD)
			append(client);
		else if (need == SESSION_CLAIM)
			claim(client);
		else if (client->wait != WAIT_OVER)
			refuse(client, session_reason(client->session));
		if (client->wait == WAIT_HELD || client->wait == WAIT_OVER)
			return;
	}
}

void client_serve(struct client *client, short events)
{
	client->has_moved = false;
	if (!client->has_shaken && events != 0)
		shake(client);
	if (!client->has_shaken || client->is_gone)
		return;
	if ((events & (POLLERR | POLLHUP)) != 0 && !has_room(client) &&
	    !has_output(client)) {
		client->is_gone = true;
		return;
	}
	read_input(client);
	work(client);
}

static void send_output(struct client *client)
{
	struct err err;
	size_t count;
	const uint8_t *from = session_output(client->session, &count);

	while (count > 0) {
		ssize_t sent =
			channel_write(client->channel, from, count, &err);

		if (sent < 0)
			end(client, &err);
		if (sent <= 0)
			return;
		session_sent(client->session, (size_t)sent);
		client->has_moved = true;
		from = session_output(client->session, &count);
	}
}

/* An idle client may stay; one in the middle of something has to move. */
static void judge_pace(struct client *client)
{
	if (client->wait != WAIT_NONE && client->wait != WAIT_STALL)
		return;
	if (session_is_idle(client->session))
		client->wait = WAIT_NONE;
	else if (client->wait == WAIT_NONE || client->has_moved)
		set_wait(client, WAIT_STALL, CLIENT_STALL_S);
}

void client_settle(struct client *client)
{
	if (!client->has_shaken || client->is_gone)
		return;
	if (client->runlog != NULL && runlog_is_dead(client->runlog))
		refuse(client, runlog_reason(client->runlog));
	else if (session_is_waiting(client->session))
		session_confirm(client->session);
	send_output(client);
	judge_pace(client);
}

void client_expire(struct client *client, uint64_t now_ns)
{
	if (client->is_gone || client_deadline_ns(client) > now_ns)
		return;
	if (client->wait == WAIT_HELD) {
		refuse(client, client->held_reason.text);
		send_output(client);
		return;
	}
	if (client->wait == WAIT_HELLO)
		say(client, "dropped: ", "no hello in time");
	if (client->wait == WAIT_STALL)
		say(client, "dropped: ", "it stalled in the middle");
	client->is_gone = true;
}

bool client_is_gone(const struct client *client)
{
	return client->is_gone;
}

bool client_is_held(const struct client *client)
{
	return client->wait == WAIT_HELD && !client->is_gone;
}

void client_probe_rival(struct client *client, const struct client *held)
{
	const struct ackproto_hello *mine, *wanted;

	if (client->runlog == NULL || client->is_gone)
		return;
	mine = session_hello(client->session);
	wanted = session_hello(held->session);
	if (mine->mode != ACKPROTO_OBSERVE &&
	    memcmp(mine->run_id, wanted->run_id, RUN_ID_BYTES) == 0)
		channel_probe(client->channel);
}
