/* SPDX-License-Identifier: MIT */
/*
 * wflush - whether the flushes of a cycle reach the drive, from the first look
 * to the last word: pre-flight, proof by the drivers' counts, trace (P9).
 *
 *   begin   looks, and refuses; or what is refused was accepted
 *   filled  the flushes of the fill must have arrived
 *   start   the cycle's own begin
 *   watch   those of the last second must have arrived
 *   finish  counts and trace of the cycle
 *
 * One thread, the writer's own. What it found is in struct wflush_words.
 */
#ifndef WRITER_WFLUSH_H
#define WRITER_WFLUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/format/ackbody.h"
#include "common/target/flushcount.h"
#include "common/target/traceline.h"
#include "writer/preflight.h"
#include "writer/proof.h"

struct err;
struct target;
struct wsettings;
struct wstop;
struct wtrace;

#define WFLUSH_ROWS_MAX 16

struct wflush_words {
	bool has_answer; /* the rest holds */
	enum flushway_answer answer;
	char way[FLUSHWAY_TEXT_BYTES];
	/* Not every flush was sent, and where it ended; "" */
	char unsent[FLUSHWAY_TEXT_BYTES];
	bool is_fua;
	uint64_t asked; /* flushes that the streams have seen complete */
	size_t count;
	struct flushcount_row rows[WFLUSH_ROWS_MAX];
	bool has_elided; /* it can be known */
	uint64_t elided;
	bool has_trace;
	struct traceline_sums trace;
};

struct wflush {
	const struct wsettings *settings;
	struct target *target;
	struct wflush_words *words;
	struct preflight preflight;
	struct proof proof;
	struct wtrace *trace; /* NULL without --trace */
	bool is_proven;       /* its first flush was counted */
};

/*
 * Before anything is written to TARGET. -1: no flush would reach it, or one
 * that was sent did not (unless --accept-elided-flush, which WORDS tell then).
 * Says on stderr what people should know. wflush_free() is always right, also
 * of zeros.
 */
int wflush_begin(struct wflush *flush, const struct wsettings *settings,
		 struct target *target, struct wflush_words *words,
		 struct err *err);
/* The region was filled, and flushed. */
int wflush_filled(struct wflush *flush, struct err *err);
/* The I-th statement for the log, I from 0; false: there is none. */
bool wflush_note(const struct wflush *flush, unsigned int i,
		 enum ackbody_event *event, char *text, size_t room);
void wflush_start(struct wflush *flush, unsigned int streams);
/* FLUSHES that the streams have seen complete. Ends the run through STOP. */
void wflush_watch(struct wflush *flush, uint64_t flushes, struct wstop *stop);
/* All streams have ended. */
void wflush_finish(struct wflush *flush, uint64_t flushes,
		   const struct ackbody_cycle *cycle);
/* Flushes do not arrive, for whatever reason: the first one is kept. */
void wflush_note_unsent(struct wflush *flush, const struct err *why);
/* Where they do not, and RUN does not say so yet, its labels are made to (P9).
 * Nothing may be in flight. Where that fails the user is told. */
void wflush_mark(struct wflush *flush, struct run *run);
void wflush_free(struct wflush *flush);

/* The I-th sentence about the cycle, I from 0; false: there is none. */
bool wflush_end_note(const struct wflush_words *words, unsigned int i,
		     char *text, size_t room);

#endif
