/* SPDX-License-Identifier: MIT */
#include "campaign/cprogress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct cprogress {
	FILE *to;
	uint64_t total;
	bool is_terminal;
};

static void append(char *text, size_t room, size_t *used, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void append(char *text, size_t room, size_t *used, const char *fmt, ...)
{
	va_list ap;
	int length = 0;

	va_start(ap, fmt);
	length = vsnprintf(text + *used, room - *used, fmt, ap);
	va_end(ap);
	if (length > 0)
		*used += (size_t)length;
	if (*used >= room)
		*used = room - 1;
}

/* Every broken class that was met, by name. */
static void append_damage(const struct outcome *outcome, char *text,
			  size_t room, size_t *used)
{
	const char *between = "";

	for (int i = OUTCOME_LOST; i < OUTCOME_CLASSES; i++) {
		const uint64_t atoms = outcome->judged.atoms[i];

		if (atoms == 0)
			continue;
		append(text, room, used, "%s%s %" PRIu64, between,
		       outcome_class_name((enum outcome_class)i), atoms);
		between = ", ";
	}
}

static void append_health(const struct outcome *outcome, char *text,
			  size_t room, size_t *used)
{
	char damage[OUTCOME_TEXT_BYTES];

	counters_describe(&outcome->evidence.before, &outcome->evidence.after,
			  true, damage, sizeof(damage));
	if (damage[0] != '\0')
		append(text, room, used, "; the drive counts damage: %s",
		       damage);
	if (outcome_counters_are_lost(outcome))
		append(text, room, used,
		       "; its counters could not be read after the cut");
}

void cprogress_describe(const struct outcome *outcome, char *text, size_t room)
{
	const struct outcome_judged *judged = &outcome->judged;
	size_t used = 0;

	switch (judged->verdict) {
	case OUTCOME_KEPT:
		append(text, room, &used,
		       "kept (intact %" PRIu64 ", newer %" PRIu64
		       ", unacknowledged lost %" PRIu64 ")",
		       judged->atoms[OUTCOME_INTACT],
		       judged->atoms[OUTCOME_NEWER], judged->completed_lost);
		break;
	case OUTCOME_BROKEN:
		append(text, room, &used, "BROKEN (");
		append_damage(outcome, text, room, &used);
		append(text, room, &used, "); after a clean power cycle: %s",
		       outcome_second_name(outcome->second));
		break;
	case OUTCOME_GONE:
		append(text, room, &used, "BROKEN (%s); power cycled again: %s",
		       judged->reason, outcome_second_name(outcome->second));
		break;
	case OUTCOME_NONE:
		append(text, room, &used, "no verdict");
		break;
	}
	append_health(outcome, text, room, &used);
	if (outcome->void_reason[0] != '\0')
		append(text, room, &used, "; does not count: %s",
		       outcome->void_reason);
}

struct cprogress *cprogress_new(FILE *to, uint64_t total_cycles)
{
	struct cprogress *progress = calloc(1, sizeof(*progress));

	if (progress == NULL)
		return NULL;
	progress->to = to;
	progress->total = total_cycles;
	progress->is_terminal = isatty(fileno(to)) == 1;
	return progress;
}

void cprogress_free(struct cprogress *progress)
{
	free(progress);
}

void cprogress_phase(struct cprogress *progress, const struct outcome *outcome,
		     const char *what)
{
	if (!progress->is_terminal)
		return;
	(void)fprintf(progress->to,
		      "\r\033[Kcycle %" PRIu64 "/%" PRIu64 " %-7s %s",
		      outcome->cycle, progress->total,
		      plan_arm_name(outcome->arm), what);
	(void)fflush(progress->to); /* progress may be lost, a result not */
}

void cprogress_cycle(struct cprogress *progress, const struct outcome *outcome)
{
	char text[1024];

	cprogress_describe(outcome, text, sizeof(text));
	(void)fprintf(progress->to, "%scycle %" PRIu64 "/%" PRIu64 " %-7s ",
		      progress->is_terminal ? "\r\033[K" : "", outcome->cycle,
		      progress->total, plan_arm_name(outcome->arm));
	if (outcome->was_cut)
		(void)fprintf(progress->to,
			      "cut after %" PRIu64 " ms: ", outcome->after_ms);
	(void)fprintf(progress->to, "%s\n", text);
	(void)fflush(progress->to); /* as above */
}
