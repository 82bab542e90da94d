/* SPDX-License-Identifier: MIT */
/*
 * cfolder - the plain files in a campaign's folder: the copy of the settings
 * and the summary. The journal has a module of its own.
 */
#ifndef CAMPAIGN_CFOLDER_H
#define CAMPAIGN_CFOLDER_H

#include <stddef.h>

struct csummary;
struct err;

#define CFOLDER_DIR_BYTES  1000
#define CFOLDER_PATH_BYTES 1100

/* DIR/NAME; both are short enough. */
void cfolder_path(const char *dir, const char *name, char *path, size_t room);

int cfolder_copy(const char *from, const char *to, struct err *err);

/* summary.txt and summary.json */
int cfolder_write_summary(const char *dir, const struct csummary *summary,
			  struct err *err);

#endif
