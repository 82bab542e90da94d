/* SPDX-License-Identifier: MIT */
/*
 * tls - TLS 1.3 with one external pre-shared key, and nothing else: no older
 * version, no certificates, no tickets, no early data.
 *
 * The key exchange is ephemeral (psk_dhe_ke), so that a key that leaks later
 * does not open what was recorded. Who does not have the key gets no further
 * than the handshake.
 */
#ifndef COMMON_NET_TLS_H
#define COMMON_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct channel_key;
struct tls;          /* one connection */
struct tls_settings; /* what connections of one side share */

enum tls_side { TLS_CLIENT, TLS_SERVER };

struct tls_settings *tls_settings_new(enum tls_side side, struct err *err);
void tls_settings_free(struct tls_settings *settings); /* NULL is allowed */

/* A connection on the non-blocking socket FD, which stays the caller's. KEY is
 * copied, SETTINGS may be freed before it. PEER names it in messages. */
struct tls *tls_new(const struct tls_settings *settings,
		    const struct channel_key *key, int fd, const char *peer,
		    struct err *err);
void tls_free(struct tls *tls); /* says goodbye if it can; NULL is allowed */

/* As channel_handshake() and friends; *WANTS is set with every 0. */
int tls_handshake(struct tls *tls, short *wants, struct err *err);
ssize_t tls_read(struct tls *tls, void *buffer, size_t room, short *wants,
		 struct err *err);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t count,
		  short *wants, struct err *err);
bool tls_has_pending(const struct tls *tls);

#endif
