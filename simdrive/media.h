/* SPDX-License-Identifier: MIT */
/*
 * media - what a drive keeps when its power is gone: an array of bytes.
 *
 * The model sees it only through these two callbacks, so that a test can give
 * it memory and the plugin a file.
 */
#ifndef SIMDRIVE_MEDIA_H
#define SIMDRIVE_MEDIA_H

#include <stddef.h>
#include <stdint.h>

struct err;

struct media {
	/* Each moves LENGTH bytes at OFFSET_BYTES in full, or returns -errno.
	 */
	int (*read)(void *context, void *buffer, size_t length,
		    uint64_t offset_bytes);
	int (*write)(void *context, const void *buffer, size_t length,
		     uint64_t offset_bytes);
	void *context;
	uint64_t size_bytes;
};

/*
 * Creates a sparse file of SIZE_BYTES where there is none; an existing one must
 * have that size (SIZE_BYTES 0: any size is taken, but it must exist). Stores
 * the size.
 */
int media_prepare_file(const char *path, uint64_t *size_bytes, struct err *err);

/* The file PATH as media, open until the process ends. */
int media_open_file(struct media *media, const char *path, struct err *err);

#endif
