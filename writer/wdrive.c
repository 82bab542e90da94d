/* SPDX-License-Identifier: MIT */
#include "writer/wdrive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/guard.h"
#include "common/target/target.h"
#include "writer/wcache.h"

/* In /dev a missing name is a missing drive. */
static bool is_device_name(const char *name)
{
	return strncmp(name, "/dev/", 5) == 0 &&
	       strncmp(name, "/dev/shm/", 9) != 0;
}

static bool is_to_be_created(const struct wsettings *settings)
{
	return settings->given.size && !settings->is_resume &&
	       settings->engine == TARGET_ENGINE_USUAL &&
	       !settings->has_write_cache && !strstr(settings->target, "://") &&
	       !is_device_name(settings->target) &&
	       access(settings->target, F_OK) < 0 && errno == ENOENT;
}

/* Nothing is done to a drive that may not be tested, its cache included. */
static int guard_first(const struct wsettings *settings, const struct run *run,
		       struct err *err)
{
	struct target *target = target_open_engine(
		settings->target, TARGET_WRITE, settings->engine, err);
	struct run wanted;
	int status = 0;

	if (!target)
		return -1;
	if (run)
		wanted = *run;
	else
		status = wsettings_new_run(settings, target_info(target),
					   &wanted, err);
	if (status == 0)
		status = guard_check(target, wanted.offset_bytes,
				     wanted.size_bytes, settings->erase, err);
	target_close(target);
	return status;
}

static int switch_cache(const struct wsettings *settings, const struct run *run,
			struct wcache **cache, struct wdrive_words *words,
			struct err *err)
{
	if (!settings->has_write_cache)
		return 0;
	if (guard_first(settings, run, err) < 0)
		return -1;
	*cache = wcache_open(settings->target, settings->wants_cache_on,
			     &words->was_cache_on, err);
	if (!*cache)
		return -1;
	words->has_cache = true;
	words->is_cache_on = settings->wants_cache_on;
	return 0;
}

struct target *wdrive_open(const struct wsettings *settings,
			   const struct run *run, struct wcache **cache,
			   struct wdrive_words *words, struct err *err)
{
	struct target *target = NULL;

	*cache = NULL;
	memset(words, 0, sizeof(*words));
	words->is_native = settings->engine == TARGET_ENGINE_NATIVE;
	if (is_to_be_created(settings) &&
	    target_create_file(settings->target,
			       settings->offset_bytes + settings->size_bytes,
			       err) < 0)
		return NULL;
	if (switch_cache(settings, run, cache, words, err) < 0)
		return NULL;
	target = target_open_engine(settings->target, TARGET_WRITE,
				    settings->engine, err);
	if (target)
		(void)snprintf(words->engine, sizeof(words->engine), "%s",
			       target_describe_engine(target));
	return target;
}

static const char *word(bool is_on)
{
	return is_on ? "on" : "off";
}

bool wdrive_note(const struct wdrive_words *words, unsigned int i, char *text,
		 unsigned int room)
{
	if (!words->is_native)
		i++; /* the usual engine needs no word */
	if (i == 0)
		(void)snprintf(text, room, "engine: %s", words->engine);
	else if (i == 1 && words->has_cache)
		(void)snprintf(text, room,
			       "write cache: the drive said that it was %s, "
			       "and says that it is %s now (--write-cache)",
			       word(words->was_cache_on),
			       word(words->is_cache_on));
	else
		return false;
	return true;
}
