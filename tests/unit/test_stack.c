/* SPDX-License-Identifier: MIT */
/*
 * P9: wherever in the stack a queue says "write through", it is found and
 * named; and nothing that a made-up sysfs says makes the search fail, wait or
 * go on for ever. What the system says of files is replaced here, so that they
 * can lie on any drive and in any file system.
 */
#include "tests/unit/cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/target/stack.h"
#include "tests/fake/sysfs_fake.h"

#define BACK    "write back\n"
#define THROUGH "write through\n"

/* Of every regular file. */
static struct {
	dev_t device;
	long magic;
	bool is_failing; /* btrfs does not say which one it is */
} told;

int fstat(int fd, struct stat *status)
{
	int result = fstatat(fd, "", status, AT_EMPTY_PATH);

	if (result == 0 && S_ISREG(status->st_mode))
		status->st_dev = told.device;
	return result;
}

int fstatfs(int fd, struct statfs *system)
{
	(void)fd;
	memset(system, 0, sizeof(*system));
	system->f_type = told.magic;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct btrfs_ioctl_fs_info_args *info;
	va_list arguments;

	(void)fd;
	va_start(arguments, request);
	info = va_arg(arguments, struct btrfs_ioctl_fs_info_args *);
	va_end(arguments);
	if (request != BTRFS_IOC_FS_INFO || told.is_failing) {
		errno = ENOTTY;
		return -1;
	}
	for (int i = 0; i < BTRFS_FSID_SIZE; i++)
		info->fsid[i] = (uint8_t)(16 * i + i);
	return 0;
}

static int make_tree(void **state)
{
	told.device = makedev(8, 0);
	told.magic = EXT4_SUPER_MAGIC;
	told.is_failing = false;
	return sysfs_fake_setup(state);
}

static void put_disk(const struct sysfs_fake *tree, const char *name,
		     const char *says)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "d/%s/queue/write_cache", name);
	sysfs_fake_put(tree, path, says);
}

static void put_slave(const struct sysfs_fake *tree, const char *disk,
		      const char *slave)
{
	char path[128], to[128];

	(void)snprintf(path, sizeof(path), "d/%s/slaves/%s", disk,
		       strrchr(slave, '/') ? strrchr(slave, '/') + 1 : slave);
	(void)snprintf(to, sizeof(to), "d/%s", slave);
	sysfs_fake_link(tree, path, to);
}

/* 8:0 is DISK. */
static void put_top(const struct sysfs_fake *tree, const char *disk)
{
	char to[128];

	(void)snprintf(to, sizeof(to), "d/%s", disk);
	sysfs_fake_link(tree, "dev/block/8:0", to);
}

/* A loop device over a file of this test. */
static void put_loop(const struct sysfs_fake *tree, const char *name)
{
	char path[128], text[600];

	put_disk(tree, name, BACK);
	(void)snprintf(path, sizeof(path), "d/%s/loop/backing_file", name);
	sysfs_fake_put(tree, "backing", "");
	(void)snprintf(text, sizeof(text), "%s\n",
		       sysfs_fake_path(tree, "backing"));
	sysfs_fake_put(tree, path, text);
}

static struct stack *open_top(const struct sysfs_fake *tree)
{
	struct stack *stack = stack_of_device(tree->root, makedev(8, 0));

	assert_non_null(stack);
	return stack;
}

static struct stack *open_file(const struct sysfs_fake *tree)
{
	struct stack *stack;
	int fd;

	sysfs_fake_put(tree, "file", "");
	fd = open(sysfs_fake_path(tree, "file"), O_RDONLY);
	assert_int_not_equal(fd, -1);
	stack = stack_of_file(tree->root, fd);
	assert_int_equal(close(fd), 0);
	assert_non_null(stack);
	return stack;
}

/* NAME "": everything lets a FLUSH pass. */
static void expect_and_close(struct stack *stack, const char *name,
			     const char *unknown)
{
	assert_string_equal(stack_elided_at(stack), name);
	assert_int_equal(stack_is_write_back(stack), name[0] == '\0');
	assert_string_equal(stack_unknown(stack), unknown);
	stack_close(stack);
}

/* ---- P9: where it is found ---- */

