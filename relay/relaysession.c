/* SPDX-License-Identifier: MIT */
#include "relay/relaysession.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/options.h"
#include "relay/relays.h"

#define LOOK_MS    50 /* for a signal */
#define DAY_MS     86400000U
#define NS_PER_US  1000U
#define WORD_CYCLE "cycle "

struct session {
	struct relays *relays;
	int from, to;
	const volatile sig_atomic_t *stop;
	char line[RELAYSESSION_LINE_BYTES];
	size_t used;
};

enum next { NEXT_LINE, NEXT_LOST, NEXT_STOPPED };

static const char *power_word(const struct relays_told *told)
{
	if (told->proof != RELAY_PROOF_READ_BACK)
		return "unknown";
	return told->power == RELAY_ON ? "on" : "off";
}

static const char *proof_word(enum relay_proof proof)
{
	static const char *const words[] = {
		[RELAY_PROOF_READ_BACK] = "read-back",
		[RELAY_PROOF_NONE] = "none",
		[RELAY_PROOF_SILENT] = "silent",
	};

	return words[proof];
}

/* One write: a line is whole or not there. */
static int say(const struct session *session, const char *text)
{
	size_t length = strlen(text);
	ssize_t done = write(session->to, text, length);

	return done == (ssize_t)length ? 0 : -1;
}

static int say_trouble(const struct session *session, const struct err *why)
{
	char text[sizeof(why->text) + 16];

	(void)snprintf(text, sizeof(text), "error %s", why->text);
	for (char *at = text; (at = strchr(at, '\n')) != NULL;)
		*at = ' ';
	(void)strncat(text, "\n", sizeof(text) - strlen(text) - 1);
	return say(session, text);
}

static int say_done(const struct session *session, const char *word,
		    const struct relays_told *told)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "ok %.16s %s took_us=%" PRIu64 " skew_us=%" PRIu64 "\n",
		       word, proof_word(told->proof), told->took_ns / NS_PER_US,
		       told->skew_ns / NS_PER_US);
	return say(session, text);
}

static int carry_out(struct session *session, const char *line)
{
	struct relays *relays = session->relays;
	struct relays_told told;
	uint64_t off_ms = 0;
	struct err why = {""};
	int rc = 0;

	memset(&told, 0, sizeof(told));
	if (strcmp(line, "on") == 0 || strcmp(line, "off") == 0) {
		rc = relays_switch(relays,
				   line[1] == 'n' ? RELAY_ON : RELAY_OFF, &told,
				   &why);
	} else if (strcmp(line, "status") == 0) {
		rc = relays_read(relays, &told, &why);
		line = power_word(&told);
	} else if (strncmp(line, WORD_CYCLE, strlen(WORD_CYCLE)) == 0) {
		rc = options_parse_count(line + strlen(WORD_CYCLE), "cycle",
					 &off_ms, &why);
		if (rc == 0 && off_ms > DAY_MS)
			rc = err_set(&why, "cycle: more than a day");
		if (rc == 0)
			rc = relays_cycle(relays, off_ms, session->stop, &told,
					  &why);
		line = "on";
	} else {
		rc = err_set(&why, "unknown command \"%.40s\"", line);
	}
	return rc < 0 ? say_trouble(session, &why)
		      : say_done(session, line, &told);
}

/* LINE is without its end. */
static enum next next_line(struct session *session, char *line)
{
	struct pollfd item = {.fd = session->from, .events = POLLIN};

	for (;;) {
		char *end = memchr(session->line, '\n', session->used);
		ssize_t count = 0;

		if (end != NULL) {
			size_t length = (size_t)(end - session->line);

			memcpy(line, session->line, length);
			line[length] = '\0';
			session->used -= length + 1;
			memmove(session->line, end + 1, session->used);
			return NEXT_LINE;
		}
		if (*session->stop)
			return NEXT_STOPPED;
		if (session->used == sizeof(session->line))
			return NEXT_LOST; /* nobody who knows us */
		if (poll(&item, 1, LOOK_MS) <= 0)
			continue;
		count = read(session->from, session->line + session->used,
			     sizeof(session->line) - session->used);
		if (count == 0 ||
		    (count < 0 && errno != EINTR && errno != EAGAIN))
			return NEXT_LOST;
		if (count > 0)
			session->used += (size_t)count;
	}
}

static int end_lost(struct session *session, enum outlet_lost when_lost,
		    struct err *err)
{
	struct relays_told told;
	struct err why;

	if (when_lost == OUTLET_LOST_KEEP)
		return err_set(err, "the commands ended without \"end\"; the "
				    "power is left as it is (when_lost)");
	if (relays_switch(session->relays,
			  when_lost == OUTLET_LOST_ON ? RELAY_ON : RELAY_OFF,
			  &told, &why) < 0) {
		*err = why;
		return err_prefix(err,
				  "the commands ended without \"end\", "
				  "and when_lost could not be carried out");
	}
	return err_set(err,
		       "the commands ended without \"end\"; the power was "
		       "switched %s (when_lost)",
		       when_lost == OUTLET_LOST_ON ? "on" : "off");
}

int relaysession_run(struct relays *relays, enum outlet_lost when_lost,
		     int from, int to, const volatile sig_atomic_t *stop,
		     struct err *err)
{
	struct session session = {
		.relays = relays, .from = from, .to = to, .stop = stop};
	char line[RELAYSESSION_LINE_BYTES];
	enum next next = NEXT_LINE;

	while ((next = next_line(&session, line)) == NEXT_LINE) {
		if (strcmp(line, "end") == 0)
			return 0;
		if (carry_out(&session, line) < 0)
			break; /* nobody listens */
	}
	return end_lost(&session, when_lost, err);
}
