/* SPDX-License-Identifier: MIT */
/*
 * channel - one connection between a client and the collector: TLS 1.3 with a
 * pre-shared key over TCP, or plain over loopback and Unix sockets.
 *
 * Non-blocking throughout; one thread uses a channel at a time. Addresses are
 * "HOST:PORT", "[V6]:PORT" or "unix:PATH". Plain TCP to or on anything but a
 * loopback address is refused by name. With a key, SIGPIPE is ignored in the
 * whole process from the first channel on.
 */
#ifndef COMMON_NET_CHANNEL_H
#define COMMON_NET_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct channel;
struct channel_key;
struct channel_listener;

#define CHANNEL_KEY_BYTES 32
#define CHANNEL_PROBE_S   3

/* Writes a new random key as 64 hex digits to PATH, mode 0600; it must not
 * exist. */
int channel_key_create(const char *path, struct err *err);
/* Refuses a key file that others can read, and anything but 64 hex digits. */
struct channel_key *channel_key_load(const char *path, struct err *err);
void channel_key_free(struct channel_key *key); /* wipes it */

/* KEY NULL: plain. Waits for the connection and the handshake until the
 * deadline (monotonic). A wrong key is said to be one. */
struct channel *channel_connect(const char *address,
				const struct channel_key *key,
				uint64_t deadline_ns, struct err *err);

struct channel_listener *channel_listen(const char *address,
					const struct channel_key *key,
					struct err *err);
int channel_listener_fd(const struct channel_listener *listener);
/* "127.0.0.1:40123": the address in fact bound (port 0 asks for a free one). */
const char *channel_listener_address(const struct channel_listener *listener);
void channel_listener_close(struct channel_listener *listener);
/* NULL with err; *AGAIN is true where nobody was waiting. The handshake is done
 * piece by piece by channel_handshake(). */
struct channel *channel_accept(struct channel_listener *listener, bool *again,
			       struct err *err);

/* Results of the three below: >0 bytes (handshake: 1 done), 0 try again when
 * poll() says so (channel_wants()), -1 the connection is over (err; an orderly
 * end by the peer says "closed by the peer"). */
int channel_handshake(struct channel *channel, struct err *err);
ssize_t channel_read(struct channel *channel, void *buffer, size_t room,
		     struct err *err);
ssize_t channel_write(struct channel *channel, const void *bytes, size_t count,
		      struct err *err);

int channel_fd(const struct channel *channel);
/* POLLIN and/or POLLOUT that the last 0 was waiting for. */
short channel_wants(const struct channel *channel);
/* Bytes decrypted and waiting: read before polling. */
bool channel_has_pending(const struct channel *channel);
const char *channel_peer(const struct channel *channel); /* for messages */
/* Asks the peer's kernel, from now on, whether it is still there: one that is
 * not ends the channel within CHANNEL_PROBE_S. */
void channel_probe(struct channel *channel);
void channel_close(struct channel *channel); /* NULL is allowed */

#endif
