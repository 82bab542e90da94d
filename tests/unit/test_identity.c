/* SPDX-License-Identifier: MIT */
/* Identity is read from a made-up sysfs, one drive of each kind. */
#include "tests/unit/cmocka_all.h"

#include <string.h>

#include "common/target/identity.h"
#include "tests/fake/sysfs_fake.h"

static struct identity read_it(const struct sysfs_fake *tree,
			       unsigned int minor)
{
	struct identity identity;

	assert_int_equal(identity_read(tree->root, 8, minor, &identity), 0);
	return identity;
}

static void p10_nvme_is_model_serial_and_name(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct identity identity;

	sysfs_fake_put(tree, "d/nvme0n1/device/model",
		       "ACME  Fast 1TB           \n");
	sysfs_fake_put(tree, "d/nvme0n1/device/serial", "S4EWNX0R \n");
	sysfs_fake_put(tree, "d/nvme0n1/wwid", "eui.0025385b01\n");
	sysfs_fake_link(tree, "dev/block/8:0", "d/nvme0n1");
	identity = read_it(tree, 0);
	assert_string_equal(identity.text,
			    "ACME Fast 1TB S4EWNX0R eui.0025385b01");
	assert_string_equal(identity.serial, "S4EWNX0R");
	assert_false(identity.is_partition);
}

static void p10_scsi_serial_comes_from_page_80(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct identity identity;

	sysfs_fake_put(tree, "d/sda/device/vendor", "ATA     \n");
	sysfs_fake_put(tree, "d/sda/device/model", "WDC WD40\n");
	sysfs_fake_put(tree, "d/sda/device/wwid", "naa.50014ee2\n");
	sysfs_fake_put_bytes(tree, "d/sda/device/vpd_pg80",
			     "\0\x80\0\x0c  WD-WX11\0\0\0", 16);
	sysfs_fake_link(tree, "dev/block/8:0", "d/sda");
	identity = read_it(tree, 0);
	assert_string_equal(identity.text, "ATA WDC WD40 WD-WX11 naa.50014ee2");
	assert_string_equal(identity.serial, "WD-WX11");
}

static void p10_a_partition_is_part_of_its_drive(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct identity identity;

	sysfs_fake_put(tree, "d/vda/serial", "disk-7");
	sysfs_fake_put(tree, "d/vda/vda3/partition", "3\n");
	sysfs_fake_link(tree, "dev/block/8:3", "d/vda/vda3");
	identity = read_it(tree, 3);
	assert_string_equal(identity.text, "disk-7:part3");
	assert_string_equal(identity.serial, "disk-7:part3");
	assert_true(identity.is_partition);
}

static void p10_a_model_alone_is_no_identity(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct identity identity;

	sysfs_fake_put(tree, "d/sdb/device/model", "USB DISK\n");
	sysfs_fake_link(tree, "dev/block/8:0", "d/sdb");
	sysfs_fake_put(tree, "d/sdb/sdb1/partition", "1\n");
	sysfs_fake_link(tree, "dev/block/8:1", "d/sdb/sdb1");
	identity = read_it(tree, 0);
	assert_string_equal(identity.text, "");
	assert_string_equal(identity.serial, "");
	identity = read_it(tree, 1);
	assert_string_equal(identity.text, "");
}

static void a_loop_device_is_its_file(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct identity identity;

	sysfs_fake_put(tree, "d/loop1/loop/backing_file", "/data/disk.img\n");
	sysfs_fake_put(tree, "d/loop1/loop/offset", "0\n");
	sysfs_fake_link(tree, "dev/block/8:1", "d/loop1");
	sysfs_fake_put(tree, "d/loop2/loop/backing_file", "/data/disk.img\n");
	sysfs_fake_put(tree, "d/loop2/loop/offset", "4096\n");
	sysfs_fake_link(tree, "dev/block/8:2", "d/loop2");
	identity = read_it(tree, 1);
	assert_string_equal(identity.text, "loop:/data/disk.img");
	identity = read_it(tree, 2);
	assert_string_equal(identity.text,
			    "loop:/data/disk.img from byte 4096");
}

static void p10_layers_know_themselves_by_their_uuid(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct identity identity;

	sysfs_fake_put(tree, "d/md0/md/uuid", "1-2-3\n");
	sysfs_fake_put(tree, "d/dm-0/dm/uuid", "LVM-abc\n");
	sysfs_fake_link(tree, "dev/block/8:9", "d/dm-0");
	sysfs_fake_link(tree, "dev/block/8:8", "d/md0");
	identity = read_it(tree, 9);
	assert_string_equal(identity.text, "dm:LVM-abc");
	identity = read_it(tree, 8);
	assert_string_equal(identity.text, "md:1-2-3");
}

static void what_sysfs_does_not_know_is_an_error(void **state)
{
	const struct sysfs_fake *tree = *state;
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

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p10_nvme_is_model_serial_and_name),
		ROW(p10_scsi_serial_comes_from_page_80),
		ROW(p10_a_partition_is_part_of_its_drive),
		ROW(p10_a_model_alone_is_no_identity),
		ROW(a_loop_device_is_its_file),
		ROW(p10_layers_know_themselves_by_their_uuid),
		ROW(what_sysfs_does_not_know_is_an_error),
		cmocka_unit_test(text_from_a_drive_is_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
