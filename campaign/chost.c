/* SPDX-License-Identifier: MIT */
#include "campaign/chost.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "campaign/command.h"
#include "campaign/cpower.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define CHOST_ASK_MS   15000 /* a connection to a host that is dark hangs */
#define CHOST_PAUSE_MS 200
#define CHOST_BOOT_ID  "/proc/sys/kernel/random/boot_id"
#define CHOST_UUID     36 /* characters */

/* Exactly what the kernel writes: 36 of 0-9, a-f and -. */
static bool take_boot(const char *text, char boot[CHOST_BOOT_BYTES])
{
	const size_t length = strspn(text, "0123456789abcdef-");

	if (length != CHOST_UUID ||
	    (text[length] != '\0' && !isspace((unsigned char)text[length])))
		return false;
	memcpy(boot, text, CHOST_UUID);
	boot[CHOST_UUID] = '\0';
	return true;
}

int chost_read_boot(struct rig *rig, uint64_t timeout_ms,
		    char boot[CHOST_BOOT_BYTES], struct err *err)
{
	struct command_run answer = {.timeout_ms = timeout_ms,
				     .stop = rig_stop_flag(rig)};

	if (command_run(rig_begin_on_host(rig, "cat " CHOST_BOOT_ID), &answer,
			err) == -1)
		return -1;
	if (answer.status != 0)
		return err_set(err, "the host does not answer: %.380s",
			       answer.complaint);
	if (!take_boot(answer.out, boot))
		return err_set(err, "the host's %s is no UUID: %.60s",
			       CHOST_BOOT_ID, answer.out);
	return 0;
}

static int run_ready(struct rig *rig, uint64_t timeout_ms, struct err *err)
{
	const char *words = rig_settings(rig)->ready;
	struct command_run answer = {.timeout_ms = timeout_ms,
				     .stop = rig_stop_flag(rig)};

	if (words[0] == '\0')
		return 0;
	if (command_run(rig_begin_on_host(rig, words), &answer, err) == -1)
		return -1;
	if (answer.status != 0)
		return err_set(err, "the host is not ready (status %d): %.380s",
			       answer.status, answer.complaint);
	return 0;
}

static uint64_t least_ms(int left_ms)
{
	return left_ms < CHOST_ASK_MS ? (uint64_t)left_ms : CHOST_ASK_MS;
}

/* One boot. */
static enum chost_answer
await_once(struct rig *rig, struct chost_coming *coming, struct err *err)
{
	const uint64_t begun_ns = clock_monotonic_ns();
	const uint64_t deadline_ns =
		begun_ns + rig_settings(rig)->boot_timeout_ms * CLOCK_NS_PER_MS;

	(void)err_set(err, "it does not answer");
	while (!rig_is_stopped(rig)) {
		const int left_ms = clock_until_ms(deadline_ns);

		coming->boot_ms =
			(clock_monotonic_ns() - begun_ns) / CLOCK_NS_PER_MS;
		if (left_ms <= 0)
			return CHOST_SILENT;
		if (chost_read_boot(rig, least_ms(left_ms), coming->boot,
				    err) == 0) {
			if (strcmp(coming->boot, coming->old_boot) == 0)
				return CHOST_SAME_BOOT;
			if (run_ready(rig, least_ms(left_ms), err) == 0)
				return CHOST_BOOTED;
		}
		cpower_sleep_until(rig,
				   clock_monotonic_ns() +
					   CHOST_PAUSE_MS * CLOCK_NS_PER_MS);
	}
	return CHOST_STOPPED;
}

enum chost_answer chost_await(struct rig *rig, struct chost_coming *coming,
			      struct err *err)
{
	const struct csettings *settings = rig_settings(rig);
	struct err why;

	for (coming->boots = 1;; coming->boots++) {
		const enum chost_answer answer = await_once(rig, coming, &why);

		if (answer == CHOST_SAME_BOOT)
			(void)err_set(err,
				      "the host never lost its power: its "
				      "boot id is %s as before",
				      coming->boot);
		if (answer == CHOST_STOPPED)
			(void)err_set(err, "interrupted by a signal");
		if (answer != CHOST_SILENT)
			return answer;
		(void)err_set(err,
			      "the host did not come back within %llu ms, the "
			      "power was given %llu times: %.250s",
			      (unsigned long long)settings->boot_timeout_ms,
			      (unsigned long long)coming->boots, why.text);
		if (coming->boots >= settings->boot_tries ||
		    cpower_cycle(rig, coming->off_ms, NULL, &why) == -1)
			return CHOST_SILENT;
	}
}

static uint64_t size_of(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

void chost_log_open(struct chost_log *log, const struct rig *rig,
		    const char *run)
{
	memset(log, 0, sizeof(*log));
	rig_log_path(rig, run, log->path, sizeof(log->path));
	log->size_bytes = size_of(log->path);
}

void chost_log_look(struct chost_log *log)
{
	const uint64_t size_bytes = size_of(log->path);

	if (size_bytes == log->size_bytes)
		return;
	log->size_bytes = size_bytes;
	log->grown_ns = clock_monotonic_ns();
}
