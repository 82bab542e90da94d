/* SPDX-License-Identifier: MIT */
#include "common/net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/net/key.h"

#define TLS_IDENTITY   "plugpull"
#define TLS_SUITE      "TLS_AES_128_GCM_SHA256"
#define TLS_PEER_BYTES 160

struct tls_settings {
	SSL_CTX *context;
	enum tls_side side;
};

struct tls {
	SSL *ssl;
	struct channel_key key;
	enum tls_side side;
	bool is_open;    /* the handshake is done and nothing has gone wrong */
	bool is_drained; /* what has come is no whole record */
	char peer[TLS_PEER_BYTES];
};

/* The session that both ends pretend to have had before: the key and its
 * cipher suite (RFC 8446, 4.2.11). */
static SSL_SESSION *session_of_key(SSL *ssl)
{
	static const unsigned char suite[2] = {0x13, 0x01};
	const struct tls *tls = SSL_get_app_data(ssl);
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
	SSL_SESSION *session = SSL_SESSION_new();

	if (cipher == NULL || session == NULL ||
	    !SSL_SESSION_set1_master_key(session, tls->key.bytes,
					 sizeof(tls->key.bytes)) ||
	    !SSL_SESSION_set_cipher(session, cipher) ||
	    !SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION)) {
		SSL_SESSION_free(session);
		return NULL;
	}
	return session;
}

static int use_session(SSL *ssl, const EVP_MD *digest,
		       const unsigned char **identity, size_t *identity_length,
		       SSL_SESSION **session)
{
	*session = NULL;
	if (digest != NULL && EVP_MD_get_type(digest) != NID_sha256)
		return 0;
	*session = session_of_key(ssl);
	*identity = (const unsigned char *)TLS_IDENTITY;
	*identity_length = strlen(TLS_IDENTITY);
	return *session != NULL;
}

/* An identity that is not ours leaves the session empty; the handshake then
 * ends for want of a certificate. */
static int find_session(SSL *ssl, const unsigned char *identity,
			size_t identity_length, SSL_SESSION **session)
{
	*session = NULL;
	if (identity_length != strlen(TLS_IDENTITY) ||
	    memcmp(identity, TLS_IDENTITY, identity_length) != 0)
		return 1;
	*session = session_of_key(ssl);
	return *session != NULL;
}

static int set_up(SSL_CTX *context, enum tls_side side)
{
	if (!SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) ||
	    !SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) ||
	    !SSL_CTX_set_ciphersuites(context, TLS_SUITE) ||
	    !SSL_CTX_set_num_tickets(context, 0))
		return -1;
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
	/* One system call takes what has come, not two for each record. */
	SSL_CTX_set_read_ahead(context, 1);
	(void)SSL_CTX_set_mode(context,
			       SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				       SSL_MODE_RELEASE_BUFFERS);
	/* A server that comes with a certificate instead of the key ends here;
	 * on our own side there is none to come with. */
	if (side == TLS_CLIENT)
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (side == TLS_CLIENT)
		SSL_CTX_set_psk_use_session_callback(context, use_session);
	else
		SSL_CTX_set_psk_find_session_callback(context, find_session);
	return 0;
}

struct tls_settings *tls_settings_new(enum tls_side side, struct err *err)
{
	struct tls_settings *settings = calloc(1, sizeof(*settings));

	if (settings == NULL)
		goto fail;
	settings->side = side;
	settings->context = SSL_CTX_new(
		side == TLS_CLIENT ? TLS_client_method() : TLS_server_method());
	if (settings->context == NULL || set_up(settings->context, side) < 0)
		goto fail;
	/* libssl writes to sockets without MSG_NOSIGNAL. */
	(void)signal(SIGPIPE, SIG_IGN);
	return settings;
fail:
	tls_settings_free(settings);
	err_set(err, "cannot set up TLS 1.3: %s",
		ERR_peek_error() ? ERR_reason_error_string(ERR_peek_error())
				 : "out of memory");
	return NULL;
}

void tls_settings_free(struct tls_settings *settings)
{
	if (settings == NULL)
		return;
	SSL_CTX_free(settings->context);
	free(settings);
}

