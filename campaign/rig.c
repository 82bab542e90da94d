/* SPDX-License-Identifier: MIT */
#include "campaign/rig.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "campaign/ccollector.h"
#include "campaign/command.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define RIG_PATH_BYTES 1536
#define RIG_SEND_MS    15000
#define RIG_RELAY_MS   60000
#define RIG_HOOK_MS    120000
#define RIG_VERIFY_MS  (48ULL * 3600 * 1000)

enum rig_program { RIG_WRITER, RIG_VERIFIER, RIG_RELAY, RIG_COLLECTOR };

static const char *const rig_program_names[] = {"writer", "verifier", "relay",
						"collector"};

struct rig {
	const struct csettings *settings;
	const volatile sig_atomic_t *stop;
	char dir[RIG_PATH_BYTES];
	char programs[4][RIG_PATH_BYTES];
	struct ccollector *collector;
	struct command_line line; /* the one being built */
};

/* ---- the programs ---- */

static int find_programs(struct rig *rig, struct err *err)
{
	const struct csettings *settings = rig->settings;
	const char *const prefixes[] = {settings->writer, settings->verifier,
					settings->relay, settings->collector};
	char self[RIG_PATH_BYTES - 64];
	char *slash = NULL;
	const ssize_t length =
		readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return err_sys(err, errno, "cannot find our own folder");
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';
	for (size_t i = 0; i < 4; i++)
		if (prefixes[i][0] != '\0')
			(void)snprintf(rig->programs[i],
				       sizeof(rig->programs[i]), "%s",
				       prefixes[i]);
		else
			(void)snprintf(
				rig->programs[i], sizeof(rig->programs[i]),
				"%s/plugpull-%s", self, rig_program_names[i]);
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

int rig_keep_collector(struct rig *rig, struct err *err)
{
	return ccollector_keep(rig->collector, err);
}

/* ---- the relay ---- */

static int run_relay(struct rig *rig, const char *verb, struct command_run *run,
		     struct err *err)
{
	run->timeout_ms = RIG_RELAY_MS;
	command_line_init(&rig->line, rig->programs[RIG_RELAY]);
	command_line_add(&rig->line, "--outlet");
	command_line_add(&rig->line, "%s", rig->settings->outlet);
	command_line_add(&rig->line, "%s", verb);
	return command_run(&rig->line, run, err);
}

int rig_switch(struct rig *rig, bool is_on, struct err *err)
{
	const char *verb = is_on ? "on" : "off";
	struct command_run run = {0};

	if (run_relay(rig, verb, &run, err) == -1)
		return -1;
	if (run.status != 0)
		return err_set(err, "cannot switch %s %s: %.380s",
			       rig->settings->outlet, verb, run.complaint);
	return 0;
}

/* WORD as a word of its own in TEXT. */
static bool has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);
	const char *at = text;

	while ((at = strcasestr(at, word)) != NULL) {
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[length]))
			return true;
		at += length;
	}
	return false;
}

int rig_read_power(struct rig *rig, enum rig_power *power, struct err *err)
{
	struct command_run run = {0};

	if (run_relay(rig, "status", &run, err) == -1)
		return -1;
	if (has_word(run.out, "unknown")) {
		*power = RIG_POWER_UNREAD;
		return 0;
	}
	if (run.status != 0)
		return err_set(err, "cannot read the state of %s: %.380s",
			       rig->settings->outlet, run.complaint);
	if (has_word(run.out, "off"))
		*power = RIG_POWER_OFF;
	else if (has_word(run.out, "on"))
		*power = RIG_POWER_ON;
	else
		return err_set(err,
			       "the state of %s is neither on nor off: %.300s",
			       rig->settings->outlet, run.out);
	return 0;
}

/* ---- collector, writer, verifier ---- */

static void add_key(struct rig *rig)
{
	if (rig->settings->key[0] == '\0')
		return;
	command_line_add(&rig->line, "--key");
	command_line_add(&rig->line, "%s", rig->settings->key);
}

