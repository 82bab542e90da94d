/* SPDX-License-Identifier: MIT */
/*
 * Each kind of drive gets its own reads, writes and flushes: at the right
 * address, of the right length, and never twice.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/drive/driveio.h"
#include "tests/fake/passdrive.h"

#define TWO_TB (1ULL << 41)

static struct passdrive drive;
static struct driveio io;
static struct err err;
static uint8_t buffer[8192] __attribute__((aligned(4096)));

static int open_it(void)
{
	return driveio_open(&io, 3, "T", &drive.system, &err);
}

static void refused(const char *reason)
{
	assert_int_equal(open_it(), -1);
	if (strstr(err.text, reason) == NULL)
		fail_msg("'%s' does not say '%s'", err.text, reason);
}

static void nvme_writes_and_flushes(void **state)
{
	passdrive_init(&drive, PASSDRIVE_NVME, *state);
	drive.block_bytes = 4096;
	drive.size_bytes = TWO_TB * 4;
	assert_int_equal(open_it(), 0);
	assert_int_equal(driveio_write(&io, buffer, 8192, TWO_TB * 2, false),
			 8192);
	assert_int_equal(drive.last_lba, TWO_TB * 2 / 4096);
	assert_int_equal(drive.last_blocks, 2);
	assert_int_equal(drive.fua_writes, 0);
	assert_int_equal(driveio_write(&io, buffer, 4096, 0, true), 4096);
	assert_int_equal(drive.fua_writes, 1);
	assert_int_equal(driveio_flush(&io), 0);
	assert_int_equal(drive.flushes, 1);
	assert_string_equal(driveio_describe(&io), "NVMe pass-through, Flush");
}

static void ata_flushes_and_forces_by_its_own_commands(void **state)
{
	passdrive_init(&drive, PASSDRIVE_ATA, *state);
	drive.size_bytes = TWO_TB * 2;
	assert_int_equal(open_it(), 0);
	assert_int_equal(driveio_flush(&io), 0);
	assert_int_equal(drive.last_cdb[0], 0x85);
	assert_int_equal(drive.last_cdb[14], 0xea);
	assert_int_equal(driveio_write(&io, buffer, 512, TWO_TB + 512, true),
			 512);
	assert_int_equal(drive.last_cdb[14], 0x3d);
	assert_int_equal(drive.last_lba, TWO_TB / 512 + 1);
	assert_int_equal(drive.last_blocks, 1);
	assert_int_equal(driveio_write(&io, buffer, 512, TWO_TB, false), 512);
	assert_int_equal(drive.last_cdb[0], 0x8a);
	assert_int_equal(drive.last_cdb[1], 0);
	drive.knows_sync = drive.has_fua = false; /* no FLUSH CACHE EXT */
	assert_int_equal(open_it(), 0);
	assert_false(io.has_fua);
	assert_int_equal(driveio_flush(&io), 0);
	assert_int_equal(drive.last_cdb[14], 0xe7);
}

static void scsi_takes_the_short_ones_only_where_it_must(void **state)
{
	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.size_bytes = TWO_TB * 2;
	assert_int_equal(open_it(), 0);
	assert_int_equal(driveio_flush(&io), 0);
	assert_int_equal(drive.last_cdb[0], 0x91);
	assert_int_equal(driveio_write(&io, buffer, 512, TWO_TB, true), 512);
	assert_int_equal(drive.last_cdb[0], 0x8a);
	assert_int_equal(drive.last_cdb[1], 8);
	assert_int_equal(drive.last_lba, TWO_TB / 512);
	drive.size_bytes = 1 << 20;
	drive.knows_long = false;
	assert_int_equal(open_it(), 0);
	assert_int_equal(driveio_flush(&io), 0);
	assert_int_equal(drive.last_cdb[0], 0x35);
	assert_int_equal(driveio_write(&io, buffer, 1024, 512, true), 1024);
	assert_int_equal(drive.last_cdb[0], 0x2a);
	assert_int_equal(drive.last_cdb[1], 8);
	assert_int_equal(driveio_read(&io, buffer, 1024, 512), 1024);
	assert_int_equal(drive.last_cdb[0], 0x28);
	assert_int_equal(drive.last_blocks, 2);
}

static void p9_busy_does_not_mean_unknown(void **state)
{
	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.scsi_status = 8;
	assert_int_equal(open_it(), 0);
	assert_true(io.has_long);
	assert_int_equal(io.flush, DRIVEIO_FLUSH_NONE);
}

