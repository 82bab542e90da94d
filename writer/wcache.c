/* SPDX-License-Identifier: MIT */
#include "writer/wcache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/drive/drivecache.h"
#include "common/target/identity.h"

#define PIPE_FD   3 /* of the keeper */
#define LOCK_FD   4
#define TRY_MS    200
#define LOOK_MS   5
#define NAME_ROOM 1024

struct wcache {
	pid_t keeper;
	int pipe; /* its end is the keeper's sign */
	char name[NAME_ROOM];
};

/* Written in one piece, between two ends of the same program. */
struct order {
	bool was_on;
	enum drivefacts_kind kind;
	uint64_t diskseq; /* 0 unknown */
	char model[DRIVEFACTS_TEXT_BYTES];
	char serial[DRIVEFACTS_TEXT_BYTES];
	char name[NAME_ROOM];
};

static_assert(sizeof(struct order) <= PIPE_BUF, "a pipe takes it whole");

/* ---- the keeper ---- */

static int open_drive(const char *name, int flags)
{
	return open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags);
}

/* Another number for each drive that was ever attached since the system
 * started; 0 where it is unknown. */
static uint64_t diskseq_of(int fd)
{
	uint64_t diskseq = 0;

	return ioctl(fd, BLKGETDISKSEQ, &diskseq) == 0 ? diskseq : 0;
}

/* A serial number that tells nothing is no proof behind an absence. */
static bool is_same(const struct order *order, const struct drivefacts *facts,
		    uint64_t diskseq)
{
	return facts->kind == order->kind &&
	       strcmp(facts->serial, order->serial) == 0 &&
	       strcmp(facts->model, order->model) == 0 &&
	       (identity_is_telling(order->serial) ||
		(diskseq != 0 && diskseq == order->diskseq));
}

/* True when there is nothing left to do. */
static bool put_back(const struct order *order)
{
	struct drivefacts facts;
	struct drivelink link;
	struct err ignored; /* it is tried again */
	int fd = open_drive(order->name, 0);
	bool is_done = false;

	if (fd == -1)
		return false;
	if (drivelink_open(&link, fd, &drivelink_kernel, &ignored) == 0 &&
	    drivefacts_ask_link(&link, DRIVECACHE_TIMEOUT_MS, &facts,
				&ignored) == 0 &&
	    is_same(order, &facts, diskseq_of(fd)))
		is_done = drivecache_set(&link, order->name, order->was_on,
					 &facts, &ignored) == 0;
	(void)close(fd); /* nothing was written through it */
	return is_done;
}

static int keep(void)
{
	struct order order;
	uint64_t until_ns;
	char byte;
	ssize_t got;

	do {
		got = read(PIPE_FD, &order, sizeof(order));
	} while (got == -1 && errno == EINTR);
	if (got != (ssize_t)sizeof(order)) /* nothing was changed */
		return 0;
	do {
		got = read(PIPE_FD, &byte, 1);
	} while (got > 0 || (got == -1 && errno == EINTR));
	until_ns = clock_monotonic_ns() + WCACHE_TRY_MS * CLOCK_NS_PER_MS;
	while (!put_back(&order)) {
		if (clock_monotonic_ns() > until_ns)
			return 1;
		clock_sleep_ms(TRY_MS);
	}
	return 0;
}

/* Whoever waits for the end of the writer's output does not wait for it. */
static void leave_all(int pipe, int lock)
{
	int nothing = open("/dev/null", O_RDWR);

	if (dup2(pipe, PIPE_FD) == -1 || dup2(lock, LOCK_FD) == -1 ||
	    nothing == -1)
		_exit(1);
	for (int fd = 0; fd < PIPE_FD; fd++)
		if (dup2(nothing, fd) == -1)
			_exit(1);
	if (close_range(LOCK_FD + 1, ~0U, 0) == -1 || chdir("/") == -1)
		_exit(1);
}