/* The one drive that matters says first this, then that. */
static void expect_switch(const struct sysfs_fake *tree, const char *disk,
			  struct stack *(*open_it)(const struct sysfs_fake *))
{
	put_disk(tree, disk, THROUGH);
	expect_and_close(open_it(tree), disk, "");
	put_disk(tree, disk, BACK);
	expect_and_close(open_it(tree), "", "");
}

static void p9_a_drive_or_a_partition_of_it(void **state)
{
	const struct sysfs_fake *tree = *state;

	put_top(tree, "sda/sda2");
	sysfs_fake_put(tree, "d/sda/sda2/partition", "2\n");
	sysfs_fake_link(tree, "dev/block/8:1", "d/sda");
	expect_switch(tree, "sda", open_top);
	told.device = makedev(8, 1);
	expect_switch(tree, "sda", open_file);
}

/* dm-0 on md0 and sdc; md0 on sda and the partition sdb1. */
static void p9_any_member_at_any_depth(void **state)
{
	static const char *const names[] = {"dm-0", "md0", "sda", "sdb", "sdc"};
	const struct sysfs_fake *tree = *state;

	put_top(tree, "dm-0");
	sysfs_fake_put(tree, "d/sdb/sdb1/partition", "1\n");
	put_slave(tree, "dm-0", "md0");
	put_slave(tree, "dm-0", "sdc");
	put_slave(tree, "md0", "sda");
	put_slave(tree, "md0", "sdb/sdb1");
	for (size_t i = 0; i < 5; i++)
		put_disk(tree, names[i], BACK);
	for (size_t i = 0; i < 5; i++)
		expect_switch(tree, names[i], open_top);
}

static void p9_the_drive_below_the_file_of_a_loop_device(void **state)
{
	const struct sysfs_fake *tree = *state;

	put_top(tree, "loop3");
	put_loop(tree, "loop3");
	told.device = makedev(8, 1);
	sysfs_fake_put(tree, "d/vda/vda1/partition", "1\n");
	sysfs_fake_link(tree, "dev/block/8:1", "d/vda/vda1");
	expect_switch(tree, "vda", open_top);
}

static void p9_every_drive_of_a_btrfs(void **state)
{
	const struct sysfs_fake *tree = *state;
	const char *folder = "fs/btrfs/00112233-4455-6677-8899-aabbccddeeff/"
			     "devices";
	char path[128];

	told.device = makedev(0, 40);
	told.magic = BTRFS_SUPER_MAGIC;
	(void)snprintf(path, sizeof(path), "%s/sda", folder);
	sysfs_fake_link(tree, path, "d/sda");
	(void)snprintf(path, sizeof(path), "%s/sdb", folder);
	sysfs_fake_link(tree, path, "d/sdb");
	put_disk(tree, "sda", BACK);
	expect_switch(tree, "sdb", open_file);
	expect_switch(tree, "sda", open_file);
	told.is_failing = true;
	expect_and_close(open_file(tree), "", "btrfs");
}

static void p9_every_path_of_an_nvme_drive(void **state)
{
	static const char *const names[] = {"nvme1n2", "nvme1c0n2", "nvme1c3n2",
					    "nvme1c0n1", "nvme2c0n2"};
	const struct sysfs_fake *tree = *state;
	char path[64], to[64];

	put_top(tree, "nvme1n2");
	for (size_t i = 0; i < 5; i++) {
		(void)snprintf(path, sizeof(path), "block/%s", names[i]);
		(void)snprintf(to, sizeof(to), "d/%s", names[i]);
		sysfs_fake_link(tree, path, to);
		put_disk(tree, names[i], i < 3 ? BACK : THROUGH);
	}
	for (size_t i = 0; i < 3; i++)
		expect_switch(tree, names[i], open_top);
}

/* ---- P9: asked again ---- */

static void p9_a_member_switched_later_is_seen(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct stack *stack;

	put_top(tree, "dm-0");
	put_slave(tree, "dm-0", "sda");
	put_disk(tree, "dm-0", BACK);
	put_disk(tree, "sda", BACK);
	stack = open_top(tree);
	assert_true(stack_is_write_back(stack));
	put_disk(tree, "sda", THROUGH);
	assert_false(stack_is_write_back(stack));
	assert_string_equal(stack_elided_at(stack), "sda");
	put_disk(tree, "sda", BACK);
	expect_and_close(stack, "", "");
}

