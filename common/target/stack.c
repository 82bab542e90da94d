/* SPDX-License-Identifier: MIT */
#include "common/target/stack.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define ZFS_MAGIC   0x2fc12fc1 /* not in linux/magic.h, as the next ones */
#define CIFS_MAGIC  0xff534d42
#define ANSWER_ROOM 32

struct queue {
	int fd;         /* of queue/write_cache, -1: cannot be asked */
	bool has_below; /* of what was found */
	bool may_elide; /* it is known that it does, and why that is right */
	char *disk;     /* folder in sysfs */
};

struct stack {
	const char *sysfs;
	bool has_top; /* queues[0] is the block device on top of all others */
	bool has_one_way; /* in: queues[0] */
	unsigned int count;
	unsigned int met; /* drives and layers, each time one is come upon */
	struct queue queues[STACK_QUEUES_MAX];
	const char *cached_loop; /* NULL: none */
	char unknown[STACK_TEXT_BYTES];
};

enum answer {
	ANSWER_NONE,
	ANSWER_BACK,
	ANSWER_THROUGH,
};

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static void add_unknown(struct stack *stack, const char *what)
{
	size_t used = strlen(stack->unknown);

	(void)snprintf(stack->unknown + used, sizeof(stack->unknown) - used,
		       "%s%s", used > 0 ? ", " : "", what);
}

/* A file of sysfs is made anew at each read from its beginning. */
static enum answer ask(int fd)
{
	char text[ANSWER_ROOM] = "";

	if (fd == -1 || pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return ANSWER_NONE;
	if (strncmp(text, "write back", strlen("write back")) == 0)
		return ANSWER_BACK;
	if (strncmp(text, "write through", strlen("write through")) == 0)
		return ANSWER_THROUGH;
	return ANSWER_NONE;
}

/* Of regular files only: nothing here may wait. */
static int open_small(const char *folder, const char *name)
{
	char path[PATH_MAX];
	struct stat status;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    (int)sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	(void)close(fd); /* nothing was written */
	return -1;
}

static void add_disk(struct stack *stack, const char *disk)
{
	struct queue *queue = &stack->queues[stack->count];

	for (unsigned int i = 0; i < stack->count; i++) {
		if (strcmp(stack->queues[i].disk, disk) == 0) {
			stack->met++;
			return;
		}
	}
	if (stack->count < STACK_QUEUES_MAX)
		queue->disk = strdup(disk);
	if (stack->count == STACK_QUEUES_MAX || queue->disk == NULL) {
		add_unknown(stack, last_name(disk));
		return;
	}
	stack->count++;
	stack->met++;
	queue->fd = open_small(disk, "queue/write_cache");
	if (ask(queue->fd) != ANSWER_NONE)
		return;
	add_unknown(stack, last_name(disk));
	if (queue->fd != -1)
		(void)close(queue->fd); /* nothing was written */
	queue->fd = -1;
}

/* PATH leads to a drive or a partition of one. */
static bool add_path(struct stack *stack, const char *path)
{
	char real[PATH_MAX], mark[PATH_MAX + 16];

	if (realpath(path, real) == NULL)
		return false;
	(void)snprintf(mark, sizeof(mark), "%s/partition", real);
	if (access(mark, F_OK) == 0)
		*strrchr(real, '/') = '\0'; /* real begins with one */
	add_disk(stack, real);
	return true;
}

static void add_device(struct stack *stack, dev_t device)
{
	char path[PATH_MAX], name[32];

	(void)snprintf(name, sizeof(name), "%u:%u", major(device),
		       minor(device));
	if (snprintf(path, sizeof(path), "%s/dev/block/%s", stack->sysfs,
		     name) >= (int)sizeof(path) ||
	    !add_path(stack, path))
		add_unknown(stack, name);
}

/* False where there is no such folder. */
static bool add_folder(struct stack *stack, const char *path)
{
	char entry_path[PATH_MAX + 264];
	const struct dirent *entry;
	DIR *folder = opendir(path);

	if (folder == NULL)
		return false;
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(entry_path, sizeof(entry_path), "%s/%s", path,
			       entry->d_name);
		if (!add_path(stack, entry_path))
			add_unknown(stack, entry->d_name);
	}
	(void)closedir(folder); /* nothing was written */
	return true;
}

