/* SPDX-License-Identifier: MIT */
/*
 * exec - any program that can switch power: PROGRAM on|off|status CHANNEL.
 *
 * It is run without a shell. Status 0 is done as told. To "status" it prints
 * "on", "off" or "unknown" as the first word of its output. One that does not
 * end in time is killed with all that it has started: a late "off" would be a
 * second cut.
 */
#include "relay/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "relay/program.h"

#define CHANNELS_MAX 65535U

/* There is nothing to be opened. */
static void exec_close(struct port *port)
{
	free(port);
}

static struct port *exec_open(const struct outlet *outlet, uint64_t deadline_ns,
			      struct err *err)
{
	static const struct port_ops ops = {.close = exec_close};
	struct port *port = NULL;

	(void)deadline_ns;
	if (access(outlet->address, X_OK) == -1) {
		(void)err_set(err, "%s is no program that may be run",
			      outlet->address);
		return NULL;
	}
	port = calloc(1, sizeof(*port));
	if (port == NULL)
		(void)err_set(err, "no memory for %s", outlet->address);
	else
		port->ops = &ops;
	return port;
}

static int run(const struct outlet *outlet, const char *word,
	       uint64_t deadline_ns, struct program_said *said, struct err *err)
{
	char program[OUTLET_ADDRESS_BYTES], order[16], channel[16];
	char *const argv[] = {program, order, channel, NULL};

	(void)snprintf(program, sizeof(program), "%s", outlet->address);
	(void)snprintf(order, sizeof(order), "%s", word);
	(void)snprintf(channel, sizeof(channel), "%u", outlet->channel);
	if (program_run(argv, deadline_ns, said, err) < 0)
		return -1;
	if (said->status == 0)
		return 0;
	said->complaint[strcspn(said->complaint, "\n")] = '\0';
	return err_set(err, "%s %s %s ended with status %d: %.200s", program,
		       order, channel, said->status, said->complaint);
}

static int exec_set(struct port *port, const struct outlet *outlet,
		    enum relay_state state, uint64_t deadline_ns,
		    struct err *err)
{
	struct program_said said;

	(void)port;
	return run(outlet, state == RELAY_ON ? "on" : "off", deadline_ns, &said,
		   err);
}

static int exec_get(struct port *port, const struct outlet *outlet,
		    enum relay_state *state, uint64_t deadline_ns,
		    struct err *err)
{
	struct program_said said;

	(void)port;
	if (run(outlet, "status", deadline_ns, &said, err) < 0)
		return -1;
	said.output[strcspn(said.output, " \t\r\n")] = '\0';
	if (strcmp(said.output, "unknown") == 0)
		return 0;
	if (strcmp(said.output, "on") != 0 && strcmp(said.output, "off") != 0)
		return err_set(err,
			       "%s status says \"%.40s\", which is none of on, "
			       "off, unknown",
			       outlet->address, said.output);
	*state = strcmp(said.output, "on") == 0 ? RELAY_ON : RELAY_OFF;
	return 1;
}

const struct relay_driver driver_exec = {
	.name = "exec",
	.boards = "any program: PROGRAM on|off|status CHANNEL",
	.link = DRIVER_LINK_PATH,
	.channel_first = 0,
	.channel_last = CHANNELS_MAX,
	.is_one_shot = true,
	.answer_ms = 30000,
	.open = exec_open,
	.set = exec_set,
	.get = exec_get,
};
