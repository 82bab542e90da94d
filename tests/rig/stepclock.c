/* SPDX-License-Identifier: MIT */
/*
 * stepclock - preloaded, it gives a program another wall clock than the
 * machine has, which can be stepped while the program runs; the monotonic
 * clock is left alone. $STEPCLOCK names a file with one line: "+SECONDS" or
 * "-SECONDS", the distance from the true time, or "=SECONDS", a clock that
 * stands still there. Each look at the time reads it anew.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now);
int gettimeofday(struct timeval *restrict now, void *restrict zone);
time_t time(time_t *now);

static int real_gettime(clockid_t id, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);

	if (real == NULL)
		real = (int (*)(clockid_t, struct timespec *))dlsym(
			RTLD_NEXT, "clock_gettime");
	return real(id, now);
}

static void step(struct timespec *now)
{
	const char *path = getenv("STEPCLOCK");
	char text[32] = "";
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0 && text[0] == '=') {
		now->tv_sec = atoll(text + 1);
		now->tv_nsec = 0;
	} else {
		now->tv_sec += atoll(text);
	}
	(void)close(fd);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	int result = real_gettime(id, now);

	if (result == 0 &&
	    (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		step(now);
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &precise);
	now->tv_sec = precise.tv_sec;
	now->tv_usec = precise.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now)
{
	struct timespec precise;

	(void)clock_gettime(CLOCK_REALTIME, &precise);
	if (now != NULL)
		*now = precise.tv_sec;
	return precise.tv_sec;
}
