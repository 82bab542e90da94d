/* SPDX-License-Identifier: MIT */
#include "common/target/lineage.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/target/blockfacts.h"
#include "common/target/identity.h"

#define MEMBERS_MAX 16 /* told of one layer */

struct lineage {
	const char *sysfs;
	char *text;
	size_t room, used;
};

static void tell(struct lineage *lineage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(struct lineage *lineage, const char *format, ...)
{
	va_list list;
	int length;

	if (lineage->used + 1 >= lineage->room)
		return;
	va_start(list, format);
	length = vsnprintf(lineage->text + lineage->used,
			   lineage->room - lineage->used, format, list);
	va_end(list);
	lineage->used += length < 0 ? 0 : (size_t)length;
	if (lineage->used >= lineage->room)
		lineage->used = lineage->room - 1;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* What kind of layer it is; "" for a drive. */
static void read_kind(const char *disk, char *kind, size_t room)
{
	static const char *const rows[][2] = {{"LVM-", "LVM"},
					      {"CRYPT-", "encryption"},
					      {"mpath-", "multipath"},
					      {"DMRAID-", "firmware RAID"},
					      {"part", "partition map"}};
	char uuid[IDENTITY_TEXT_BYTES];

	if (identity_read_text(disk, "md/level", kind, room) ||
	    identity_read_text(disk, "loop/backing_file", kind, room))
		return;
	if (!identity_read_text(disk, "dm/name", kind, room))
		return;
	(void)snprintf(kind, room, "device mapper");
	(void)identity_read_text(disk, "dm/uuid", uuid,
				 sizeof(uuid)); /* "" will do */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(uuid, rows[i][0], strlen(rows[i][0])) == 0)
			(void)snprintf(kind, room, "%s", rows[i][1]);
	}
}

static void tell_drive(struct lineage *lineage, const struct identity *identity)
{
	char name[BLOCKFACTS_TEXT_BYTES + 16];
	struct blockfacts facts;

	blockfacts_read(identity, &facts);
	blockfacts_name(&facts, name, sizeof(name));
	tell(lineage, "%s (%s%s%s)", last_name(identity->disk), name,
	     facts.serial[0] == '\0' ? "" : ", serial ", facts.serial);
}

/* Numbers of the members in "slaves". */
static size_t list_members(const char *disk, dev_t members[MEMBERS_MAX])
{
	char path[PATH_MAX], number[32];
	unsigned int major_number, minor_number;
	const struct dirent *entry;
	size_t count = 0;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "%.4000s/slaves", disk);
	folder = opendir(path);
	if (folder == NULL)
		return 0;
	while (count < MEMBERS_MAX && (entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "slaves/%s/dev",
			       entry->d_name);
		if (identity_read_text(disk, path, number, sizeof(number)) &&
		    sscanf(number, "%9u:%9u", &major_number, &minor_number) ==
			    2)
			members[count++] = makedev(major_number, minor_number);
	}
	(void)closedir(folder); /* nothing was written */
	return count;
}

static size_t find_backing(const char *disk, dev_t members[MEMBERS_MAX])
{
	char path[IDENTITY_TEXT_BYTES];
	struct stat status;

	if (!identity_read_text(disk, "loop/backing_file", path,
				sizeof(path)) ||
	    path[0] != '/' || stat(path, &status) == -1)
		return 0;
	members[0] = S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
	return major(members[0]) == 0 ? 0 : 1;
}

static void tell_device(struct lineage *lineage, dev_t device,
			unsigned int depth);

static void tell_members(struct lineage *lineage, const dev_t *members,
			 size_t count, unsigned int depth)
{
	if (count == 0)
		return;
	tell(lineage, " -> %s", count > 1 ? "[" : "");
	for (size_t i = 0; i < count; i++) {
		tell(lineage, "%s", i > 0 ? ", " : "");
		tell_device(lineage, members[i], depth + 1);
	}
	tell(lineage, "%s", count > 1 ? "]" : "");
}

/* Recursion ends at LINEAGE_DEPTH_MAX, whatever sysfs says, and in breadth when
 * the text is full. */
static void tell_device(struct lineage *lineage, dev_t device,
			unsigned int depth)
{
	dev_t members[MEMBERS_MAX];
	struct identity identity;
	char kind[IDENTITY_TEXT_BYTES];
	size_t count;

	if (depth == LINEAGE_DEPTH_MAX || lineage->used + 1 >= lineage->room ||
	    identity_read(lineage->sysfs, major(device), minor(device),
			  &identity) == -1) {
		tell(lineage, "...");
		return;
	}
	if (identity.is_partition)
		tell(lineage, "%s -> ", last_name(identity.node));
	count = list_members(identity.disk, members);
	if (count == 0)
		count = find_backing(identity.disk, members);
	read_kind(identity.disk, kind, sizeof(kind));
	if (kind[0] == '\0')
		tell_drive(lineage, &identity);
	else
		tell(lineage, "%s (%s)", last_name(identity.disk), kind);
	tell_members(lineage, members, count, depth);
}

void lineage_tell(const char *sysfs, dev_t device, char *text, size_t room)
{
	struct lineage lineage = {.sysfs = sysfs, .text = text, .room = room};
	struct identity identity;

	text[0] = '\0';
	if (identity_read(sysfs, major(device), minor(device), &identity) == 0)
		tell_device(&lineage, device, 0);
}
