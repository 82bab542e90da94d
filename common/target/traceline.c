/* SPDX-License-Identifier: MIT */
#include "common/target/traceline.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COMM_COLUMNS 16 /* "%16s-%-7d [%03d] FLAGS SECONDS.MICRO: NAME: " */
#define NS_PER_US    1000
#define US_PER_S     1000000
#define SECONDS_MAX  (UINT64_MAX / NS_PER_US / US_PER_S - 1)

static bool skip_text(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool take_number(const char **at, uint64_t limit, uint64_t *value)
{
	*value = 0;
	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		uint64_t digit = (uint64_t)(**at - '0');

		if (*value > (limit - digit) / 10)
			return false;
		*value = *value * 10 + digit;
	}
	return true;
}

/* "[LOST 5 EVENTS]", or without a number where that is not known. */
static bool take_lost(const char *text, struct traceline *line)
{
	const char *at = text;

	if (!skip_text(&at, "CPU:"))
		return false;
	at += strspn(at, "0123456789");
	if (!skip_text(&at, " [LOST "))
		return false;
	line->kind = TRACELINE_LOST;
	if (!take_number(&at, UINT64_MAX / 2, &line->count) || line->count == 0)
		line->count = 1;
	return true;
}

static bool take_time(const char **at, uint64_t *at_ns)
{
	uint64_t seconds, micros;

	if (!take_number(at, SECONDS_MAX, &seconds) || !skip_text(at, ".") ||
	    !take_number(at, US_PER_S - 1, &micros) || !skip_text(at, ": "))
		return false;
	*at_ns = (seconds * US_PER_S + micros) * NS_PER_US;
	return true;
}

/* Up to the name of the event. */
static bool take_head(const char **at, uint64_t *at_ns)
{
	uint64_t ignored;

	if (strnlen(*at, COMM_COLUMNS) < COMM_COLUMNS)
		return false;
	*at += COMM_COLUMNS;
	if (!skip_text(at, "-") || !take_number(at, INT_MAX, &ignored))
		return false;
	*at += strspn(*at, " ");
	if (!skip_text(at, "[") || !take_number(at, INT_MAX, &ignored) ||
	    !skip_text(at, "] "))
		return false;
	*at += strcspn(*at, " "); /* flags */
	*at += strspn(*at, " ");
	return take_time(at, at_ns);
}

static enum traceline_what what_is(const char *rwbs)
{
	if (rwbs[0] == 'F' && rwbs[1] == 'F')
		return TRACELINE_FLUSH;
	if (rwbs[0] == 'F')
		rwbs++;
	return rwbs[0] == 'W' && rwbs[1] == 'F' ? TRACELINE_FUA
						: TRACELINE_ELSE;
}

/* "259,0 FF () 18446744073709551615 + 0 none,0,0 [-5]". */
static void take_block(const char *at, struct traceline *line,
		       enum traceline_kind kind)
{
	const char *bracket = strrchr(at, '[');
	uint64_t ignored;
	long error;

	if (!take_number(&at, UINT_MAX, &ignored) || !skip_text(&at, ",") ||
	    !take_number(&at, UINT_MAX, &ignored) || !skip_text(&at, " "))
		return;
	line->what = what_is(at);
	if (line->what == TRACELINE_ELSE)
		return;
	line->kind = kind;
	if (kind != TRACELINE_COMPLETED || bracket == NULL)
		return;
	error = strtol(bracket + 1, NULL, 10);
	line->error = error < INT_MIN || error > INT_MAX ? -1 : (int)error;
}

static void take_nvme(const char *at, struct traceline *line)
{
	if (strstr(at, "cmd=(nvme_cmd_flush ") == NULL)
		return;
	line->kind = TRACELINE_COMMAND;
	line->what = TRACELINE_FLUSH;
}

static void take_retries(const char *at, struct traceline *line)
{
	const char *retries = strstr(at, " retries=");

	if (retries == NULL || strtoul(retries + 9, NULL, 10) == 0)
		return;
	line->kind = TRACELINE_RETRIED;
}

static void take_scsi(const char *at, struct traceline *line)
{
	if (strstr(at, "cmnd=(SYNCHRONIZE_CACHE") == NULL)
		return;
	line->kind = TRACELINE_COMMAND;
	line->what = TRACELINE_FLUSH;
}

void traceline_parse(const char *text, struct traceline *line)
{
	const char *at = text;

	memset(line, 0, sizeof(*line));
	if (take_lost(text, line) || !take_head(&at, &line->at_ns))
		return;
	if (skip_text(&at, "block_rq_issue: "))
		take_block(at, line, TRACELINE_ISSUED);
	else if (skip_text(&at, "block_rq_complete: "))
		take_block(at, line, TRACELINE_COMPLETED);
	else if (skip_text(&at, "block_rq_requeue: "))
		take_block(at, line, TRACELINE_REPEATED);
	else if (skip_text(&at, "nvme_setup_cmd: "))
		take_nvme(at, line);
	else if (skip_text(&at, "nvme_complete_rq: "))
		take_retries(at, line);
	else if (skip_text(&at, "scsi_dispatch_cmd_start: "))
		take_scsi(at, line);
}

static void add_completed(struct traceline_sums *sums,
			  const struct traceline *line)
{
	if (line->what == TRACELINE_FLUSH && line->error == 0)
		sums->flushes_completed++;
	else if (line->what == TRACELINE_FLUSH)
		sums->flushes_failed++;
	else if (line->error == 0)
		sums->fua_completed++;
	else
		sums->fua_failed++;
}

void traceline_add(struct traceline_sums *sums, const struct traceline *line)
{
	switch (line->kind) {
	case TRACELINE_OTHER:
		return;
	case TRACELINE_LOST:
		sums->lost += line->count;
		return;
	case TRACELINE_ISSUED:
		if (line->what == TRACELINE_FLUSH)
			sums->flushes_issued++;
		else
			sums->fua_issued++;
		break;
	case TRACELINE_COMPLETED:
		add_completed(sums, line);
		break;
	case TRACELINE_REPEATED:
		sums->repeated++;
		break;
	case TRACELINE_COMMAND:
		sums->commands++;
		break;
	case TRACELINE_RETRIED:
		sums->retried++;
		break;
	}
	if (sums->first_ns == 0)
		sums->first_ns = line->at_ns;
	sums->last_ns = line->at_ns;
}
