/* SPDX-License-Identifier: MIT */
#include "relay/hidraw.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hidraw.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int kernel_open(const char *path)
{
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static void kernel_close(int fd)
{
	(void)close(fd); /* reports are through when they return */
}

static int kernel_control(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument);
}

static const struct hidraw_system kernel = {kernel_open, kernel_close,
					    kernel_control};

const struct hidraw_system *hidraw_system = &kernel;

static int control(int fd, unsigned long request, void *argument)
{
	int rc;

	do
		rc = hidraw_system->control(fd, request, argument);
	while (rc == -1 && errno == EINTR);
	return rc == -1 ? -errno : rc;
}

int hidraw_ask(int fd, struct hidraw_info *info)
{
	struct hidraw_devinfo told = {0};
	int rc = control(fd, HIDIOCGRAWINFO, &told);

	memset(info, 0, sizeof(*info));
	if (rc < 0)
		return rc;
	info->vendor = (uint16_t)told.vendor;
	info->product = (uint16_t)told.product;
	/* A device without a name is no error. */
	if (control(fd, HIDIOCGRAWNAME(HIDRAW_NAME_BYTES - 1), info->name) < 0)
		info->name[0] = '\0';
	info->name[HIDRAW_NAME_BYTES - 1] = '\0';
	return 0;
}

int hidraw_set(int fd, const uint8_t *report, size_t count)
{
	uint8_t bytes[256];
	int rc;

	if (count > sizeof(bytes))
		return -EMSGSIZE;
	memcpy(bytes, report, count);
	rc = control(fd, HIDIOCSFEATURE(count), bytes);
	return rc < 0 ? rc : 0;
}

int hidraw_get(int fd, uint8_t *report, size_t room)
{
	return control(fd, HIDIOCGFEATURE(room), report);
}
