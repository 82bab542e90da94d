/* SPDX-License-Identifier: MIT */
/*
 * ccheck - the campaign's settings as a whole: what holds where a key is not
 * given, and what no single key can know of the others. Pure.
 */
#ifndef CAMPAIGN_CCHECK_H
#define CAMPAIGN_CCHECK_H

struct csettings;
struct err;

void ccheck_defaults(struct csettings *settings);

/* After all keys were taken; NAME is the file's, for messages. */
int ccheck_together(struct csettings *settings, const char *name,
		    struct err *err);

#endif
