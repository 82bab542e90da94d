/* SPDX-License-Identifier: MIT */
/*
 * Members of volumes are known by name at either end of a drive, by the very
 * bytes that md, LVM, ZFS and LUKS keep there. Volumes of the real tools are in
 * tests/kernel/guard-*.sh and tests/vm.
 */
#include "tests/unit/cmocka_all.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/err.h"
#include "common/target/guard.h"
#include "common/target/target.h"

#define KIB        1024ULL
#define MIB        (1024ULL * 1024)
#define FILE_BYTES (80 * MIB) /* ZFS takes nothing below 64 MiB */

struct bench {
	char path[64];
	struct target *target;
	struct err err;
};

static int make_bench(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	(void)strcpy(bench->path, "/tmp/plugpull-test-XXXXXX");
	assert_int_not_equal(mkstemp(bench->path), -1);
	assert_int_equal(unlink(bench->path), 0);
	if (target_create_file(bench->path, FILE_BYTES, &bench->err) == -1)
		fail_msg("%s", bench->err.text);
	bench->target = target_open(bench->path, TARGET_WRITE, &bench->err);
	if (bench->target == NULL)
		fail_msg("%s", bench->err.text);
	*state = bench;
	return 0;
}

static int drop_bench(void **state)
{
	struct bench *bench = *state;

	target_close(bench->target);
	(void)unlink(bench->path);
	free(bench);
	return 0;
}

static void put(const struct bench *bench, uint64_t offset, const void *bytes,
		size_t count)
{
	int fd = open(bench->path, O_WRONLY | O_CLOEXEC);

	assert_int_not_equal(fd, -1);
	assert_int_equal(pwrite(fd, bytes, count, (off_t)offset), count);
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(close(fd), 0);
}

static void expect(struct bench *bench, const char *what)
{
	char text[GUARD_TEXT_BYTES] = "";
	struct err err = {0};

	if (guard_find_signature(bench->target, text, sizeof(text), &err) != 1)
		fail_msg("nothing found, not '%s' %s", what, err.text);
	assert_string_equal(text, what);
	/* --erase with the right name does not help. */
	assert_int_equal(
		guard_check(bench->target, 0, FILE_BYTES, bench->path, &err),
		-1);
	if (strstr(err.text, what) == NULL)
		fail_msg("'%s' does not say '%s'", err.text, what);
}

/* struct mdp_superblock_1 of linux/raid/md_p.h. */
static void put_md1(const struct bench *bench, uint64_t offset)
{
	uint8_t sb[4096] = {0};
	uint64_t sum = 0;

	bytes_put32(sb, 0xa92b4efcU);
	bytes_put32(sb + 4, 1);
	memset(sb + 16, 0x5a, 16);
	(void)strcpy((char *)sb + 32, "host:0");
	bytes_put32(sb + 72, 1);     /* level */
	bytes_put64(sb + 80, 1024);  /* size */
	bytes_put32(sb + 92, 2);     /* raid_disks */
	bytes_put64(sb + 128, 2048); /* data_offset */
	bytes_put64(sb + 136, 1024); /* data_size */
	bytes_put64(sb + 144, offset / 512);
	bytes_put64(sb + 200, 7); /* events */
	for (size_t i = 0; i < 256; i += 4)
		sum += bytes_get32(sb + i);
	bytes_put32(sb + 216, (uint32_t)((sum & 0xffffffffU) + (sum >> 32)));
	put(bench, offset, sb, sizeof(sb));
}

static void a_raid_member_is_known_by_its_first_blocks(void **state)
{
	struct bench *bench = *state;

	put_md1(bench, 4 * KIB); /* version 1.2 */
	expect(bench, "holds a linux_raid_member volume member labelled "
		      "\"host:0\"");
}

static void a_raid_member_is_known_by_its_last_blocks(void **state)
{
	struct bench *bench = *state;

	put_md1(bench, FILE_BYTES - 8 * KIB); /* version 1.0 */
	expect(bench, "holds a linux_raid_member volume member labelled "
		      "\"host:0\"");
}

