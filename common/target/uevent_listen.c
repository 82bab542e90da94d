/* SPDX-License-Identifier: MIT */
/*
 * uevent_listen - where the kernel's events come from. libudev's "kernel"
 * source and our own socket hear the same multicast group.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/target/uevent.h"

#ifdef HAVE_LIBUDEV
#include <libudev.h>

struct uevent_listener {
	struct udev *udev;
	struct udev_monitor *monitor;
};

struct uevent_listener *uevent_listen(void)
{
	struct uevent_listener *listener = calloc(1, sizeof(*listener));

	if (listener == NULL)
		return NULL;
	listener->udev = udev_new();
	if (listener->udev != NULL)
		listener->monitor =
			udev_monitor_new_from_netlink(listener->udev, "kernel");
	if (listener->monitor != NULL &&
	    udev_monitor_enable_receiving(listener->monitor) >= 0)
		return listener;
	uevent_listener_free(listener);
	return NULL;
}

void uevent_listener_free(struct uevent_listener *listener)
{
	if (listener == NULL)
		return;
	(void)udev_monitor_unref(listener->monitor); /* NULL, always */
	(void)udev_unref(listener->udev);
	free(listener);
}

static int fd_of(const struct uevent_listener *listener)
{
	return udev_monitor_get_fd(listener->monitor);
}

/* In the kernel's own form, so that there is one parser. */
static bool receive(struct uevent_listener *listener, struct uevent *event)
{
	struct udev_device *device =
		udev_monitor_receive_device(listener->monitor);
	const char *action, *path, *subsystem;
	char text[UEVENT_PATH_BYTES + 64];
	int length = -1;

	if (device == NULL)
		return false;
	action = udev_device_get_action(device);
	path = udev_device_get_devpath(device);
	subsystem = udev_device_get_subsystem(device);
	if (action != NULL && path != NULL)
		length = snprintf(text, sizeof(text), "%s@%s%cSUBSYSTEM=%s",
				  action, path, '\0',
				  subsystem == NULL ? "" : subsystem);
	(void)udev_device_unref(device); /* NULL, always */
	return length > 0 && (size_t)length < sizeof(text) &&
	       uevent_parse(text, (size_t)length + 1, event);
}

#else
#include <linux/netlink.h>
#include <sys/socket.h>

#define KERNEL_GROUP 1

struct uevent_listener {
	int fd;
};

struct uevent_listener *uevent_listen(void)
{
	struct uevent_listener *listener = calloc(1, sizeof(*listener));
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK,
					    .nl_groups = KERNEL_GROUP};

	if (listener == NULL)
		return NULL;
	listener->fd =
		socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       NETLINK_KOBJECT_UEVENT);
	if (listener->fd != -1 &&
	    bind(listener->fd, (const struct sockaddr *)&address,
		 sizeof(address)) == 0)
		return listener;
	uevent_listener_free(listener);
	return NULL;
}

void uevent_listener_free(struct uevent_listener *listener)
{
	if (listener == NULL)
		return;
	if (listener->fd != -1)
		(void)close(listener->fd); /* was only read */
	free(listener);
}

static int fd_of(const struct uevent_listener *listener)
{
	return listener->fd;
}

/* Any process may send to this socket; the kernel's port is 0. */
static bool receive(struct uevent_listener *listener, struct uevent *event)
{
	struct sockaddr_nl sender = {.nl_pid = UINT32_MAX};
	socklen_t room = sizeof(sender);
	char text[UEVENT_BYTES_MAX];
	ssize_t length = recvfrom(listener->fd, text, sizeof(text), MSG_TRUNC,
				  (struct sockaddr *)&sender, &room);

	return length > 0 && (size_t)length <= sizeof(text) &&
	       room >= sizeof(sender) && sender.nl_pid == 0 &&
	       uevent_parse(text, (size_t)length, event);
}
#endif

bool uevent_next(struct uevent_listener *listener, int timeout_ms,
		 struct uevent *event)
{
	struct pollfd wait = {.events = POLLIN};

	if (listener == NULL) {
		clock_sleep_ms((uint64_t)timeout_ms);
		return false;
	}
	wait.fd = fd_of(listener);
	return poll(&wait, 1, timeout_ms) > 0 && receive(listener, event);
}
