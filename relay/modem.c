/* SPDX-License-Identifier: MIT */
#include "relay/modem.h"

#include <sys/ioctl.h>

static int by_kernel(int fd, unsigned long request, int *lines)
{
	return ioctl(fd, request, lines);
}

int (*modem_control)(int fd, unsigned long request, int *lines) = by_kernel;
