/* SPDX-License-Identifier: MIT */
/*
 * woptions - the table of the command line.
 */
#ifndef WRITER_WOPTIONS_H
#define WRITER_WOPTIONS_H

#include "common/base/options.h"
#include "writer/wsettings.h"

#define WOPTIONS_ROWS_MAX 32

struct woptions {
	struct option_row rows[WOPTIONS_ROWS_MAX];
	struct option_page page;
};

/* A page whose rows fill SETTINGS, which has its defaults already. */
void woptions_init(struct woptions *options, struct wsettings *settings);

#endif
