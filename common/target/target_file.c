/* SPDX-License-Identifier: MIT */
/*
 * target_file - makes the file that a target can be (target.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/target.h"

/* The name itself must survive a power cut. */
static int sync_folder(const char *path)
{
	char copy[4096];
	int fd, result;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	result = fsync(fd);
	if (result == -1 && errno == EINVAL)
		result = 0; /* a file system that knows no such thing */
	(void)close(fd);    /* fsync() said what there is to say */
	return result;
}

/* Room is set aside now, so that a run cannot end in "no space left". */
static int reserve(int fd, off_t size)
{
	if (ftruncate(fd, size) == -1)
		return -1;
	if (fallocate(fd, 0, 0, size) == -1 && errno != EOPNOTSUPP)
		return -1;
	return fsync(fd);
}

int target_create_file(const char *path, uint64_t size_bytes, struct err *err)
{
	int fd;

	if (size_bytes == 0 || size_bytes > INT64_MAX)
		return err_set(err,
			       "cannot create %s: no file can have %llu bytes",
			       path, (unsigned long long)size_bytes);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return err_sys(err, errno, "cannot create %s", path);
	if (reserve(fd, (off_t)size_bytes) == -1) {
		(void)err_sys(err, errno, "cannot make %s %llu bytes long",
			      path, (unsigned long long)size_bytes);
		(void)close(fd);    /* it goes */
		(void)unlink(path); /* best effort; the cause is told */
		return -1;
	}
	if (close(fd) == -1 || sync_folder(path) == -1)
		return err_sys(err, errno, "cannot make %s durable", path);
	return 0;
}
