/* SPDX-License-Identifier: MIT */
/*
 * inject_name - names in file systems, and the ends of buffered files.
 */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <errno.h>
#include <unistd.h>

#include "tests/inject/inject.h"

#define FILE_ERROR_SEEN 0x20 /* of glibc, what ferror() asks for */

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
	int (*next)(const char *, int, ...);

	if (inject_path_call(INJECT_OPEN, path) == INJECT_FAIL)
		return -1;
	inject_next(name, &next);
	return next(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return open_as("open64", path, flags, mode);
}

static FILE *fopen_as(const char *name, const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *);

	if (inject_path_call(INJECT_OPEN, path) == INJECT_FAIL)
		return NULL;
	inject_next(name, &next);
	return next(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return fopen_as("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return fopen_as("fopen64", path, mode);
}

DIR *opendir(const char *path)
{
	DIR *(*next)(const char *);

	if (inject_path_call(INJECT_OPEN, path) == INJECT_FAIL)
		return NULL;
	inject_next("opendir", &next);
	return next(path);
}

int stat64(const char *path, struct stat64 *status)
{
	int (*next)(const char *, struct stat64 *);

	if (inject_path_call(INJECT_STATUS, path) == INJECT_FAIL)
		return -1;
	inject_next("stat64", &next);
	return next(path, status);
}

int access(const char *path, int mode)
{
	int (*next)(const char *, int);

	if (inject_path_call(INJECT_STATUS, path) == INJECT_FAIL)
		return -1;
	inject_next("access", &next);
	return next(path, mode);
}

int unlink(const char *path)
{
	int (*next)(const char *);

	if (inject_path_call(INJECT_CHANGE, path) == INJECT_FAIL)
		return -1;
	inject_next("unlink", &next);
	return next(path);
}

int rename(const char *from, const char *to)
{
	int (*next)(const char *, const char *);

	if (inject_path_call(INJECT_CHANGE, to) == INJECT_FAIL)
		return -1;
	inject_next("rename", &next);
	return next(from, to);
}

int mkdir(const char *path, mode_t mode)
{
	int (*next)(const char *, mode_t);

	if (inject_path_call(INJECT_CHANGE, path) == INJECT_FAIL)
		return -1;
	inject_next("mkdir", &next);
	return next(path, mode);
}

int pipe2(int ends[2], int flags)
{
	int (*next)(int[2], int);

	if (inject_path_call(INJECT_OPEN, "pipe") == INJECT_FAIL)
		return -1;
	inject_next("pipe2", &next);
	return next(ends, flags);
}

/* As the C library does it: what came before the error is given out. */
size_t fread(void *to, size_t size, size_t count, FILE *file)
{
	size_t (*next)(void *, size_t, size_t, FILE *);
	enum inject_hit hit = inject_fd_call(INJECT_READ, fileno(file));
	const int errnum = errno;
	size_t got = 0;

	inject_next("fread", &next);
	if (hit == INJECT_PASS)
		return next(to, size, count, file);
	got = next(to, size, count / 2, file);
	if (hit != INJECT_FAIL)
		return got;
	file->_flags |= FILE_ERROR_SEEN;
	errno = errnum;
	return got;
}

/* While it is pointed at /dev/full, what is buffered really cannot be written,
 * and the stream remembers it. Returns a copy of the true descriptor. */
static int point_at_full(FILE *file)
{
	int full = openat(AT_FDCWD, "/dev/full", O_WRONLY | O_CLOEXEC);
	int copy = dup(fileno(file));

	if (full >= 0)
		(void)dup2(full, fileno(file)); /* else nothing is injected */
	if (full >= 0)
		(void)close(full); /* its copy stays */
	return copy;
}

int fflush(FILE *file)
{
	int (*next)(FILE *);
	enum inject_hit hit = INJECT_PASS;
	int copy = -1;
	int result = 0;

	inject_next("fflush", &next);
	if (file != NULL)
		hit = inject_fd_call(INJECT_STDIO, fileno(file));
	if (hit != INJECT_FAIL)
		return next(file);
	copy = point_at_full(file);
	result = next(file);
	if (copy >= 0) {
		(void)dup2(copy, fileno(file)); /* as it was */
		(void)close(copy);
	}
	errno = ENOSPC;
	return result;
}

int fclose(FILE *file)
{
	int (*next)(FILE *);
	int copy = -1;
	int result = 0;

	inject_next("fclose", &next);
	if (inject_fd_call(INJECT_STDIO, fileno(file)) != INJECT_FAIL)
		return next(file);
	copy = point_at_full(file);
	result = next(file);
	if (copy >= 0)
		(void)close(copy); /* of a stream that is no more */
	errno = ENOSPC;
	return result;
}
