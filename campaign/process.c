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

/* The letter of its state; '\0' where it is not there. */
static char task_state(pid_t pid, const char *task)
{
	char path[96];
	char text[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.32s/stat", (int)pid,
		       task);
	read_stat(path, text, sizeof(text));
	return text[0];
}

static bool is_dead(char state)
{
	return state == '\0' || state == 'Z' || state == 'X';
}

/* Some thread of PID for which IS_ONE holds. */
static bool has_task(pid_t pid, bool (*is_one)(char state))
{
	char path[64];
	struct dirent *entry = NULL;
	bool is_found = false;
	DIR *tasks = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return false;
	while (!is_found && (entry = readdir(tasks)) != NULL)
		is_found = entry->d_name[0] != '.' &&
			   is_one(task_state(pid, entry->d_name));
	(void)closedir(tasks); /* was only read */
	return is_found;
}

static bool is_alive(char state)
{
	return !is_dead(state);
}

static bool is_blocked(char state)
{
	return state == 'D';
}

uint64_t process_birth(pid_t pid)
{
	char path[64];
	char text[512];
	char *at = text;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	read_stat(path, text, sizeof(text));
	/* P11: the first thread of a process may have ended while another one
	 * still waits in the kernel for the drive. */
	if (text[0] == '\0' || (is_dead(text[0]) && !has_task(pid, is_alive)))
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
	return has_task(pid, is_blocked);
}
