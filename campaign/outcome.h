/* SPDX-License-Identifier: MIT */
/*
 * outcome - everything that is known about one cycle when it is over.
 *
 * One outcome is one "done" line of the journal and one entry of the summary's
 * JSON; this file turns it into JSON and back, and reads what writer and
 * verifier left behind in their JSON files. It decides nothing: gates.h says
 * whether the cycle counts, tally.h what the campaign has shown.
 */
#ifndef CAMPAIGN_OUTCOME_H
#define CAMPAIGN_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "campaign/counters.h"
#include "campaign/plan.h"

struct err;

#define OUTCOME_TEXT_BYTES 320
#define OUTCOME_RUN_BYTES  40
#define OUTCOME_WORD_BYTES 32

enum outcome_verdict {
	OUTCOME_NONE, /* not judged, or the verifier could not say */
	OUTCOME_KEPT,
	OUTCOME_BROKEN,
	OUTCOME_GONE, /* did not come back although its power is on */
};

/* What a second look after one clean power cycle showed. */
enum outcome_second {
	OUTCOME_NOT_LOOKED,
	OUTCOME_PERSISTS,
	OUTCOME_HEALED,
	OUTCOME_CHANGED,
	OUTCOME_UNKNOWN,
};

/* Classes of the verifier, in atoms. */
enum outcome_class {
	OUTCOME_INTACT,
	OUTCOME_NEWER,
	OUTCOME_LOST,
	OUTCOME_BLANK,
	OUTCOME_FOREIGN,
	OUTCOME_TORN,
	OUTCOME_CORRUPT,
	OUTCOME_MISDIRECTED,
	OUTCOME_UNREADABLE,
	OUTCOME_HUNG,
	OUTCOME_VANISHED, /* the drive was gone while it was read */
	OUTCOME_CLASSES,
};

struct outcome_writer {
	bool is_known; /* the writer left its JSON */
	uint64_t writes, issued, durable, flushes, in_flight;
	/* From being durable to the confirmation; 0: nothing confirmed. */
	uint64_t confirm_median_us, confirm_p99_us, confirm_max_us;
	bool saw_gone;
	char error[OUTCOME_TEXT_BYTES];
};

struct outcome_judged {
	enum outcome_verdict verdict;
	char reason[OUTCOME_TEXT_BYTES];
	uint64_t atoms[OUTCOME_CLASSES];
	uint64_t durable_log;
	uint64_t completed_lost; /* writes; breaks no promise, shows loss */
	uint64_t shadow_lost;    /* writes promised behind "cut asked" */
	bool has_promise;        /* a write of this cycle was promised before */
};

/* What besides the writer shows that the power was cut. */
struct outcome_evidence {
	struct counters before, after; /* all zero: not asked, no answer */
	/* Of a block device of this machine, else 0 and "". */
	uint64_t diskseq_before, diskseq_after;
	char cache_before[OUTCOME_WORD_BYTES]; /* queue/write_cache */
	char cache_after[OUTCOME_WORD_BYTES];
};

/* Where the host of the writer loses its power too; it leaves no account. */
struct outcome_host {
	bool is_cut_too;  /* the campaign is one of that kind */
	bool was_writing; /* its log grew until "off" was asked */
	bool fell_silent; /* its log stopped growing behind "off" */
	bool has_booted;  /* it came back, and as another boot */
	uint64_t boots;   /* how often it was given power until it came */
	uint64_t boot_ms; /* the last time, until it answered */
};

struct outcome {
	uint64_t cycle; /* of the campaign, from 1 */
	enum plan_arm arm;
	char run[OUTCOME_RUN_BYTES];
	uint64_t run_cycle; /* of the run, from 1 */
	uint64_t after_ms;  /* measured, writing seen to "off" asked */
	uint64_t off_ms;    /* measured, relay off to relay on */
	uint64_t relay_ms;  /* what the relay took to switch off */
	uint64_t skew_us;   /* of several contacts; 0: one, or not told */
	uint64_t recuts;    /* cuts while it recovered from the first */
	uint64_t gone_ms;   /* from there until the writer had ended */
	uint64_t ready_ms;  /* power on until the target could be opened */
	uint64_t judged_ms; /* power on to the verdict */
	uint64_t own_ms;    /* of the cycle, what nobody was waited for */
	bool was_cut;       /* the relay said that it switched off */
	bool was_loaded;    /* the writer was writing until "off" was asked */
	struct outcome_writer writer;
	struct outcome_judged judged;
	struct outcome_evidence evidence;
	struct outcome_host host;
	enum outcome_second second;
	char trouble[OUTCOME_TEXT_BYTES];     /* what ended the cycle early */
	char void_reason[OUTCOME_TEXT_BYTES]; /* "": the cycle counts */
};

const char *outcome_verdict_name(enum outcome_verdict verdict);
const char *outcome_second_name(enum outcome_second second);
const char *outcome_class_name(enum outcome_class class_);

/* Any broken class by its atoms, the verdict "gone" apart. */
uint64_t outcome_broken_atoms(const struct outcome_judged *judged);

/* Its counters could be read before the cut, but not after it. */
bool outcome_counters_are_lost(const struct outcome *outcome);

/* A new JSON object, NULL without memory. */
json_t *outcome_encode(const struct outcome *outcome);
int outcome_decode(struct outcome *outcome, const json_t *object,
		   struct err *err);

/* The JSON files of the two programs; PATH names them in messages. A file that
 * is missing or not what it should be is trouble, never a verdict (P9). */
int outcome_read_writer(struct outcome_writer *writer, const char *path,
			struct err *err);
int outcome_read_verdict(struct outcome_judged *judged, const char *path,
			 struct err *err);

#endif
