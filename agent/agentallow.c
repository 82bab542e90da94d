/* SPDX-License-Identifier: MIT */
#include "agent/agentallow.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static const char *const ours[] = {"plugpull-writer", "plugpull-verifier",
				   NULL};

static const char *const folders[] = {
	"/usr/sbin",       "/usr/bin",       "/sbin", "/bin",
	"/usr/local/sbin", "/usr/local/bin", NULL};

/*
 * The words that only read: both programs can also erase a drive, and the
 * writer's guard would not be asked.
 */
static const char *const smartctl_words[] = {
	"--json", "-j",     "-a",   "--all",        "-x",  "--xall",
	"-i",     "--info", "-A",   "--attributes", "-H",  "-d",
	"auto",   "sat",    "scsi", "nvme",         "ata", NULL};
static const char *const nvme_words[] = {
	"smart-log", "ocp",       "smart-add-log",        "id-ctrl", "id-ns",
	"list",      "error-log", "--output-format=json", "-o",      "json",
	NULL};

static bool is_in(const char *word, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

/* A device is no option, and nothing but a path below /dev. */
static bool is_device(const char *word)
{
	return strncmp(word, "/dev/", 5) == 0 && strstr(word, "..") == NULL;
}

static bool only_reads(const struct agentwire_words *words,
		       const char *const *list, struct err *err)
{
	for (size_t i = 1; i < words->count; i++) {
		if (is_in(words->words[i], list) || is_device(words->words[i]))
			continue;
		(void)err_set(err, "refused: %s with '%.100s'", words->words[0],
			      words->words[i]);
		return false;
	}
	return true;
}

static enum agentallow_answer find(const char *name, const char *const *in,
				   struct agentallow *allow, struct err *err)
{
	for (; *in != NULL; in++) {
		int length = snprintf(allow->path, sizeof(allow->path), "%s/%s",
				      *in, name);

		if (length > 0 && (size_t)length < sizeof(allow->path) &&
		    access(allow->path, X_OK) == 0)
			return AGENTALLOW_YES;
	}
	(void)err_set(err, "%s is not installed here", name);
	return AGENTALLOW_MISSING;
}

enum agentallow_answer agentallow_check(const struct agentwire_words *words,
					const char *folder,
					struct agentallow *allow,
					struct err *err)
{
	const char *const in[] = {folder, NULL};
	const char *name = words->words[0];
	bool is_read = strcmp(name, "smartctl") == 0
			       ? only_reads(words, smartctl_words, err)
		       : strcmp(name, "nvme") == 0
			       ? only_reads(words, nvme_words, err)
			       : true;

	allow->uses_drive = is_in(name, ours);
	if (!is_read)
		return AGENTALLOW_REFUSED;
	if (allow->uses_drive)
		return find(name, in, allow, err);
	if (strcmp(name, "smartctl") == 0 || strcmp(name, "nvme") == 0)
		return find(name, folders, allow, err);
	if (strcmp(name, "cat") == 0 && words->count == 2 &&
	    strcmp(words->words[1], BOOT_ID) == 0)
		return find(name, folders, allow, err);
	(void)err_set(err, "refused: '%.100s' is not for a controller to run",
		      name);
	return AGENTALLOW_REFUSED;
}
