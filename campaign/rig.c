/* SPDX-License-Identifier: MIT */
#include "campaign/rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/ccollector.h"
#include "campaign/cevidence.h"
#include "campaign/command.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define RIG_NOTE_BYTES   240 /* ackbody.h: with the 0 at its end */
#define RIG_SEND_MS      15000
#define RIG_HOOK_MS      120000
#define RIG_PREFIX_BYTES (2 * CSETTINGS_TEXT_BYTES + RIG_PATH_BYTES)

/* All but the last two are ours. */
static const char *const rig_program_names[RIG_PROGRAMS] = {
	"plugpull-writer",    "plugpull-verifier", "plugpull-relay",
	"plugpull-collector", "smartctl",          "nvme"};

struct rig {
	const struct csettings *settings;
	const volatile sig_atomic_t *stop;
	char dir[RIG_PATH_BYTES];
	char programs[RIG_PROGRAMS][RIG_PREFIX_BYTES];
	struct crelay *relay;
	struct ccollector *collector;
	struct cevidence_memory evidence_memory;
	struct command_line line; /* the one being built */
};

/* ---- the programs ---- */

/* What runs where the drive is. */
static bool is_beside_drive(enum rig_program program)
{
	return program != RIG_RELAY && program != RIG_COLLECTOR;
}

/* Our own folder, with a slash at its end. */
static int find_own_folder(char *self, size_t room, struct err *err)
{
	const ssize_t length = readlink("/proc/self/exe", self, room - 1);
	char *slash = NULL;

	if (length <= 0)
		return err_sys(err, errno, "cannot find our own folder");
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		slash[1] = '\0';
	return 0;
}

/* On the host the user's word, or PATH, says where a program is; here ours
 * are found beside this one. */
static int find_programs(struct rig *rig, struct err *err)
{
	const struct csettings *settings = rig->settings;
	const char *const prefixes[RIG_PROGRAMS] = {
		settings->writer,    settings->verifier, settings->relay,
		settings->collector, settings->smartctl, settings->nvme};
	char self[RIG_PATH_BYTES];

	if (find_own_folder(self, sizeof(self), err) == -1)
		return -1;
	for (int i = 0; i < RIG_PROGRAMS; i++) {
		const bool is_remote = csettings_cuts_host(settings) &&
				       is_beside_drive((enum rig_program)i);
		const bool is_named = prefixes[i][0] != '\0';

		(void)snprintf(rig->programs[i], sizeof(rig->programs[i]),
			       "%s %s%s", is_remote ? settings->via : "",
			       is_named || is_remote ? "" : self,
			       is_named ? prefixes[i] : rig_program_names[i]);
	}
	return 0;
}

struct rig *rig_open(const struct csettings *settings, const char *dir,
		     const volatile sig_atomic_t *stop, struct err *err)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	if (rig == NULL) {
		(void)err_set(err, "no memory for the campaign");
		return NULL;
	}
	rig->settings = settings;
	rig->stop = stop;
	(void)snprintf(rig->dir, sizeof(rig->dir), "%s", dir);
	if (find_programs(rig, err) == 0)
		rig->relay =
			crelay_open(settings, rig->programs[RIG_RELAY], err);
	if (rig->relay != NULL)
		rig->collector = ccollector_open(
			settings, rig->programs[RIG_COLLECTOR], dir, stop, err);
	if (rig->collector == NULL) {
		rig_close(rig);
		return NULL;
	}
	return rig;
}

void rig_close(struct rig *rig)
{
	if (rig == NULL)
		return;
	crelay_close(rig->relay);
	ccollector_close(rig->collector);
	free(rig);
}

const struct csettings *rig_settings(const struct rig *rig)
{
	return rig->settings;
}

bool rig_is_stopped(const struct rig *rig)
{
	return *rig->stop != 0;
}

const volatile sig_atomic_t *rig_stop_flag(const struct rig *rig)
{
	return rig->stop;
}

struct cevidence_memory *rig_evidence_memory(struct rig *rig)
{
	return &rig->evidence_memory;
}

int rig_keep_collector(struct rig *rig, struct err *err)
{
	return ccollector_keep(rig->collector, err);
}

