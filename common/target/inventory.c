/* SPDX-License-Identifier: MIT */
#include "common/target/inventory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/base/err.h"

#define TELL_MAX 8 /* names in a sentence */

static bool has_file(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	return snprintf(path, sizeof(path), "%s/%s", folder, name) <
		       (int)sizeof(path) &&
	       stat(path, &status) == 0;
}

static bool has_text(const char *folder, const char *name, const char *wanted)
{
	char text[32];

	return identity_read_text(folder, name, text, sizeof(text)) &&
	       strcmp(text, wanted) == 0;
}

/* They are there whether anybody set them up or not. */
static bool is_standing_empty(const char *name, const char *folder)
{
	static const char *const kinds[] = {"loop", "nbd", "zram", "dm-", "md"};

	if (strncmp(name, "ram", 3) == 0)
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return has_text(folder, "size", "0");
	}
	return false;
}

static int add_name(struct inventory *inventory, const char *name,
		    const char *disk, struct err *err)
{
	struct inventory_name *row = &inventory->names[inventory->count];

	/* Longer ones do not exist: the kernel's DISK_NAME_LEN is 32. */
	if (strlen(name) >= sizeof(row->name) ||
	    strlen(disk) >= sizeof(row->disk))
		return 0;
	if (inventory->count == INVENTORY_NAMES_MAX)
		return err_set(err,
			       "cannot list the drives: there are more than %d "
			       "drives and partitions",
			       INVENTORY_NAMES_MAX);
	(void)snprintf(row->name, sizeof(row->name), "%s", name);
	(void)snprintf(row->disk, sizeof(row->disk), "%s", disk);
	row->is_partition = strcmp(name, disk) != 0;
	inventory->count++;
	return 0;
}

static int add_partitions(struct inventory *inventory, const char *folder,
			  const char *disk, struct err *err)
{
	char mark[NAME_MAX + 16];
	const struct dirent *entry;
	DIR *list = opendir(folder);
	int result = 0;

	if (list == NULL)
		return 0; /* it has just gone */
	while (result == 0 && (entry = readdir(list)) != NULL) {
		(void)snprintf(mark, sizeof(mark), "%s/partition",
			       entry->d_name);
		if (entry->d_name[0] != '.' && has_file(folder, mark))
			result = add_name(inventory, entry->d_name, disk, err);
	}
	(void)closedir(list); /* nothing was written */
	return result;
}

static int add_disk(struct inventory *inventory, const char *sysfs,
		    const char *name, struct err *err)
{
	char folder[PATH_MAX];

	if (snprintf(folder, sizeof(folder), "%s/block/%s", sysfs, name) >=
		    (int)sizeof(folder) ||
	    !has_file(folder, "dev") || has_text(folder, "hidden", "1") ||
	    is_standing_empty(name, folder))
		return 0;
	if (add_name(inventory, name, name, err) == -1)
		return -1;
	return add_partitions(inventory, folder, name, err);
}

static int compare_text(const char *one, const char *other)
{
	int order = strverscmp(one, other);

	return order != 0 ? order : strcmp(one, other);
}

static int compare_names(const void *left, const void *right)
{
	const struct inventory_name *one = left, *other = right;
	int order = compare_text(one->disk, other->disk);

	if (order != 0 || one->is_partition != other->is_partition)
		return order != 0 ? order
				  : one->is_partition - other->is_partition;
	return compare_text(one->name, other->name);
}

struct inventory *inventory_new(const char *sysfs, struct err *err)
{
	struct inventory *inventory = calloc(1, sizeof(*inventory));
	char path[PATH_MAX];
	const struct dirent *entry;
	int result = 0;
	DIR *block;

	(void)snprintf(path, sizeof(path), "%s/block", sysfs);
	block = inventory == NULL ? NULL : opendir(path);
	if (block == NULL) {
		(void)err_sys(err, errno, "cannot list the drives in %s", path);
		free(inventory);
		return NULL;
	}
	while (result == 0 && (entry = readdir(block)) != NULL) {
		if (entry->d_name[0] != '.')
			result = add_disk(inventory, sysfs, entry->d_name, err);
	}
	(void)closedir(block); /* nothing was written */
	if (result == -1) {
		free(inventory);
		return NULL;
	}
	qsort(inventory->names, inventory->count, sizeof(inventory->names[0]),
	      compare_names);
	return inventory;
}

