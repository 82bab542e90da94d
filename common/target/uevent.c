/* SPDX-License-Identifier: MIT */
#include "common/target/uevent.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/target/stack.h"
#include "common/target/target_ops.h"

#define SYSFS "/sys"

static const char *const names[] = {
	[UEVENT_OTHER] = "other",     [UEVENT_ADD] = "add",
	[UEVENT_CHANGE] = "change",   [UEVENT_REMOVE] = "remove",
	[UEVENT_OFFLINE] = "offline",
};

const char *uevent_action_name(enum uevent_action action)
{
	return names[action];
}

static enum uevent_action action_of(const char *text, size_t length)
{
	for (size_t i = UEVENT_ADD; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length &&
		    memcmp(names[i], text, length) == 0)
			return (enum uevent_action)i;
	return UEVENT_OTHER;
}

static bool is_plain(const char *path, size_t length)
{
	if (length == 0 || length >= UEVENT_PATH_BYTES || path[0] != '/')
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)path[i] <= ' ' || path[i] == 0x7f)
			return false;
	return true;
}

bool uevent_parse(const char *text, size_t length, struct uevent *event)
{
	static const char block[] = "SUBSYSTEM=block";
	const char *end = length == 0 ? NULL : memchr(text, '\0', length);
	const char *at = end == NULL ? NULL : strchr(text, '@');
	size_t used;

	memset(event, 0, sizeof(*event));
	if (at == NULL || !is_plain(at + 1, (size_t)(end - at - 1)))
		return false;
	event->action = action_of(text, (size_t)(at - text));
	memcpy(event->path, at + 1, (size_t)(end - at));
	/* A word that does not end is none. */
	for (used = (size_t)(end - text) + 1; used < length;
	     used = (size_t)(end - text) + 1) {
		end = memchr(text + used, '\0', length - used);
		if (end == NULL)
			break;
		if (strcmp(text + used, block) == 0)
			event->is_block = true;
	}
	return true;
}

const char *uevent_device(const struct uevent *event)
{
	const char *last = strrchr(event->path, '/');

	return last == NULL ? event->path : last + 1;
}

static void watch_stack(struct uevent_watched *watched,
			const struct stack *stack)
{
	const size_t top = strlen(SYSFS);

	for (unsigned int i = 0;
	     i < stack_count(stack) && watched->count < UEVENT_DEVICES_MAX;
	     i++) {
		char path[PATH_MAX];

		if (realpath(stack_disk(stack, i), path) == NULL ||
		    strncmp(path, SYSFS "/", top + 1) != 0 ||
		    strlen(path + top) >= UEVENT_PATH_BYTES)
			continue;
		memcpy(watched->paths[watched->count++], path + top,
		       strlen(path + top) + 1);
	}
}

void uevent_watch_target(struct uevent_watched *watched,
			 const struct target *target)
{
	struct stack *stack = NULL;
	struct stat status;

	watched->count = 0;
	if (target->fd == -1 || fstat(target->fd, &status) == -1)
		return;
	if (S_ISBLK(status.st_mode))
		stack = stack_of_device(SYSFS, status.st_rdev);
	else if (S_ISREG(status.st_mode))
		stack = stack_of_file(SYSFS, target->fd);
	if (stack != NULL)
		watch_stack(watched, stack);
	stack_close(stack);
}

bool uevent_concerns(const struct uevent *event,
		     const struct uevent_watched *watched)
{
	const size_t length = strlen(event->path);

	for (unsigned int i = 0; i < watched->count; i++) {
		const char *path = watched->paths[i];

		if (strcmp(path, event->path) == 0)
			return true;
		if (event->action == UEVENT_REMOVE &&
		    strncmp(path, event->path, length) == 0 &&
		    path[length] == '/')
			return true;
	}
	return false;
}