static void keeper_main(int pipe, int lock) __attribute__((noreturn));
static void keeper_main(int pipe, int lock)
{
	static const int deaf_to[] = {SIGINT,  SIGTERM, SIGHUP,
				      SIGQUIT, SIGPIPE, SIGTSTP};

	for (size_t i = 0; i < sizeof(deaf_to) / sizeof(deaf_to[0]); i++)
		(void)signal(deaf_to[i], SIG_IGN);
	(void)setsid(); /* cannot be a group leader yet */
	(void)prctl(PR_SET_NAME, "plugpull-cache", 0, 0, 0); /* for people */
	leave_all(pipe, lock);
	_exit(keep());
}

/* ---- the writer's side ---- */

/* The drive's name among the abstract sockets of the system. */
static void name_lock(const struct drivefacts *facts, uint64_t diskseq,
		      struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (identity_is_telling(facts->serial))
		(void)snprintf(address->sun_path + 1,
			       sizeof(address->sun_path) - 1,
			       "plugpull-cache %.40s %.40s", facts->model,
			       facts->serial);
	else
		(void)snprintf(address->sun_path + 1,
			       sizeof(address->sun_path) - 1,
			       "plugpull-cache %" PRIu64, diskseq);
}

/*
 * As long as the keeper of an earlier writer is at it, it would undo what is
 * switched here. A socket's name is free when the last one that holds it ends,
 * however it ends.
 */
static int take_lock(const struct wcache *cache, const struct drivefacts *facts,
		     uint64_t diskseq, struct err *err)
{
	uint64_t until_ns =
		clock_monotonic_ns() + WCACHE_WAIT_MS * CLOCK_NS_PER_MS;
	int lock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;

	if (lock == -1)
		return err_sys(err, errno, "cannot make a socket");
	name_lock(facts, diskseq, &address);
	while (bind(lock, (const struct sockaddr *)&address, sizeof(address)) ==
	       -1) {
		int errnum = errno;

		if (errnum == EADDRINUSE && clock_monotonic_ns() < until_ns) {
			clock_sleep_ms(TRY_MS);
			continue;
		}
		(void)close(lock);
		(void)err_sys(err, errnum,
			      "cannot switch the write cache of %s, which "
			      "another writer has switched",
			      cache->name);
		return err_hint(err, "end that writer; where it has ended, its "
				     "process plugpull-cache puts the cache "
				     "back");
	}
	return lock;
}

/* Until it has closed what it was born with, above all the drive, which nobody
 * else could open before. */
static void await_leaving(int sign)
{
	ssize_t got;
	char byte;

	do {
		got = read(sign, &byte, 1);
	} while (got > 0 || (got == -1 && errno == EINTR));
	(void)close(sign); /* was only read */
}

