/* SPDX-License-Identifier: MIT */
#include "common/net/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define UNIX_PREFIX        "unix:"
#define UNIX_PREFIX_LENGTH 5
#define HOST_BYTES         128
#define LISTEN_BACKLOG     64
#define KEEPALIVE_PROBES   2

static bool is_unix(const char *address)
{
	return strncmp(address, UNIX_PREFIX, UNIX_PREFIX_LENGTH) == 0;
}

static int fill_unix(struct sockaddr_un *to, const char *address,
		     struct err *err)
{
	const char *path = address + UNIX_PREFIX_LENGTH;
	size_t length = strlen(path);

	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	if (length == 0 || length >= sizeof(to->sun_path))
		return err_set(err,
			       "%s is no address: a socket's path has 1 to %zu "
			       "bytes",
			       address, sizeof(to->sun_path) - 1);
	memcpy(to->sun_path, path, length);
	return 0;
}

/* "HOST:PORT" and "[V6]:PORT" into HOST and the port inside ADDRESS. */
static const char *split_host(const char *address, char host[HOST_BYTES],
			      struct err *err)
{
	const char *colon = strrchr(address, ':');
	const char *first = address;
	size_t length;

	if (colon == NULL || colon[1] == '\0')
		goto bad;
	length = (size_t)(colon - address);
	if (*address == '[' && length >= 2 && colon[-1] == ']') {
		first++;
		length -= 2;
	} else if (memchr(address, ':', length) != NULL) {
		goto bad;
	}
	if (length >= HOST_BYTES)
		goto bad;
	memcpy(host, first, length);
	host[length] = '\0';
	return colon + 1;
bad:
	err_set(err,
		"%s is no address: HOST:PORT, [V6]:PORT or unix:PATH is wanted",
		address);
	return NULL;
}

static int resolve(const char *address, bool is_passive,
		   struct addrinfo **found, struct err *err)
{
	const struct addrinfo wanted = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = is_passive ? AI_PASSIVE : 0,
	};
	char host[HOST_BYTES];
	const char *port = split_host(address, host, err);
	int failure;

	if (port == NULL)
		return -1;
	failure = getaddrinfo(*host ? host : NULL, port, &wanted, found);
	if (failure == EAI_SYSTEM)
		return err_sys(err, errno, "cannot find %s", address);
	if (failure != 0)
		return err_set(err, "cannot find %s: %s", address,
			       gai_strerror(failure));
	return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	if (address->sa_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
	}
	return false;
}

static int check_reach(const struct addrinfo *found, enum sock_reach reach,
		       const char *address, struct err *err)
{
	if (reach == SOCK_ANYWHERE || is_loopback(found->ai_addr))
		return 0;
	return err_set(err,
		       "%s is not a loopback address, and without a key "
		       "nothing leaves this host\n"
		       "hint: make a key with plugpull-collector --new-key "
		       "FILE and give both ends --key FILE",
		       address);
}

static void set_option(int fd, int level, int name, int value)
{
	/* None of them is needed for soundness; a kernel that lacks one only
	 * notices a dead peer later. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static void set_tcp_options(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	sock_set_patience(fd, SOCK_DEAD_PEER_S);
}

static int wait_connected(int fd, uint64_t deadline_ns)
{
	struct pollfd entry = {.fd = fd, .events = POLLOUT};
	socklen_t length = sizeof(int);
	int failure = 0;
	int count;

	do {
		count = poll(&entry, 1, clock_until_ms(deadline_ns));
	} while (count < 0 && errno == EINTR);
	if (count == 0)
		return ETIMEDOUT;
	if (count < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) < 0)
		return errno;
	return failure;
}

static int connect_to(const struct addrinfo *to, const char *address,
		      uint64_t deadline_ns, struct err *err)
{
	int fd = socket(to->ai_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int failure = 0;

	if (fd < 0)
		return err_sys(err, errno, "cannot make a socket for %s",
			       address);
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0)
		failure = errno;
	if (failure == EINPROGRESS || failure == EINTR)
		failure = wait_connected(fd, deadline_ns);
	if (failure != 0) {
		(void)close(fd); /* never connected */
		return err_sys(err, failure, "cannot connect to %s", address);
	}
	if (to->ai_family != AF_UNIX)
		set_tcp_options(fd);
	return fd;
}

static int listen_on(const struct addrinfo *on, const char *address,
		     struct err *err)
{
	int fd = socket(on->ai_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(err, errno, "cannot make a socket for %s",
			       address);
	if (on->ai_family != AF_UNIX)
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, on->ai_addr, on->ai_addrlen) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0) {
		err_sys(err, errno, "cannot listen on %s", address);
		(void)close(fd); /* never listened */
		return -1;
	}
	return fd;
}

