/* SPDX-License-Identifier: MIT */
#include "common/target/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/guard.h"
#include "common/target/target.h"
#include "common/target/usage.h"

#define SYSFS   "/sys"
#define BY_ID   "/dev/disk/by-id"
#define LOOK_MS 2 /* between two looks at the children */

/* Shared with the child that asks. What is behind a stage is not touched by it
 * any more. */
enum stage { STAGE_NONE, STAGE_KNOWN, STAGE_TOLD, STAGE_ASKED };

struct slot {
	atomic_int stage;
	/* Of the first of a drive's slots. */
	pid_t child; /* 0: ended, or left alone */
	uint64_t deadline_ns;
	struct survey_row known; /* complete at STAGE_KNOWN, but for the next */
	enum survey_answer answer;
	char reason[SURVEY_TEXT_BYTES];
	char lineage[LINEAGE_TEXT_BYTES]; /* at STAGE_TOLD */
};

/* ---- in the child ---- */

static void give_up(struct slot *slot, enum survey_answer answer,
		    const char *reason)
{
	slot->answer = answer;
	/* The first sentence, and of a mount point what can be printed. */
	identity_clean(reason, strcspn(reason, "\n"), slot->reason,
		       sizeof(slot->reason));
}

/* Names with a model before names that are mere numbers. */
static unsigned int rank_name(const char *name)
{
	static const char *const numbers[] = {
		"wwn-",   "nvme-eui.",    "nvme-uuid.", "nvme-nvme.",
		"scsi-3", "lvm-pv-uuid-", "dm-uuid-"};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strncmp(name, numbers[i], strlen(numbers[i])) == 0)
			return 1;
	}
	return 2;
}

static void find_by_id(dev_t device, char *text, size_t room)
{
	DIR *folder = opendir(BY_ID);
	const struct dirent *entry;
	unsigned int best = 0;
	char path[SURVEY_TEXT_BYTES];
	struct stat status;

	text[0] = '\0';
	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL) {
		int length = snprintf(path, sizeof(path), BY_ID "/%s",
				      entry->d_name);

		if (length >= (int)sizeof(path) || stat(path, &status) == -1 ||
		    !S_ISBLK(status.st_mode) || status.st_rdev != device ||
		    rank_name(entry->d_name) <= best)
			continue;
		best = rank_name(entry->d_name);
		(void)snprintf(text, room, "%s", path);
	}
	(void)closedir(folder); /* nothing was written */
}

/* False where it is gone. */
static bool know(struct survey_row *row, struct inventory_device *device)
{
	if (inventory_read(SYSFS, &row->name, device) == -1)
		return false;
	(void)snprintf(row->path, sizeof(row->path), "%s", device->path);
	row->facts = device->facts;
	(void)snprintf(row->identity, sizeof(row->identity), "%s",
		       device->identity.text);
	find_by_id(device->device, row->by_id, sizeof(row->by_id));
	(void)snprintf(row->erase_name, sizeof(row->erase_name), "%s",
		       device->identity.serial[0] != '\0'
			       ? device->identity.serial
		       : row->by_id[0] != '\0' ? row->by_id
					       : row->path);
	return true;
}

/* What sysfs and /proc say; nothing is opened. */
static bool ask_system(struct slot *slot, dev_t device)
{
	const struct blockfacts *facts = &slot->known.facts;
	struct stat status;
	char text[SURVEY_TEXT_BYTES];

	memset(&status, 0, sizeof(status));
	if (stat(slot->known.path, &status) == -1 || !S_ISBLK(status.st_mode) ||
	    status.st_rdev != device)
		give_up(slot, SURVEY_UNASKED, "it has no node in /dev");
	else if (facts->size_bytes == 0)
		give_up(slot, SURVEY_REFUSED, "no medium");
	else if (usage_find(&status, text, sizeof(text)))
		give_up(slot, SURVEY_REFUSED, text);
	else if (facts->is_read_only)
		give_up(slot, SURVEY_REFUSED, "read-only");
	else if (facts->size_bytes < SURVEY_BYTES_MIN) {
		(void)snprintf(text, sizeof(text),
			       "too small: %llu bytes, the least are %llu",
			       (unsigned long long)facts->size_bytes,
			       SURVEY_BYTES_MIN);
		give_up(slot, SURVEY_REFUSED, text);
	} else
		return true;
	return false;
}