static void add_slaves(struct stack *stack, const char *disk)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/slaves", disk) < (int)sizeof(path))
		(void)add_folder(stack, path); /* most have none */
}

/* The paths of nvme1n2 are hidden drives, nvme1c0n2 and so on. */
static void add_nvme_paths(struct stack *stack, const char *disk)
{
	unsigned int subsystem, namespace, at[3];
	char path[PATH_MAX + 264], rest;
	const struct dirent *entry;
	DIR *block;

	if (sscanf(last_name(disk), "nvme%un%u%c", &subsystem, &namespace,
		   &rest) != 2)
		return;
	(void)snprintf(path, PATH_MAX, "%s/block", stack->sysfs);
	block = opendir(path);
	if (block == NULL)
		return;
	while ((entry = readdir(block)) != NULL) {
		if (sscanf(entry->d_name, "nvme%uc%un%u%c", &at[0], &at[1],
			   &at[2], &rest) != 3 ||
		    at[0] != subsystem || at[2] != namespace)
			continue;
		(void)snprintf(path, sizeof(path), "%s/block/%s", stack->sysfs,
			       entry->d_name);
		if (!add_path(stack, path))
			add_unknown(stack, entry->d_name);
	}
	(void)closedir(block); /* nothing was written */
}

/* ---- file systems ---- */

/* The name of the folder that btrfs has in sysfs. FD may be a mere O_PATH. */
static bool read_btrfs_id(int fd, char *id, size_t room)
{
	struct btrfs_ioctl_fs_info_args info;
	char path[32];
	size_t used = 0;
	bool is_known;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	memset(&info, 0, sizeof(info));
	is_known = ioctl(fd, BTRFS_IOC_FS_INFO, &info) == 0;
	(void)close(fd); /* nothing was written */
	for (size_t i = 0; is_known && i < BTRFS_FSID_SIZE; i++)
		used += (size_t)snprintf(
			id + used, room - used, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			info.fsid[i]);
	return is_known;
}

/* btrfs lies on several drives, and its device number is of none of them. */
static bool add_btrfs(struct stack *stack, int fd)
{
	char path[PATH_MAX], id[2 * BTRFS_FSID_SIZE + 5];

	return read_btrfs_id(fd, id, sizeof(id)) &&
	       snprintf(path, sizeof(path), "%s/fs/btrfs/%s/devices",
			stack->sysfs, id) < (int)sizeof(path) &&
	       add_folder(stack, path);
}

static const char *system_name(const struct statfs *system)
{
	static const struct {
		unsigned int magic;
		const char *name;
	} rows[] = {
		{TMPFS_MAGIC, "tmpfs"},
		{FUSE_SUPER_MAGIC, "fuse"},
		{NFS_SUPER_MAGIC, "nfs"},
		{OVERLAYFS_SUPER_MAGIC, "overlayfs"},
		{BTRFS_SUPER_MAGIC, "btrfs"},
		{CIFS_MAGIC, "cifs"},
		{ZFS_MAGIC, "zfs"},
		{V9FS_MAGIC, "9p"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].magic == (unsigned int)system->f_type)
			return rows[i].name;
	}
	return "a file system without a block device";
}

/* False: it is nothing that could lie below a loop device. */
static bool add_file(struct stack *stack, int fd)
{
	struct statfs system;
	struct stat status;

	if (fstat(fd, &status) == -1 ||
	    (!S_ISBLK(status.st_mode) && !S_ISREG(status.st_mode)))
		return false;
	if (S_ISBLK(status.st_mode))
		add_device(stack, status.st_rdev);
	else if (major(status.st_dev) != 0)
		add_device(stack, status.st_dev);
	else if (fstatfs(fd, &system) == -1)
		return false;
	else if (system.f_type != BTRFS_SUPER_MAGIC || !add_btrfs(stack, fd))
		add_unknown(stack, system_name(&system));
	return true;
}

/* The path of the file below a loop device; "" where there is none. */
static void read_backing(const char *disk, char *path, size_t room)
{
	int fd = open_small(disk, "loop/backing_file");
	ssize_t count;

	path[0] = '\0';
	if (fd == -1)
		return;
	count = read(fd, path, room - 1);
	(void)close(fd); /* nothing was written */
	path[count > 0 ? count : 0] = '\0';
	path[strcspn(path, "\n")] = '\0';
}

