/* SPDX-License-Identifier: MIT */
/*
 * ccollector - the collector that a campaign uses: one that runs elsewhere, or
 * one of its own, started here and started again where it has ended.
 */
#ifndef CAMPAIGN_CCOLLECTOR_H
#define CAMPAIGN_CCOLLECTOR_H

#include <signal.h>
#include <stddef.h>

#include "campaign/csettings.h"

struct err;
struct ccollector;

/* PREFIX is the command; DIR the campaign's folder. */
struct ccollector *ccollector_open(const struct csettings *settings,
				   const char *prefix, const char *dir,
				   const volatile sig_atomic_t *stop,
				   struct err *err);

/* Ends our own. NULL is fine. */
void ccollector_close(struct ccollector *collector);

/* Ours still runs, or runs again. */
int ccollector_keep(struct ccollector *collector, struct err *err);

/* As --collector and --connect want it. */
const char *ccollector_address(const struct ccollector *collector);

/* The same as the writer reaches it, which may sit on another machine. */
const char *ccollector_advertised(const struct ccollector *collector);

/* PATH of the log of RUN as it can be read from here. */
void ccollector_log_path(const struct ccollector *collector, const char *run,
			 char *path, size_t room);

#endif
