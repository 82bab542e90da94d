/* SPDX-License-Identifier: MIT */
/*
 * rig - writer, verifier, relay and collector as commands.
 *
 * Builds each command line from the settings, runs it and reads its answer. It
 * knows how to ask and decides nothing; cycle.h has the order of things.
 */
#ifndef CAMPAIGN_RIG_H
#define CAMPAIGN_RIG_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "campaign/csettings.h"
#include "campaign/outcome.h"

struct err;
struct command;
struct rig;

/* Finds the programs and starts the collector where it is ours. DIR is the
 * campaign's folder; STOP the flag that a signal sets. */
struct rig *rig_open(const struct csettings *settings, const char *dir,
		     const volatile sig_atomic_t *stop, struct err *err);
void rig_close(struct rig *rig);

const struct csettings *rig_settings(const struct rig *rig);
bool rig_is_stopped(const struct rig *rig);
const volatile sig_atomic_t *rig_stop_flag(const struct rig *rig);

/* Our own collector still runs, or runs again. */
int rig_keep_collector(struct rig *rig, struct err *err);

enum rig_power {
	RIG_POWER_ON,
	RIG_POWER_OFF,
	RIG_POWER_UNREAD, /* the board has no read-back */
};

int rig_switch(struct rig *rig, bool is_on, struct err *err);
int rig_read_power(struct rig *rig, enum rig_power *power, struct err *err);

/* Puts an event on record at the collector; returns when it is confirmed. */
int rig_send_event(struct rig *rig, const char *event, const char *run,
		   uint64_t cycle, struct err *err);

struct rig_writing {
	uint64_t cycle;
	enum plan_arm arm;
	const char *run; /* "": a fresh run */
	uint64_t seed;   /* of a fresh run */
};

struct command *rig_start_writer(struct rig *rig,
				 const struct rig_writing *writing,
				 struct err *err);
int rig_read_writer(struct rig *rig, uint64_t cycle,
		    struct outcome_writer *writer, struct err *err);

/* IS_SECOND: the look after a clean power cycle. */
int rig_verify(struct rig *rig, uint64_t cycle, bool is_second, const char *run,
	       struct outcome_judged *judged, struct err *err);

/* JUDGED says no more than that the target could not be opened (yet). */
bool rig_target_is_absent(const struct rig *rig,
			  const struct outcome_judged *judged);

/* And that for a reason which a drive that is there cannot give: no such
 * device. Permissions, locks and servers are the rig's own trouble (P9). */
bool rig_device_is_missing(const struct rig *rig,
			   const struct outcome_judged *judged);

/* A shell command of the user; "" does nothing. */
int rig_hook(struct rig *rig, const char *name, const char *script,
	     struct err *err);

#endif
