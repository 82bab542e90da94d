/* SPDX-License-Identifier: MIT */
/*
 * A log file of any bytes is read to its end or to its damage, and what could
 * be resumed reads the same again and has no torn tail any more.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/ackfile/ackreader.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all of FD and checks that good frames and torn tail are the whole. */
static struct ackreader_end read_all(int fd, size_t size)
{
	static struct ackbody body;
	struct err err;
	struct ackreader *reader = ackreader_open_fd(fd, "log", &err);
	struct ackreader_end end;
	int got;

	if (reader == NULL)
		abort();
	while ((got = ackreader_next(reader, &body, NULL, &err)) > 0)
		;
	end = ackreader_end(reader);
	if (end.bytes > size ||
	    (got == 0 && end.bytes + ackreader_torn_bytes(reader) != size))
		abort();
	ackreader_close(reader);
	return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("acklog", MFD_CLOEXEC);
	struct ackreader_end end, again;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	end = read_all(fd, size);
	if (ftruncate(fd, (off_t)end.bytes) < 0)
		abort();
	again = read_all(fd, (size_t)end.bytes);
	if (again.frames != end.frames || again.bytes != end.bytes ||
	    again.crc != end.crc)
		abort();
	(void)close(fd); /* memory only */
	return 0;
}
