/* SPDX-License-Identifier: MIT */
#include "common/target/guard.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/format/run.h"
#include "common/target/identity.h"
#include "common/target/target_ops.h"
#include "common/target/usage.h"

/* At each end: all that libblkid reads. LUKS2 keeps its second header at 4 MiB
 * (the last of the places in the LUKS2 on-disk format, section 2.2). */
#define PROBE_BYTES     (5U * 1024 * 1024)
#define READ_BYTES      (1024U * 1024)
#define READ_TIMEOUT_MS 60000

static int check_bounds(const struct target *target, uint64_t offset_bytes,
			uint64_t size_bytes, struct err *err)
{
	const struct target_info *info = &target->info;

	if (size_bytes == 0 || size_bytes > info->size_bytes ||
	    offset_bytes > info->size_bytes - size_bytes)
		return err_set(
			err,
			"cannot use %llu bytes from byte %llu of %s: it has "
			"%llu bytes",
			(unsigned long long)size_bytes,
			(unsigned long long)offset_bytes, target->name,
			(unsigned long long)info->size_bytes);
	if (offset_bytes % info->logical_block_bytes != 0 ||
	    size_bytes % info->logical_block_bytes != 0)
		return err_set(err,
			       "cannot use %llu bytes from byte %llu of %s: "
			       "both must be multiples of its %u-byte blocks",
			       (unsigned long long)size_bytes,
			       (unsigned long long)offset_bytes, target->name,
			       info->logical_block_bytes);
	return 0;
}

static int check_name(const struct target *target, const char *erase,
		      struct err *err)
{
	if (erase == NULL || strcmp(erase, target->info.erase_name) == 0)
		return 0;
	return err_set(err,
		       "cannot erase %s: '%.80s' is not its name"
		       "\nhint: --erase '%s' if it is meant",
		       target->name, erase, target->info.erase_name);
}

static int check_usage(const struct target *target, struct err *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat status;
	int is_read_only = 0;
	char user[256];

	if (target->fd == -1)
		return 0; /* what an NBD server serves is its own affair */
	if (fstat(target->fd, &status) == -1)
		return err_sys(err, errno, "cannot tell who uses %s",
			       target->name);
	if (S_ISBLK(status.st_mode) &&
	    ioctl(target->fd, BLKROGET, &is_read_only) == 0 && is_read_only)
		return err_set(err,
			       "cannot write to %s: it is read-only\nhint: "
			       "blockdev --setrw %s, or a switch on the drive",
			       target->name, target->name);
	if (usage_find(&status, user, sizeof(user)))
		return err_set(err,
			       "cannot write to %s: it is in use\nhint: %s",
			       target->name, user);
	if (S_ISREG(status.st_mode) &&
	    fcntl(target->fd, F_OFD_GETLK, &lock) == 0 &&
	    lock.l_type != F_UNLCK)
		return err_set(err,
			       "cannot write to %s: another program has locked "
			       "it\nhint: fuser %s tells which",
			       target->name, target->name);
	return 0;
}

static int read_piece(struct target *target, void *buffer, size_t length,
		      uint64_t offset_bytes, struct err *err)
{
	int result = target_read_once(target, buffer, length, offset_bytes,
				      READ_TIMEOUT_MS);

	if (result == 0)
		return 0;
	return err_sys(err, -result, "cannot read byte %llu of %s",
		       (unsigned long long)offset_bytes, target->name);
}

/* Copies FROM ... TO of the target to the same place of FD. */
static int copy_range(struct target *target, int fd, uint64_t from, uint64_t to,
		      struct err *err)
{
	void *buffer = target_buffer_new(READ_BYTES, err);
	int result = buffer == NULL ? -1 : 0;

	while (result == 0 && from < to) {
		size_t length = to - from < READ_BYTES ? (size_t)(to - from)
						       : READ_BYTES;

		result = read_piece(target, buffer, length, from, err);
		if (result == 0 &&
		    pwrite(fd, buffer, length, (off_t)from) != (ssize_t)length)
			result = err_sys(err, errno,
					 "cannot keep a copy of what %s holds",
					 target->name);
		from += length;
	}
	free(buffer);
	return result;
}

