/* SPDX-License-Identifier: MIT */
/*
 * sysfs_fake - a made-up sysfs in a folder of its own, for the modules that are
 * told where sysfs lies. A failure ends the test.
 *
 * sysfs_fake_setup() and _teardown() are cmocka's; *STATE is the fake.
 */
#ifndef TESTS_FAKE_SYSFS_FAKE_H
#define TESTS_FAKE_SYSFS_FAKE_H

#include <stddef.h>

struct sysfs_fake {
	char root[64];
};

int sysfs_fake_setup(void **state);
int sysfs_fake_teardown(void **state);

/* A file, and the folders above it. */
void sysfs_fake_put(const struct sysfs_fake *sysfs, const char *name,
		    const char *text);
void sysfs_fake_put_bytes(const struct sysfs_fake *sysfs, const char *name,
			  const void *bytes, size_t count);
/* NAME leads to FOLDER, which need not exist. */
void sysfs_fake_link(const struct sysfs_fake *sysfs, const char *name,
		     const char *folder);
/* The whole path of NAME, good until the next call. */
const char *sysfs_fake_path(const struct sysfs_fake *sysfs, const char *name);

#endif