/* mdp_super_t: in the last whole 64 KiB but the very last. */
static void a_raid_member_of_version_0_90_is_known(void **state)
{
	struct bench *bench = *state;
	uint8_t sb[4096] = {0};

	bytes_put32(sb, 0xa92b4efcU);
	bytes_put32(sb + 8, 90);
	bytes_put32(sb + 20, 0x12345678); /* set_uuid0 */
	bytes_put32(sb + 28, 1);          /* level */
	put(bench, FILE_BYTES - 64 * KIB, sb, sizeof(sb));
	expect(bench, "holds a linux_raid_member volume member");
}

static uint32_t lvm_crc(const uint8_t *bytes, size_t count)
{
	uint32_t crc = 0xf597a6cfU;

	for (size_t i = 0; i < count; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
	}
	return crc;
}

/* LVM2's struct label_header, in sector 1. */
static void a_volume_of_lvm_is_known(void **state)
{
	struct bench *bench = *state;
	uint8_t label[512] = {0};

	memcpy(label, "LABELONE", 8);
	bytes_put64(label + 8, 1);
	bytes_put32(label + 20, 32);
	memcpy(label + 24, "LVM2 001", 8);
	memset(label + 32, 'a', 32); /* the volume's uuid */
	bytes_put32(label + 16, lvm_crc(label + 20, 512 - 20));
	put(bench, 512, label, sizeof(label));
	expect(bench, "holds a LVM2_member volume member");
}

/* A vdev has four labels of 256 KiB; the uberblocks begin at 128 KiB of each.
 */
static void put_zfs(const struct bench *bench, uint64_t label)
{
	uint8_t ring[16 * 1024] = {0};

	for (size_t i = 0; i < sizeof(ring); i += 1024) {
		bytes_put64(ring + i, 0x00bab10cU);
		bytes_put64(ring + i + 8, 5000); /* version */
		bytes_put64(ring + i + 16, i);   /* txg */
	}
	put(bench, label + 128 * KIB, ring, sizeof(ring));
}

static void a_member_of_a_zfs_pool_is_known_by_its_first_label(void **state)
{
	struct bench *bench = *state;

	put_zfs(bench, 0);
	expect(bench, "holds a zfs_member file system");
}

static void a_member_of_a_zfs_pool_is_known_by_its_last_label(void **state)
{
	struct bench *bench = *state;

	put_zfs(bench, FILE_BYTES - 256 * KIB);
	expect(bench, "holds a zfs_member file system");
}

/* LUKS2's binary header; the second one lies behind the first, 4 MiB at most
 * (LUKS2 On-Disk Format Specification, section 2.2). */
static void put_luks(const struct bench *bench, uint64_t offset)
{
	uint8_t header[512] = {0};

	memcpy(header, offset == 0 ? "LUKS\xba\xbe" : "SKUL\xba\xbe", 6);
	header[7] = 2;
	for (unsigned int i = 0; i < 8; i++)
		header[256 + i] = (uint8_t)(offset >> (56 - 8 * i));
	put(bench, offset, header, sizeof(header));
}

static void an_encrypted_volume_is_known_by_either_header(void **state)
{
	static const uint8_t nothing[512];
	struct bench *bench = *state;

	put_luks(bench, 0);
	expect(bench, "holds a crypto_LUKS encrypted volume");
	put(bench, 0, nothing, sizeof(nothing));
	put_luks(bench, 4 * MIB);
	expect(bench, "holds a crypto_LUKS encrypted volume");
}

static void what_nobody_knows_is_nothing(void **state)
{
	struct bench *bench = *state;
	char text[GUARD_TEXT_BYTES] = "";

	put(bench, 0, "my thesis", 9);
	assert_int_equal(guard_find_signature(bench->target, text, sizeof(text),
					      &bench->err),
			 0);
	assert_string_equal(text, "");
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_bench, drop_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_raid_member_is_known_by_its_first_blocks),
		ROW(a_raid_member_is_known_by_its_last_blocks),
		ROW(a_raid_member_of_version_0_90_is_known),
		ROW(a_volume_of_lvm_is_known),
		ROW(a_member_of_a_zfs_pool_is_known_by_its_first_label),
		ROW(a_member_of_a_zfs_pool_is_known_by_its_last_label),
		ROW(an_encrypted_volume_is_known_by_either_header),
		ROW(what_nobody_knows_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