/*
 * A sparse copy of both ends in memory: libblkid reads through the page cache,
 * knows no NBD, and would need a second opening of the device (P10).
 */
static int copy_ends(struct target *target, int *copy, struct err *err)
{
	uint64_t block_bytes = target->info.logical_block_bytes;
	uint64_t end = target->info.size_bytes / block_bytes * block_bytes;
	uint64_t head = end < PROBE_BYTES ? end : PROBE_BYTES;
	uint64_t tail = end - head < PROBE_BYTES ? head : end - PROBE_BYTES;
	int fd = memfd_create("ends", MFD_CLOEXEC);

	if (fd == -1 || ftruncate(fd, (off_t)target->info.size_bytes) == -1) {
		(void)err_sys(err, errno, "cannot copy the ends of %s",
			      target->name);
		goto fail;
	}
	if (copy_range(target, fd, 0, head, err) == -1 ||
	    copy_range(target, fd, tail, end, err) == -1)
		goto fail;
	*copy = fd;
	return 0;
fail:
	if (fd != -1)
		(void)close(fd); /* memory only */
	return -1;
}

static const char *lookup(blkid_probe probe, const char *name)
{
	const char *value = NULL;

	if (blkid_probe_lookup_value(probe, name, &value, NULL) == -1)
		return NULL;
	return value;
}

