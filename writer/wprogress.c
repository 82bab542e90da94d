/* SPDX-License-Identifier: MIT */
#include "writer/wprogress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/clock.h"

#define TERMINAL_NS (500 * CLOCK_NS_PER_MS)
#define PLAIN_NS    (10 * CLOCK_NS_PER_S)

static bool is_due(struct wprogress *progress, uint64_t now_ns)
{
	if (now_ns < progress->due_ns)
		return false;
	progress->due_ns =
		now_ns + (progress->is_terminal ? TERMINAL_NS : PLAIN_NS);
	return true;
}

static const char *line_start(const struct wprogress *progress)
{
	return progress->is_terminal ? "\r\033[K" : "plugpull-writer: ";
}

static const char *line_end(const struct wprogress *progress)
{
	return progress->is_terminal ? "" : "\n";
}

void wprogress_init(struct wprogress *progress)
{
	uint64_t now_ns = clock_monotonic_ns();

	progress->is_terminal = isatty(STDERR_FILENO) == 1;
	progress->last_ns = now_ns;
	progress->last_writes = 0;
	progress->due_ns =
		now_ns + (progress->is_terminal ? TERMINAL_NS : PLAIN_NS);
}

void wprogress_show(struct wprogress *progress, const struct wprogress_now *now)
{
	uint64_t now_ns = clock_monotonic_ns();
	char confirmed[64] = "nothing confirmed yet";
	double seconds = 0;
	double per_s = 0;

	if (!is_due(progress, now_ns))
		return;
	seconds = (double)(now_ns - progress->last_ns) / 1e9;
	per_s = (double)(now->writes - progress->last_writes) / seconds;
	progress->last_ns = now_ns;
	progress->last_writes = now->writes;
	if (now->confirmed_ns)
		(void)snprintf(confirmed, sizeof(confirmed),
			       "%" PRIu64 " confirmed, last %.1f s ago",
			       now->confirmed,
			       (double)(now_ns - now->confirmed_ns) / 1e9);
	(void)fprintf(stderr,
		      "%s%.0f writes/s, %.1f MB/s, %" PRIu64
		      " durable, %" PRIu64 " in flight, %s%s",
		      line_start(progress), per_s,
		      per_s * now->block_bytes / 1e6, now->durable, now->flying,
		      confirmed, line_end(progress));
}

void wprogress_show_fill(struct wprogress *progress, uint64_t done_bytes,
			 uint64_t size_bytes)
{
	if (!is_due(progress, clock_monotonic_ns()))
		return;
	(void)fprintf(stderr,
		      "%sfilling, %" PRIu64 " of %" PRIu64 " MiB written%s",
		      line_start(progress), done_bytes >> 20, size_bytes >> 20,
		      line_end(progress));
}

void wprogress_end(struct wprogress *progress)
{
	if (progress->is_terminal)
		(void)fputs("\r\033[K", stderr);
}

void wprogress_note(const char *text)
{
	(void)fprintf(stderr, "plugpull-writer: %s\n", text);
}
