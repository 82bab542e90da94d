/* SPDX-License-Identifier: MIT */
/*
 * rig - relay, collector and hooks as commands, and where all programs are.
 *
 * Builds each command line from the settings, runs it and reads its answer. It
 * knows how to ask and decides nothing; cycle.h has the order of things, and
 * beside.h what runs beside the drive.
 */
#ifndef CAMPAIGN_RIG_H
#define CAMPAIGN_RIG_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "campaign/crelay.h"
#include "campaign/csettings.h"

struct err;
struct cevidence_memory;
struct command_line;
struct rig;

/* Finds the programs and starts the collector where it is ours. DIR is the
 * campaign's folder; STOP the flag that a signal sets. */
struct rig *rig_open(const struct csettings *settings, const char *dir,
		     const volatile sig_atomic_t *stop, struct err *err);
void rig_close(struct rig *rig);

const struct csettings *rig_settings(const struct rig *rig);
bool rig_is_stopped(const struct rig *rig);
const volatile sig_atomic_t *rig_stop_flag(const struct rig *rig);
struct cevidence_memory *rig_evidence_memory(struct rig *rig);

/* Our own collector still runs, or runs again. */
int rig_keep_collector(struct rig *rig, struct err *err);

/* TOLD may be NULL. */
int rig_switch(struct rig *rig, bool is_on, struct crelay_told *told,
	       struct err *err);
int rig_read_power(struct rig *rig, enum crelay_power *power, struct err *err);
/* As crelay_interrupt(). */
int rig_interrupt(struct rig *rig, uint64_t off_ms, struct err *err);

/* Puts an event on record at the collector; returns when it is confirmed. */
int rig_send_event(struct rig *rig, const char *event, const char *run,
		   uint64_t cycle, struct err *err);

/* The same for a line of text, which is cut off where it is too long. */
int rig_send_note(struct rig *rig, const char *run, const char *text,
		  struct err *err);

/* A shell command of the user; "" does nothing. */
int rig_hook(struct rig *rig, const char *name, const char *script,
	     struct err *err);

enum rig_program {
	RIG_WRITER,
	RIG_VERIFIER,
	RIG_RELAY,
	RIG_COLLECTOR,
	RIG_SMARTCTL,
	RIG_NVME,
	RIG_PROGRAMS,
};

/* A command line of PROGRAM, where it runs; used up by the next one. */
struct command_line *rig_begin(struct rig *rig, enum rig_program program);

/* The one that was begun last. */
const struct command_line *rig_begun(const struct rig *rig);

/* The same for WORDS on the host whose power is cut. */
struct command_line *rig_begin_on_host(struct rig *rig, const char *words);

/* The collector as the writer reaches it, and the log of RUN as it is read
 * from here. */
const char *rig_writers_collector(const struct rig *rig);
void rig_log_path(const struct rig *rig, const char *run, char *path,
		  size_t room);

/* The file NAME in the campaign's folder. */
void rig_path(const struct rig *rig, const char *name, char *path, size_t room);

/* The file WHAT of CYCLE in the campaign's folder. */
#define RIG_PATH_BYTES 1536
void rig_cycle_path(const struct rig *rig, uint64_t cycle, const char *what,
		    char *path, size_t room);

#endif
