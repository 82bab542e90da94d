/* SPDX-License-Identifier: MIT */
/* The drives of a made-up sysfs: which there are, and which one is meant. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/err.h"
#include "common/target/inventory.h"
#include "tests/fake/sysfs_fake.h"

struct drive {
	const char *name, *bus, *serial, *number;
};

static void put(const struct sysfs_fake *tree, const char *folder,
		const char *name, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	sysfs_fake_put(tree, path, text);
}

static void link_to(const struct sysfs_fake *tree, const char *in,
		    const char *name, const char *folder)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", in, name);
	sysfs_fake_link(tree, path, folder);
}

static void add_drive(const struct sysfs_fake *tree, const struct drive *drive)
{
	char folder[128];

	(void)snprintf(folder, sizeof(folder), "devices/%s/block/%s",
		       drive->bus, drive->name);
	put(tree, folder, "dev", drive->number);
	put(tree, folder, "size", "8192\n");
	put(tree, folder, "device/vendor", "ACME    \n");
	put(tree, folder, "device/model", "Disk 1\n");
	if (drive->serial != NULL)
		put(tree, folder, "device/serial", drive->serial);
	link_to(tree, "block", drive->name, folder);
	link_to(tree, "dev/block", drive->number, folder);
}

static void add_partition(const struct sysfs_fake *tree, const char *disk,
			  const char *name, const char *number)
{
	char folder[128];

	(void)snprintf(folder, sizeof(folder), "devices/%s/%s", disk, name);
	put(tree, folder, "dev", number);
	put(tree, folder, "size", "2048\n");
	put(tree, folder, "partition", strpbrk(name, "0123456789"));
	link_to(tree, "dev/block", number, folder);
}

static void find(const struct sysfs_fake *tree, const char *identity,
		 struct inventory_matches *matches, const char *expected)
{
	struct err err = {0};
	char names[128];

	if (inventory_find(tree->root, identity, matches, &err) == -1)
		fail_msg("%s", err.text);
	inventory_tell(matches, names, sizeof(names));
	assert_string_equal(names, expected);
}

static void search(const struct sysfs_fake *tree, const char *text,
		   const char *expected)
{
	struct inventory_matches matches;
	struct err err = {0};
	char names[128];

	if (inventory_search(tree->root, text, &matches, &err) == -1)
		fail_msg("%s", err.text);
	inventory_tell(&matches, names, sizeof(names));
	assert_string_equal(names, expected);
}

static void drives_come_in_order_with_their_partitions(void **state)
{
	static const char *const expected[] = {"sda", "sda2", "sda10", "sdb9",
					       "sdb10"};
	const struct sysfs_fake *tree = *state;
	struct inventory *inventory;
	struct err err = {0};

	add_drive(tree, &(struct drive){"sdb10", "ata2", "S2", "8:32"});
	add_drive(tree, &(struct drive){"sdb9", "ata2", "S2", "8:16"});
	add_drive(tree, &(struct drive){"sda", "ata1", "S1", "8:0"});
	add_partition(tree, "ata1/block/sda", "sda10", "8:10");
	add_partition(tree, "ata1/block/sda", "sda2", "8:2");
	inventory = inventory_new(tree->root, &err);
	assert_non_null(inventory);
	assert_int_equal(inventory->count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(inventory->names[i].name, expected[i]);
	assert_true(inventory->names[1].is_partition);
	assert_string_equal(inventory->names[1].disk, "sda");
	free(inventory);
}

static void what_is_not_set_up_is_left_out(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct inventory *inventory;
	struct err err = {0};

	add_drive(tree, &(struct drive){"loop0", "virtual", NULL, "7:0"});
	sysfs_fake_put(tree, "devices/virtual/block/loop0/size", "0\n");
	add_drive(tree, &(struct drive){"ram0", "virtual", NULL, "1:0"});
	add_drive(tree, &(struct drive){"nvme0c0n1", "pci", NULL, "259:1"});
	sysfs_fake_put(tree, "devices/pci/block/nvme0c0n1/hidden", "1\n");
	/* A card reader without a card is told of: it is a drive. */
	add_drive(tree, &(struct drive){"sdc", "usb1", "R", "8:32"});
	sysfs_fake_put(tree, "devices/usb1/block/sdc/size", "0\n");
	/* One that has gone since its name was read. */
	sysfs_fake_link(tree, "block/sdz", "devices/none");
	inventory = inventory_new(tree->root, &err);
	assert_non_null(inventory);
	assert_int_equal(inventory->count, 1);
	assert_string_equal(inventory->names[0].name, "sdc");
	free(inventory);
}

