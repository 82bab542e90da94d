/* SPDX-License-Identifier: MIT */
#include "verifier/logstdin.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/ackfile/ackreader.h"
#include "common/base/err.h"

#define NAME_IN_MESSAGES "standard input"
#define STEP_BYTES       ((size_t)64 * 1024)

bool logstdin_is(const char *path)
{
	return path != NULL && strcmp(path, LOGSTDIN_NAME) == 0;
}

const char *logstdin_name(const char *path)
{
	return logstdin_is(path) ? NAME_IN_MESSAGES : path;
}

static int put(int fd, const uint8_t *bytes, size_t count, struct err *err)
{
	while (count > 0) {
		ssize_t done = write(fd, bytes, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_sys(err, done < 0 ? errno : ENOSPC,
				       "cannot keep the log in memory");
		bytes += done;
		count -= (size_t)done;
	}
	return 0;
}

static int copy(int fd, uint8_t *buffer, struct err *err)
{
	uint64_t total = 0;

	for (;;) {
		ssize_t got = read(STDIN_FILENO, buffer, STEP_BYTES);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(err, errno,
				       "cannot read " NAME_IN_MESSAGES);
		if (got == 0)
			return 0;
		total += (uint64_t)got;
		if (total > LOGSTDIN_BYTES_MAX)
			return err_set(err,
				       "the log on " NAME_IN_MESSAGES
				       " is longer than %llu bytes",
				       LOGSTDIN_BYTES_MAX);
		if (put(fd, buffer, (size_t)got, err) < 0)
			return -1;
	}
}

int logstdin_take(struct err *err)
{
	int fd = memfd_create("acklog", MFD_CLOEXEC);
	uint8_t *buffer = malloc(STEP_BYTES);
	int result = -1;

	if (fd < 0)
		(void)err_sys(err, errno, "cannot keep the log in memory");
	else if (buffer == NULL)
		(void)err_set(err, "cannot keep the log: out of memory");
	else
		result = copy(fd, buffer, err);
	if (result == 0 && dup2(fd, STDIN_FILENO) < 0)
		result = err_sys(err, errno, "cannot keep the log in memory");
	free(buffer);
	if (fd >= 0)
		(void)close(fd); /* the copy stays open */
	return result;
}

int logstdin_stat(const char *path, struct stat *status)
{
	return logstdin_is(path) ? fstat(STDIN_FILENO, status)
				 : stat(path, status);
}

struct ackreader *logstdin_open(const char *path, struct err *err)
{
	return logstdin_is(path)
		       ? ackreader_open_fd(STDIN_FILENO, NAME_IN_MESSAGES, err)
		       : ackreader_open(path, err);
}
