/* SPDX-License-Identifier: MIT */
/*
 * fileid - by what a file is known again when the system has started anew: the
 * file system it lies on, and its inode (P10).
 *
 * statfs(2) has a number for the file system. ext4, btrfs and tmpfs make it of
 * their uuid; xfs, f2fs, vfat and others take the number of the block device,
 * which is another one after a power cycle as soon as drives come in another
 * order. There the uuid itself is asked for.
 */
#ifndef COMMON_TARGET_FILEID_H
#define COMMON_TARGET_FILEID_H

#include <stddef.h>

/*
 * "file:", 16 hexadecimal digits of statfs(2) or 32 of the uuid, ":" and the
 * inode, for the open file FD. 0; -1 with errno where the file system does not
 * say anything. Where it has no uuid to be had, the 16 digits must do.
 * identity_compare() knows both forms.
 */
int fileid_tell(int fd, char *text, size_t room);

#endif
