/* SPDX-License-Identifier: MIT */
#include "common/target/queuefacts.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/target/identity.h"

#define SECONDS_MAX 1000000 /* of a timeout */
#define PARENTS_MAX 32      /* from a drive up to its adapter */

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static uint64_t read_number(const char *disk, const char *name)
{
	char text[QUEUEFACTS_TEXT_BYTES], *end;
	unsigned long long value;

	if (!identity_read_text(disk, name, text, sizeof(text)) ||
	    text[0] < '0' || text[0] > '9')
		return 0;
	value = strtoull(text, &end, 10);
	return *end == '\0' && value <= INT64_MAX ? value : 0;
}

static bool has_file(const char *disk, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", disk, name) <
		       (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool has_members(const char *disk)
{
	const struct dirent *entry;
	bool is_empty = true;
	char path[PATH_MAX];
	DIR *folder;

	if (snprintf(path, sizeof(path), "%s/slaves", disk) >=
	    (int)sizeof(path))
		return false;
	folder = opendir(path);
	if (folder == NULL)
		return false;
	while (is_empty && (entry = readdir(folder)) != NULL)
		is_empty = entry->d_name[0] == '.';
	(void)closedir(folder); /* nothing was written */
	return !is_empty;
}

static enum queuefacts_cache read_cache(const char *disk)
{
	char text[QUEUEFACTS_TEXT_BYTES];

	(void)identity_read_text(disk, "queue/write_cache", text, sizeof(text));
	if (strcmp(text, "write back") == 0)
		return QUEUEFACTS_BACK;
	if (strcmp(text, "write through") == 0)
		return QUEUEFACTS_THROUGH;
	return QUEUEFACTS_SILENT;
}

/* "none [mq-deadline] kyber". */
static void read_scheduler(const char *disk, char *to)
{
	char text[128], *from, *end;

	to[0] = '\0';
	(void)identity_read_text(disk, "queue/scheduler", text, sizeof(text));
	from = strchr(text, '[');
	end = from == NULL ? NULL : strchr(from, ']');
	if (end == NULL)
		return;
	*end = '\0';
	(void)snprintf(to, QUEUEFACTS_TEXT_BYTES, "%.31s", from + 1);
}

/* The module's name where there is one: those of drivers have blanks. */
static bool read_driver_at(const char *folder, char *to)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/driver/module", folder) >=
	    (int)sizeof(path))
		return false;
	if (realpath(path, real) == NULL) {
		(void)snprintf(path, sizeof(path), "%.4000s/driver", folder);
		if (realpath(path, real) == NULL)
			return false;
	}
	identity_clean(last_name(real), strlen(last_name(real)), to,
		       QUEUEFACTS_TEXT_BYTES);
	return true;
}

/* ".../host7/target7:0:0/7:0:0:0/block/sdb" hangs on what is above host7; the
 * driver below that is only "sd". */
static char *find_host(char *path)
{
	char *at = path, *digits;

	while ((at = strstr(at, "/host")) != NULL) {
		digits = at + strlen("/host");
		if (digits[strspn(digits, "0123456789")] == '/' &&
		    *digits != '/')
			return at;
		at = digits;
	}
	return NULL;
}

static void read_driver(const char *disk, char *to)
{
	char path[PATH_MAX], *slash;

	to[0] = '\0';
	if (snprintf(path, sizeof(path), "%s", disk) >= (int)sizeof(path))
		return;
	slash = find_host(path);
	for (unsigned int i = 0; i < PARENTS_MAX; i++) {
		if (slash == NULL)
			slash = strrchr(path, '/');
		if (slash == NULL || slash == path)
			return;
		*slash = '\0';
		if (read_driver_at(path, to))
			return;
		slash = NULL;
	}
}

/* "device" leads to ".../target0:2:1/0:2:1:0". */
static int read_channel(const char *disk)
{
	char path[PATH_MAX], real[PATH_MAX], rest;
	int at[4];

	if (snprintf(path, sizeof(path), "%s/device", disk) >=
		    (int)sizeof(path) ||
	    realpath(path, real) == NULL ||
	    sscanf(last_name(real), "%9d:%9d:%9d:%9d%c", &at[0], &at[1], &at[2],
		   &at[3], &rest) != 4)
		return -1;
	return at[1];
}

static bool is_hidden_path(const char *name)
{
	unsigned int at[3];
	char rest;

	return sscanf(name, "nvme%9uc%9un%9u%c", &at[0], &at[1], &at[2],
		      &rest) == 3;
}

static void read_device(const char *disk, struct queuefacts *facts)
{
	char text[QUEUEFACTS_TEXT_BYTES];

	if (identity_read_text(disk, "dev", text, sizeof(text)) &&
	    sscanf(text, "%9u:%9u", &facts->major, &facts->minor) != 2)
		facts->major = facts->minor = 0;
}

void queuefacts_read(const char *disk, struct queuefacts *facts)
{
	uint64_t seconds;

	memset(facts, 0, sizeof(*facts));
	(void)snprintf(facts->name, sizeof(facts->name), "%.31s",
		       last_name(disk));
	facts->cache = read_cache(disk);
	facts->has_fua = read_number(disk, "queue/fua") == 1;
	facts->is_loop = has_file(disk, "loop/backing_file");
	facts->is_bottom = !facts->is_loop && !has_members(disk);
	facts->is_hidden_path = is_hidden_path(facts->name);
	facts->is_rotational = read_number(disk, "queue/rotational") == 1;
	facts->channel = read_channel(disk);
	read_driver(disk, facts->driver);
	read_scheduler(disk, facts->scheduler);
	facts->max_sectors_kb = read_number(disk, "queue/max_sectors_kb");
	facts->max_hw_sectors_kb = read_number(disk, "queue/max_hw_sectors_kb");
	facts->nr_requests = read_number(disk, "queue/nr_requests");
	facts->atomic_unit_bytes =
		read_number(disk, "queue/atomic_write_unit_max_bytes");
	facts->timeout_ms = read_number(disk, "queue/io_timeout");
	seconds = read_number(disk, "device/timeout"); /* SCSI's own */
	if (seconds > 0 && seconds <= SECONDS_MAX)
		facts->timeout_ms = seconds * 1000;
	read_device(disk, facts);
}

const char *queuefacts_cache_name(enum queuefacts_cache cache)
{
	static const char *const names[] = {
		[QUEUEFACTS_SILENT] = "silent",
		[QUEUEFACTS_BACK] = "write back",
		[QUEUEFACTS_THROUGH] = "write through",
	};

	return names[cache];
}
