/* SPDX-License-Identifier: MIT */
/*
 * identity - what sysfs says about a block device: by what it is known again
 * after a power cut (P10).
 *
 * It reads small files under SYSFS ("/sys"; a made-up folder in the tests) and
 * nothing else. A /dev name is never part of an identity: it moves.
 */
#ifndef COMMON_TARGET_IDENTITY_H
#define COMMON_TARGET_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#define IDENTITY_TEXT_BYTES 256
#define IDENTITY_PATH_BYTES 4096

struct identity {
	/*
	 * Model, serial number and world wide name, as far as there are any;
	 * "loop:" and backing file, "dm:" and uuid, "md:" and uuid; a partition
	 * has ":partN" behind its drive's. "" where nothing is known.
	 * A USB drive that keeps its serial number to itself has that of its
	 * bridge, and " lunN" where the bridge has several. Printable, blanks
	 * trimmed and folded.
	 */
	char text[IDENTITY_TEXT_BYTES];
	/* For people to repeat: the serial number or the best there is; "". */
	char serial[IDENTITY_TEXT_BYTES];
	char node[IDENTITY_PATH_BYTES]; /* folder of this very device */
	char disk[IDENTITY_PATH_BYTES]; /* folder of the whole drive */
	bool is_partition;
};

/*
 * Is the drive that is NOW the one that was THEN? Both are identities of
 * target_info or of a run. UNKNOWN where one of them says nothing: "", or a
 * file's identity of a former version, which on xfs and others held the number
 * of the block device and so changed with each start of the system.
 */
enum identity_match {
	IDENTITY_UNKNOWN,
	IDENTITY_SAME,
	IDENTITY_OTHER,
};

enum identity_match identity_compare(const char *then, const char *now);

/*
 * False where a drive cannot be told from others by SERIAL: it is "", or what
 * makers put in its place (all digits alike, 0123456789ABCDEF). Bridges and
 * virtual drives have such ones; a ":partN" or " lunN" behind it is ignored.
 */
bool identity_is_telling(const char *serial);

/* The contents of FOLDER/NAME, cleaned; false and "" where there are none.
 * ROOM is at least 1. */
bool identity_read_text(const char *folder, const char *name, char *to,
			size_t room);

/* 0, or -1 where sysfs has no such device. */
int identity_read(const char *sysfs, unsigned int major, unsigned int minor,
		  struct identity *identity);

/* Trims blanks at both ends, folds runs of them, drops what is not printable
 * ASCII. COUNT bytes of FROM, which need no NUL. */
void identity_clean(const char *from, size_t count, char *to, size_t room);

#endif