/* What devtmpfs calls it: a '!' in sysfs is a '/' there. */
static void make_path(const char *name, char *path, size_t room)
{
	(void)snprintf(path, room, "/dev/%s", name);
	for (char *at = strchr(path, '!'); at != NULL; at = strchr(at, '!'))
		*at = '/';
}

/* "8:17" */
static int read_number(const char *folder, dev_t *device)
{
	unsigned int major_number, minor_number;
	char text[32], rest;

	if (!identity_read_text(folder, "dev", text, sizeof(text)) ||
	    sscanf(text, "%9u:%9u%c", &major_number, &minor_number, &rest) != 2)
		return -1;
	*device = makedev(major_number, minor_number);
	return 0;
}

static int find_folder(const char *sysfs, const struct inventory_name *name,
		       char *folder, size_t room)
{
	int length = snprintf(folder, room, "%s/block/%s%s%s", sysfs,
			      name->disk, name->is_partition ? "/" : "",
			      name->is_partition ? name->name : "");

	return length < (int)room ? 0 : -1;
}

int inventory_read(const char *sysfs, const struct inventory_name *name,
		   struct inventory_device *device)
{
	char folder[PATH_MAX];

	memset(device, 0, sizeof(*device));
	if (find_folder(sysfs, name, folder, sizeof(folder)) == -1 ||
	    read_number(folder, &device->device) == -1 ||
	    identity_read(sysfs, major(device->device), minor(device->device),
			  &device->identity) == -1)
		return -1;
	make_path(name->name, device->path, sizeof(device->path));
	blockfacts_read(&device->identity, &device->facts);
	return 0;
}

static bool is_layer(const char *name)
{
	return strncmp(name, "dm-", 3) == 0 || strncmp(name, "md", 2) == 0;
}

static bool is_layer_identity(const char *identity)
{
	return strncmp(identity, "dm:", 3) == 0 ||
	       strncmp(identity, "md:", 3) == 0;
}

/* A partition is meant only where ":partN" is behind the name. */
static bool is_named(const struct inventory_device *device, const char *text)
{
	char wwn[BLOCKFACTS_TEXT_BYTES + 32];
	const char *part = strrchr(device->identity.text, ':');

	(void)snprintf(wwn, sizeof(wwn), "%s%.20s", device->facts.wwn,
		       device->identity.is_partition && part != NULL ? part
								     : "");
	return strcmp(device->identity.text, text) == 0 ||
	       strcmp(device->identity.serial, text) == 0 ||
	       (device->facts.wwn[0] != '\0' && strcmp(wwn, text) == 0);
}

static int collect(const char *sysfs, const char *text,
		   bool (*is_it)(const struct inventory_device *, const char *),
		   struct inventory_matches *matches, struct err *err)
{
	struct inventory *inventory = inventory_new(sysfs, err);
	struct inventory_device device;

	memset(matches, 0, sizeof(*matches));
	if (inventory == NULL)
		return -1;
	for (size_t i = 0; i < inventory->count; i++) {
		const struct inventory_name *name = &inventory->names[i];

		if (is_layer(name->disk) && is_it != is_named &&
		    !is_layer_identity(text))
			continue;
		if (inventory_read(sysfs, name, &device) == -1 ||
		    !is_it(&device, text))
			continue;
		if (matches->count < INVENTORY_MATCH_MAX)
			matches->names[matches->count] = *name;
		matches->count++;
	}
	free(inventory);
	return 0;
}

static bool is_identity(const struct inventory_device *device, const char *text)
{
	return strcmp(device->identity.text, text) == 0;
}

int inventory_find(const char *sysfs, const char *identity,
		   struct inventory_matches *matches, struct err *err)
{
	return collect(sysfs, identity, is_identity, matches, err);
}

int inventory_search(const char *sysfs, const char *text,
		     struct inventory_matches *matches, struct err *err)
{
	return collect(sysfs, text, is_named, matches, err);
}

void inventory_tell(const struct inventory_matches *matches, char *text,
		    size_t room)
{
	size_t shown = matches->count < TELL_MAX ? matches->count : TELL_MAX;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < shown && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%s",
					 i > 0 ? ", " : "",
					 matches->names[i].name);
	if (matches->count > shown && used < room)
		(void)snprintf(text + used, room - used, " and %zu more",
			       matches->count - shown);
}
