/* SPDX-License-Identifier: MIT */
/*
 * control - the simulated drive's power switch as a Unix socket: one line in
 * (cut, restore, status), one line out (ok ..., or error TEXT), then the
 * connection ends. Both ends of it, and the reading of lines with a deadline.
 */
#ifndef SIMDRIVE_CONTROL_H
#define SIMDRIVE_CONTROL_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define CONTROL_LINE_BYTES 512

/* A listening socket at PATH; what a dead server left there is removed, a
 * living one is refused. Returns the descriptor, or -1. */
int control_listen(const char *path, struct err *err);

/*
 * Reads one line of at most SIZE - 1 bytes until DEADLINE_NS (monotonic) and
 * stores it without its end. 0, or -errno: -ECONNRESET where the other side
 * has ended, -ETIMEDOUT, -EMSGSIZE.
 */
int control_read_line(int fd, char *line, size_t size, uint64_t deadline_ns);

/* Writes LINE and an end of line: 0 or -errno. */
int control_write_line(int fd, const char *line);

/* The client: sends COMMAND, waits at most TIMEOUT_MS, stores the answer. An
 * answer that begins with "error" is an error here. */
int control_ask(const char *path, const char *command, char *answer,
		uint64_t timeout_ms, struct err *err);

#endif
