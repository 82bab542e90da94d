/* SPDX-License-Identifier: MIT */
/*
 * hangflush - a drive that falls silent, for a program that waits for its FLUSH
 * by itself (LD_PRELOAD): from the time that the file named by HANGFLUSH is
 * there, fdatasync(2) does not come back until it is gone again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <dlfcn.h>

#define WORDS   6 /* no system call takes more */
#define TICK_NS 5000000

static void hang(const char *path)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};

	while (path != NULL && access(path, F_OK) == 0)
		(void)nanosleep(&tick, NULL); /* sooner is no harm */
}

long syscall(long number, ...)
{
	long (*next)(long, ...);
	long word[WORDS];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < WORDS; i++)
		word[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_fdatasync)
		hang(getenv("HANGFLUSH"));
	*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	return next(number, word[0], word[1], word[2], word[3], word[4],
		    word[5]);
}
