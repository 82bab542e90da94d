/* SPDX-License-Identifier: MIT */
#include "common/target/mountfacts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/target/identity.h"

#define POINT_WORD 5 /* from 1 */
#define LINES_MAX  100000

/* The words of the list OPTIONS are parted by commas. */
static bool has_option(const char *options, const char *wanted)
{
	size_t length = strlen(wanted);

	while (*options != '\0') {
		size_t word = strcspn(options, ",");

		if (word == length && memcmp(options, wanted, word) == 0)
			return true;
		options += word;
		options += *options == ',';
	}
	return false;
}

static void copy(const char *from, char *to, size_t room)
{
	identity_clean(from == NULL ? "" : from,
		       from == NULL ? 0 : strlen(from), to, room);
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	while (count > 0) {
		if (strcmp(name, names[--count]) == 0)
			return true;
	}
	return false;
}

/* "36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue",
 * blanks in names as \040. */
bool mountfacts_take(char *line, uint64_t id, struct mountfacts *facts)
{
	/* Their fsync ends in blkdev_issue_flush(). */
	static const char *const always[] = {"ext2", "ext3", "ext4",
					     "xfs",  "vfat", "exfat"};
	char *rest = line, *word, *end, *options;
	unsigned int count = 0;

	if (strtoull(line, &end, 10) != id || end == line || *end != ' ')
		return false;
	memset(facts, 0, sizeof(*facts));
	while ((word = strsep(&rest, " \n")) != NULL && strcmp(word, "-") != 0)
		if (++count == POINT_WORD)
			copy(word, facts->point, sizeof(facts->point));
	copy(strsep(&rest, " \n"), facts->type, sizeof(facts->type));
	(void)strsep(&rest, " \n"); /* the device */
	options = strsep(&rest, " \n");
	copy(options, facts->options, sizeof(facts->options));
	if (options == NULL)
		return false;
	facts->is_known = true;
	facts->is_barrierless = has_option(options, "nobarrier") ||
				has_option(options, "barrier=0") ||
				has_option(options, "barrier=none");
	facts->flushes_always = is_one_of(facts->type, always,
					  sizeof(always) / sizeof(always[0]));
	return true;
}

void mountfacts_read(const char *path, struct mountfacts *facts)
{
	struct statx status;
	char *line = NULL;
	size_t room = 0;
	FILE *from;

	memset(facts, 0, sizeof(*facts));
	if (statx(AT_FDCWD, path, 0, STATX_MNT_ID, &status) == -1 ||
	    (status.stx_mask & STATX_MNT_ID) == 0)
		return;
	from = fopen("/proc/self/mountinfo", "re");
	if (from == NULL)
		return;
	for (unsigned int i = 0; i < LINES_MAX; i++)
		if (getline(&line, &room, from) <= 0 ||
		    mountfacts_take(line, status.stx_mnt_id, facts))
			break;
	free(line);
	(void)fclose(from); /* was only read */
}
