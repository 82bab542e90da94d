/* SPDX-License-Identifier: MIT */
/*
 * inject_file - files: bytes, syncs and names, in both sizes of their names.
 * read() and write() serve sockets and pipes as well; terminals are left alone.
 */
#undef _FILE_OFFSET_BITS /* open() is to be open(), and open64() open64() */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <errno.h>
#include <unistd.h>

#include "tests/inject/inject.h"

/* KIND where FD is a file; sockets and pipes have kinds of their own. */
static enum inject_kind kind_of(int fd, enum inject_kind file,
				enum inject_kind wire)
{
	int (*next)(int, struct stat64 *);
	struct stat64 status;
	int errnum = errno;
	int result = 0;

	inject_next("fstat64", &next);
	result = next(fd, &status);
	errno = errnum;
	if (result < 0)
		return INJECT_NONE;
	if (S_ISSOCK(status.st_mode))
		return wire;
	if (S_ISFIFO(status.st_mode))
		return INJECT_PIPE;
	return S_ISCHR(status.st_mode) ? INJECT_NONE : file;
}

static size_t half(enum inject_hit hit, size_t count)
{
	return hit == INJECT_SHORT && count > 1 ? count / 2 : count;
}

/* The log that is written to, and how much of it is safe. */
static struct {
	ino_t inode;
	off64_t size;
} safe;

static bool look_at(int fd, struct stat64 *status)
{
	int (*next)(int, struct stat64 *);

	inject_next("fstat64", &next);
	return next(fd, status) == 0 && S_ISREG(status->st_mode);
}

/* What a file held before it was written to is taken for safe. */
static void watch_write(int fd)
{
	struct stat64 status;

	if (!inject_counts(INJECT_SYNC) || !look_at(fd, &status) ||
	    status.st_ino == safe.inode)
		return;
	safe.inode = status.st_ino;
	safe.size = status.st_size;
}

static void watch_sync(int fd)
{
	struct stat64 status;

	if (look_at(fd, &status) && status.st_ino == safe.inode)
		safe.size = status.st_size;
}

static void lose(int fd)
{
	int (*next)(int, off64_t);
	struct stat64 status;

	inject_next("ftruncate64", &next);
	if (look_at(fd, &status) && status.st_ino == safe.inode &&
	    next(fd, safe.size) < 0)
		abort();
}

ssize_t read(int fd, void *bytes, size_t room)
{
	ssize_t (*next)(int, void *, size_t);
	enum inject_hit hit =
		inject_fd_call(kind_of(fd, INJECT_READ, INJECT_RECV), fd);

	if (hit == INJECT_FAIL)
		return -1;
	if (hit == INJECT_ZERO)
		return 0;
	inject_next("read", &next);
	return next(fd, bytes, half(hit, room));
}

ssize_t write(int fd, const void *bytes, size_t count)
{
	ssize_t (*next)(int, const void *, size_t);
	enum inject_hit hit =
		inject_fd_call(kind_of(fd, INJECT_WRITE, INJECT_SEND), fd);

	if (hit == INJECT_FAIL)
		return -1;
	watch_write(fd);
	inject_next("write", &next);
	return next(fd, bytes, half(hit, count));
}

/* Short: the first part, and half of it where it is the only one. */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t (*next)(int, const struct iovec *, int);
	enum inject_hit hit =
		inject_fd_call(kind_of(fd, INJECT_WRITE, INJECT_SEND), fd);
	struct iovec first = parts[0];

	if (hit == INJECT_FAIL)
		return -1;
	watch_write(fd);
	inject_next("writev", &next);
	if (hit != INJECT_SHORT)
		return next(fd, parts, count);
	first.iov_len = half(hit, first.iov_len);
	return next(fd, &first, 1);
}

ssize_t pread64(int fd, void *bytes, size_t room, off64_t offset)
{
	ssize_t (*next)(int, void *, size_t, off64_t);
	enum inject_hit hit = inject_fd_call(INJECT_READ, fd);

	if (hit == INJECT_FAIL)
		return -1;
	if (hit == INJECT_ZERO)
		return 0;
	inject_next("pread64", &next);
	return next(fd, bytes, half(hit, room), offset);
}

ssize_t pread(int fd, void *bytes, size_t room, off_t offset)
{
	return pread64(fd, bytes, room, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
	ssize_t (*next)(int, const void *, size_t, off64_t);
	enum inject_hit hit = inject_fd_call(INJECT_WRITE, fd);

	if (hit == INJECT_FAIL)
		return -1;
	watch_write(fd);
	inject_next("pwrite64", &next);
	return next(fd, bytes, half(hit, count), offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
	return pwrite64(fd, bytes, count, offset);
}

static int sync_file(const char *name, int fd)
{
	int (*next)(int);
	enum inject_hit hit = inject_fd_call(INJECT_SYNC, fd);

	if (hit == INJECT_FAIL)
		return -1;
	if (hit == INJECT_LOSE) {
		lose(fd);
		inject_may_die();
		errno = EIO;
		return -1;
	}
	inject_next(name, &next);
	if (next(fd) < 0)
		return -1;
	watch_sync(fd);
	return 0;
}

int fsync(int fd)
{
	return sync_file("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_file("fdatasync", fd);
}

/* As the kernel does it: closed, whatever it says. */
int close(int fd)
{
	int (*next)(int);
	enum inject_hit hit =
		inject_fd_call(kind_of(fd, INJECT_CLOSE, INJECT_NONE), fd);
	int errnum = errno;
	int result = 0;

	inject_next("close", &next);
	result = next(fd);
	if (hit != INJECT_FAIL)
		return result;
	errno = errnum;
	return -1;
}

int flock(int fd, int operation)
{
	int (*next)(int, int);

	if (inject_fd_call(INJECT_LOCK, fd) == INJECT_FAIL)
		return -1;
	inject_next("flock", &next);
	return next(fd, operation);
}

int ftruncate64(int fd, off64_t size)
{
	int (*next)(int, off64_t);

	if (inject_fd_call(INJECT_CHANGE, fd) == INJECT_FAIL)
		return -1;
	inject_next("ftruncate64", &next);
	return next(fd, size);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	int (*next)(int, int, off64_t, off64_t);

	if (inject_fd_call(INJECT_CHANGE, fd) == INJECT_FAIL)
		return -1;
	inject_next("fallocate64", &next);
	return next(fd, mode, offset, length);
}

int fstat64(int fd, struct stat64 *status)
{
	int (*next)(int, struct stat64 *);

	if (inject_fd_call(INJECT_STATUS, fd) == INJECT_FAIL)
		return -1;
	inject_next("fstat64", &next);
	return next(fd, status);
}
