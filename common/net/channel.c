/* SPDX-License-Identifier: MIT */
#include "common/net/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/key.h"
#include "common/net/sock.h"
#include "common/net/tls.h"

struct channel {
	int fd;
	short wants;
	struct tls *tls; /* NULL: plain */
	char peer[SOCK_TEXT_BYTES];
};

struct channel_listener {
	int fd;
	struct tls_settings *settings; /* NULL: plain */
	struct channel_key key;
	char *address; /* as it was asked for */
	char bound[SOCK_TEXT_BYTES];
};

/* Takes FD, also where it fails. */
static struct channel *channel_new(int fd, const char *peer,
				   const struct tls_settings *settings,
				   const struct channel_key *key,
				   struct err *err)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	if (channel == NULL) {
		(void)close(fd); /* nothing was sent */
		err_sys(err, ENOMEM, "cannot keep the connection with %s",
			peer);
		return NULL;
	}
	channel->fd = fd;
	channel->wants = POLLIN;
	(void)snprintf(channel->peer, sizeof(channel->peer), "%s", peer);
	if (settings == NULL)
		return channel;
	channel->tls = tls_new(settings, key, fd, peer, err);
	if (channel->tls == NULL) {
		channel_close(channel);
		return NULL;
	}
	return channel;
}

static int finish_handshake(struct channel *channel, uint64_t deadline_ns,
			    struct err *err)
{
	for (;;) {
		struct pollfd entry = {.fd = channel->fd};
		int result = channel_handshake(channel, err);

		if (result != 0)
			return result < 0 ? -1 : 0;
		entry.events = channel->wants;
		result = poll(&entry, 1, clock_until_ms(deadline_ns));
		if (result == 0)
			return err_set(err, "%s: no answer in time",
				       channel->peer);
		if (result < 0 && errno != EINTR)
			return err_sys(err, errno, "cannot wait for %s",
				       channel->peer);
	}
}

struct channel *channel_connect(const char *address,
				const struct channel_key *key,
				uint64_t deadline_ns, struct err *err)
{
	struct tls_settings *settings = NULL;
	struct channel *channel = NULL;
	int fd;

	if (key != NULL) {
		settings = tls_settings_new(TLS_CLIENT, err);
		if (settings == NULL)
			return NULL;
	}
	fd = sock_connect(address, key ? SOCK_ANYWHERE : SOCK_LOCAL_ONLY,
			  deadline_ns, err);
	if (fd < 0)
		goto out;
	channel = channel_new(fd, address, settings, key, err);
	if (channel == NULL)
		goto out;
	if (finish_handshake(channel, deadline_ns, err) < 0) {
		channel_close(channel);
		channel = NULL;
	}
out:
	tls_settings_free(settings);
	return channel;
}

struct channel_listener *channel_listen(const char *address,
					const struct channel_key *key,
					struct err *err)
{
	struct channel_listener *listener = calloc(1, sizeof(*listener));

	if (listener == NULL) {
		err_sys(err, ENOMEM, "cannot listen on %s", address);
		return NULL;
	}
	listener->fd = -1;
	if (key != NULL) {
		listener->key = *key;
		listener->settings = tls_settings_new(TLS_SERVER, err);
		if (listener->settings == NULL)
			goto fail;
	}
	listener->fd =
		sock_listen(address, key ? SOCK_ANYWHERE : SOCK_LOCAL_ONLY,
			    listener->bound, err);
	if (listener->fd < 0)
		goto fail;
	listener->address = strdup(address);
	if (listener->address == NULL) {
		err_sys(err, ENOMEM, "cannot listen on %s", address);
		goto fail;
	}
	return listener;
fail:
	channel_listener_close(listener);
	return NULL;
}

int channel_listener_fd(const struct channel_listener *listener)
{
	return listener->fd;
}

const char *channel_listener_address(const struct channel_listener *listener)
{
	return listener->bound;
}

void channel_listener_close(struct channel_listener *listener)
{
	if (listener == NULL)
		return;
	if (listener->fd >= 0)
		(void)close(listener->fd); /* holds no data */
	if (listener->address != NULL)
		sock_unlink(listener->address);
	free(listener->address);
	tls_settings_free(listener->settings);
	explicit_bzero(&listener->key, sizeof(listener->key));
	free(listener);
}

struct channel *channel_accept(struct channel_listener *listener, bool *again,
			       struct err *err)
{
	char peer[SOCK_TEXT_BYTES];
	int fd = sock_accept(listener->fd, peer, again, err);

	if (fd < 0)
		return NULL;
	return channel_new(fd, peer, listener->settings, &listener->key, err);
}

int channel_handshake(struct channel *channel, struct err *err)
{
	if (channel->tls == NULL)
		return 1;
	return tls_handshake(channel->tls, &channel->wants, err);
}

/* The result of a plain call that did not move anything. */
static ssize_t explain(struct channel *channel, short wants, struct err *err)
{
	if (errno == EAGAIN || errno == EINTR) {
		channel->wants = wants;
		return 0;
	}
	return err_sys(err, errno, "%s: the connection is lost", channel->peer);
}

ssize_t channel_read(struct channel *channel, void *buffer, size_t room,
		     struct err *err)
{
	ssize_t count;

	if (channel->tls != NULL)
		return tls_read(channel->tls, buffer, room, &channel->wants,
				err);
	count = recv(channel->fd, buffer, room, 0);
	if (count > 0)
		return count;
	if (count == 0)
		return err_set(err, "%s: closed by the peer", channel->peer);
	return explain(channel, POLLIN, err);
}

ssize_t channel_write(struct channel *channel, const void *bytes, size_t count,
		      struct err *err)
{
	ssize_t sent;

	if (channel->tls != NULL)
		return tls_write(channel->tls, bytes, count, &channel->wants,
				 err);
	sent = send(channel->fd, bytes, count, MSG_NOSIGNAL);
	return sent > 0 ? sent : explain(channel, POLLOUT, err);
}

int channel_fd(const struct channel *channel)
{
	return channel->fd;
}

short channel_wants(const struct channel *channel)
{
	return channel->wants;
}

bool channel_has_pending(const struct channel *channel)
{
	return channel->tls != NULL && tls_has_pending(channel->tls);
}

const char *channel_peer(const struct channel *channel)
{
	return channel->peer;
}

void channel_probe(struct channel *channel)
{
	sock_set_patience(channel->fd, CHANNEL_PROBE_S);
}

void channel_close(struct channel *channel)
{
	if (channel == NULL)
		return;
	tls_free(channel->tls);
	(void)close(channel->fd); /* what matters was confirmed, or was not */
	free(channel);
}
