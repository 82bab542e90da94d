/* SPDX-License-Identifier: MIT */
#include "simdrive/media.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/err.h"

static int file_read(void *context, void *buffer, size_t length,
		     uint64_t offset_bytes)
{
	const int *fd = context;
	uint8_t *to = buffer;

	while (length > 0) {
		ssize_t moved = pread(*fd, to, length, (off_t)offset_bytes);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return -errno;
		if (moved == 0)
			return -EIO;
		to += moved;
		length -= (size_t)moved;
		offset_bytes += (uint64_t)moved;
	}
	return 0;
}

static int file_write(void *context, const void *buffer, size_t length,
		      uint64_t offset_bytes)
{
	const int *fd = context;
	const uint8_t *from = buffer;

	while (length > 0) {
		ssize_t moved = pwrite(*fd, from, length, (off_t)offset_bytes);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved < 0)
			return -errno;
		from += moved;
		length -= (size_t)moved;
		offset_bytes += (uint64_t)moved;
	}
	return 0;
}

static int check_file(int fd, const char *path, uint64_t *size_bytes,
		      struct err *err)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return err_sys(err, errno, "cannot examine media %s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, "media %s is not a regular file", path);
	if (status.st_size == 0 && *size_bytes != 0) {
		if (ftruncate(fd, (off_t)*size_bytes) != 0)
			return err_sys(err, errno, "cannot set the size of %s",
				       path);
		return 0;
	}
	if (*size_bytes != 0 && (uint64_t)status.st_size != *size_bytes)
		return err_set(
			err, "media %s has %jd bytes, but --size says %ju",
			path, (intmax_t)status.st_size, (uintmax_t)*size_bytes);
	*size_bytes = (uint64_t)status.st_size;
	return 0;
}

int media_prepare_file(const char *path, uint64_t *size_bytes, struct err *err)
{
	int flags = O_RDWR | O_CLOEXEC | (*size_bytes != 0 ? O_CREAT : 0);
	int fd = open(path, flags, 0644);
	int rc = 0;

	if (fd < 0)
		return err_sys(err, errno, "cannot open media %s", path);
	rc = check_file(fd, path, size_bytes, err);
	if (close(fd) != 0 && rc == 0)
		rc = err_sys(err, errno, "cannot close media %s", path);
	return rc;
}

int media_open_file(struct media *media, const char *path, struct err *err)
{
	static int fd = -1; /* one media file a process */
	struct stat status;

	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "cannot open media %s", path);
	if (fstat(fd, &status) != 0)
		return err_sys(err, errno, "cannot examine media %s", path);
	*media = (struct media){
		.read = file_read,
		.write = file_write,
		.context = &fd,
		.size_bytes = (uint64_t)status.st_size,
	};
	return 0;
}
