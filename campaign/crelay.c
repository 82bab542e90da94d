/* SPDX-License-Identifier: MIT */
#include "campaign/crelay.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "campaign/command.h"
#include "campaign/csettings.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define ANSWER_MS 60000 /* a rail may be retried many times */
#define END_MS    5000
#define KILL_MS   2000

struct crelay {
	const struct csettings *settings;
	const char *prefix;
	struct command *session; /* NULL: none runs */
	struct command_line line;
};

struct crelay *crelay_open(const struct csettings *settings, const char *prefix,
			   struct err *err)
{
	struct crelay *relay = calloc(1, sizeof(*relay));

	if (relay == NULL) {
		(void)err_set(err, "no memory for the relay");
		return NULL;
	}
	relay->settings = settings;
	relay->prefix = prefix;
	return relay;
}

static struct command_line *begin_line(struct crelay *relay)
{
	struct command_line *line = &relay->line;

	command_line_init(line, relay->prefix);
	command_line_add(line, "--outlet");
	command_line_add(line, "%s", relay->settings->outlet);
	if (relay->settings->outlets[0] != '\0') {
		command_line_add(line, "--outlets");
		command_line_add(line, "%s", relay->settings->outlets);
	}
	return line;
}

/* ---- by a session ---- */

static int keep_session(struct crelay *relay, struct err *err)
{
	static const struct command_files files = {.reads_lines = true,
						   .writes_lines = true};

	if (relay->session != NULL && !command_has_ended(relay->session))
		return 0;
	command_free(relay->session);
	relay->session = NULL;
	command_line_add(begin_line(relay), "session");
	relay->session = command_start(&relay->line, &files, err);
	return relay->session == NULL ? -1 : 0;
}

static int no_answer(struct crelay *relay, enum command_event event,
		     struct err *err)
{
	char why[COMMAND_OUTPUT_BYTES];

	if (event == COMMAND_ENDED) {
		command_complaint(relay->session, why, sizeof(why));
		return err_set(err, "%.400s", why);
	}
	(void)command_end(relay->session, KILL_MS);
	return err_set(err, "no answer within %d s", ANSWER_MS / 1000);
}

/* ANSWER is what stands behind "ok ". */
static int ask(struct crelay *relay, const char *order, char *answer,
	       size_t room, struct err *err)
{
	const uint64_t deadline_ns =
		clock_monotonic_ns() + ANSWER_MS * CLOCK_NS_PER_MS;
	enum command_event event;
	const char *text;

	if (keep_session(relay, err) == -1 ||
	    command_say(relay->session, order, err) == -1)
		return -1;
	event = command_await(relay->session, deadline_ns, true, NULL);
	if (event != COMMAND_LINE)
		return no_answer(relay, event, err);
	text = command_text(relay->session);
	if (strncmp(text, "ok ", 3) == 0) {
		(void)snprintf(answer, room, "%s", text + 3);
		return 0;
	}
	if (strncmp(text, "error ", 6) == 0)
		return err_set(err, "%.400s", text + 6);
	return err_set(err, "the session answers \"%.80s\"", text);
}

static void read_told(const char *answer, struct crelay_told *told)
{
	const char *at = strstr(answer, "took_us=");

	told->is_known =
		at != NULL && sscanf(at, "took_us=%" SCNu64 " skew_us=%" SCNu64,
				     &told->took_us, &told->skew_us) == 2;
}

void crelay_close(struct crelay *relay)
{
	struct err ignored; /* then it is ended by a signal */

	if (relay == NULL)
		return;
	if (relay->session != NULL && !command_has_ended(relay->session)) {
		const uint64_t deadline_ns =
			clock_monotonic_ns() + END_MS * CLOCK_NS_PER_MS;

		if (command_say(relay->session, "end\n", &ignored) == -1 ||
		    command_await(relay->session, deadline_ns, false, NULL) !=
			    COMMAND_ENDED)
			(void)command_end(relay->session, KILL_MS);
	}
	command_free(relay->session);
	free(relay);
}

/* ---- by a command each ---- */

static int run_command(struct crelay *relay, const char *verb,
		       struct command_run *run, struct err *err)
{
	run->timeout_ms = ANSWER_MS;
	command_line_add(begin_line(relay), "%s", verb);
	return command_run(&relay->line, run, err);
}

/* WORD as a word of its own in TEXT. */
static bool has_word(const char *text, const char *word)
{
	const size_t length = strlen(word);
	const char *at = text;

	while ((at = strcasestr(at, word)) != NULL) {
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[length]))
			return true;
		at += length;
	}
	return false;
}

/* ---- either way ---- */

static int name(const struct crelay *relay, const char *what, struct err *err)
{
	return err_prefix(err, "%s of %.200s", what, relay->settings->outlet);
}

int crelay_switch(struct crelay *relay, bool is_on, struct crelay_told *told,
		  struct err *err)
{
	const char *verb = is_on ? "on" : "off";
	char answer[COMMAND_OUTPUT_BYTES];
	struct command_run run = {0};

	*told = (struct crelay_told){0};
	if (relay->settings->has_session) {
		if (ask(relay, is_on ? "on\n" : "off\n", answer, sizeof(answer),
			err) == -1)
			return err_prefix(err, "cannot switch %.200s %s",
					  relay->settings->outlet, verb);
		read_told(answer, told);
		return 0;
	}
	if (run_command(relay, verb, &run, err) == -1)
		return -1;
	if (run.status != 0)
		return err_set(err, "cannot switch %.200s %s: %.380s",
			       relay->settings->outlet, verb, run.complaint);
	return 0;
}

static int take_state(const char *text, enum crelay_power *power,
		      struct err *err)
{
	if (has_word(text, "unknown"))
		*power = CRELAY_UNREAD;
	else if (has_word(text, "off"))
		*power = CRELAY_OFF;
	else if (has_word(text, "on"))
		*power = CRELAY_ON;
	else
		return err_set(err, "it is neither on nor off: %.300s", text);
	return 0;
}

int crelay_read(struct crelay *relay, enum crelay_power *power, struct err *err)
{
	struct command_run run = {0};
	int rc = 0;

	if (relay->settings->has_session) {
		rc = ask(relay, "status\n", run.out, sizeof(run.out), err);
	} else {
		rc = run_command(relay, "status", &run, err);
		if (rc == 0 && run.status != 0 && !has_word(run.out, "unknown"))
			rc = err_set(err, "%.380s", run.complaint);
	}
	if (rc == 0)
		rc = take_state(run.out, power, err);
	return rc == -1 ? name(relay, "cannot read the state", err) : 0;
}

static int interrupt_by_hand(struct crelay *relay, uint64_t off_ms,
			     struct err *err)
{
	struct crelay_told told;
	const int rc = crelay_switch(relay, false, &told, err);
	struct err on_err;

	if (rc == 0)
		clock_sleep_ms(off_ms);
	if (crelay_switch(relay, true, &told, &on_err) == 0)
		return rc;
	*err = on_err;
	return -1;
}

int crelay_interrupt(struct crelay *relay, uint64_t off_ms, struct err *err)
{
	char order[64], answer[COMMAND_OUTPUT_BYTES];

	if (!relay->settings->has_session)
		return interrupt_by_hand(relay, off_ms, err);
	(void)snprintf(order, sizeof(order), "cycle %" PRIu64 "\n", off_ms);
	if (ask(relay, order, answer, sizeof(answer), err) == -1)
		return err_prefix(err, "cannot interrupt the power of %.200s",
				  relay->settings->outlet);
	return 0;
}
