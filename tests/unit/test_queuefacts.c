/* SPDX-License-Identifier: MIT */
/* What sysfs says of a queue, and on what a drive hangs. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

#include "common/target/queuefacts.h"
#include "tests/fake/sysfs_fake.h"

#define SDB                                                               \
	"devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/" \
	"block/sdb"

static struct queuefacts read_it(const struct sysfs_fake *tree,
				 const char *disk)
{
	struct queuefacts facts;

	queuefacts_read(sysfs_fake_path(tree, disk), &facts);
	return facts;
}

static void put(const struct sysfs_fake *tree, const char *disk,
		const char *name, const char *text)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/%s", disk, name);
	sysfs_fake_put(tree, path, text);
}

static void every_file_is_read(void **state)
{
	const struct sysfs_fake *tree = *state;
	struct queuefacts facts;

	put(tree, "d/nvme0n1", "queue/write_cache", "write back\n");
	put(tree, "d/nvme0n1", "queue/fua", "1\n");
	put(tree, "d/nvme0n1", "queue/scheduler", "none [mq-deadline] kyber\n");
	put(tree, "d/nvme0n1", "queue/max_sectors_kb", "1280\n");
	put(tree, "d/nvme0n1", "queue/max_hw_sectors_kb", "2048\n");
	put(tree, "d/nvme0n1", "queue/nr_requests", "1023\n");
	put(tree, "d/nvme0n1", "queue/atomic_write_unit_max_bytes", "4096\n");
	put(tree, "d/nvme0n1", "queue/io_timeout", "30000\n");
	put(tree, "d/nvme0n1", "queue/rotational", "0\n");
	put(tree, "d/nvme0n1", "dev", "259:3\n");
	facts = read_it(tree, "d/nvme0n1");
	assert_string_equal(facts.name, "nvme0n1");
	assert_int_equal(facts.cache, QUEUEFACTS_BACK);
	assert_true(facts.has_fua && facts.is_bottom);
	assert_false(facts.is_rotational || facts.is_loop);
	assert_false(facts.is_hidden_path);
	assert_string_equal(facts.scheduler, "mq-deadline");
	assert_int_equal(facts.max_sectors_kb, 1280);
	assert_int_equal(facts.max_hw_sectors_kb, 2048);
	assert_int_equal(facts.nr_requests, 1023);
	assert_int_equal(facts.atomic_unit_bytes, 4096);
	assert_int_equal(facts.timeout_ms, 30000);
	assert_int_equal(facts.major, 259);
	assert_int_equal(facts.minor, 3);
	put(tree, "d/nvme0n1", "device/timeout", "60\n");
	facts = read_it(tree, "d/nvme0n1");
	assert_int_equal(facts.timeout_ms, 60000);
}

static void other_words_are_silence(void **state)
{
	static const char *const words[] = {"", "write backs\n", "write\n",
					    "yes\n", "through\n"};
	const struct sysfs_fake *tree = *state;

	assert_int_equal(read_it(tree, "none").cache, QUEUEFACTS_SILENT);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		put(tree, "d/sda", "queue/write_cache", words[i]);
		assert_int_equal(read_it(tree, "d/sda").cache,
				 QUEUEFACTS_SILENT);
	}
	put(tree, "d/sda", "queue/write_cache", "write through\n");
	assert_int_equal(read_it(tree, "d/sda").cache, QUEUEFACTS_THROUGH);
}

static void numbers_that_are_none_are_unknown(void **state)
{
	static const char *const words[] = {"", "-1\n", "x\n", "1x\n",
					    "99999999999999999999999\n"};
	const struct sysfs_fake *tree = *state;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		put(tree, "d/sda", "queue/nr_requests", words[i]);
		put(tree, "d/sda", "dev", words[i]);
		put(tree, "d/sda", "queue/scheduler", words[i]);
		assert_int_equal(read_it(tree, "d/sda").nr_requests, 0);
		assert_int_equal(read_it(tree, "d/sda").major, 0);
		assert_string_equal(read_it(tree, "d/sda").scheduler, "");
	}
}

static void what_lies_below_makes_no_bottom(void **state)
{
	const struct sysfs_fake *tree = *state;

	put(tree, "d/dm-0", "queue/write_cache", "write back\n");
	sysfs_fake_link(tree, "d/dm-0/slaves/sda", "d/sda");
	assert_false(read_it(tree, "d/dm-0").is_bottom);
	put(tree, "d/loop0", "loop/backing_file", "/a\n");
	assert_false(read_it(tree, "d/loop0").is_bottom);
	assert_true(read_it(tree, "d/loop0").is_loop);
	put(tree, "d/nvme1c0n2", "queue/write_cache", "write back\n");
	assert_true(read_it(tree, "d/nvme1c0n2").is_hidden_path);
}

/* The module of the adapter; not "sd", which is the drive's own driver, and not
 * the name that a driver gives itself where there is a module. */
static void a_drive_hangs_on_its_adapter(void **state)
{
	const struct sysfs_fake *tree = *state;

	put(tree, SDB, "queue/write_cache", "write back\n");
	put(tree, "bus/scsi/drivers/sd", "x", "");
	sysfs_fake_link(tree,
			"devices/pci0000:00/0000:00:1f.2/ata3/host2/"
			"target2:0:0/2:0:0:0/driver",
			"bus/scsi/drivers/sd");
	assert_string_equal(read_it(tree, SDB).driver, "");
	put(tree, "bus/pci/drivers/PMC MaxRAID", "x", "");
	sysfs_fake_link(tree, "devices/pci0000:00/0000:00:1f.2/driver",
			"bus/pci/drivers/PMC MaxRAID");
	assert_string_equal(read_it(tree, SDB).driver, "PMC MaxRAID");
	put(tree, "module/pmcraid", "x", "");
	sysfs_fake_link(tree, "bus/pci/drivers/PMC MaxRAID/module",
			"module/pmcraid");
	assert_string_equal(read_it(tree, SDB).driver, "pmcraid");
	assert_int_equal(read_it(tree, SDB).channel, -1);
	put(tree, "devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:1:0",
	    "2:1:0:0/x", "");
	sysfs_fake_link(tree, SDB "/device",
			"devices/pci0000:00/0000:00:1f.2/ata3/host2/"
			"target2:1:0/2:1:0:0");
	assert_int_equal(read_it(tree, SDB).channel, 1);
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(every_file_is_read),
		ROW(other_words_are_silence),
		ROW(numbers_that_are_none_are_unknown),
		ROW(what_lies_below_makes_no_bottom),
		ROW(a_drive_hangs_on_its_adapter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