struct tls *tls_new(const struct tls_settings *settings,
		    const struct channel_key *key, int fd, const char *peer,
		    struct err *err)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (tls == NULL)
		goto fail;
	tls->key = *key;
	tls->side = settings->side;
	(void)snprintf(tls->peer, sizeof(tls->peer), "%s", peer);
	tls->ssl = SSL_new(settings->context);
	if (tls->ssl == NULL || !SSL_set_app_data(tls->ssl, tls) ||
	    !SSL_set_fd(tls->ssl, fd))
		goto fail;
	if (tls->side == TLS_CLIENT)
		SSL_set_connect_state(tls->ssl);
	else
		SSL_set_accept_state(tls->ssl);
	return tls;
fail:
	tls_free(tls);
	err_set(err, "cannot start TLS with %s: out of memory", peer);
	return NULL;
}

void tls_free(struct tls *tls)
{
	if (tls == NULL)
		return;
	ERR_clear_error();
	if (tls->is_open)
		(void)SSL_shutdown(tls->ssl); /* the peer copes without it */
	SSL_free(tls->ssl);
	explicit_bzero(&tls->key, sizeof(tls->key));
	free(tls);
}

static int explain_library(const struct tls *tls, struct err *err)
{
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_reason_error_string(code);

	switch (ERR_GET_REASON(code)) {
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		return err_set(err, "%s: closed by the peer", tls->peer);
	case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
	case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
		return err_set(err,
			       "%s: the key does not match\nhint: --key at "
			       "both ends must name a copy of one key",
			       tls->peer);
	case SSL_R_BINDER_DOES_NOT_VERIFY:
		return err_set(err, "%s: the peer's key does not match",
			       tls->peer);
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
		return err_set(err,
			       "%s: the peer does not speak TLS 1.3\nhint: "
			       "--key is for both ends or for none",
			       tls->peer);
	case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
	case SSL_R_NO_SHARED_CIPHER:
		return err_set(err, "%s: the peer has no key of ours",
			       tls->peer);
	default:
		return err_set(err, "%s: TLS: %s", tls->peer,
			       reason ? reason : "unknown trouble");
	}
}

/* Turns the result of an SSL call that did not succeed into 0 or -1. */
static int explain(struct tls *tls, int result, short *wants, struct err *err)
{
	int failure = errno;

	switch (SSL_get_error(tls->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		*wants = POLLIN;
		return 0;
	case SSL_ERROR_WANT_WRITE:
		*wants = POLLOUT;
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		return err_set(err, "%s: closed by the peer", tls->peer);
	case SSL_ERROR_SYSCALL:
		tls->is_open = false;
		if (failure == 0)
			return err_set(err, "%s: closed by the peer",
				       tls->peer);
		return err_sys(err, failure, "%s: the connection is lost",
			       tls->peer);
	default:
		tls->is_open = false;
		return explain_library(tls, err);
	}
}

int tls_handshake(struct tls *tls, short *wants, struct err *err)
{
	int result;

	ERR_clear_error();
	errno = 0;
	result = SSL_do_handshake(tls->ssl);
	if (result != 1)
		return explain(tls, result, wants, err);
	/* Only the key admits: a session that was not resumed came by another
	 * way, however it did that. */
	if (!SSL_session_reused(tls->ssl))
		return err_set(err, "%s: the key was not used", tls->peer);
	tls->is_open = true;
	return 1;
}

ssize_t tls_read(struct tls *tls, void *buffer, size_t room, short *wants,
		 struct err *err)
{
	size_t count = 0;
	int result;

	ERR_clear_error();
	errno = 0;
	result = SSL_read_ex(tls->ssl, buffer, room, &count);
	tls->is_drained = result != 1;
	return result == 1 ? (ssize_t)count : explain(tls, result, wants, err);
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t count,
		  short *wants, struct err *err)
{
	size_t written = 0;
	int result;

	ERR_clear_error();
	errno = 0;
	result = SSL_write_ex(tls->ssl, bytes, count, &written);
	return result == 1 ? (ssize_t)written
			   : explain(tls, result, wants, err);
}

bool tls_has_pending(const struct tls *tls)
{
	/* Half a record counts for SSL_has_pending(), and a caller that does
	 * not poll because of it would spin: once is enough to find out. */
	return !tls->is_drained && SSL_has_pending(tls->ssl);
}