/* Nobody says who has it (ZFS, or a program); what it holds is a clue. */
static void tell_holder(struct slot *slot)
{
	int fd = open(slot->known.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	uint32_t block_bytes = slot->known.facts.logical_block_bytes;
	char clue[GUARD_TEXT_BYTES] = "", text[SURVEY_TEXT_BYTES];

	if (fd != -1) {
		if (guard_find_signature_fd(
			    fd, block_bytes == 0 ? 512 : block_bytes, clue,
			    sizeof(clue)) != 1)
			clue[0] = '\0';
		(void)close(fd); /* nothing was written */
	}
	(void)snprintf(text, sizeof(text), "in use: %s%s%s",
		       "the kernel or a program holds it open",
		       clue[0] == '\0' ? "" : "; it ", clue);
	give_up(slot, SURVEY_REFUSED, text);
}

/* An open drive says at once whether it may be had. */
static bool ask_open(struct slot *slot)
{
	int fd = open(slot->known.path,
		      O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	char text[SURVEY_TEXT_BYTES];

	if (fd != -1) {
		(void)close(fd); /* nothing was written */
		return true;
	}
	switch (errno) {
	case EACCES:
	case EPERM:
		give_up(slot, SURVEY_UNASKED,
			"not known: no right to read it (try as root)");
		break;
	case EBUSY:
		tell_holder(slot);
		break;
	case ENOMEDIUM:
	case ENXIO:
		give_up(slot, SURVEY_REFUSED, "no medium");
		break;
	default:
		(void)snprintf(text, sizeof(text), "cannot be opened: %s",
			       strerror(errno));
		give_up(slot, SURVEY_REFUSED, text);
		break;
	}
	return false;
}

static void ask_contents(struct slot *slot)
{
	char text[GUARD_TEXT_BYTES];
	struct target *target;
	struct err err;
	int found;

	target = target_open(slot->known.path, TARGET_READ, &err);
	if (target == NULL) {
		give_up(slot, SURVEY_REFUSED, err.text);
		return;
	}
	found = guard_find_signature(target, text, sizeof(text), &err);
	if (found == -1)
		give_up(slot, SURVEY_UNASKED, err.text);
	else if (found == 1)
		give_up(slot, SURVEY_REFUSED, text);
	else
		give_up(slot, SURVEY_FREE, "");
	target_close(target);
}

static void ask(struct slot *slot)
{
	struct inventory_device *device = malloc(sizeof(*device));

	if (device == NULL || !know(&slot->known, device))
		return;
	atomic_store(&slot->stage, STAGE_KNOWN);
	/* Where this waits for the file of a loop device, reads will, too. */
	lineage_tell(SYSFS, device->device, slot->lineage,
		     sizeof(slot->lineage));
	atomic_store(&slot->stage, STAGE_TOLD);
	if (ask_system(slot, device->device) && ask_open(slot))
		ask_contents(slot);
	atomic_store(&slot->stage, STAGE_ASKED);
}

/* ---- in the parent ---- */

static int start_child(struct slot *slot, size_t group, unsigned int timeout_ms,
		       struct err *err)
{
	pid_t child = fork();

	if (child == -1)
		return err_sys(err, errno, "cannot ask %s",
			       slot->known.name.name);
	if (child == 0) {
		/* In turn: O_EXCL on a partition keeps others off the drive. */
		for (size_t i = 0; i < group; i++)
			ask(&slot[i]);
		_exit(0);
	}
	slot->child = child; /* the child itself shares it, and keeps off */
	slot->deadline_ns = clock_monotonic_ns() + timeout_ms * CLOCK_NS_PER_MS;
	return 0;
}

/* A child that waits in the kernel for its drive cannot be killed: it ends when
 * the drive answers or goes, and touches nothing any more. */
static bool has_ended(struct slot *slot)
{
	if (slot->child == 0)
		return true;
	if (waitpid(slot->child, NULL, WNOHANG) == 0) {
		if (clock_monotonic_ns() < slot->deadline_ns)
			return false;
		(void)kill(slot->child, SIGKILL);
		(void)waitpid(slot->child, NULL, WNOHANG); /* if it can */
	}
	slot->child = 0;
	return true;
}

/* How many of SLOTS[0 ... COUNT) are of the first one's drive. */
static size_t group_of(const struct slot *slots, size_t count)
{
	size_t group = 1;

	while (group < count && strcmp(slots[group].known.name.disk,
				       slots[0].known.name.disk) == 0)
		group++;
	return group;
}

/* Asks SLOTS[0 ... COUNT), a few drives at a time. */
static int ask_all(struct slot *slots, size_t count, unsigned int timeout_ms,
		   struct err *err)
{
	size_t begun = 0, ended = 0, running = 0;
	int result = 0;

	while (running > 0 || (begun < count && result == 0)) {
		if (result == 0 && begun < count &&
		    running < SURVEY_PARALLEL_MAX) {
			size_t group = group_of(slots + begun, count - begun);

			result = start_child(slots + begun, group, timeout_ms,
					     err);
			begun += group;
			running++;
		} else if (has_ended(&slots[ended])) {
			ended += group_of(slots + ended, count - ended);
			running--;
		} else {
			clock_sleep_ms(LOOK_MS);
		}
	}
	return result;
}

/* A row of what has come; false where the device has gone. */
static bool take(struct slot *slot, struct survey_row *row)
{
	int stage = atomic_load(&slot->stage);
	char path[PATH_MAX];

	memset(row, 0, sizeof(*row));
	row->name = slot->known.name;
	(void)snprintf(path, sizeof(path), SYSFS "/block/%s", row->name.disk);
	if (stage == STAGE_NONE && access(path, F_OK) == -1)
		return false;
	if (stage != STAGE_NONE)
		*row = slot->known;
	if (stage >= STAGE_TOLD)
		memcpy(row->lineage, slot->lineage, sizeof(row->lineage));
	row->answer = SURVEY_UNASKED;
	if (stage < STAGE_ASKED) {
		(void)snprintf(row->reason, sizeof(row->reason),
			       "does not answer");
		return true;
	}
	row->answer = slot->answer;
	memcpy(row->reason, slot->reason, sizeof(row->reason));
	return true;
}

static bool is_drive(const struct survey_row *row)
{
	return !row->name.is_partition && row->facts.serial[0] != '\0' &&
	       strcmp(row->facts.transport, "dm") != 0 &&
	       strcmp(row->facts.transport, "md") != 0;
}

static void count_serials(struct survey *survey)
{
	for (size_t i = 0; i < survey->count; i++) {
		struct survey_row *row = &survey->rows[i];

		for (size_t j = 0; j < survey->count && is_drive(row); j++) {
			if (is_drive(&survey->rows[j]) &&
			    strcmp(row->facts.serial,
				   survey->rows[j].facts.serial) == 0)
				row->same_serial++;
		}
	}
}

static int fill(struct survey *survey, const struct inventory *inventory,
		unsigned int timeout_ms, struct err *err)
{
	size_t bytes = (inventory->count + 1) * sizeof(struct slot);
	struct slot *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int result;

	if (slots == MAP_FAILED)
		return err_sys(err, errno, "cannot list the drives");
	for (size_t i = 0; i < inventory->count; i++)
		slots[i].known.name = inventory->names[i];
	result = ask_all(slots, inventory->count, timeout_ms, err);
	for (size_t i = 0; result == 0 && i < inventory->count; i++) {
		if (take(&slots[i], &survey->rows[survey->count]))
			survey->count++;
	}
	(void)munmap(slots, bytes); /* children have their own mapping */
	count_serials(survey);
	return result;
}

struct survey *survey_new(unsigned int timeout_ms, struct err *err)
{
	struct inventory *inventory = inventory_new(SYSFS, err);
	struct survey *survey = NULL;

	if (inventory == NULL)
		return NULL;
	survey = calloc(1, sizeof(*survey));
	if (survey == NULL) {
		(void)err_sys(err, ENOMEM, "cannot list the drives");
	} else if (fill(survey, inventory, timeout_ms, err) == -1) {
		free(survey);
		survey = NULL;
	}
	free(inventory);
	return survey;
}

void survey_free(struct survey *survey)
{
	free(survey);
}
