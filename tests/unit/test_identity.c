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

static void p10_a_usb_drive_without_serial_has_its_bridges(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct identity identity;

	sysfs_fake_put(tree, "usb1/1-2/idVendor", "152d\n");
	sysfs_fake_put(tree, "usb1/1-2/serial", "BRIDGE77\n");
	sysfs_fake_put(tree, "usb1/1-2/1-2:1.0/host6/6:0:0:0/model",
		       "External\n");
	sysfs_fake_put(tree, "usb1/1-2/1-2:1.0/host6/6:0:0:1/model",
		       "External\n");
	sysfs_fake_link(tree, "d/sdb/device", "usb1/1-2/1-2:1.0/host6/6:0:0:0");
	sysfs_fake_put(tree, "d/sdb/size", "8\n");
	sysfs_fake_link(tree, "d/sdc/device", "usb1/1-2/1-2:1.0/host6/6:0:0:1");
	sysfs_fake_link(tree, "dev/block/8:0", "d/sdb");
	sysfs_fake_link(tree, "dev/block/8:1", "d/sdc");
	identity = read_it(tree, 0);
	assert_string_equal(identity.text, "External BRIDGE77");
	identity = read_it(tree, 1);
	assert_string_equal(identity.text, "External BRIDGE77 lun1");
	assert_string_equal(identity.serial, "BRIDGE77 lun1");
	/* A serial number above a device that is no USB device is another's. */
	sysfs_fake_put(tree, "pci/serial", "HOST\n");
	sysfs_fake_put(tree, "pci/host1/1:0:0:0/model", "Plain\n");
	sysfs_fake_link(tree, "d/sdd/device", "pci/host1/1:0:0:0");
	sysfs_fake_link(tree, "dev/block/8:2", "d/sdd");
	identity = read_it(tree, 2);
	assert_string_equal(identity.text, "");
}

static void p10_what_is_not_known_is_neither_same_nor_other(void **state)
{
	(void)state;
	assert_int_equal(identity_compare("A 1", "A 1"), IDENTITY_SAME);
	assert_int_equal(identity_compare("A 1", "A 2"), IDENTITY_OTHER);
	assert_int_equal(identity_compare("", "A 2"), IDENTITY_UNKNOWN);
	assert_int_equal(identity_compare("A 1", ""), IDENTITY_UNKNOWN);
	assert_int_equal(identity_compare("", ""), IDENTITY_UNKNOWN);
}

#define UUID "b21d917a3e914972a0980b2042a5e152"

static void p10_a_former_files_identity_proves_nothing(void **state)
{
	(void)state;
	assert_int_equal(identity_compare("file:0070010000000000:131",
					  "file:" UUID ":131"),
			 IDENTITY_UNKNOWN);
	/* Another inode, or a number that was made of a uuid: another file. */
	assert_int_equal(identity_compare("file:0070010000000000:132",
					  "file:" UUID ":131"),
			 IDENTITY_OTHER);
	assert_int_equal(identity_compare("file:60d2bfa5ed0f455f:131",
					  "file:" UUID ":131"),
			 IDENTITY_OTHER);
	assert_int_equal(identity_compare("file:0070010000000000:131",
					  "file:0070020000000000:131"),
			 IDENTITY_OTHER);
	assert_int_equal(
		identity_compare("file:" UUID ":131", "file:" UUID ":131"),
		IDENTITY_SAME);
}

static void p10_a_placeholder_tells_no_drive_from_another(void **state)
{
	static const char *const idle[] = {"",
					   "0",
					   "0000000000000000",
					   "FFFF",
					   "123456789ABCDEF",
					   "012345678",
					   "0123456789abcdef",
					   "0000 lun1",
					   "00000000:part1",
					   ":part1",
					   "12345678"};
	static const char *const telling[] = {
		"S4EWNX0R",   "QM00005",           "0001",    "123",
		"9876543210", "0123456789ABCDEF0", "S4:part2"};

	(void)state;
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
		if (identity_is_telling(idle[i]))
			fail_msg("'%s' tells nothing", idle[i]);
	}
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
		if (!identity_is_telling(telling[i]))
			fail_msg("'%s' tells enough", telling[i]);
	}
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
		ROW(p10_a_usb_drive_without_serial_has_its_bridges),
		cmocka_unit_test(
			p10_what_is_not_known_is_neither_same_nor_other),
		cmocka_unit_test(p10_a_former_files_identity_proves_nothing),
		cmocka_unit_test(p10_a_placeholder_tells_no_drive_from_another),
		cmocka_unit_test(text_from_a_drive_is_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
