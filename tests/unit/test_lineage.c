/* SPDX-License-Identifier: MIT */
/* The drives below a device, in words, whatever sysfs says. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/target/lineage.h"
#include "tests/fake/sysfs_fake.h"

static void put(const struct sysfs_fake *tree, const char *disk,
		const char *name, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "d/%s/%s", disk, name);
	sysfs_fake_put(tree, path, text);
}

static void add(const struct sysfs_fake *tree, const char *node,
		const char *number)
{
	char path[256], folder[256];

	put(tree, node, "dev", number);
	(void)snprintf(folder, sizeof(folder), "d/%s", node);
	(void)snprintf(path, sizeof(path), "dev/block/%s", number);
	sysfs_fake_link(tree, path, folder);
}

static void add_sdb(const struct sysfs_fake *tree)
{
	add(tree, "ata1/sdb", "8:16");
	put(tree, "ata1/sdb", "device/vendor", "ATA\n");
	put(tree, "ata1/sdb", "device/model", "SAMSUNG MZ7\n");
	put(tree, "ata1/sdb", "device/serial", "S4EWNX0R\n");
	add(tree, "ata1/sdb/sdb2", "8:18");
	put(tree, "ata1/sdb/sdb2", "partition", "2\n");
}

static void add_slave(const struct sysfs_fake *tree, const char *disk,
		      const char *name, const char *folder)
{
	char path[256], to[256];

	(void)snprintf(path, sizeof(path), "d/%s/slaves/%s", disk, name);
	(void)snprintf(to, sizeof(to), "d/%s", folder);
	sysfs_fake_link(tree, path, to);
}

static void expect(const struct sysfs_fake *tree, unsigned int major_number,
		   unsigned int minor_number, const char *expected)
{
	char text[LINEAGE_TEXT_BYTES];

	lineage_tell(tree->root, makedev(major_number, minor_number), text,
		     sizeof(text));
	assert_string_equal(text, expected);
}

static void a_volume_is_told_down_to_its_drive(void **state)
{
	const struct sysfs_fake *tree = *state;

	add_sdb(tree);
	add(tree, "dm-0", "252:0");
	put(tree, "dm-0", "dm/name", "vg-data\n");
	put(tree, "dm-0", "dm/uuid", "LVM-abc\n");
	add_slave(tree, "dm-0", "sdb2", "ata1/sdb/sdb2");
	expect(tree, 252, 0,
	       "dm-0 (LVM) -> sdb2 -> sdb (SAMSUNG MZ7, serial S4EWNX0R)");
	expect(tree, 8, 18, "sdb2 -> sdb (SAMSUNG MZ7, serial S4EWNX0R)");
	expect(tree, 8, 16, "sdb (SAMSUNG MZ7, serial S4EWNX0R)");
	expect(tree, 9, 9, "");
}

static void members_stand_in_brackets(void **state)
{
	const struct sysfs_fake *tree = *state;

	add_sdb(tree);
	add(tree, "vda", "254:0");
	add(tree, "md0", "9:0");
	put(tree, "md0", "md/level", "raid1\n");
	add_slave(tree, "md0", "vda", "vda");
	expect(tree, 9, 0, "md0 (raid1) -> vda (virtio drive)");
	add(tree, "md1", "9:1");
	put(tree, "md1", "md/level", "raid0\n");
	add_slave(tree, "md1", "vda", "vda");
	add_slave(tree, "md1", "vdb", "vda");
	expect(tree, 9, 1,
	       "md1 (raid0) -> [vda (virtio drive), vda (virtio drive)]");
}

static void a_ring_in_sysfs_comes_to_an_end(void **state)
{
	const struct sysfs_fake *tree = *state;
	char text[64];

	add(tree, "dm-0", "252:0");
	put(tree, "dm-0", "dm/name", "x\n");
	for (int i = 0; i < 8; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "m%d", i);
		add_slave(tree, "dm-0", name, "dm-0");
	}
	lineage_tell(tree->root, makedev(252, 0), text, sizeof(text));
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_int_equal(strncmp(text, "dm-0 (device mapper) -> [dm-0", 29), 0);
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_volume_is_told_down_to_its_drive),
		ROW(members_stand_in_brackets),
		ROW(a_ring_in_sysfs_comes_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
