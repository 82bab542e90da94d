/* SPDX-License-Identifier: MIT */
/*
 * inject_flush - what the drive answers to a FLUSH for which a thread waits. It
 * is a system call without a function of its own, so syscall() is watched.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inject/inject.h"

#define WORDS 6 /* no system call takes more */

long syscall(long number, ...)
{
	long (*next)(long, ...);
	long word[WORDS];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < WORDS; i++)
		word[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_fdatasync &&
	    inject_call(INJECT_ANSWER) == INJECT_FAIL)
		return -1;
	inject_next("syscall", &next);
	return next(number, word[0], word[1], word[2], word[3], word[4],
		    word[5]);
}