static const char *usage_word(const char *usage)
{
	static const char *const words[][2] = {{"filesystem", "file system"},
					       {"raid", "volume member"},
					       {"crypto", "encrypted volume"},
					       {"other", "signature"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (usage != NULL && strcmp(usage, words[i][0]) == 0)
			return words[i][1];
	}
	return "signature";
}

static const char *article(const char *word)
{
	return strchr("aeiou", word[0]) != NULL ? "an" : "a";
}

static void describe_found(blkid_probe probe, char *text, size_t room)
{
	const char *type = lookup(probe, "TYPE");
	const char *label = lookup(probe, "LABEL");
	const char *table = lookup(probe, "PTTYPE");
	char shown[64] = "";

	if (label != NULL)
		identity_clean(label, strlen(label), shown, sizeof(shown));
	if (type == NULL && table != NULL) {
		(void)snprintf(text, room, "holds %s %s partition table",
			       article(table), table);
		return;
	}
	if (type == NULL)
		type = "unknown";
	(void)snprintf(text, room, "holds %s %s %s%s%s%s", article(type), type,
		       usage_word(lookup(probe, "USAGE")),
		       shown[0] == '\0' ? "" : " labelled \"", shown,
		       shown[0] == '\0' ? "" : "\"");
}

int guard_find_signature_fd(int fd, uint32_t block_bytes, char *text,
			    size_t room)
{
	blkid_probe probe = blkid_new_probe();
	int result = -1;

	if (probe == NULL || blkid_probe_set_device(probe, fd, 0, 0) != 0 ||
	    blkid_probe_set_sectorsize(probe, block_bytes) != 0 ||
	    blkid_probe_enable_superblocks(probe, 1) != 0 ||
	    blkid_probe_set_superblocks_flags(
		    probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL |
				   BLKID_SUBLKS_USAGE | BLKID_SUBLKS_MAGIC) !=
		    0 ||
	    blkid_probe_enable_partitions(probe, 1) != 0 ||
	    /* also where only the copy at the end is left */
	    blkid_probe_set_partitions_flags(probe, BLKID_PARTS_FORCE_GPT) != 0)
		goto out;
	/* Two signatures at once are no less of a reason than one. */
	result = blkid_do_fullprobe(probe);
	if (result == 0)
		describe_found(probe, text, room);
	/* What it calls 1 is "nothing", and all else an error. */
	result = result == 0 || result == 1 ? result == 0 : -1;
out:
	blkid_free_probe(probe);
	return result;
}

int guard_find_signature(struct target *target, char *text, size_t room,
			 struct err *err)
{
	int fd = -1;
	int result;

	if (copy_ends(target, &fd, err) == -1)
		return -1;
	result = guard_find_signature_fd(fd, target->info.logical_block_bytes,
					 text, room);
	(void)close(fd); /* memory only */
	if (result == -1)
		return err_set(err, "cannot look for file systems on %s",
			       target->name);
	return result;
}

static int check_signatures(struct target *target, struct err *err)
{
	char text[GUARD_TEXT_BYTES];
	int result = guard_find_signature(target, text, sizeof(text), err);

	if (result < 1)
		return result;
	return err_set(err,
		       "cannot write to %s: it %s\nhint: if nothing on it is "
		       "wanted: wipefs --all %s",
		       target->name, text, target->name);
}

static bool is_covering(const struct run *run, uint64_t offset_bytes,
			uint64_t size_bytes)
{
	return run->offset_bytes <= offset_bytes &&
	       offset_bytes - run->offset_bytes <= run->size_bytes &&
	       size_bytes <=
		       run->size_bytes - (offset_bytes - run->offset_bytes);
}

/* 1: a label at AT whose region holds all of ours; 0: none; -1: err. */
static int find_label(struct target *target, uint64_t at, uint64_t offset_bytes,
		      uint64_t size_bytes, struct err *err)
{
	size_t length = RUN_LABEL_BYTES;
	enum run_label_state state;
	struct err ignored; /* a damaged label is no label of ours */
	struct run run;
	void *buffer;
	int result;

	if (length < target->info.logical_block_bytes)
		length = target->info.logical_block_bytes;
	buffer = target_buffer_new(length, err);
	if (buffer == NULL)
		return -1;
	result = read_piece(target, buffer, length, at, err);
	if (result == 0) {
		state = run_decode_label(&run, buffer, &ignored);
		result = state == RUN_LABEL_GOOD &&
			 is_covering(&run, offset_bytes, size_bytes);
	}
	free(buffer);
	return result;
}

static int find_either_label(struct target *target, uint64_t offset_bytes,
			     uint64_t size_bytes, struct err *err)
{
	int result;

	if (size_bytes < 2 * RUN_LABEL_AREA_BYTES)
		return 0;
	result =
		find_label(target, offset_bytes, offset_bytes, size_bytes, err);
	if (result != 0)
		return result;
	return find_label(target,
			  offset_bytes + size_bytes - RUN_LABEL_AREA_BYTES,
			  offset_bytes, size_bytes, err);
}

static bool is_all_hole(const struct target *target, uint64_t offset_bytes,
			uint64_t size_bytes)
{
	off_t data;

	if (target->fd == -1 || target->info.is_block_device)
		return false;
	data = lseek(target->fd, (off_t)offset_bytes, SEEK_DATA);
	if (data == -1)
		return errno == ENXIO;
	return (uint64_t)data >= offset_bytes + size_bytes;
}

int guard_check(struct target *target, uint64_t offset_bytes,
		uint64_t size_bytes, const char *erase, struct err *err)
{
	int result;

	if (check_bounds(target, offset_bytes, size_bytes, err) == -1 ||
	    check_name(target, erase, err) == -1 ||
	    check_usage(target, err) == -1 ||
	    check_signatures(target, err) == -1)
		return -1;
	if (erase != NULL || is_all_hole(target, offset_bytes, size_bytes))
		return 0;
	result = find_either_label(target, offset_bytes, size_bytes, err);
	if (result == -1)
		return -1;
	if (result == 1)
		return 0;
	return err_set(err,
		       "cannot write to %s: it may hold data, and no plugpull "
		       "run covers the region\nhint: everything in the region "
		       "is lost with --erase '%s'",
		       target->name, target->info.erase_name);
}