static void describe(const struct sockaddr_storage *address,
		     char text[SOCK_TEXT_BYTES])
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->ss_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		(void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
		(void)snprintf(text, SOCK_TEXT_BYTES, "%s:%u", host,
			       (unsigned int)ntohs(v4.sin_port));
	} else if (address->ss_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		(void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
		(void)snprintf(text, SOCK_TEXT_BYTES, "[%s]:%u", host,
			       (unsigned int)ntohs(v6.sin6_port));
	} else {
		(void)snprintf(text, SOCK_TEXT_BYTES, "a local client");
	}
}

/* A socket file whose owner was killed refuses connections; it is in the way
 * and nobody's. Anything else at that place is left alone. */
static void remove_stale(const struct addrinfo *at, const char *path)
{
	struct stat stat;
	int fd;

	if (lstat(path, &stat) < 0 || !S_ISSOCK(stat.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, at->ai_addr, at->ai_addrlen) < 0 &&
	    errno == ECONNREFUSED)
		(void)unlink(path); /* bind says so if it is still there */
	(void)close(fd);            /* a probe */
}

static int open_unix(const char *address, bool is_passive, uint64_t deadline_ns,
		     struct err *err)
{
	union {
		struct sockaddr any;
		struct sockaddr_un local;
	} name;
	const struct addrinfo at = {
		.ai_family = AF_UNIX,
		.ai_addr = &name.any,
		.ai_addrlen = sizeof(name.local),
	};

	if (fill_unix(&name.local, address, err) < 0)
		return -1;
	if (!is_passive)
		return connect_to(&at, address, deadline_ns, err);
	remove_stale(&at, address + UNIX_PREFIX_LENGTH);
	return listen_on(&at, address, err);
}

int sock_connect(const char *address, enum sock_reach reach,
		 uint64_t deadline_ns, struct err *err)
{
	struct addrinfo *found;
	int fd = -1;

	if (is_unix(address))
		return open_unix(address, false, deadline_ns, err);
	if (resolve(address, false, &found, err) < 0)
		return -1;
	for (const struct addrinfo *at = found; at != NULL && fd < 0;
	     at = at->ai_next) {
		if (check_reach(at, reach, address, err) < 0)
			break;
		fd = connect_to(at, address, deadline_ns, err);
	}
	freeaddrinfo(found);
	return fd;
}

int sock_listen(const char *address, enum sock_reach reach,
		char bound[SOCK_TEXT_BYTES], struct err *err)
{
	struct sockaddr_storage name = {0};
	socklen_t length = sizeof(name);
	struct addrinfo *found;
	int fd = -1;

	if (is_unix(address)) {
		(void)snprintf(bound, SOCK_TEXT_BYTES, "%s", address);
		return open_unix(address, true, 0, err);
	}
	if (resolve(address, true, &found, err) < 0)
		return -1;
	for (const struct addrinfo *at = found; at != NULL && fd < 0;
	     at = at->ai_next) {
		if (check_reach(at, reach, address, err) < 0)
			break;
		fd = listen_on(at, address, err);
	}
	freeaddrinfo(found);
	if (fd < 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&name, &length) < 0) {
		err_sys(err, errno, "cannot listen on %s", address);
		(void)close(fd); /* nobody has connected yet */
		return -1;
	}
	describe(&name, bound);
	return fd;
}

int sock_accept(int listener, char peer[SOCK_TEXT_BYTES], bool *again,
		struct err *err)
{
	struct sockaddr_storage name = {0};
	socklen_t length = sizeof(name);
	int fd = accept4(listener, (struct sockaddr *)&name, &length,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	*again = false;
	if (fd < 0) {
		/* A client that left while it waited is nobody. */
		*again = errno == EAGAIN || errno == EINTR ||
			 errno == ECONNABORTED || errno == EPROTO;
		return err_sys(err, errno, "cannot accept a connection");
	}
	if (name.ss_family == AF_INET || name.ss_family == AF_INET6)
		set_tcp_options(fd);
	describe(&name, peer);
	return fd;
}

void sock_set_patience(int fd, int seconds)
{
	int step_s = seconds / (KEEPALIVE_PROBES + 1);

	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, step_s);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, step_s);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, seconds * 1000);
}

void sock_unlink(const char *address)
{
	if (is_unix(address))
		(void)unlink(address + UNIX_PREFIX_LENGTH); /* best effort */
}
