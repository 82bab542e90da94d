/* SPDX-License-Identifier: MIT */
/*
 * plugpull - the front command: "plugpull writer ..." runs plugpull-writer.
 *
 * It looks beside itself first, so that a build folder and an installed tree
 * both work, and then in PATH. It knows no program's options.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/options.h"

static const char *const programs[][2] = {
	{"writer", "write numbered records, acknowledge what is durable"},
	{"collector", "keep the acknowledgements on another machine"},
	{"verifier", "compare the drive with the acknowledgements"},
	{"relay", "switch the drive's power"},
	{"campaign", "run many power cuts and say how sure the answer is"},
	{"agent", "run writer and verifier on a host that loses power"},
	{"simdrive", "a simulated drive whose honesty is known"},
};

#define PROGRAM_COUNT (sizeof(programs) / sizeof(programs[0]))

static void print_help(void)
{
	printf("Usage: plugpull <program> [options]\n\n"
	       "Ask a drive whether it keeps its word: write under load, cut "
	       "the power, read back.\n\nPrograms:\n");
	for (size_t i = 0; i < PROGRAM_COUNT; i++)
		printf(" %-10s %s\n", programs[i][0], programs[i][1]);
	printf("\nOptions:\n"
	       " -h, --help     show this help\n"
	       " -V, --version  show the version\n\n"
	       "Each program has a --help and a man page of its own: "
	       "plugpull-writer(1) and so on.\n");
}

static const char *known_program(const char *name)
{
	for (size_t i = 0; i < PROGRAM_COUNT; i++)
		if (strcmp(name, programs[i][0]) == 0)
			return programs[i][0];
	return NULL;
}

/* Never returns where the program could be started. */
static int run_program(const char *name, char **argv)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash = NULL;
	char file[64];

	(void)snprintf(file, sizeof(file), "plugpull-%s", name);
	argv[0] = file;
	if (length > 0) {
		path[length] = '\0';
		slash = strrchr(path, '/');
	}
	if (slash) {
		size_t room = sizeof(path) - (size_t)(slash + 1 - path);

		(void)snprintf(slash + 1, room, "%s", file);
		execv(path, argv);
	}
	execvp(file, argv);
	fprintf(stderr, "plugpull: cannot run %s: %s\n", file, strerror(errno));
	return 2;
}

int main(int argc, char **argv)
{
	const char *name = NULL;

	if (argc < 2) {
		fprintf(stderr, "plugpull: which program?\n"
				"Try 'plugpull --help'.\n");
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help();
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("plugpull %s\n", PLUGPULL_VERSION);
		return 0;
	}
	name = known_program(argv[1]);
	if (!name) {
		fprintf(stderr,
			"plugpull: there is no program '%s'\n"
			"Try 'plugpull --help'.\n",
			argv[1]);
		return 2;
	}
	return run_program(name, argv + 1);
}
