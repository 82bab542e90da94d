/* SPDX-License-Identifier: MIT */
/*
 * tracefile - the trace of a drive as a file that only grows.
 *
 * Each event is appended with one system call. It is in the file when
 * tracefile_append() returns, so it outlives the drive's process, but no power
 * cut of the host: nothing is synced.
 */
#ifndef SIMDRIVE_TRACEFILE_H
#define SIMDRIVE_TRACEFILE_H

struct err;
struct trace_event;

/* Opens a trace to append to, or makes one. Refuses a file that holds anything
 * else. Returns the file descriptor, or -1. */
int tracefile_open(const char *path, struct err *err);

/* 0, or -errno; then no part of the event is left in the file. */
int tracefile_append(int fd, const struct trace_event *event);

#endif