static void a_device_that_vanishes_is_an_error_and_no_crash(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct inventory_device device;
	struct inventory_name name = {.name = "sda", .disk = "sda"};

	assert_int_equal(inventory_read(tree->root, &name, &device), -1);
	add_drive(tree, &(struct drive){"sda", "ata1", "S1", "8:0"});
	assert_int_equal(inventory_read(tree->root, &name, &device), 0);
	assert_string_equal(device.path, "/dev/sda");
	assert_int_equal(device.device, makedev(8, 0));
	sysfs_fake_put(tree, "devices/ata1/block/sda/dev", "8:\n");
	assert_int_equal(inventory_read(tree->root, &name, &device), -1);
	sysfs_fake_put(tree, "devices/ata1/block/sda/dev", "nonsense 8:0\n");
	assert_int_equal(inventory_read(tree->root, &name, &device), -1);
}

static void p10_a_drive_is_found_by_its_identity(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct inventory_matches matches;

	add_drive(tree, &(struct drive){"sda", "ata1", "S1", "8:0"});
	add_drive(tree, &(struct drive){"sdb", "ata2", "S2", "8:16"});
	add_partition(tree, "ata2/block/sdb", "sdb1", "8:17");
	find(tree, "ACME Disk 1 S2", &matches, "sdb");
	find(tree, "ACME Disk 1 S2:part1", &matches, "sdb1");
	assert_true(matches.names[0].is_partition);
	find(tree, "ACME Disk 1 S3", &matches, "");
	find(tree, "ACME Disk 1 S", &matches, "");
	assert_int_equal(matches.count, 0);
}

static void p10_two_drives_of_one_identity_are_both_found(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct inventory_matches matches;

	add_drive(tree, &(struct drive){"sda", "usb1", "S1", "8:0"});
	add_drive(tree, &(struct drive){"sdb", "usb2", "S1", "8:16"});
	find(tree, "ACME Disk 1 S1", &matches, "sda, sdb");
	assert_int_equal(matches.count, 2);
}

static void p10_a_text_names_serial_wwn_or_all(void **state)
{
	const struct sysfs_fake *tree = *state;

	add_drive(tree, &(struct drive){"sda", "ata1", "S1", "8:0"});
	sysfs_fake_put(tree, "devices/ata1/block/sda/device/wwid", "naa.500\n");
	add_partition(tree, "ata1/block/sda", "sda1", "8:1");
	search(tree, "S1", "sda");
	search(tree, "naa.500", "sda");
	search(tree, "ACME Disk 1 S1 naa.500", "sda");
	search(tree, "S1:part1", "sda1");
	search(tree, "naa.500:part1", "sda1");
	search(tree, "ACME Disk 1", "");
	search(tree, "s1", "");
}

static void layers_are_asked_for_their_own_identities_only(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct inventory_matches matches;

	add_drive(tree, &(struct drive){"dm-0", "virtual", "S1", "252:0"});
	sysfs_fake_put(tree, "devices/virtual/block/dm-0/dm/uuid", "LVM-1\n");
	/* Such a uuid is no kernel's, but it would be found if it were read. */
	add_drive(tree, &(struct drive){"dm-1", "virtual", "S1", "252:1"});
	find(tree, "dm:LVM-1", &matches, "dm-0");
	find(tree, "ACME Disk 1 S1", &matches, "");
	search(tree, "LVM-1", "dm-0");
}

static const char *transport(const struct sysfs_fake *tree,
			     const struct drive *drive, const char *vendor)
{
	static struct inventory_device device;
	struct inventory_name name = {0};
	char folder[128];

	add_drive(tree, drive);
	(void)snprintf(folder, sizeof(folder), "devices/%s/block/%s",
		       drive->bus, drive->name);
	put(tree, folder, "device/vendor", vendor);
	(void)snprintf(name.name, sizeof(name.name), "%s", drive->name);
	(void)snprintf(name.disk, sizeof(name.disk), "%s", drive->name);
	assert_int_equal(inventory_read(tree->root, &name, &device), 0);
	return device.facts.transport;
}

