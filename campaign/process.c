/* SPDX-License-Identifier: MIT */
#include "campaign/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What follows the name in a stat file of /proc, from the state letter on; ""
 * where the process is not there. The name may hold anything but ends with the
 * last ')'. */
static void read_stat(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t length = 0;
	const char *end = NULL;

	text[0] = '\0';
	if (file == NULL)
		return;
	length = fread(text, 1, room - 1, file);
	(void)fclose(file); /* was only read */
	text[length] = '\0';
	end = strrchr(text, ')');
	if (end == NULL || end[1] != ' ')
		text[0] = '\0';
	else
		memmove(text, end + 2, strlen(end + 2) + 1);
}

static bool task_is_blocked(pid_t pid, const char *task)
{
	char path[96];
	char text[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.32s/stat", (int)pid,
		       task);
	read_stat(path, text, sizeof(text));
	return text[0] == 'D';
}

uint64_t process_birth(pid_t pid)
{
	char path[64];
	char text[512];
	char *at = text;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	read_stat(path, text, sizeof(text));
	if (text[0] == 'Z' || text[0] == '\0')
		return 0;
	/* The state is field 3, the start is field 22. */
	for (int field = 3; field < 22 && at != NULL; field++) {
		at = strchr(at, ' ');
		at = at == NULL ? NULL : at + 1;
	}
	return at == NULL ? 0 : strtoull(at, NULL, 10);
}

bool process_is_blocked(pid_t pid)
{
	char path[64];
	struct dirent *entry = NULL;
	bool is_blocked = false;
	DIR *tasks = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return false;
	while ((entry = readdir(tasks)) != NULL)
		if (entry->d_name[0] != '.')
			is_blocked |= task_is_blocked(pid, entry->d_name);
	(void)closedir(tasks); /* was only read */
	return is_blocked;
}