int rig_send_event(struct rig *rig, const char *event, const char *run,
		   uint64_t cycle, struct err *err)
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
	command_line_add(&rig->line, "campaign cycle %llu",
			 (unsigned long long)cycle);
	add_key(rig);
	if (command_run(&rig->line, &answer, err) == -1)
		return err_prefix(err, "cannot put %s on record", event);
	if (answer.status != 0)
		return err_set(err, "cannot put %s on record: %.380s", event,
			       answer.complaint);
	return 0;
}

static void cycle_path(const struct rig *rig, uint64_t cycle, const char *what,
		       char *path, size_t room)
{
	(void)snprintf(path, room, "%.1000s/cycle-%04llu.%s", rig->dir,
		       (unsigned long long)cycle, what);
}

static void add_number(struct rig *rig, const char *option, uint64_t number)
{
	if (number == 0)
		return;
	command_line_add(&rig->line, "%s", option);
	command_line_add(&rig->line, "%llu", (unsigned long long)number);
}

/* What only a fresh run is told; a resumed one has it in its log. */
static void add_region(struct rig *rig, uint64_t seed)
{
	const struct csettings *settings = rig->settings;

	add_number(rig, "--offset", settings->offset_bytes);
	add_number(rig, "--size", settings->size_bytes);
	add_number(rig, "--block-size", settings->block_bytes);
	add_number(rig, "--streams", settings->streams);
	if (settings->pattern[0] != '\0') {
		command_line_add(&rig->line, "--pattern");
		command_line_add(&rig->line, "%s", settings->pattern);
	}
	command_line_add(&rig->line, "--seed");
	command_line_add(&rig->line, "%llx", (unsigned long long)seed);
	command_line_add(&rig->line, settings->fill ? "--fill" : "--no-fill");
}

struct command *rig_start_writer(struct rig *rig,
				 const struct rig_writing *writing,
				 struct err *err)
{
	const struct csettings *settings = rig->settings;
	char json_path[RIG_PATH_BYTES];
	char err_path[RIG_PATH_BYTES];
	const struct command_files files = {.err_path = err_path,
					    .reads_lines = true,
					    .ends_with_us = true};

	cycle_path(rig, writing->cycle, "writer.json", json_path,
		   sizeof(json_path));
	cycle_path(rig, writing->cycle, "writer.log", err_path,
		   sizeof(err_path));
	/* A file of a broken-off cycle must not speak for this one. */
	if (unlink(json_path) == -1 && errno != ENOENT) {
		(void)err_sys(err, errno, "cannot replace %s", json_path);
		return NULL;
	}
	command_line_init(&rig->line, rig->programs[RIG_WRITER]);
	command_line_add(&rig->line, "--target");
	command_line_add(&rig->line, "%s", settings->target);
	command_line_add(&rig->line, "--collector");
	command_line_add(&rig->line, "%s", ccollector_address(rig->collector));
	add_key(rig);
	if (writing->run[0] != '\0') {
		command_line_add(&rig->line, "--run");
		command_line_add(&rig->line, "%s", writing->run);
	} else {
		add_region(rig, writing->seed);
	}
	if (settings->erase[0] != '\0') {
		command_line_add(&rig->line, "--erase");
		command_line_add(&rig->line, "%s", settings->erase);
	}
	add_number(rig, "--queue-depth", settings->queue_depth);
	command_line_add(&rig->line, "--sync");
	command_line_add(&rig->line, "%s",
			 writing->arm == PLAN_ARM_CONTROL ? "none"
							  : settings->sync);
	command_line_add(&rig->line, "--json");
	command_line_add(&rig->line, "%s", json_path);
	return command_start(&rig->line, &files, err);
}

int rig_read_writer(struct rig *rig, uint64_t cycle,
		    struct outcome_writer *writer, struct err *err)
{
	char path[RIG_PATH_BYTES];

	cycle_path(rig, cycle, "writer.json", path, sizeof(path));
	return outcome_read_writer(writer, path, err);
}

