/* SPDX-License-Identifier: MIT */
/*
 * A command is good only where the ioctl, the host adapter, the driver and the
 * drive all say so; and only what sysfs calls a drive is sent any.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/drive/drivelink.h"
#include "tests/fake/passdrive.h"

static struct passdrive drive;

static struct drivelink open_it(void **state, enum passdrive_kind kind)
{
	struct drivelink link;
	struct err err;

	passdrive_init(&drive, kind, *state);
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	return link;
}

static int flush(const struct drivelink *link)
{
	const struct scsicmd command = scsicmd_sync_cache(0, 0, true);

	return drivelink_scsi(link, &command, NULL, 1000, NULL);
}

static void p1_good_is_what_nobody_objects_to(void **state)
{
	struct drivelink link = open_it(state, PASSDRIVE_SCSI);

	assert_int_equal(flush(&link), 0);
	drive.host_status = 1;
	assert_int_equal(flush(&link), -ENODEV);
	drive.host_status = 3;
	assert_int_equal(flush(&link), -ETIMEDOUT);
	drive.host_status = 7;
	assert_int_equal(flush(&link), -EIO);
	drive.host_status = 0;
	drive.driver_status = 6; /* the driver gave up */
	assert_int_equal(flush(&link), -EIO);
	drive.driver_status = 0;
	for (unsigned int status = 2; status < 256; status += 2) {
		drive.scsi_status = (uint8_t)status; /* busy, reserved... */
		assert_int_equal(flush(&link), -EIO);
	}
}

static void p11_an_aborted_flush_is_no_success(void **state)
{
	struct drivelink link = open_it(state, PASSDRIVE_SCSI);

	/* As the kernel answers after a link reset: SG_IO itself says 0. */
	drive.scsi_status = 2;
	drive.driver_status = 8;
	memcpy(drive.sense, "\x72\x0b\x47\x00\0\0\0\0", 8);
	drive.sense_bytes = 8;
	assert_int_equal(flush(&link), -EIO);
	assert_int_equal(drive.commands, 1); /* and not sent again */
}

static void p1_recovered_is_carried_out_and_deferred_is_not(void **state)
{
	struct drivelink link = open_it(state, PASSDRIVE_SCSI);

	drive.scsi_status = 2;
	drive.driver_status = 8;
	memcpy(drive.sense, "\x72\x01\x18\x00\0\0\0\0", 8);
	drive.sense_bytes = 8;
	assert_int_equal(flush(&link), 0);
	drive.sense[0] = 0x73;
	assert_int_equal(flush(&link), -EIO);
	drive.sense[0] = 0x72;
	drive.sense_bytes = 0; /* what was not written says nothing */
	assert_int_equal(flush(&link), -EIO);
}

static void what_is_left_over_was_not_moved(void **state)
{
	struct drivelink link = open_it(state, PASSDRIVE_SCSI);
	const struct scsicmd command = scsicmd_read(0, 2, 1024, true);
	struct drivelink_answer answer;
	uint8_t buffer[1024];

	drive.left_over = 512;
	assert_int_equal(drivelink_scsi(&link, &command, buffer, 1, &answer),
			 0);
	assert_int_equal(answer.moved_bytes, 512);
	drive.left_over = -1;
	assert_int_equal(drivelink_scsi(&link, &command, buffer, 1, &answer),
			 0);
	assert_int_equal(answer.moved_bytes, 0);
	drive.left_over = 1025;
	assert_int_equal(drivelink_scsi(&link, &command, buffer, 1, &answer),
			 0);
	assert_int_equal(answer.moved_bytes, 0);
}

static void p11_only_questions_are_asked_again(void **state)
{
	struct drivelink link = open_it(state, PASSDRIVE_SCSI);
	const struct scsicmd command = scsicmd_test_ready();

	drive.attentions = 1;
	assert_int_equal(flush(&link), -EIO);
	assert_int_equal(drive.commands, 1);
	drive.attentions = 2;
	drive.commands = 0;
	(void)drivelink_ask(&link, &command, NULL, 1000, NULL);
	assert_int_equal(drive.commands, 3);
	drive.attentions = 100;
	drive.commands = 0;
	assert_int_equal(drivelink_ask(&link, &command, NULL, 1000, NULL),
			 -EIO);
	assert_int_equal(drive.commands, DRIVELINK_ASKS_MAX);
}