/* A leg that has left a mirror is no reason to stop; a drive that has left is.
 */
static void p9_silence_counts_at_the_top_alone(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct stack *stack;

	put_top(tree, "md0");
	put_slave(tree, "md0", "sda");
	put_disk(tree, "md0", BACK);
	put_disk(tree, "sda", BACK);
	stack = open_top(tree);
	put_disk(tree, "sda", "");
	assert_true(stack_is_write_back(stack));
	put_disk(tree, "md0", "");
	assert_false(stack_is_write_back(stack));
	assert_string_equal(stack_elided_at(stack), "");
	stack_close(stack);
}

/* ---- what cannot be asked ---- */

static void p9_a_top_that_says_nothing_is_refused(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct stack *stack;

	put_top(tree, "sda");
	put_disk(tree, "sda", "yes\n");
	stack = open_top(tree);
	assert_false(stack_is_write_back(stack));
	assert_string_equal(stack_unknown(stack), "sda");
	stack_close(stack);
}

static void a_member_that_cannot_be_asked_is_named(void **state)
{
	const struct sysfs_fake *tree = *state;

	put_top(tree, "dm-0");
	put_disk(tree, "dm-0", BACK);
	sysfs_fake_put(tree, "d/sda/size", "1\n");
	put_slave(tree, "dm-0", "sda");
	expect_and_close(open_top(tree), "", "sda");
	put_disk(tree, "sda", "");
	expect_and_close(open_top(tree), "", "sda");
	put_disk(tree, "sda", "writeback\n");
	expect_and_close(open_top(tree), "", "sda");
	put_slave(tree, "dm-0", "gone");
	put_disk(tree, "sda", BACK);
	expect_and_close(open_top(tree), "", "gone");
}

static void a_file_system_without_a_drive_is_named(void **state)
{
	static const struct {
		long magic;
		const char *name;
	} rows[] = {{TMPFS_MAGIC, "tmpfs"},
		    {FUSE_SUPER_MAGIC, "fuse"},
		    {0x1234, "a file system without a block device"}};

	told.device = makedev(0, 40);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		told.magic = rows[i].magic;
		expect_and_close(open_file(*state), "", rows[i].name);
	}
}

static void a_device_that_sysfs_does_not_have_is_named(void **state)
{
	expect_and_close(open_top(*state), "", "8:0");
	expect_and_close(open_file(*state), "", "8:0");
}

static void expect_backing_unknown(const struct sysfs_fake *tree,
				   const char *path)
{
	sysfs_fake_put(tree, "d/loop3/loop/backing_file", path);
	expect_and_close(open_top(tree), "", "the file of loop3");
}

static void a_backing_file_that_cannot_be_found_is_named(void **state)
{
	const struct sysfs_fake *tree = *state;
	static char path[20000];

	put_top(tree, "loop3");
	put_disk(tree, "loop3", BACK);
	expect_backing_unknown(tree, "/nonexistent/a (deleted)\n");
	expect_backing_unknown(tree, "relative\n");
	expect_backing_unknown(tree, "/\n");
	expect_backing_unknown(tree, "/dev/null\n");
	assert_int_equal(mkfifo(sysfs_fake_path(tree, "fifo"), 0600), 0);
	expect_backing_unknown(tree, sysfs_fake_path(tree, "fifo"));
	memset(path, '/', sizeof(path) - 1);
	expect_backing_unknown(tree, path);
	sysfs_fake_put(tree, "d/loop3/loop/backing_file", "\n");
	expect_and_close(open_top(tree), "", "");
}

/* ---- hostile contents ---- */

static void what_should_be_a_file_never_waits(void **state)
{
	const struct sysfs_fake *tree = *state;

	put_top(tree, "sda");
	sysfs_fake_put(tree, "d/sda/queue/size", "1\n");
	assert_int_equal(
		mkfifo(sysfs_fake_path(tree, "d/sda/queue/write_cache"), 0600),
		0);
	sysfs_fake_put(tree, "d/sda/loop/backing_file/x", "a folder\n");
	sysfs_fake_put(tree, "d/sda/slaves", "no folder\n");
	expect_and_close(open_file(tree), "", "sda");
}