static void each_transport_is_told_by_name_or_bus(void **state)
{
	static const struct {
		struct drive drive;
		const char *vendor, *transport;
	} rows[] = {
		{{"nvme0n1", "pci/nvme/nvme0", "1", "1:0"}, "", "NVMe"},
		{{"sda", "pci/ata1/host0", "1", "1:1"}, "ATA", "SATA"},
		{{"sdb", "pci/usb2/2-1/host3", "1", "1:2"}, "Jmicron", "USB"},
		{{"sdc", "host0/end_device-0:1", "1", "1:3"}, "HGST", "SAS"},
		{{"sdd", "host0/end_device-0:2", "1", "1:4"}, "ATA", "SATA"},
		{{"sde", "pci/virtio3/host2", "1", "1:5"}, "QEMU", "virtio"},
		{{"sdf", "pci/host9", "1", "1:6"}, "DELL", "SCSI"},
		{{"vda", "pci/virtio0", "1", "1:7"}, "0x1af4", "virtio"},
		{{"loop3", "virtual", NULL, "1:8"}, "", "loop"},
		{{"md127", "virtual", NULL, "1:9"}, "", "md"},
		{{"dm-3", "virtual", NULL, "1:10"}, "", "dm"},
		{{"nbd4", "virtual", NULL, "1:11"}, "", "NBD"},
		{{"zram0", "virtual", NULL, "1:12"}, "", "zram"},
		{{"mmcblk0", "mmc_host/mmc0", "1", "1:13"}, "", "MMC"},
		{{"nullb0", "virtual", NULL, "1:14"}, "", "null"},
	};
	const struct sysfs_fake *tree = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(
			transport(tree, &rows[i].drive, rows[i].vendor),
			rows[i].transport);
}

static void numbers_that_make_no_sense_are_unknown(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct inventory_name name = {.name = "sda", .disk = "sda"};
	struct inventory_device device;

	add_drive(tree, &(struct drive){"sda", "ata1", "S1", "8:0"});
	assert_int_equal(inventory_read(tree->root, &name, &device), 0);
	assert_int_equal(device.facts.size_bytes, 8192 * 512);
	assert_string_equal(device.facts.model, "ACME Disk 1");
	put(tree, "devices/ata1/block/sda", "size", "18446744073709551615\n");
	put(tree, "devices/ata1/block/sda/queue", "logical_block_size",
	    "-512\n");
	put(tree, "devices/ata1/block/sda/queue", "physical_block_size",
	    "4096\n");
	put(tree, "devices/ata1/block/sda", "ro", "yes\n");
	put(tree, "devices/ata1/block/sda/device", "rev",
	    "\x01\x1b[31m1.0\xff\n");
	assert_int_equal(inventory_read(tree->root, &name, &device), 0);
	assert_int_equal(device.facts.size_bytes, 0);
	assert_int_equal(device.facts.logical_block_bytes, 0);
	assert_int_equal(device.facts.physical_block_bytes, 4096);
	assert_false(device.facts.is_read_only);
	assert_string_equal(device.facts.firmware, "[31m1.0");
}

static void many_matches_are_counted_and_cut_off(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct inventory_matches matches;
	struct err err = {0};
	char names[128], name[16], number[16];

	for (unsigned int i = 0; i < INVENTORY_MATCH_MAX + 4; i++) {
		(void)snprintf(name, sizeof(name), "sd%u", i);
		(void)snprintf(number, sizeof(number), "8:%u", i);
		add_drive(tree, &(struct drive){name, "usb1", "0", number});
	}
	assert_int_equal(
		inventory_find(tree->root, "ACME Disk 1 0", &matches, &err), 0);
	assert_int_equal(matches.count, INVENTORY_MATCH_MAX + 4);
	inventory_tell(&matches, names, sizeof(names));
	assert_string_equal(names, "sd0, sd1, sd2, sd3, sd4, sd5, sd6, sd7 "
				   "and 12 more");
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(drives_come_in_order_with_their_partitions),
		ROW(what_is_not_set_up_is_left_out),
		ROW(a_device_that_vanishes_is_an_error_and_no_crash),
		ROW(p10_a_drive_is_found_by_its_identity),
		ROW(p10_two_drives_of_one_identity_are_both_found),
		ROW(p10_a_text_names_serial_wwn_or_all),
		ROW(layers_are_asked_for_their_own_identities_only),
		ROW(each_transport_is_told_by_name_or_bus),
		ROW(numbers_that_make_no_sense_are_unknown),
		ROW(many_matches_are_counted_and_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