static void p1_short_and_failed_are_told(void **state)
{
	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	assert_int_equal(open_it(), 0);
	drive.left_over = 512;
	assert_int_equal(driveio_write(&io, buffer, 4096, 0, false), 3584);
	drive.left_over = 0;
	drive.scsi_status = 2;
	drive.commands = 0;
	assert_int_equal(driveio_write(&io, buffer, 4096, 0, false), -EIO);
	assert_int_equal(driveio_flush(&io), -EIO);
	assert_int_equal(drive.commands, 2);
}

static void put_partition(const struct sysfs_fake *sysfs, const char *start)
{
	sysfs_fake_put(sysfs, "d/disk/disk3/partition", "3\n");
	sysfs_fake_put(sysfs, "d/disk/disk3/start", start);
	(void)unlink(sysfs_fake_path(sysfs, "dev/block/8:0"));
	sysfs_fake_link(sysfs, "dev/block/8:0", "d/disk/disk3");
}

static void p6_a_partition_is_not_left(void **state)
{
	passdrive_init(&drive, PASSDRIVE_NVME, *state);
	drive.block_bytes = 4096;
	drive.partition_bytes = 1 << 20;
	put_partition(*state, "2048\n"); /* of 512 bytes, always */
	assert_int_equal(open_it(), 0);
	assert_int_equal(io.size_bytes, 1 << 20);
	assert_int_equal(driveio_write(&io, buffer, 4096, 8192, false), 4096);
	assert_int_equal(drive.last_lba, (2048 * 512 + 8192) / 4096);
	put_partition(*state, "2049\n");
	refused("does not begin at a block");
	put_partition(*state, "2097152\n"); /* at the very end */
	refused("which says that it has 1073741824");
	put_partition(*state, "36028797018963960\n");
	refused("of its drive");
}

static void the_drive_and_the_kernel_must_agree(void **state)
{
	passdrive_init(&drive, PASSDRIVE_NVME, *state);
	drive.metadata_bytes = 8;
	refused("8 bytes of metadata");
	drive.metadata_bytes = 0;
	drive.partition_bytes = drive.size_bytes + 512;
	refused("which says that it has");
	drive.partition_bytes = 0;
	assert_int_equal(open_it(), 0);
}

static void what_the_short_ones_do_not_reach_is_refused(void **state)
{
	passdrive_init(&drive, PASSDRIVE_SCSI, *state);
	drive.size_bytes = TWO_TB;
	drive.block_bytes = 512;
	drive.knows_long = false;
	refused("cannot ask T for its size");
}

static void requests_fit_the_adapter(void **state)
{
	const struct sysfs_fake *sysfs = *state;

	passdrive_init(&drive, PASSDRIVE_SCSI, sysfs);
	assert_int_equal(open_it(), 0);
	assert_int_equal(io.max_request_bytes, 512 * 1024);
	sysfs_fake_put(sysfs, "d/disk/queue/max_sectors_kb", "256\n");
	assert_int_equal(open_it(), 0);
	assert_int_equal(io.max_request_bytes, 256 * 1024);
	sysfs_fake_put(sysfs, "d/disk/queue/max_segments", "10\n");
	assert_int_equal(open_it(), 0);
	assert_int_equal(io.max_request_bytes, 10 * sysconf(_SC_PAGESIZE));
	sysfs_fake_put(sysfs, "d/disk/queue/max_sectors_kb", "2147483647\n");
	sysfs_fake_put(sysfs, "d/disk/queue/max_hw_sectors_kb", "x\n");
	sysfs_fake_put(sysfs, "d/disk/queue/max_segments", "65535\n");
	assert_int_equal(open_it(), 0);
	assert_int_equal(io.max_request_bytes, 128 * 1024);
}

static void what_is_no_drive_is_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(
		driveio_open(&io, 0, "/dev/loop0", &drivelink_kernel, &err),
		-1);
	assert_string_equal(err.text, "--engine native needs an NVMe or "
				      "SCSI/ATA drive; /dev/loop0 is neither");
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(nvme_writes_and_flushes),
		ROW(ata_flushes_and_forces_by_its_own_commands),
		ROW(scsi_takes_the_short_ones_only_where_it_must),
		ROW(p9_busy_does_not_mean_unknown),
		ROW(p1_short_and_failed_are_told),
		ROW(p6_a_partition_is_not_left),
		ROW(the_drive_and_the_kernel_must_agree),
		ROW(what_the_short_ones_do_not_reach_is_refused),
		ROW(requests_fit_the_adapter),
		ROW(what_is_no_drive_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
