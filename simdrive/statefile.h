/* SPDX-License-Identifier: MIT */
/*
 * statefile - what a drive takes over into its next life, in a file beside its
 * media.
 */
#ifndef SIMDRIVE_STATEFILE_H
#define SIMDRIVE_STATEFILE_H

#include <stdbool.h>

struct err;
struct model;

/* IS_FRESH: there is no such file, and nothing was loaded. */
int statefile_load(const char *path, struct model *model, bool *is_fresh,
		   struct err *err);

/* 0, or -errno. */
int statefile_save(const char *path, const struct model *model);

#endif
