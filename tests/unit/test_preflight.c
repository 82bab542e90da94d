/* SPDX-License-Identifier: MIT */
/* What the pre-flight tells of a target, in the log and elsewhere. */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "tests/fake/drive_fake.h"
#include "writer/preflight.h"

static struct preflight look;
static struct flushway_layer layers[12];
static struct drive_fake *drive;

static int set_up(void **state)
{
	(void)state;
	memset(&look, 0, sizeof(look));
	memset(layers, 0, sizeof(layers));
	drive = drive_fake_new(1 << 20, 512, NULL);
	look.target = drive_fake_target(drive);
	look.layers = layers;
	look.count = 2;
	memcpy(layers[0].queue.name, "md0", 4);
	memcpy(layers[1].queue.name, "sdb", 4);
	layers[0].queue.cache = layers[1].queue.cache = QUEUEFACTS_BACK;
	layers[1].queue.is_bottom = true;
	(void)snprintf(layers[1].why, sizeof(layers[1].why), "it was away");
	(void)snprintf(look.way.text, sizeof(look.way.text), "so it is");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	drive_fake_free(drive);
	return 0;
}

static void expect(unsigned int i, const char *words)
{
	char text[ACKBODY_TEXT_BYTES] = "";

	assert_true(preflight_note(&look, i, text, sizeof(text)));
	if (strstr(text, words) == NULL)
		fail_msg("note %u: %s", i, text);
}

static void expect_end(unsigned int i)
{
	char text[ACKBODY_TEXT_BYTES];

	assert_false(preflight_note(&look, i, text, sizeof(text)));
}

static void the_answer_then_each_layer(void **state)
{
	(void)state;
	expect(0, "would a flush reach fake? yes: so it is");
	expect(1, "md0: write_cache \"write back\", fua 0");
	expect(2, "sdb: write_cache \"write back\"");
	expect(2, "; the drive was not asked (it was away)");
	expect_end(3);
	layers[1].drive.kind = DRIVEFACTS_NVME;
	layers[1].drive.has_cache = DRIVEFACTS_YES;
	layers[1].drive.is_cache_on = DRIVEFACTS_NO;
	expect(2, "the NVMe drive says: volatile cache yes, in use no, FUA "
		  "unknown");
}

static void warnings_stand_before_the_layers(void **state)
{
	char text[256];

	(void)state;
	assert_false(preflight_warning(&look, 0, text, sizeof(text)));
	layers[1].drive.kind = DRIVEFACTS_ATA;
	layers[1].drive.has_fua = DRIVEFACTS_YES;
	expect(1, "warning: sdb takes FUA writes, but libata");
	expect(2, "md0: ");
	layers[1].queue.has_fua = true;
	expect(1, "md0: ");
	layers[1].drive.kind = DRIVEFACTS_SCSI;
	layers[1].drive.is_bridge = true;
	expect(1, "sdb is a bridge");
	expect(2, "shows no caching mode page");
	layers[1].drive.is_cache_on = DRIVEFACTS_YES;
	expect(2, "md0: ");
}

static void a_file_s_mount_comes_last(void **state)
{
	(void)state;
	look.mount.is_known = true;
	memcpy(look.mount.type, "ext4", 5);
	memcpy(look.mount.point, "/mnt", 5);
	memcpy(look.mount.options, "rw", 3);
	expect(3, "ext4 on /mnt: rw");
	expect_end(4);
}

/* However many members an array has, the log's part is bounded. */
static void a_log_has_no_more_than_eight_layers(void **state)
{
	(void)state;
	look.count = 12;
	expect(8, ": write_cache");
	expect_end(9);
}

/* Within a changed root the mount that holds it need not be told. */
static bool is_mount_told(const char *path)
{
	char line[4096], word[32];
	struct stat status;
	bool is_told = false;
	FILE *mounts = fopen("/proc/self/mountinfo", "r");

	assert_non_null(mounts);
	assert_int_equal(stat(path, &status), 0);
	(void)snprintf(word, sizeof(word), " %u:%u ", major(status.st_dev),
		       minor(status.st_dev));
	while (!is_told && fgets(line, sizeof(line), mounts) != NULL)
		is_told = strstr(line, word) != NULL;
	assert_int_equal(fclose(mounts), 0);
	return is_told;
}

static void a_file_is_looked_at(void **state)
{
	char path[] = "/tmp/test_preflight.XXXXXX";
	struct preflight seen;
	struct target *target;
	struct err err;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(close(fd), 0);
	target = target_open(path, TARGET_READ, &err);
	if (target == NULL) { /* no direct I/O there */
		assert_int_equal(unlink(path), 0);
		skip();
	}
	assert_int_equal(preflight_look(&seen, target, false, &err), 0);
	if (is_mount_told(path))
		assert_true(seen.mount.is_known);
	assert_true(seen.count > 0 || seen.unknown[0] != '\0');
	assert_true(seen.way.text[0] != '\0');
	preflight_free(&seen);
	preflight_free(&seen);
	target_close(target);
	assert_int_equal(unlink(path), 0);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(the_answer_then_each_layer),
		ROW(warnings_stand_before_the_layers),
		ROW(a_file_s_mount_comes_last),
		ROW(a_log_has_no_more_than_eight_layers),
		ROW(a_file_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