static void a_ring_of_members_ends(void **state)
{
	const struct sysfs_fake *tree = *state;

	put_top(tree, "dm-0");
	put_disk(tree, "dm-0", BACK);
	put_disk(tree, "dm-1", BACK);
	put_slave(tree, "dm-0", "dm-0");
	put_slave(tree, "dm-0", "dm-1");
	put_slave(tree, "dm-1", "dm-0");
	expect_switch(tree, "dm-1", open_top);
}

static void more_members_than_there_is_room_for_are_unknown(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct stack *stack;
	char name[16];

	put_top(tree, "dm-0");
	put_disk(tree, "dm-0", BACK);
	for (int i = 0; i < STACK_QUEUES_MAX + 40; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		put_disk(tree, name, BACK);
		put_slave(tree, "dm-0", name);
	}
	stack = open_top(tree);
	assert_true(stack_is_write_back(stack));
	assert_true(strlen(stack_unknown(stack)) > 100);
	assert_true(strlen(stack_unknown(stack)) < STACK_TEXT_BYTES);
	stack_close(stack);
}

static unsigned int open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (readdir(folder) != NULL)
		count++;
	(void)closedir(folder);
	return count;
}

static void nothing_stays_open(void **state)
{
	const struct sysfs_fake *tree = *state;
	unsigned int before = open_files();

	p9_any_member_at_any_depth(state);
	(void)unlink(sysfs_fake_path(tree, "dev/block/8:0"));
	p9_the_drive_below_the_file_of_a_loop_device(state);
	p9_every_drive_of_a_btrfs(state);
	stack_close(NULL);
	assert_int_equal(open_files(), before);
}

/* ---- P10 ---- */

static void expect_cached(struct stack *stack, const char *name)
{
	assert_string_equal(stack_cached_loop(stack), name);
	stack_close(stack);
}

/* dm-0 on md0 on a partition of loop1, whose file is on loop2. */
static void p10_a_cached_loop_is_found_at_any_depth(void **state)
{
	const struct sysfs_fake *tree = *state;

	put_top(tree, "dm-0");
	put_disk(tree, "dm-0", BACK);
	put_disk(tree, "md0", BACK);
	put_loop(tree, "loop1");
	put_disk(tree, "loop2", BACK);
	sysfs_fake_put(tree, "d/loop1/loop1p1/partition", "1\n");
	put_slave(tree, "dm-0", "md0");
	put_slave(tree, "md0", "loop1/loop1p1");
	told.device = makedev(7, 2);
	sysfs_fake_link(tree, "dev/block/7:2", "d/loop2");
	expect_cached(open_top(tree), "");
	sysfs_fake_put(tree, "d/loop1/loop/dio", "1\n");
	sysfs_fake_put(tree, "d/loop2/loop/dio", "1\n");
	expect_cached(open_top(tree), "");
	sysfs_fake_put(tree, "d/loop2/loop/dio", "0\n");
	expect_cached(open_top(tree), "loop2");
	expect_cached(open_file(tree), "loop2");
	sysfs_fake_put(tree, "d/loop1/loop/dio", "0\n");
	expect_cached(open_top(tree), "loop1");
}

#define ROW(test) \
	cmocka_unit_test_setup_teardown(test, make_tree, sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p9_a_drive_or_a_partition_of_it),
		ROW(p9_any_member_at_any_depth),
		ROW(p9_the_drive_below_the_file_of_a_loop_device),
		ROW(p9_every_drive_of_a_btrfs),
		ROW(p9_every_path_of_an_nvme_drive),
		ROW(p9_a_member_switched_later_is_seen),
		ROW(p9_silence_counts_at_the_top_alone),
		ROW(p9_a_top_that_says_nothing_is_refused),
		ROW(a_member_that_cannot_be_asked_is_named),
		ROW(a_file_system_without_a_drive_is_named),
		ROW(a_device_that_sysfs_does_not_have_is_named),
		ROW(a_backing_file_that_cannot_be_found_is_named),
		ROW(what_should_be_a_file_never_waits),
		ROW(a_ring_of_members_ends),
		ROW(more_members_than_there_is_room_for_are_unknown),
		ROW(nothing_stays_open),
		ROW(p10_a_cached_loop_is_found_at_any_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