/* ---- the relay ---- */

int rig_switch(struct rig *rig, bool is_on, struct crelay_told *told,
	       struct err *err)
{
	struct crelay_told unused;

	return crelay_switch(rig->relay, is_on, told == NULL ? &unused : told,
			     err);
}

int rig_read_power(struct rig *rig, enum crelay_power *power, struct err *err)
{
	return crelay_read(rig->relay, power, err);
}

int rig_interrupt(struct rig *rig, uint64_t off_ms, struct err *err)
{
	return crelay_interrupt(rig->relay, off_ms, err);
}

/* ---- the collector ---- */

static int send(struct rig *rig, const char *event, const char *run,
		const char *text, struct err *err)
{
	struct command_run answer = {.timeout_ms = RIG_SEND_MS};

	command_line_init(&rig->line, rig->programs[RIG_COLLECTOR]);
	command_line_add(&rig->line, "--send");
	command_line_add(&rig->line, "%s", event);
	command_line_add(&rig->line, "--run");
	command_line_add(&rig->line, "%s", run);
	command_line_add(&rig->line, "--connect");
	command_line_add(&rig->line, "%s", ccollector_address(rig->collector));
	command_line_add(&rig->line, "--text");
	command_line_add(&rig->line, "%s", text);
	if (rig->settings->key[0] != '\0') {
		command_line_add(&rig->line, "--key");
		command_line_add(&rig->line, "%s", rig->settings->key);
	}
	if (command_run(&rig->line, &answer, err) == -1)
		return err_prefix(err, "cannot put %s on record", event);
	if (answer.status != 0)
		return err_set(err, "cannot put %s on record: %.380s", event,
			       answer.complaint);
	return 0;
}

int rig_send_event(struct rig *rig, const char *event, const char *run,
		   uint64_t cycle, struct err *err)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "campaign cycle %llu",
		       (unsigned long long)cycle);
	return send(rig, event, run, text, err);
}

int rig_send_note(struct rig *rig, const char *run, const char *text,
		  struct err *err)
{
	char line[RIG_NOTE_BYTES];

	(void)snprintf(line, sizeof(line), "%s", text);
	return send(rig, "note", run, line, err);
}

/* ---- for those who build commands of their own ---- */

struct command_line *rig_begin(struct rig *rig, enum rig_program program)
{
	command_line_init(&rig->line, rig->programs[program]);
	return &rig->line;
}

const struct command_line *rig_begun(const struct rig *rig)
{
	return &rig->line;
}

struct command_line *rig_begin_on_host(struct rig *rig, const char *words)
{
	char prefix[RIG_PREFIX_BYTES];

	(void)snprintf(prefix, sizeof(prefix), "%s %s", rig->settings->via,
		       words);
	command_line_init(&rig->line, prefix);
	return &rig->line;
}

const char *rig_writers_collector(const struct rig *rig)
{
	return ccollector_advertised(rig->collector);
}

void rig_log_path(const struct rig *rig, const char *run, char *path,
		  size_t room)
{
	ccollector_log_path(rig->collector, run, path, room);
}

void rig_path(const struct rig *rig, const char *name, char *path, size_t room)
{
	(void)snprintf(path, room, "%.1000s/%.64s", rig->dir, name);
}

void rig_cycle_path(const struct rig *rig, uint64_t cycle, const char *what,
		    char *path, size_t room)
{
	(void)snprintf(path, room, "%.1000s/cycle-%04llu.%s", rig->dir,
		       (unsigned long long)cycle, what);
}

int rig_hook(struct rig *rig, const char *name, const char *script,
	     struct err *err)
{
	struct command_run run = {.timeout_ms = RIG_HOOK_MS};

	if (script[0] == '\0')
		return 0;
	command_line_init(&rig->line, "/bin/sh -c");
	command_line_add(&rig->line, "%s", script);
	if (command_run(&rig->line, &run, err) == -1)
		return err_prefix(err, "hook %s", name);
	if (run.status != 0)
		return err_set(err, "hook %s ended with status %d: %.380s",
			       name, run.status, run.complaint);
	return 0;
}
