/* SPDX-License-Identifier: MIT */
#include "simdrive/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/err.h"
#include "simdrive/power.h"

int statefile_load(const char *path, struct model *model, bool *is_fresh,
		   struct err *err)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *buffer = NULL;
	size_t length = 0;
	int rc = 0;

	*is_fresh = file == NULL && errno == ENOENT;
	if (file == NULL)
		return *is_fresh ? 0 : err_sys(err, errno, "cannot open");
	buffer = malloc(POWER_STATE_BYTES_MAX);
	if (buffer != NULL)
		length = fread(buffer, 1, POWER_STATE_BYTES_MAX, file);
	if (buffer == NULL || ferror(file) != 0)
		rc = err_sys(err, errno, "cannot read");
	else
		rc = power_load_state(model, buffer, length, err);
	free(buffer);
	(void)fclose(file); /* it was only read */
	return rc;
}

static int store(const char *path, const uint8_t *buffer, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t written = 0;

	if (fd < 0)
		return -errno;
	written = write(fd, buffer, length);
	if (close(fd) != 0 || written != (ssize_t)length)
		return -EIO;
	return 0;
}

int statefile_save(const char *path, const struct model *model)
{
	uint8_t *buffer = malloc(POWER_STATE_BYTES_MAX);
	int rc = -ENOMEM;

	if (buffer != NULL)
		rc = store(path, buffer, power_save_state(model, buffer));
	free(buffer);
	return rc;
}