/* Exit status and JSON must say the same, or neither is believed (P9). */
static void check_status(struct outcome_judged *judged, int status)
{
	const bool agrees =
		(judged->verdict == OUTCOME_KEPT &&
		 (status == 0 || status == 3)) ||
		(judged->verdict == OUTCOME_BROKEN && status == 1) ||
		(judged->verdict == OUTCOME_NONE && status == 2);

	if (agrees)
		return;
	(void)snprintf(judged->reason, sizeof(judged->reason),
		       "the verifier ended with status %d, but its report says "
		       "%s",
		       status, outcome_verdict_name(judged->verdict));
	judged->verdict = OUTCOME_NONE;
}

static void add_verify(struct rig *rig, const char *run, const char *json_path)
{
	char log_path[RIG_PATH_BYTES];
	char prefix[RIG_PATH_BYTES + CSETTINGS_TEXT_BYTES];

	/* The user's options are words behind the program's own. */
	(void)snprintf(prefix, sizeof(prefix), "%s %s",
		       rig->programs[RIG_VERIFIER],
		       rig->settings->verifier_options);
	ccollector_log_path(rig->collector, run, log_path, sizeof(log_path));
	command_line_init(&rig->line, prefix);
	command_line_add(&rig->line, "--target");
	command_line_add(&rig->line, "%s", rig->settings->target);
	command_line_add(&rig->line, "--acklog");
	command_line_add(&rig->line, "%s", log_path);
	command_line_add(&rig->line, "--json");
	command_line_add(&rig->line, "%s", json_path);
}

int rig_verify(struct rig *rig, uint64_t cycle, bool is_second, const char *run,
	       struct outcome_judged *judged, struct err *err)
{
	char json_path[RIG_PATH_BYTES];
	char text_path[RIG_PATH_BYTES];
	const struct command_files files = {.out_path = text_path};
	struct command_run answer = {.files = &files,
				     .timeout_ms = RIG_VERIFY_MS,
				     .stop = rig->stop};

	cycle_path(rig, cycle, is_second ? "second.json" : "verdict.json",
		   json_path, sizeof(json_path));
	cycle_path(rig, cycle, is_second ? "second.txt" : "verdict.txt",
		   text_path, sizeof(text_path));
	if (unlink(json_path) == -1 && errno != ENOENT)
		return err_sys(err, errno, "cannot replace %s", json_path);
	add_verify(rig, run, json_path);
	if (command_run(&rig->line, &answer, err) == -1)
		return -1;
	if (outcome_read_verdict(judged, json_path, err) == -1)
		return err_set(err, "the verifier ended with status %d: %.380s",
			       answer.status, answer.complaint);
	check_status(judged, answer.status);
	if (judged->verdict == OUTCOME_NONE && judged->reason[0] == '\0')
		(void)snprintf(judged->reason, sizeof(judged->reason), "%.300s",
			       answer.complaint);
	return 0;
}

bool rig_target_is_absent(const struct rig *rig,
			  const struct outcome_judged *judged)
{
	static const char *const verbs[] = {
		"cannot open ", "cannot connect to ", "cannot use "};
	const char *target = rig->settings->target;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		const size_t length = strlen(verbs[i]);

		if (judged->verdict == OUTCOME_NONE &&
		    strncmp(judged->reason, verbs[i], length) == 0 &&
		    strncmp(judged->reason + length, target, strlen(target)) ==
			    0)
			return true;
	}
	return false;
}

bool rig_device_is_missing(const struct rig *rig,
			   const struct outcome_judged *judged)
{
	static const int reasons[] = {ENOENT, ENXIO, ENODEV, ENOMEDIUM};
	const size_t length = strlen(judged->reason);

	if (!rig_target_is_absent(rig, judged) ||
	    strncmp(rig->settings->target, "nbd", 3) == 0)
		return false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const char *why = strerror(reasons[i]);

		if (length > strlen(why) &&
		    strcmp(judged->reason + length - strlen(why), why) == 0)
			return true;
	}
	return false;
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