static void nvme_status_and_errno_are_errors(void **state)
{
	struct drivelink link = open_it(state, PASSDRIVE_NVME);
	const struct nvmecmd command = nvmecmd_flush(link.nsid);

	assert_int_equal(link.nsid, 5);
	assert_int_equal(drivelink_nvme(&link, &command, NULL, 1, NULL), 0);
	drive.nvme_status = 0x4007;
	assert_int_equal(drivelink_nvme(&link, &command, NULL, 1, NULL), -EIO);
	drive.fail_errno = EINTR; /* given up in a controller reset */
	assert_int_equal(drivelink_nvme(&link, &command, NULL, 1, NULL), -EIO);
	drive.fail_errno = ENODEV;
	assert_int_equal(drivelink_nvme(&link, &command, NULL, 1, NULL),
			 -ENODEV);
}

static void a_partition_knows_where_it_begins(void **state)
{
	const struct sysfs_fake *sysfs = *state;
	struct drivelink link = open_it(state, PASSDRIVE_SCSI);
	struct err err;
	uint64_t value = 0;

	assert_int_equal(link.start_bytes, 0);
	sysfs_fake_put(sysfs, "d/disk/disk3/partition", "3\n");
	sysfs_fake_put(sysfs, "d/disk/disk3/start", "5000000000\n");
	assert_int_equal(unlink(sysfs_fake_path(sysfs, "dev/block/8:0")), 0);
	sysfs_fake_link(sysfs, "dev/block/8:0", "d/disk/disk3");
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(link.kind, DRIVELINK_SCSI);
	assert_int_equal(link.start_bytes, 5000000000ULL * 512);
	assert_true(drivelink_read_number(&link, "queue/max_segments", &value));
	assert_int_equal(value, 128);
	sysfs_fake_put(sysfs, "d/disk/disk3/start", "99999999999999999999\n");
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(link.kind, DRIVELINK_NONE);
	sysfs_fake_put(sysfs, "d/disk/disk3/start", "2048 \n");
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(link.kind, DRIVELINK_NONE);
}

/* Device mapper passes these ioctls on: to the wrong place. */
static void what_is_no_drive_gets_no_commands(void **state)
{
	const struct sysfs_fake *sysfs = *state;
	struct drivelink link = open_it(state, PASSDRIVE_SCSI);
	struct err err;

	assert_int_equal(unlink(sysfs_fake_path(sysfs, "d/disk/device/"
						       "subsystem")),
			 0);
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(link.kind, DRIVELINK_NONE);
	sysfs_fake_link(sysfs, "d/disk/device/subsystem", "bus/virtio");
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(link.kind, DRIVELINK_NONE);
	assert_int_equal(unlink(sysfs_fake_path(sysfs, "dev/block/8:0")), 0);
	assert_int_equal(drivelink_open(&link, 3, &drive.system, &err), 0);
	assert_int_equal(link.kind, DRIVELINK_NONE);
	assert_int_equal(drivelink_open(&link, 0, &drivelink_kernel, &err), 0);
	assert_int_equal(link.kind, DRIVELINK_NONE);
	assert_int_equal(drive.commands, 0);
}

#define ROW(test)                                               \
	cmocka_unit_test_setup_teardown(test, sysfs_fake_setup, \
					sysfs_fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(p1_good_is_what_nobody_objects_to),
		ROW(p11_an_aborted_flush_is_no_success),
		ROW(p1_recovered_is_carried_out_and_deferred_is_not),
		ROW(what_is_left_over_was_not_moved),
		ROW(p11_only_questions_are_asked_again),
		ROW(nvme_status_and_errno_are_errors),
		ROW(a_partition_knows_where_it_begins),
		ROW(what_is_no_drive_gets_no_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
