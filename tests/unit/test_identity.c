/* SPDX-License-Identifier: MIT */
/* Identity is read from a made-up sysfs, one drive of each kind. */
#include "tests/unit/cmocka_all.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/target/identity.h"

struct tree {
	char root[64];
};

static int make_tree(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	(void)strcpy(tree->root, "/tmp/plugpull-test-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	*state = tree;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag,
			struct FTW *walk)
{
	(void)status;
	(void)flag;
	(void)walk;
	return remove(path);
}

static int drop_tree(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(
		nftw(tree->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(tree);
	return 0;
}

static void make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
}

static void put_bytes(const struct tree *tree, const char *name,
		      const void *bytes, size_t count)
{
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", tree->root, name);
	make_folders(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);
}

static void put(const struct tree *tree, const char *name, const char *text)
{
	put_bytes(tree, name, text, strlen(text));
}

static void put_link(const struct tree *tree, const char *name,
		     const char *folder)
{
	char path[512], to[512];

	(void)snprintf(path, sizeof(path), "%s/%s", tree->root, name);
	(void)snprintf(to, sizeof(to), "%s/%s", tree->root, folder);
	make_folders(path);
	assert_int_equal(symlink(to, path), 0);
}

static struct identity read_it(const struct tree *tree, unsigned int minor)
{
	struct identity identity;

	assert_int_equal(identity_read(tree->root, 8, minor, &identity), 0);
	return identity;
}

static void p10_nvme_is_model_serial_and_name(void **state)
{
	const struct tree *tree = *state;
	struct identity identity;

	put(tree, "d/nvme0n1/device/model", "ACME  Fast 1TB           \n");
	put(tree, "d/nvme0n1/device/serial", "S4EWNX0R \n");
	put(tree, "d/nvme0n1/wwid", "eui.0025385b01\n");
	put(tree, "d/nvme0n1/queue/write_cache", "write back\n");
	put_link(tree, "dev/block/8:0", "d/nvme0n1");
	identity = read_it(tree, 0);
	assert_string_equal(identity.text,
			    "ACME Fast 1TB S4EWNX0R eui.0025385b01");
	assert_string_equal(identity.serial, "S4EWNX0R");
	assert_true(identity.is_write_back);
	assert_false(identity.is_partition);
	assert_string_equal(identity.cached_loop, "");
}

static void p10_scsi_serial_comes_from_page_80(void **state)
{
	const struct tree *tree = *state;
	struct identity identity;

	put(tree, "d/sda/device/vendor", "ATA     \n");
	put(tree, "d/sda/device/model", "WDC WD40\n");
	put(tree, "d/sda/device/wwid", "naa.50014ee2\n");
	put_bytes(tree, "d/sda/device/vpd_pg80", "\0\x80\0\x0c  WD-WX11\0\0\0",
		  16);
	put(tree, "d/sda/queue/write_cache", "write through\n");
	put_link(tree, "dev/block/8:0", "d/sda");
	identity = read_it(tree, 0);
	assert_string_equal(identity.text, "ATA WDC WD40 WD-WX11 naa.50014ee2");
	assert_string_equal(identity.serial, "WD-WX11");
	assert_false(identity.is_write_back);
}

static void p10_a_partition_is_part_of_its_drive(void **state)
{
	const struct tree *tree = *state;
	struct identity identity;

	put(tree, "d/vda/serial", "disk-7");
	put(tree, "d/vda/queue/write_cache", "write back\n");
	put(tree, "d/vda/vda3/partition", "3\n");
	put_link(tree, "dev/block/8:3", "d/vda/vda3");
	identity = read_it(tree, 3);
	assert_string_equal(identity.text, "disk-7:part3");
	assert_string_equal(identity.serial, "disk-7:part3");
	assert_true(identity.is_partition);
	assert_true(identity.is_write_back);
}

static void p10_a_model_alone_is_no_identity(void **state)
{
	const struct tree *tree = *state;
	struct identity identity;

	put(tree, "d/sdb/device/model", "USB DISK\n");
	put_link(tree, "dev/block/8:0", "d/sdb");
	put(tree, "d/sdb/sdb1/partition", "1\n");
	put_link(tree, "dev/block/8:1", "d/sdb/sdb1");
	identity = read_it(tree, 0);
	assert_string_equal(identity.text, "");
	assert_string_equal(identity.serial, "");
	identity = read_it(tree, 1);
	assert_string_equal(identity.text, "");
}

static void a_loop_device_is_its_file(void **state)
{
	const struct tree *tree = *state;
	struct identity identity;

	put(tree, "d/loop1/loop/backing_file", "/data/disk.img\n");
	put(tree, "d/loop1/loop/offset", "0\n");
	put(tree, "d/loop1/loop/dio", "1\n");
	put_link(tree, "dev/block/8:1", "d/loop1");
	put(tree, "d/loop2/loop/backing_file", "/data/disk.img\n");
	put(tree, "d/loop2/loop/offset", "4096\n");
	put(tree, "d/loop2/loop/dio", "1\n");
	put_link(tree, "dev/block/8:2", "d/loop2");
	identity = read_it(tree, 1);
	assert_string_equal(identity.text, "loop:/data/disk.img");
	assert_string_equal(identity.cached_loop, "");
	identity = read_it(tree, 2);
	assert_string_equal(identity.text,
			    "loop:/data/disk.img from byte 4096");
}

static void p10_a_cached_loop_is_found_under_layers(void **state)
{
	const struct tree *tree = *state;
	struct identity identity;

	put(tree, "d/loop1/loop/dio", "0\n");
	put(tree, "d/md0/md/uuid", "1-2-3\n");
	put_link(tree, "d/md0/slaves/loop1", "d/loop1");
	put(tree, "d/dm-0/dm/uuid", "LVM-abc\n");
	put_link(tree, "d/dm-0/slaves/md0", "d/md0");
	put_link(tree, "dev/block/8:9", "d/dm-0");
	put_link(tree, "dev/block/8:8", "d/md0");
	identity = read_it(tree, 9);
	assert_string_equal(identity.text, "dm:LVM-abc");
	assert_string_equal(identity.cached_loop, "loop1");
	identity = read_it(tree, 8);
	assert_string_equal(identity.text, "md:1-2-3");
}

static void what_sysfs_does_not_know_is_an_error(void **state)
{
	const struct tree *tree = *state;
	struct identity identity;

	assert_int_equal(identity_read(tree->root, 8, 0, &identity), -1);
}

static void text_from_a_drive_is_cleaned(void **state)
{
	char text[12];

	(void)state;
	identity_clean("  a \t b\x01\x7f\xff"
		       "c  ",
		       13, text, sizeof(text));
	assert_string_equal(text, "a b c");
	identity_clean("0123456789abcdef", 16, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	identity_clean("ab\0cd", 5, text, sizeof(text));
	assert_string_equal(text, "ab");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_tree, drop_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p10_nvme_is_model_serial_and_name),
		ROW(p10_scsi_serial_comes_from_page_80),
		ROW(p10_a_partition_is_part_of_its_drive),
		ROW(p10_a_model_alone_is_no_identity),
		ROW(a_loop_device_is_its_file),
		ROW(p10_a_cached_loop_is_found_under_layers),
		ROW(what_sysfs_does_not_know_is_an_error),
		cmocka_unit_test(text_from_a_drive_is_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