static void add_backing(struct stack *stack, const char *disk)
{
	char path[PATH_MAX], text[64];
	bool is_known = false;
	int fd;

	read_backing(disk, path, sizeof(path));
	if (path[0] == '\0')
		return;
	/* O_PATH: a FIFO would wait, a drive would be woken. */
	fd = path[0] == '/' ? open(path, O_PATH | O_CLOEXEC) : -1;
	if (fd != -1) {
		is_known = add_file(stack, fd);
		(void)close(fd); /* nothing was written */
	}
	(void)snprintf(text, sizeof(text), "the file of %.40s",
		       last_name(disk));
	if (!is_known)
		add_unknown(stack, text);
}

/* P10: does it read its file through the page cache? */
static void check_loop(struct stack *stack, const char *disk)
{
	int fd = open_small(disk, "loop/dio");
	char value = '1';

	if (fd == -1)
		return;
	(void)pread(fd, &value, 1, 0); /* what it does not say it does not do */
	(void)close(fd);               /* nothing was written */
	if (value != '1' && stack->cached_loop == NULL)
		stack->cached_loop = last_name(disk);
}

/* ---- */

/* What it finds is put at the end, once; so it ends, whatever sysfs says. */
static void walk(struct stack *stack)
{
	for (unsigned int i = 0; i < stack->count; i++) {
		unsigned int met = stack->met;

		add_slaves(stack, stack->queues[i].disk);
		add_nvme_paths(stack, stack->queues[i].disk);
		add_backing(stack, stack->queues[i].disk);
		stack->queues[i].has_below = stack->met != met;
		check_loop(stack, stack->queues[i].disk);
	}
}

struct stack *stack_of_device(const char *sysfs, dev_t device)
{
	struct stack *stack = calloc(1, sizeof(*stack));

	if (stack == NULL)
		return NULL;
	stack->sysfs = sysfs;
	add_device(stack, device);
	stack->has_top = stack->has_one_way = stack->count == 1;
	walk(stack);
	return stack;
}

struct stack *stack_of_file(const char *sysfs, int fd)
{
	struct stack *stack = calloc(1, sizeof(*stack));

	if (stack == NULL)
		return NULL;
	stack->sysfs = sysfs;
	if (!add_file(stack, fd))
		add_unknown(stack, "a file that cannot be asked");
	stack->has_one_way = stack->count == 1 && stack->unknown[0] == '\0';
	walk(stack);
	return stack;
}

void stack_close(struct stack *stack)
{
	if (stack == NULL)
		return;
	for (unsigned int i = 0; i < stack->count; i++) {
		if (stack->queues[i].fd != -1)
			(void)close(stack->queues[i].fd); /* was only read */
		free(stack->queues[i].disk);
	}
	free(stack);
}

void stack_allow(struct stack *stack, bool is_for_all)
{
	for (unsigned int i = 0; i < stack->count; i++) {
		if (is_for_all || ask(stack->queues[i].fd) == ANSWER_THROUGH)
			stack->queues[i].may_elide = true;
	}
}

const char *stack_elided_at(const struct stack *stack)
{
	for (unsigned int i = 0; i < stack->count; i++) {
		if (!stack->queues[i].may_elide &&
		    ask(stack->queues[i].fd) == ANSWER_THROUGH)
			return last_name(stack->queues[i].disk);
	}
	return "";
}

bool stack_is_write_back(const struct stack *stack)
{
	for (unsigned int i = 0; i < stack->count; i++) {
		enum answer answer;

		if (stack->queues[i].may_elide)
			continue;
		answer = ask(stack->queues[i].fd);
		if (answer == ANSWER_THROUGH ||
		    (answer == ANSWER_NONE && i == 0 && stack->has_top))
			return false;
	}
	return true;
}

unsigned int stack_count(const struct stack *stack)
{
	return stack->count;
}

const char *stack_disk(const struct stack *stack, unsigned int i)
{
	return stack->queues[i].disk;
}

bool stack_has_one_way(const struct stack *stack)
{
	return stack->has_one_way;
}

bool stack_is_bottom(const struct stack *stack, unsigned int i)
{
	return !stack->queues[i].has_below;
}

const char *stack_unknown(const struct stack *stack)
{
	return stack->unknown;
}

const char *stack_cached_loop(const struct stack *stack)
{
	return stack->cached_loop == NULL ? "" : stack->cached_loop;
}
