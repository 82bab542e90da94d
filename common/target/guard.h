/* SPDX-License-Identifier: MIT */
/*
 * guard - refuses to destroy what is not ours.
 *
 * Mounted, partitioned, signed (libblkid) and in-use devices are refused by the
 * name of what was found, whatever was confirmed; a region that holds anything
 * but a plugpull label needs --erase with the drive's erase name.
 */
#ifndef COMMON_TARGET_GUARD_H
#define COMMON_TARGET_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct target;

#define GUARD_TEXT_BYTES 160

/*
 * What libblkid knows of either end of TARGET: 1 with TEXT "holds a gpt
 * partition table", 0 where it knows nothing; -1 with err where that cannot be
 * told. Only reads.
 */
int guard_find_signature(struct target *target, char *text, size_t room,
			 struct err *err);

/* Likewise for an open file or device, through the page cache: for people, to
 * say more of a device that cannot be had. -1 without err. */
int guard_find_signature_fd(int fd, uint32_t block_bytes, char *text,
			    size_t room);

/*
 * 0 if the region OFFSET ... OFFSET + SIZE of TARGET may be overwritten, else
 * -1: err names what was found and has the hint in its second line ("\nhint:
 * ..."). ERASE is the value of --erase or NULL. A label of plugpull's own in
 * the region (either copy), or a file that is all holes, needs no --erase.
 */
int guard_check(struct target *target, uint64_t offset_bytes,
		uint64_t size_bytes, const char *erase, struct err *err);

#endif
