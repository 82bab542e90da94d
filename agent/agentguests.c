/* SPDX-License-Identifier: MIT */
#include "agent/agentguests.h"

#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/agentlink.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"

#define STEP_MS 250

/* Either a channel whose handshake goes on, or a link that is to say HELLO. */
struct guest {
	struct channel *channel;
	struct agentlink *link;
	uint64_t since_ns;
};

struct guests {
	const struct agentcall_config *config;
	struct channel_listener *listener;
	struct guest guest[AGENTGUESTS_MAX];
	struct err last; /* why somebody was sent away; "": nobody was */
};

/* Behind the peer's name, which has another port each time. */
static const char *reason_of(const struct err *why)
{
	const char *reason = strstr(why->text, ": ");

	return reason != NULL ? reason : why->text;
}

static void send_away(struct guests *guests, struct guest *guest,
		      const struct err *why)
{
	if (strcmp(reason_of(why), reason_of(&guests->last)) != 0)
		guests->config->say(why->text);
	guests->last = *why;
	channel_close(guest->channel);
	agentlink_free(guest->link);
	memset(guest, 0, sizeof(*guest));
}

static bool is_free(const struct guest *guest)
{
	return guest->channel == NULL && guest->link == NULL;
}

static struct guest *make_room(struct guests *guests)
{
	struct guest *oldest = &guests->guest[0];
	struct err why;

	for (size_t i = 0; i < AGENTGUESTS_MAX; i++) {
		if (is_free(&guests->guest[i]))
			return &guests->guest[i];
		if (guests->guest[i].since_ns < oldest->since_ns)
			oldest = &guests->guest[i];
	}
	(void)err_set(&why, "too many connections that say nothing");
	send_away(guests, oldest, &why);
	return oldest;
}

static void let_in(struct guests *guests)
{
	struct err err = {""};
	bool again = false;
	struct channel *channel =
		channel_accept(guests->listener, &again, &err);
	struct guest *guest;

	if (channel == NULL)
		return; /* the next one may have more luck */
	guest = make_room(guests);
	guest->channel = channel;
	guest->since_ns = clock_monotonic_ns();
}

/* 1: it has said HELLO; 0: not yet; -1: it is nobody. */
static int look_at(struct guest *guest, struct err *err)
{
	struct agentwire_header header;
	const uint8_t *payload;
	int result;

	if (guest->channel != NULL) {
		struct channel *channel = guest->channel;

		result = channel_handshake(channel, err);
		if (result <= 0)
			return result;
		guest->channel = NULL;
		guest->link = agentlink_new(channel, err);
		if (guest->link == NULL)
			return -1;
	}
	if (agentlink_turn(guest->link, err) < 0)
		return -1;
	result = agentlink_next(guest->link, &header, &payload, err);
	while (result > 0 && header.type == AGENTWIRE_ALIVE)
		result = agentlink_next(guest->link, &header, &payload, err);
	if (result > 0 && header.type != AGENTWIRE_HELLO)
		return err_set(err, "%s is no plugpull-agent serve",
			       agentlink_peer(guest->link));
	return result;
}

static struct agentlink *look_at_all(struct guests *guests)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < AGENTGUESTS_MAX; i++) {
		struct guest *guest = &guests->guest[i];
		struct err err = {""};
		int result;

		if (is_free(guest))
			continue;
		result = look_at(guest, &err);
		if (result > 0) {
			struct agentlink *link = guest->link;

			guest->link = NULL;
			return link;
		}
		if (result == 0 &&
		    now_ns - guest->since_ns >
			    AGENTGUESTS_SILENT_MS * CLOCK_NS_PER_MS)
			result = err_set(&err, "a connection said nothing");
		if (result < 0)
			send_away(guests, guest, &err);
	}
	return NULL;
}

static void wait_for_news(const struct guests *guests)
{
	struct pollfd entries[1 + AGENTGUESTS_MAX] = {
		{.fd = channel_listener_fd(guests->listener),
		 .events = POLLIN}};
	const struct timespec step = {.tv_nsec = STEP_MS * CLOCK_NS_PER_MS};

	for (size_t i = 0; i < AGENTGUESTS_MAX; i++) {
		const struct guest *guest = &guests->guest[i];

		entries[1 + i].fd = -1;
		if (guest->channel != NULL) {
			entries[1 + i].fd = channel_fd(guest->channel);
			entries[1 + i].events = channel_wants(guest->channel);
		} else if (guest->link != NULL) {
			entries[1 + i].fd = agentlink_fd(guest->link);
			entries[1 + i].events = agentlink_events(guest->link);
		}
	}
	if (ppoll(entries, 1 + AGENTGUESTS_MAX, &step,
		  guests->config->wait_mask) < 0)
		return; /* a signal: the caller looks */
}

static int say_nobody(const struct guests *guests, struct err *err)
{
	(void)err_set(err, "no agent has dialled in to %s within %" PRIu64 " s",
		      channel_listener_address(guests->listener),
		      guests->config->timeout_ms / 1000);
	if (guests->last.text[0] != '\0')
		return -1; /* that was said, and is the reason */
	return err_hint(err, "see that plugpull-agent serve runs on the host "
			     "and can reach this address");
}

static struct agentlink *wait_for_agent(struct guests *guests, struct err *err)
{
	uint64_t deadline_ns = clock_monotonic_ns() +
			       guests->config->timeout_ms * CLOCK_NS_PER_MS;
	struct agentlink *link = NULL;

	while (link == NULL) {
		if (*guests->config->stop > 0) {
			(void)err_set(err, "told to stop before an agent came");
			return NULL;
		}
		if (clock_until_ms(deadline_ns) == 0) {
			(void)say_nobody(guests, err);
			return NULL;
		}
		wait_for_news(guests);
		let_in(guests);
		link = look_at_all(guests);
	}
	return link;
}

struct agentlink *agentguests_wait(const struct agentcall_config *config,
				   struct err *err)
{
	struct guests guests = {.config = config};
	struct agentlink *link = NULL;

	guests.listener = channel_listen(config->address, config->key, err);
	if (guests.listener == NULL)
		return NULL;
	link = wait_for_agent(&guests, err);
	for (size_t i = 0; i < AGENTGUESTS_MAX; i++) {
		channel_close(guests.guest[i].channel);
		agentlink_free(guests.guest[i].link);
	}
	channel_listener_close(guests.listener);
	return link;
}
