/* SPDX-License-Identifier: MIT */
#include "common/target/usage.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/target/identity.h"

#define DEVICES_MAX 260 /* a drive and its partitions */
#define LINE_BYTES  8192
#define NAME_BYTES  64

struct device {
	unsigned int major, minor;
	char name[NAME_BYTES]; /* "sdb2" */
	char folder[PATH_MAX]; /* in sysfs */
};

struct devices {
	size_t count;
	struct device rows[DEVICES_MAX];
};

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static void add_device(struct devices *devices, const char *folder)
{
	struct device *device = &devices->rows[devices->count];
	char path[PATH_MAX + 8];
	FILE *file;

	if (devices->count == DEVICES_MAX)
		return;
	(void)snprintf(path, sizeof(path), "%s/dev", folder);
	file = fopen(path, "re");
	if (file == NULL)
		return;
	if (fscanf(file, "%u:%u", &device->major, &device->minor) == 2) {
		(void)snprintf(device->name, sizeof(device->name), "%s",
			       last_name(folder));
		(void)snprintf(device->folder, sizeof(device->folder), "%s",
			       folder);
		devices->count++;
	}
	(void)fclose(file); /* nothing was written */
}

static bool is_readable(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0;
}

static void add_partitions(struct devices *devices, const char *disk)
{
	DIR *folder = opendir(disk);
	const struct dirent *entry;
	char path[PATH_MAX], mark[PATH_MAX + 16];

	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL) {
		if (snprintf(path, sizeof(path), "%s/%s", disk,
			     entry->d_name) >= (int)sizeof(path))
			continue;
		(void)snprintf(mark, sizeof(mark), "%s/partition", path);
		if (is_readable(mark))
			add_device(devices, path);
	}
	(void)closedir(folder); /* nothing was written */
}

/* Itself and all that shares its bytes: a drive's partitions, or a partition's
 * drive. */
static void list_devices(struct devices *devices, dev_t device)
{
	struct identity identity;

	devices->count = 0;
	if (identity_read("/sys", major(device), minor(device), &identity) ==
	    -1)
		return;
	add_device(devices, identity.node);
	if (identity.is_partition)
		add_device(devices, identity.disk);
	else
		add_partitions(devices, identity.disk);
}

static const struct device *find_device(const struct devices *devices,
					unsigned int major_number,
					unsigned int minor_number)
{
	for (size_t i = 0; i < devices->count; i++) {
		if (devices->rows[i].major == major_number &&
		    devices->rows[i].minor == minor_number)
			return &devices->rows[i];
	}
	return NULL;
}

static const struct device *find_path(const struct devices *devices,
				      const char *path)
{
	struct stat status;

	if (path[0] != '/' || stat(path, &status) == -1 ||
	    !S_ISBLK(status.st_mode))
		return NULL;
	return find_device(devices, major(status.st_rdev),
			   minor(status.st_rdev));
}

/*
 * A line of mountinfo: "36 35 98:0 /root /mount options - type source super".
 * Some file systems (btrfs) have a number of their own, so the source counts
 * as well.
 */
static const struct device *mounted_device(const struct devices *devices,
					   const char *line, char *place)
{
	const struct device *device;
	char source[PATH_MAX] = "";
	unsigned int major_number, minor_number;
	const char *dash = strstr(line, " - ");

	if (sscanf(line, "%*s %*s %u:%u %*s %4095s", &major_number,
		   &minor_number, place) != 3)
		return NULL;
	device = find_device(devices, major_number, minor_number);
	if (device == NULL && dash != NULL &&
	    sscanf(dash, " - %*s %4095s", source) == 1)
		device = find_path(devices, source);
	return device;
}

static bool find_mount(const struct devices *devices, char *text, size_t room)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[LINE_BYTES], place[PATH_MAX];
	const struct device *device = NULL;

	if (file == NULL)
		return false;
	while (device == NULL && fgets(line, sizeof(line), file) != NULL)
		device = mounted_device(devices, line, place);
	(void)fclose(file); /* nothing was written */
	if (device != NULL)
		(void)snprintf(text, room,
			       "/dev/%s is mounted on %s; a mounted drive is "
			       "never written to",
			       device->name, place);
	return device != NULL;
}

static bool is_same_file(const struct stat *one, const char *path)
{
	struct stat other;

	return stat(path, &other) == 0 && one->st_dev == other.st_dev &&
	       one->st_ino == other.st_ino;
}

