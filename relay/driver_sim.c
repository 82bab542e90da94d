/* SPDX-License-Identifier: MIT */
/*
 * sim - the power of a simulated drive: plugpull-simdrive's control socket.
 *
 * One line of text in, one line out: "cut", "restore", "status"; "ok",
 * "ok state=on ...", or "error TEXT".
 */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define LINE_BYTES_MAX 512U

/* Reads one line without its end; -1 where none comes. */
static int read_line(struct port *port, char *line, uint64_t deadline_ns,
		     struct err *err)
{
	size_t used = 0;

	while (used < LINE_BYTES_MAX - 1) {
		ssize_t count =
			port_read(port, (uint8_t *)line + used,
				  LINE_BYTES_MAX - 1 - used, deadline_ns, err);
		char *end = NULL;

		if (count < 0)
			return -1;
		if (count == 0)
			return err_set(err, "the simulated drive does not "
					    "answer in time");
		used += (size_t)count;
		line[used] = '\0';
		end = strchr(line, '\n');
		if (end != NULL) {
			*end = '\0';
			return 0;
		}
	}
	return err_set(err, "the simulated drive's answer has no end");
}

/* Sends COMMAND, which ends with \n, and wants an answer that begins "ok". */
static int ask(struct port *port, const char *command, char *answer,
	       uint64_t deadline_ns, struct err *err)
{
	if (port_write(port, command, strlen(command), deadline_ns, err) < 0 ||
	    read_line(port, answer, deadline_ns, err) < 0)
		return -1;
	if (strcmp(answer, "ok") == 0 || strncmp(answer, "ok ", 3) == 0)
		return 0;
	if (strncmp(answer, "error ", 6) == 0)
		return err_set(err, "the simulated drive refuses: %.200s",
			       answer + 6);
	return err_set(err,
		       "the simulated drive's answer makes no sense: "
		       "\"%.80s\"",
		       answer);
}

static int sim_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	char answer[LINE_BYTES_MAX];

	(void)outlet; /* there is one drive behind a socket */
	return ask(port, state == RELAY_ON ? "restore\n" : "cut\n", answer,
		   deadline_ns, err);
}

/* Finds the word WANTED, whole, among the words of ANSWER. */
static int has_word(const char *answer, const char *wanted)
{
	size_t length = strlen(wanted);

	while (answer != NULL) {
		if (strncmp(answer, wanted, length) == 0 &&
		    (answer[length] == ' ' || answer[length] == '\0'))
			return 1;
		answer = strchr(answer, ' ');
		if (answer != NULL)
			answer++;
	}
	return 0;
}

static int sim_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	char answer[LINE_BYTES_MAX];

	(void)outlet; /* there is one drive behind a socket */
	if (ask(port, "status\n", answer, deadline_ns, err) < 0)
		return -1;
	if (has_word(answer, "state=on"))
		*state = RELAY_ON;
	else if (has_word(answer, "state=off"))
		*state = RELAY_OFF;
	else
		return err_set(err,
			       "the simulated drive does not tell its state: "
			       "\"%.80s\"",
			       answer);
	return 1;
}

const struct relay_driver driver_sim = {
	.name = "sim",
	.boards = "simulated drive (control socket of plugpull-simdrive)",
	.link = DRIVER_LINK_UNIX,
	.channel_first = 1,
	.channel_last = 1,
	.is_one_shot = true,
	.answer_ms = 10000, /* a restore starts the drive's server anew */
	.set = sim_set,
	.get = sim_get,
};
