/* SPDX-License-Identifier: MIT */
#include "campaign/cevidence.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "campaign/command.h"
#include "campaign/cpower.h"
#include "campaign/rig.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define CEVIDENCE_SYSFS    "/sys/dev/block"
#define CEVIDENCE_ASK_MS   20000
#define CEVIDENCE_TRIES    3 /* of a drive that is back just now */
#define CEVIDENCE_PAUSE_MS 200

/* ---- the kernel ---- */

/* The first line without what is no print; "" where it cannot be read. */
static void read_line(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t length = 0;

	text[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(text, (int)room, file) == NULL)
		text[0] = '\0';
	(void)fclose(file); /* was only read */
	length = strcspn(text, "\n");
	text[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (!isprint((unsigned char)text[i]))
			text[i] = '?';
}

/* Of the device, or of the one that it is a part of. */
static void read_attribute(const char *root, dev_t number, const char *name,
			   char text[OUTCOME_WORD_BYTES])
{
	static const char *const ways[] = {"", "../"};
	char path[256];

	text[0] = '\0';
	for (size_t i = 0; i < 2 && text[0] == '\0'; i++) {
		(void)snprintf(path, sizeof(path), "%.150s/%u:%u/%s%s", root,
			       major(number), minor(number), ways[i], name);
		read_line(path, text, OUTCOME_WORD_BYTES);
	}
}

void cevidence_read_device(const char *root, dev_t number, uint64_t *diskseq,
			   char cache[OUTCOME_WORD_BYTES])
{
	char text[OUTCOME_WORD_BYTES];
	char *end = NULL;

	read_attribute(root, number, "diskseq", text);
	errno = 0;
	*diskseq = strtoull(text, &end, 10);
	if (errno != 0 || !isdigit((unsigned char)text[0]) || *end != '\0' ||
	    *diskseq > INT64_MAX)
		*diskseq = 0;
	read_attribute(root, number, "queue/write_cache", cache);
}

/* A block device of this machine: where the user named the commands, the path
 * may be that of another one. */
static bool find_device(const struct csettings *settings, dev_t *number)
{
	struct stat status;

	if (csettings_cuts_host(settings) || settings->writer[0] != '\0' ||
	    settings->verifier[0] != '\0' ||
	    stat(settings->target, &status) == -1 || !S_ISBLK(status.st_mode))
		return false;
	*number = status.st_rdev;
	return true;
}

/* ---- the drive's own words ---- */

static int read_answer(const char *path, char *text, size_t room,
		       size_t *length, struct err *err)
{
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return err_sys(err, errno, "cannot open %s", path);
	*length = fread(text, 1, room, file);
	(void)fclose(file); /* was only read */
	return 0;
}

/* Runs LINE and adds what it says. Its exit status is no guide: smartctl's is
 * a set of bits that speak of the drive's health too. */
static int ask(struct rig *rig, const struct command_line *line,
	       enum counters_source source, struct counters *counters,
	       struct err *err)
{
	char path[RIG_PATH_BYTES];
	const struct command_files files = {.out_path = path};
	struct command_run answer = {.files = &files,
				     .timeout_ms = CEVIDENCE_ASK_MS,
				     .stop = rig_stop_flag(rig)};
	char *text = malloc(COUNTERS_INPUT_BYTES_MAX + 1);
	size_t length = 0;
	int rc = -1;

	rig_path(rig, "counters.json", path, sizeof(path));
	if (text == NULL)
		(void)err_set(err, "no memory for the drive's counters");
	else if (command_run(line, &answer, err) == 0 &&
		 read_answer(path, text, COUNTERS_INPUT_BYTES_MAX + 1, &length,
			     err) == 0)
		rc = counters_decode(counters, source, text, length, err);
	free(text);
	return rc;
}

static int ask_smartctl(struct rig *rig, struct counters *counters,
			struct err *err)
{
	struct command_line *line = rig_begin(rig, RIG_SMARTCTL);

	command_line_add_words(line, "--json -a");
	command_line_add(line, "%s", rig_settings(rig)->counters_device);
	return ask(rig, line, COUNTERS_SMARTCTL, counters, err);
}

/* VERB: one or two words of nvme-cli. */
static int ask_nvme(struct rig *rig, const char *verb,
		    enum counters_source source, struct counters *counters,
		    struct err *err)
{
	struct command_line *line = rig_begin(rig, RIG_NVME);

	command_line_add_words(line, verb);
	command_line_add(line, "%s", rig_settings(rig)->counters_device);
	command_line_add_words(line, "-o json");
	return ask(rig, line, source, counters, err);
}

/* Whom "auto" may ask at all: nobody of a file or an NBD target. */
static bool auto_may_ask(const struct csettings *settings)
{
	dev_t number;

	return csettings_cuts_host(settings) ||
	       strcmp(settings->counters_device, settings->target) != 0 ||
	       find_device(settings, &number);
}

/* The first to answer is the one to ask from then on. */
static void settle(struct rig *rig, struct counters *counters)
{
	struct cevidence_memory *memory = rig_evidence_memory(rig);
	const struct csettings *settings = rig_settings(rig);
	struct err ignored; /* who does not answer is not asked again */

	memory->is_settled = true;
	memory->source = settings->counters_kind;
	memory->has_no_ocp = memory->source == CSETTINGS_COUNTERS_SMARTCTL;
	if (memory->source != CSETTINGS_COUNTERS_AUTO)
		return;
	memory->source = CSETTINGS_COUNTERS_NONE;
	if (!auto_may_ask(settings))
		return;
	if (ask_smartctl(rig, counters, &ignored) == 0)
		memory->source = CSETTINGS_COUNTERS_SMARTCTL;
	else if (ask_nvme(rig, "smart-log", COUNTERS_NVME, counters,
			  &ignored) == 0)
		memory->source = CSETTINGS_COUNTERS_NVME;
}

void cevidence_read_counters(struct rig *rig, struct counters *counters)
{
	struct cevidence_memory *memory = rig_evidence_memory(rig);
	struct err ignored; /* told as "could not be read" */

	memset(counters, 0, sizeof(*counters));
	if (!memory->is_settled)
		settle(rig, counters);
	if (memory->source == CSETTINGS_COUNTERS_NONE)
		return;
	if (!counters_are_read(counters)) {
		if (memory->source == CSETTINGS_COUNTERS_NVME)
			(void)ask_nvme(rig, "smart-log", COUNTERS_NVME,
				       counters, &ignored);
		else
			(void)ask_smartctl(rig, counters, &ignored);
	}
	if (counters_are_read(counters) && !memory->has_no_ocp)
		memory->has_no_ocp =
			ask_nvme(rig, "ocp smart-add-log", COUNTERS_OCP,
				 counters, &ignored) == -1;
}

void cevidence_before(struct rig *rig, struct outcome *outcome)
{
	struct outcome_evidence *evidence = &outcome->evidence;
	dev_t number;

	if (find_device(rig_settings(rig), &number))
		cevidence_read_device(CEVIDENCE_SYSFS, number,
				      &evidence->diskseq_before,
				      evidence->cache_before);
	cevidence_read_counters(rig, &evidence->before);
}

void cevidence_after(struct rig *rig, struct outcome *outcome)
{
	struct outcome_evidence *evidence = &outcome->evidence;
	dev_t number;

	if (find_device(rig_settings(rig), &number))
		cevidence_read_device(CEVIDENCE_SYSFS, number,
				      &evidence->diskseq_after,
				      evidence->cache_after);
	if (!counters_are_read(&evidence->before))
		return;
	for (int i = 0; i < CEVIDENCE_TRIES; i++) {
		cevidence_read_counters(rig, &evidence->after);
		if (counters_are_read(&evidence->after))
			return;
		cpower_sleep_until(rig, clock_monotonic_ns() +
						CEVIDENCE_PAUSE_MS *
							CLOCK_NS_PER_MS);
	}
}
