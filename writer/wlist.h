/* SPDX-License-Identifier: MIT */
/*
 * wlist - the list of drives (--list): a table for people, JSON for programs.
 */
#ifndef WRITER_WLIST_H
#define WRITER_WLIST_H

#include <stdio.h>

struct err;
struct survey;

/* One line for each drive and partition. */
void wlist_print(const struct survey *survey, FILE *to);

/* An array with everything that is known; PATH "-" is stdout. */
int wlist_json(const struct survey *survey, const char *path, struct err *err);

/* Asks all drives and tells of them: as JSON where JSON_PATH is not NULL, and
 * as a table unless that is "-". */
int wlist_run(const char *json_path, FILE *to, struct err *err);

#endif
