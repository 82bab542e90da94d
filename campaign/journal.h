/* SPDX-License-Identifier: MIT */
/*
 * journal - the append-only record of a campaign.
 *
 * One JSON object a line, one line a step, each on disk before the step that
 * follows it: {"step":"off","at":"2031-05-01T10:00:00.123Z","cycle":3}. After
 * a crash of the campaign itself the journal says what was done; a last line
 * that was cut short is dropped and said, damage before it is an error.
 */
#ifndef CAMPAIGN_JOURNAL_H
#define CAMPAIGN_JOURNAL_H

#include <stdint.h>

#include <jansson.h>

struct err;
struct journal;

/* PATH must not exist. */
struct journal *journal_create(const char *path, struct err *err);

/* Opens to append; a line cut short is cut off. */
struct journal *journal_resume(const char *path, struct err *err);

/* Takes over FIELDS (an object, NULL for none, also on failure). */
int journal_write(struct journal *journal, const char *step, json_t *fields,
		  struct err *err);

int journal_close(struct journal *journal, struct err *err);

/* All whole lines as an array of objects; *TORN_BYTES were cut short. */
json_t *journal_load(const char *path, uint64_t *torn_bytes, struct err *err);

#endif
