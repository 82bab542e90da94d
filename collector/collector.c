/* SPDX-License-Identifier: MIT */
#include "collector/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "collector/client.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"

/* After an accept for which nothing is left. */
#define PAUSE_NS CLOCK_NS_PER_S

struct collector {
	struct client_house house;
	struct channel_listener *listener;
	uint64_t paused_until_ns;
	size_t count;
	struct client *clients[COLLECTOR_CLIENTS_MAX];
	struct pollfd entries[COLLECTOR_CLIENTS_MAX + 1]; /* last: listener */
};

struct collector *collector_open(const struct collector_config *config,
				 struct err *err)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	if (collector == NULL) {
		err_sys(err, ENOMEM, "cannot start");
		return NULL;
	}
	collector->house.say = config->say;
	collector->house.runlogs =
		runlog_set_new(config->dir, config->say, err);
	if (collector->house.runlogs == NULL)
		goto fail;
	collector->listener = channel_listen(config->address, config->key, err);
	if (collector->listener == NULL)
		goto fail;
	return collector;
fail:
	collector_close(collector);
	return NULL;
}

void collector_close(struct collector *collector)
{
	if (collector == NULL)
		return;
	for (size_t i = 0; i < collector->count; i++)
		client_free(collector->clients[i]);
	channel_listener_close(collector->listener);
	runlog_set_free(collector->house.runlogs);
	free(collector);
}

const char *collector_address(const struct collector *collector)
{
	return channel_listener_address(collector->listener);
}

static void accept_clients(struct collector *collector)
{
	struct channel *channel;
	struct client *client;
	struct err err;
	bool again = false;

	while (collector->count < COLLECTOR_CLIENTS_MAX) {
		channel = channel_accept(collector->listener, &again, &err);
		if (channel == NULL)
			break;
		client = client_new(&collector->house, channel, &err);
		if (client == NULL)
			break;
		collector->clients[collector->count++] = client;
	}
	if (collector->count == COLLECTOR_CLIENTS_MAX || again)
		return;
	collector->house.say(err.text);
	collector->paused_until_ns = clock_monotonic_ns() + PAUSE_NS;
}

/* Fills the poll entries; returns how long to wait at most. */
static uint64_t prepare(struct collector *collector)
{
	struct pollfd *door = &collector->entries[collector->count];
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t until_ns = UINT64_MAX;

	for (size_t i = 0; i < collector->count; i++) {
		struct client *client = collector->clients[i];
		uint64_t deadline_ns = client_deadline_ns(client);

		collector->entries[i] = (struct pollfd){
			.fd = client_fd(client),
			.events = client_events(client),
		};
		if (client_has_pending(client))
			until_ns = 0;
		if (deadline_ns < until_ns)
			until_ns = deadline_ns;
	}
	*door = (struct pollfd){
		.fd = channel_listener_fd(collector->listener),
		.events = POLLIN,
	};
	if (collector->count == COLLECTOR_CLIENTS_MAX)
		door->fd = -1;
	if (collector->paused_until_ns > now_ns) {
		door->fd = -1;
		if (collector->paused_until_ns < until_ns)
			until_ns = collector->paused_until_ns;
	}
	return until_ns;
}

static int wait_ready(struct collector *collector, const sigset_t *wait_mask,
		      struct err *err)
{
	uint64_t until_ns = prepare(collector);
	int left_ms = until_ns == UINT64_MAX ? 0 : clock_until_ms(until_ns);
	const struct timespec left = {
		.tv_sec = left_ms / 1000,
		.tv_nsec = left_ms % 1000 * (long)CLOCK_NS_PER_MS,
	};
	int ready = ppoll(collector->entries, collector->count + 1,
			  until_ns == UINT64_MAX ? NULL : &left, wait_mask);

	if (ready >= 0)
		return 0;
	for (size_t i = 0; i <= collector->count; i++)
		collector->entries[i].revents = 0;
	return errno == EINTR ? 0
			      : err_sys(err, errno, "cannot wait for clients");
}

/* A held claim is tried again whenever something has happened: the writer in
 * its way may have left. */
static void serve_clients(struct collector *collector)
{
	for (size_t i = 0; i < collector->count; i++) {
		struct client *client = collector->clients[i];

		if (collector->entries[i].revents != 0 ||
		    client_has_pending(client) || client_is_held(client))
			client_serve(client, collector->entries[i].revents);
	}
}

static void settle_clients(struct collector *collector)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t kept = 0;

	for (size_t i = 0; i < collector->count; i++) {
		client_settle(collector->clients[i]);
		client_expire(collector->clients[i], now_ns);
	}
	for (size_t i = 0; i < collector->count; i++) {
		struct client *client = collector->clients[i];

		if (client_is_gone(client))
			client_free(client);
		else
			collector->clients[kept++] = client;
	}
	collector->count = kept;
}

static void probe_rivals(struct collector *collector)
{
	for (size_t i = 0; i < collector->count; i++) {
		if (!client_is_held(collector->clients[i]))
			continue;
		for (size_t k = 0; k < collector->count; k++)
			client_probe_rival(collector->clients[k],
					   collector->clients[i]);
	}
}

/* What every client has sent is appended, made durable and confirmed once. */
static void turn(struct collector *collector)
{
	serve_clients(collector);
	runlog_commit_all(collector->house.runlogs);
	settle_clients(collector);
	probe_rivals(collector);
}

int collector_run(struct collector *collector,
		  const volatile sig_atomic_t *stop, const sigset_t *wait_mask,
		  struct err *err)
{
	while (!*stop) {
		size_t door = collector->count;

		if (wait_ready(collector, wait_mask, err) < 0)
			return -1;
		turn(collector);
		if (collector->entries[door].revents != 0)
			accept_clients(collector);
	}
	for (size_t i = 0; i < collector->count; i++)
		collector->entries[i].revents = POLLIN;
	turn(collector);
	return 0;
}
