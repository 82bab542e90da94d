/* SPDX-License-Identifier: MIT */
/*
 * logstdin - an ack log that comes through standard input.
 *
 * A log is read more than once, so it is taken into memory first and put in the
 * place of standard input, as a file that can be read at any offset.
 */
#ifndef VERIFIER_LOGSTDIN_H
#define VERIFIER_LOGSTDIN_H

#include <stdbool.h>
#include <sys/stat.h>

struct err;
struct ackreader;

#define LOGSTDIN_NAME      "-"
#define LOGSTDIN_BYTES_MAX (1024ULL * 1024 * 1024)

/* Is PATH standard input? NULL is not. */
bool logstdin_is(const char *path);

/* As messages call it. */
const char *logstdin_name(const char *path);

/* Once, before the other two: reads to the end of file. Blocks. */
int logstdin_take(struct err *err);

/* As stat() and ackreader_open(), of a file or of what was taken. */
int logstdin_stat(const char *path, struct stat *status);
struct ackreader *logstdin_open(const char *path, struct err *err);

#endif
