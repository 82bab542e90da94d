/* SPDX-License-Identifier: MIT */
#include "common/target/elision.h"

#include <stdio.h>
#include <sys/stat.h>

#include "common/target/stack.h"
#include "common/target/target_ops.h"

void elision_tell(const struct target *target, char *text, size_t room)
{
	const char *name = "";

	if (target->ops->stack != NULL)
		name = stack_elided_at(target->ops->stack(target));
	if (target->info.is_nbd)
		(void)snprintf(text, room, "its server takes none");
	else if (name[0] == '\0')
		(void)snprintf(text, room,
			       "its queue/write_cache does not say \"write "
			       "back\"\nhint: see queue/write_cache of the "
			       "device");
	else
		(void)snprintf(text, room,
			       "the system believes that %s has no volatile "
			       "cache\nhint: if it has one: echo 'write back' "
			       ">/sys/block/%s/queue/write_cache",
			       name, name);
}

const char *elision_unknown(const struct target *target)
{
	if (target->ops->stack == NULL)
		return "";
	return stack_unknown(target->ops->stack(target));
}

void elision_allow(struct target *target, bool is_for_all)
{
	target->info.is_write_back = true;
	if (target->ops->stack != NULL)
		stack_allow(target->ops->stack(target), is_for_all);
}

struct stack *elision_walk(const struct target *target)
{
	struct stat status;

	if (target->info.is_nbd || fstat(target->fd, &status) == -1)
		return NULL;
	if (S_ISBLK(status.st_mode))
		return stack_of_device("/sys", status.st_rdev);
	return stack_of_file("/sys", target->fd);
}
