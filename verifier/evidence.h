/* SPDX-License-Identifier: MIT */
/*
 * evidence - media proof (P5): what the drive's own records say was promised.
 *
 * Every good record of the run proves that its stream's writes of its cycle up
 * to W were durable when it was issued. Threads gather into a cache of their
 * own and merge it into the shared table; the ledger learns it between two
 * passes over the region, when nobody reads it. Bounded: what does not fit is
 * dropped, which only leaves writes in doubt.
 */
#ifndef VERIFIER_EVIDENCE_H
#define VERIFIER_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct evidence;
struct evidence_cache;
struct ledger;
struct record;

#define EVIDENCE_ENTRIES_MAX 65536 /* pairs of stream and cycle */

struct evidence *evidence_new(struct err *err);
void evidence_free(struct evidence *evidence);

struct evidence_cache *evidence_cache_new(struct evidence *evidence,
					  struct err *err);
/* Merges what is left in the cache. */
void evidence_cache_free(struct evidence_cache *cache);
void evidence_cache_merge(struct evidence_cache *cache);

/* RECORD is good and possible (the caller asked). Generation 0 proves nothing.
 */
void evidence_add(struct evidence_cache *cache, const struct record *record);

/* A record of a sequence number from 1 was seen at all: the fill had been
 * flushed and the label written before it was issued. */
bool evidence_has_writes(const struct evidence *evidence);
/* How many writes the drive's own records prove, whatever a log says. */
uint64_t evidence_durable(const struct evidence *evidence);
uint64_t evidence_dropped(const struct evidence *evidence);

/* Tells LEDGER everything; true where that promised anything new. */
bool evidence_apply(const struct evidence *evidence, struct ledger *ledger);

#endif
