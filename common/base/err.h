/* SPDX-License-Identifier: MIT */
/*
 * err - one error on its way up to main().
 *
 * A function that can fail takes a trailing struct err and returns 0 or -1 (or
 * NULL). On failure it has written one complete sentence: what was attempted,
 * on what, and why it did not work. A caller passes it on as it is or puts its
 * own context in front with err_prefix(). Only main() prints.
 *
 * The text is a fixed buffer, so reporting an error never allocates and never
 * fails itself. On success the struct is left untouched.
 */
#ifndef COMMON_BASE_ERR_H
#define COMMON_BASE_ERR_H

struct err {
	char text[512];
};

/* Each returns -1, so that a failing path reads: return err_set(err, ...); */
int err_set(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int err_sys(struct err *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int err_prefix(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends "\nhint: ", the one next step that is known; ERR has its text. */
int err_hint(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