static int start_keeper(struct wcache *cache, int lock, struct err *err)
{
	int ends[2], sign[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		return err_sys(err, errno, "cannot make a pipe");
	if (pipe2(sign, O_CLOEXEC) == -1) {
		(void)err_sys(err, errno, "cannot make a pipe");
		(void)close(ends[0]); /* nothing was written */
		(void)close(ends[1]);
		return -1;
	}
	cache->keeper = fork();
	if (cache->keeper == 0) {
		(void)close(ends[1]);
		/* Above the numbers that it is going to take. */
		keeper_main(fcntl(ends[0], F_DUPFD, LOCK_FD + 1),
			    fcntl(lock, F_DUPFD, LOCK_FD + 1));
	}
	(void)close(ends[0]);
	(void)close(sign[1]); /* the keeper's end goes with all it leaves */
	await_leaving(sign[0]);
	cache->pipe = ends[1];
	if (cache->keeper != -1)
		return 0;
	(void)close(ends[1]);
	cache->pipe = -1;
	return err_sys(err, errno,
		       "cannot start the process that puts the write cache "
		       "back");
}

static int order_keeper(const struct wcache *cache,
			const struct drivefacts *facts, uint64_t diskseq,
			struct err *err)
{
	struct order order;

	memset(&order, 0, sizeof(order));
	order.was_on = facts->is_cache_on == DRIVEFACTS_YES;
	order.kind = facts->kind;
	order.diskseq = diskseq;
	memcpy(order.model, facts->model, sizeof(order.model));
	memcpy(order.serial, facts->serial, sizeof(order.serial));
	memcpy(order.name, cache->name, sizeof(order.name));
	if (write(cache->pipe, &order, sizeof(order)) == (ssize_t)sizeof(order))
		return 0;
	return err_sys(err, errno,
		       "cannot tell the process that puts the write cache of "
		       "%s back what it was",
		       cache->name);
}

static int ask(const struct wcache *cache, const struct drivelink *link,
	       struct drivefacts *facts, struct err *err)
{
	if (drivefacts_ask_link(link, DRIVECACHE_TIMEOUT_MS, facts, err) == -1)
		return err_prefix(err, "--write-cache: %s", cache->name);
	return 0;
}

/* Asked twice: the keeper of an earlier writer may have switched it between. */
static int change(struct wcache *cache, int fd, bool is_on, bool *was_on,
		  struct err *err)
{
	uint64_t diskseq = diskseq_of(fd);
	struct drivefacts facts;
	struct drivelink link;
	int lock, status;

	if (drivelink_open(&link, fd, &drivelink_kernel, err) == -1)
		return err_prefix(err, "--write-cache: %s", cache->name);
	if (ask(cache, &link, &facts, err) == -1)
		return -1;
	lock = take_lock(cache, &facts, diskseq, err);
	if (lock == -1)
		return -1;
	status = start_keeper(cache, lock, err);
	(void)close(lock); /* the keeper's from here on */
	if (status == -1 || ask(cache, &link, &facts, err) == -1)
		return -1;
	*was_on = facts.is_cache_on == DRIVEFACTS_YES;
	/* Refused below, where it is unknown; then nothing is to be put back.
	 */
	if (facts.is_cache_on != DRIVEFACTS_UNKNOWN && *was_on != is_on &&
	    order_keeper(cache, &facts, diskseq, err) == -1)
		return -1;
	return drivecache_set(&link, cache->name, is_on, &facts, err);
}

struct wcache *wcache_open(const char *name, bool is_on, bool *was_on,
			   struct err *err)
{
	struct wcache *cache = calloc(1, sizeof(*cache));
	struct err ignored; /* the first error is the one to tell */
	int status, fd;

	if (!cache) {
		(void)err_sys(err, errno, "cannot switch the cache of %s",
			      name);
		return NULL;
	}
	(void)snprintf(cache->name, sizeof(cache->name), "%s", name);
	cache->pipe = cache->keeper = -1;
	/* O_EXCL: nothing that is mounted or assembled. */
	fd = open_drive(name, O_EXCL);
	if (fd == -1)
		status = err_sys(err, errno,
				 "cannot open %s to switch its write cache",
				 name);
	else
		status = change(cache, fd, is_on, was_on, err);
	if (fd != -1)
		(void)close(fd); /* nothing was written through it */
	if (status == 0)
		return cache;
	(void)wcache_close(cache, false, &ignored);
	return NULL;
}

/* Its exit status, or -1 where it does not end in time. */
static int await_keeper(pid_t keeper)
{
	uint64_t until_ns =
		clock_monotonic_ns() + WCACHE_WAIT_MS * CLOCK_NS_PER_MS;
	int status = 0;

	for (;;) {
		pid_t pid = waitpid(keeper, &status, WNOHANG);

		if (pid == keeper)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		if ((pid == -1 && errno != EINTR) ||
		    clock_monotonic_ns() > until_ns)
			return -1;
		clock_sleep_ms(LOOK_MS);
	}
}

int wcache_close(struct wcache *cache, bool is_gone, struct err *err)
{
	int status = 0;

	if (!cache)
		return 0;
	if (cache->pipe != -1)
		(void)close(cache->pipe); /* the keeper's sign */
	if (!is_gone && cache->keeper != -1 && await_keeper(cache->keeper) != 0)
		status = err_set(err,
				 "the write cache of %s could not be put back; "
				 "its next power cycle does it",
				 cache->name);
	free(cache);
	return status;
}
