/* SPDX-License-Identifier: MIT */
/*
 * inject_net - sockets, waiting, processes and threads. What read() and write()
 * do to a socket is in inject_file.c.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <errno.h>
#include <unistd.h>

#include "tests/inject/inject.h"

static size_t half(enum inject_hit hit, size_t count)
{
	return hit == INJECT_SHORT && count > 1 ? count / 2 : count;
}

ssize_t send(int fd, const void *bytes, size_t count, int flags)
{
	ssize_t (*next)(int, const void *, size_t, int);
	enum inject_hit hit = inject_call(INJECT_SEND);

	if (hit == INJECT_FAIL)
		return -1;
	inject_next("send", &next);
	return next(fd, bytes, half(hit, count), flags);
}

ssize_t recv(int fd, void *bytes, size_t room, int flags)
{
	ssize_t (*next)(int, void *, size_t, int);
	enum inject_hit hit = inject_call(INJECT_RECV);

	if (hit == INJECT_FAIL)
		return -1;
	if (hit == INJECT_ZERO)
		return 0;
	inject_next("recv", &next);
	return next(fd, bytes, half(hit, room), flags);
}

int socket(int domain, int type, int protocol)
{
	int (*next)(int, int, int);

	if (inject_call(INJECT_SOCKET) == INJECT_FAIL)
		return -1;
	inject_next("socket", &next);
	return next(domain, type, protocol);
}

int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	int (*next)(int, __CONST_SOCKADDR_ARG, socklen_t);

	if (inject_call(INJECT_SOCKET) == INJECT_FAIL)
		return -1;
	inject_next("bind", &next);
	return next(fd, address, length);
}

int listen(int fd, int backlog)
{
	int (*next)(int, int);

	if (inject_call(INJECT_SOCKET) == INJECT_FAIL)
		return -1;
	inject_next("listen", &next);
	return next(fd, backlog);
}

int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	int (*next)(int, __CONST_SOCKADDR_ARG, socklen_t);

	if (inject_call(INJECT_CONNECT) == INJECT_FAIL)
		return -1;
	inject_next("connect", &next);
	return next(fd, address, length);
}

/* As the kernel does it: the connection that could not be taken is dropped. */
int accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags)
{
	int (*next)(int, __SOCKADDR_ARG, socklen_t *, int);
	enum inject_hit hit = inject_call(INJECT_ACCEPT);
	int errnum = errno;
	int taken = -1;

	inject_next("accept4", &next);
	taken = next(fd, address, length, flags);
	if (hit != INJECT_FAIL || taken < 0)
		return taken;
	(void)close(taken); /* that is what is injected */
	errno = errnum;
	return -1;
}

int poll(struct pollfd *entries, nfds_t count, int timeout_ms)
{
	int (*next)(struct pollfd *, nfds_t, int);

	if (inject_call(INJECT_POLL) == INJECT_FAIL)
		return -1;
	inject_next("poll", &next);
	return next(entries, count, timeout_ms);
}

int ppoll(struct pollfd *entries, nfds_t count, const struct timespec *timeout,
	  const sigset_t *mask)
{
	int (*next)(struct pollfd *, nfds_t, const struct timespec *,
		    const sigset_t *);

	if (inject_call(INJECT_POLL) == INJECT_FAIL)
		return -1;
	inject_next("ppoll", &next);
	return next(entries, count, timeout, mask);
}

pid_t fork(void)
{
	pid_t (*next)(void);

	if (inject_call(INJECT_PROCESS) == INJECT_FAIL)
		return -1;
	inject_next("fork", &next);
	return next();
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t (*next)(pid_t, int *, int);

	if (inject_call(INJECT_PROCESS) == INJECT_FAIL)
		return -1;
	inject_next("waitpid", &next);
	return next(pid, status, options);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*run)(void *), void *argument)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		    void *);

	if (inject_call(INJECT_PROCESS) == INJECT_FAIL)
		return errno;
	inject_next("pthread_create", &next);
	return next(thread, attributes, run, argument);
}

ssize_t getrandom(void *bytes, size_t count, unsigned int flags)
{
	ssize_t (*next)(void *, size_t, unsigned int);
	enum inject_hit hit = inject_call(INJECT_RANDOM);

	if (hit == INJECT_FAIL)
		return -1;
	inject_next("getrandom", &next);
	return next(bytes, half(hit, count), flags);
}
