/* SPDX-License-Identifier: MIT */
#include "simdrive/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/err.h"
#include "simdrive/trace.h"

static int check_file(int fd, const char *path, struct err *err)
{
	struct stat status;
	uint8_t magic[4];

	if (fstat(fd, &status) != 0)
		return err_sys(err, errno, "cannot examine trace %s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, "trace %s is not a regular file", path);
	if (status.st_size == 0)
		return 0;
	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    bytes_get32(magic) != TRACE_MAGIC)
		return err_set(err,
			       "trace %s holds something else; nothing is "
			       "appended to it",
			       path);
	return 0;
}

int tracefile_open(const char *path, struct err *err)
{
	/* A pipe without a reader is refused, not waited for. */
	int fd =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK,
		     0644);

	if (fd < 0)
		return err_sys(err, errno, "cannot open trace %s", path);
	if (check_file(fd, path, err) == 0)
		return fd;
	(void)close(fd); /* nothing was written */
	return -1;
}

/* Moves PARTS forward by what has been written. */
static void advance(struct iovec *parts, int count, size_t written)
{
	for (int i = 0; i < count; i++) {
		size_t part =
			parts[i].iov_len < written ? parts[i].iov_len : written;

		parts[i].iov_base = (uint8_t *)parts[i].iov_base + part;
		parts[i].iov_len -= part;
		written -= part;
	}
}

/* Takes back the WRITTEN bytes at the end of the file. */
static void take_back(int fd, size_t written)
{
	off_t end = lseek(fd, 0, SEEK_END);

	if (end >= (off_t)written && ftruncate(fd, end - (off_t)written) != 0)
		return; /* a torn event at the end is seen as one */
}

int tracefile_append(int fd, const struct trace_event *event)
{
	const size_t data_bytes = event->data == NULL ? 0 : event->length;
	const size_t bytes = TRACE_HEADER_BYTES + data_bytes;
	uint8_t header[TRACE_HEADER_BYTES];
	struct iovec parts[2] = {
		{.iov_base = header, .iov_len = sizeof(header)},
		/* It is only read from; iovec has no const. */
		{.iov_base = (void *)(uintptr_t)event->data,
		 .iov_len = data_bytes},
	};
	size_t written = 0;

	trace_encode_header(event, header);
	while (written < bytes) {
		ssize_t moved = writev(fd, parts, 2);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0) {
			int rc = moved == 0 ? -EIO : -errno;

			take_back(fd, written);
			return rc;
		}
		advance(parts, 2, (size_t)moved);
		written += (size_t)moved;
	}
	return 0;
}