static bool find_swap(const struct devices *devices, const struct stat *what,
		      char *text, size_t room)
{
	FILE *file = fopen("/proc/swaps", "re");
	char line[LINE_BYTES], path[PATH_MAX];
	bool is_found = false;

	if (file == NULL)
		return false;
	while (!is_found && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%4095s", path) == 1)
			is_found = find_path(devices, path) != NULL ||
				   is_same_file(what, path);
	}
	(void)fclose(file); /* nothing was written */
	if (is_found)
		(void)snprintf(text, room, "%s is swap space", path);
	return is_found;
}

static bool find_holder(const struct device *device, char *text, size_t room)
{
	char path[PATH_MAX + 16];
	const struct dirent *entry;
	bool is_found = false;
	DIR *holders;

	(void)snprintf(path, sizeof(path), "%s/holders", device->folder);
	holders = opendir(path);
	if (holders == NULL)
		return false;
	while (!is_found && (entry = readdir(holders)) != NULL) {
		is_found = entry->d_name[0] != '.';
		if (is_found)
			(void)snprintf(text, room,
				       "/dev/%s is part of /dev/%.63s",
				       device->name, entry->d_name);
	}
	(void)closedir(holders); /* nothing was written */
	return is_found;
}

/*
 * The mount table names one drive of a btrfs with several. FOLDER lists the
 * drives of one that is mounted.
 */
static const struct device *find_member(const struct devices *devices,
					const char *folder)
{
	char path[PATH_MAX + 264];
	const struct device *device = NULL;
	const struct dirent *entry;
	DIR *members = opendir(folder);

	if (members == NULL)
		return NULL;
	while (device == NULL && (entry = readdir(members)) != NULL) {
		unsigned int major_number, minor_number;
		FILE *file;

		(void)snprintf(path, sizeof(path), "%s/%s/dev", folder,
			       entry->d_name);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fscanf(file, "%u:%u", &major_number, &minor_number) == 2)
			device = find_device(devices, major_number,
					     minor_number);
		(void)fclose(file); /* nothing was written */
	}
	(void)closedir(members); /* nothing was written */
	return device;
}

static bool find_btrfs(const struct devices *devices, char *text, size_t room)
{
	char folder[PATH_MAX];
	const struct device *device = NULL;
	const struct dirent *entry;
	DIR *systems = opendir("/sys/fs/btrfs");

	if (systems == NULL)
		return false;
	while (device == NULL && (entry = readdir(systems)) != NULL) {
		(void)snprintf(folder, sizeof(folder),
			       "/sys/fs/btrfs/%s/devices", entry->d_name);
		if (entry->d_name[0] != '.')
			device = find_member(devices, folder);
	}
	(void)closedir(systems); /* nothing was written */
	if (device != NULL)
		(void)snprintf(text, room,
			       "/dev/%s is part of a btrfs that is mounted; a "
			       "mounted drive is never written to",
			       device->name);
	return device != NULL;
}

/* A loop device over WHAT or a partition of it: it takes no O_EXCL. */
static bool find_loop(const struct devices *devices, const struct stat *what,
		      char *text, size_t room)
{
	DIR *block = opendir("/sys/block");
	const struct dirent *entry;
	char path[PATH_MAX], backing[PATH_MAX];
	bool is_found = false;

	if (block == NULL)
		return false;
	while (!is_found && (entry = readdir(block)) != NULL) {
		FILE *file;

		(void)snprintf(path, sizeof(path),
			       "/sys/block/%s/loop/backing_file",
			       entry->d_name);
		file = fopen(path, "re");
		if (file == NULL)
			continue;
		if (fscanf(file, "%4095[^\n]", backing) == 1)
			is_found = is_same_file(what, backing) ||
				   find_path(devices, backing) != NULL;
		(void)fclose(file); /* nothing was written */
		if (is_found)
			(void)snprintf(text, room, "/dev/%.63s is set up on it",
				       entry->d_name);
	}
	(void)closedir(block); /* nothing was written */
	return is_found;
}

bool usage_find(const struct stat *what, char *text, size_t room)
{
	struct devices *devices = calloc(1, sizeof(*devices));
	bool is_found = false;

	if (devices == NULL) {
		(void)snprintf(text, room, "no memory to look who uses it");
		return true;
	}
	if (S_ISBLK(what->st_mode))
		list_devices(devices, what->st_rdev);
	is_found = find_mount(devices, text, room) ||
		   find_swap(devices, what, text, room) ||
		   find_btrfs(devices, text, room) ||
		   find_loop(devices, what, text, room);
	for (size_t i = 0; i < devices->count && !is_found; i++)
		is_found = find_holder(&devices->rows[i], text, room);
	free(devices);
	return is_found;
}
