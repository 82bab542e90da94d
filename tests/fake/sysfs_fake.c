/* SPDX-License-Identifier: MIT */
#include "tests/fake/sysfs_fake.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cmocka_all.h"

int sysfs_fake_setup(void **state)
{
	struct sysfs_fake *sysfs = calloc(1, sizeof(*sysfs));

	assert_non_null(sysfs);
	(void)strcpy(sysfs->root, "/tmp/plugpull-test-XXXXXX");
	assert_non_null(mkdtemp(sysfs->root));
	*state = sysfs;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag,
			struct FTW *walk)
{
	(void)status;
	(void)flag;
	(void)walk;
	return remove(path);
}

int sysfs_fake_teardown(void **state)
{
	struct sysfs_fake *sysfs = *state;

	assert_int_equal(
		nftw(sysfs->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(sysfs);
	return 0;
}

const char *sysfs_fake_path(const struct sysfs_fake *sysfs, const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", sysfs->root, name);
	return path;
}

static void make_folders(const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s", name);
	for (char *at = strchr(path + 1, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0700); /* it may be there */
		*at = '/';
	}
}

void sysfs_fake_put_bytes(const struct sysfs_fake *sysfs, const char *name,
			  const void *bytes, size_t count)
{
	const char *path = sysfs_fake_path(sysfs, name);
	FILE *file;

	make_folders(path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);
}

void sysfs_fake_put(const struct sysfs_fake *sysfs, const char *name,
		    const char *text)
{
	sysfs_fake_put_bytes(sysfs, name, text, strlen(text));
}

void sysfs_fake_link(const struct sysfs_fake *sysfs, const char *name,
		     const char *folder)
{
	char to[512];
	const char *path;

	(void)strcpy(to, sysfs_fake_path(sysfs, folder));
	path = sysfs_fake_path(sysfs, name);
	make_folders(path);
	assert_int_equal(symlink(to, path), 0);
}
