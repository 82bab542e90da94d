/* SPDX-License-Identifier: MIT */
/*
 * replay - feeds every file named on the command line, and every file of every
 * folder named there, to a fuzz target; needs no fuzzer. A target that does not
 * like its input aborts.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES      4096
#define INPUT_BYTES_MAX ((size_t)16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size)
{
	/* Exactly as large as the input: a sanitizer sees every byte too many.
	 */
	uint8_t *bytes = malloc(size > 0 ? size : 1);
	FILE *file = fopen(path, "rb");
	int result = -1;

	if (bytes != NULL && file != NULL &&
	    fread(bytes, 1, size, file) == size) {
		(void)LLVMFuzzerTestOneInput(bytes, size);
		result = 0;
	}
	if (file != NULL)
		(void)fclose(file); /* read only: nothing to lose */
	free(bytes);
	return result;
}

/* A folder's files, or the one file; what lies deeper is left alone. Returns
 * how many inputs there were, or -1. */
static long replay(const char *path, int is_top)
{
	struct stat about;
	struct dirent *entry;
	DIR *folder;
	long count = 0;

	if (stat(path, &about) < 0)
		return -1;
	if (S_ISREG(about.st_mode) && (size_t)about.st_size <= INPUT_BYTES_MAX)
		return replay_file(path, (size_t)about.st_size) < 0 ? -1 : 1;
	if (!is_top)
		return 0;
	folder = opendir(path);
	if (folder == NULL)
		return -1;
	while (count >= 0 && (entry = readdir(folder)) != NULL) {
		char inner[PATH_BYTES];
		long got;

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(inner, sizeof(inner), "%s/%s", path,
			       entry->d_name);
		got = replay(inner, 0);
		count = got < 0 ? -1 : count + got;
	}
	(void)closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	long total = 0;

	for (int i = 1; i < argc; i++) {
		long count = replay(argv[i], 1);

		if (count < 0) {
			(void)fprintf(stderr, "replay: cannot read %s: %s\n",
				      argv[i], strerror(errno));
			return 2;
		}
		total += count;
	}
	printf("%ld inputs replayed\n", total);
	return 0;
}
