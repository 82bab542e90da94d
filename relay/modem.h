/* SPDX-License-Identifier: MIT */
/*
 * modem - the ioctls of modem lines (tty_ioctl(4)), with a place where tests
 * stand in for the kernel: a pseudo terminal has no such lines.
 */
#ifndef RELAY_MODEM_H
#define RELAY_MODEM_H

/* TIOCMGET, TIOCMBIS, TIOCMBIC; as ioctl(2). The kernel's, unless a test has
 * put something else here. */
extern int (*modem_control)(int fd, unsigned long request, int *lines);

#endif
