/* SPDX-License-Identifier: MIT */
#include "relay/kshell.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/port.h"

#define QUOTE_BYTES   60
#define COMMAND_BYTES 640
#define GOOD          "250 "

/* One line without its end, and nothing behind it. 1, 0: nothing came at all,
 * -1. */
static int read_line(struct port *port, char line[KSHELL_LINE_BYTES],
		     uint64_t deadline_ns, struct err *err)
{
	size_t used = 0;

	while (used < KSHELL_LINE_BYTES - 1) {
		ssize_t count = port_read(port, (uint8_t *)line + used,
					  KSHELL_LINE_BYTES - 1 - used,
					  deadline_ns, err);
		char *end = NULL;

		if (count < 0)
			return -1;
		if (count == 0 && used == 0)
			return 0;
		if (count == 0)
			return err_set(err, "the box's answer breaks off");
		end = memchr(line + used, '\n', (size_t)count);
		used += (size_t)count;
		if (end == NULL)
			continue;
		if (end + 1 != line + used ||
		    memchr(line, '\0', (size_t)(end - line)) != NULL)
			return err_set(err, "the box says more than one line");
		*end = '\0';
		line[strcspn(line, "\r")] = '\0';
		return 1;
	}
	return err_set(err, "the box's answer has no end");
}

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

static int refuse(const char *line, const char *command, struct err *err)
{
	char quote[QUOTE_BYTES + 1] = "";

	for (size_t i = 0; i < QUOTE_BYTES && line[i] != '\0'; i++)
		quote[i] = line[i] < ' ' || line[i] > '~' ? '.' : line[i];
	return err_set(err, "the answer to \"%s\" is \"%s\"", command, quote);
}

static int send_line(struct port *port, const char *line, uint64_t deadline_ns,
		     struct err *err)
{
	if (port_discard_input(port, err) < 0)
		return -1;
	return port_write(port, line, strlen(line), deadline_ns, err);
}

int kshell_ask(struct port *port, const char *command,
	       char answer[KSHELL_LINE_BYTES], uint64_t deadline_ns,
	       struct err *err)
{
	char line[COMMAND_BYTES];
	size_t length = 0;
	int rc = 0;

	(void)snprintf(line, sizeof(line), "%s\r\n", command);
	if (send_line(port, line, deadline_ns, err) < 0)
		return -1;
	rc = read_line(port, answer, deadline_ns, err);
	if (rc <= 0)
		return rc;
	if (!begins(answer, GOOD))
		return refuse(answer, command, err);
	length = strlen(answer) - strlen(GOOD);
	memmove(answer, answer + strlen(GOOD), length);
	answer[length] = '\0';
	return 1;
}

int kshell_log_in(struct port *port, const char *user, const char *password,
		  uint64_t deadline_ns, struct err *err)
{
	char line[COMMAND_BYTES], answer[KSHELL_LINE_BYTES];
	int rc = read_line(port, answer, deadline_ns, err);

	if (rc < 0)
		return -1;
	if (rc == 0 || !begins(answer, "100 HELLO"))
		return err_set(err, "the box does not greet with \"100 "
				    "HELLO\": it is no KSHELL");
	(void)snprintf(line, sizeof(line), "login %s %s\r\n", user, password);
	rc = send_line(port, line, deadline_ns, err);
	explicit_bzero(line, sizeof(line));
	if (rc == 0)
		rc = read_line(port, answer, deadline_ns, err);
	if (rc == 0)
		rc = err_set(err, "the box does not answer the login in time");
	else if (rc == 1 && !begins(answer, GOOD))
		rc = err_set(err, "the box does not take user and password");
	explicit_bzero(answer, sizeof(answer));
	return rc < 0 ? -1 : 0;
}
