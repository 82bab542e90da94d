/* SPDX-License-Identifier: MIT */
/*
 * netio-kshell - NETIO boxes by KSHELL, TCP port 1234.
 *
 *                       100 HELLO 1A2B3C4D
 *   login USER PASS     250 OK
 *   port 1 0            250 OK
 *   port 1              250 1
 *
 * Lines end in CR LF (NETIO manual, "Telnet communication"; labgrid-project/
 * labgrid, netio_kshell.py). The box is off line for it as delivered, hangs up
 * on those who say nothing for long, and has few places: each command has a
 * connection of its own.
 */
#include "relay/driver.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/kshell.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define TCP_PORT      1234U
#define COMMAND_BYTES 32

static const struct driver_key keys[] = {
	{"user", "who the box is told that we are", "admin", false},
	{"password", "of that user", NULL, true},
	{0},
};

static bool is_word(const char *text)
{
	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

static int netio_check(const struct outlet *outlet, struct err *err)
{
	if (!is_word(outlet_option(outlet, "user")))
		return err_set(err, "user: it is not one word");
	return 0;
}

static struct port *netio_open(const struct outlet *outlet,
			       uint64_t deadline_ns, struct err *err)
{
	char secret[OUTLET_SECRET_BYTES];
	struct port *port = NULL;
	int rc = outlet_secret(outlet, "password", secret, err);

	if (rc == 0 && !is_word(secret))
		rc = err_set(err, "password: it is not one word, which KSHELL "
				  "cannot take");
	if (rc == 0)
		port = port_open_tcp(outlet->address, TCP_PORT, err);
	if (port != NULL && kshell_log_in(port, outlet_option(outlet, "user"),
					  secret, deadline_ns, err) < 0) {
		port_close(port);
		port = NULL;
	}
	explicit_bzero(secret, sizeof(secret));
	return port;
}

static int netio_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	char command[COMMAND_BYTES], answer[KSHELL_LINE_BYTES];
	int rc = 0;

	(void)snprintf(command, sizeof(command), "port %u %d", outlet->channel,
		       state == RELAY_ON);
	rc = kshell_ask(port, command, answer, deadline_ns, err);
	if (rc == 0)
		return err_set(err, "the box does not answer in time");
	if (rc == 1 && strcmp(answer, "OK") != 0)
		return err_set(err, "the answer to \"%s\" is not OK", command);
	return rc < 0 ? -1 : 0;
}

static int netio_get(struct port *port, const struct outlet *outlet,
		     enum relay_state *state, uint64_t deadline_ns,
		     struct err *err)
{
	char command[COMMAND_BYTES], answer[KSHELL_LINE_BYTES];
	int rc = 0;

	(void)snprintf(command, sizeof(command), "port %u", outlet->channel);
	rc = kshell_ask(port, command, answer, deadline_ns, err);
	if (rc <= 0)
		return rc;
	if (strcmp(answer, "1") == 0)
		*state = RELAY_ON;
	else if (strcmp(answer, "0") == 0)
		*state = RELAY_OFF;
	else
		return err_set(err, "the answer to \"%s\" is neither 0 nor 1",
			       command);
	return 1;
}

const struct relay_driver driver_netio_kshell = {
	.name = "netio-kshell",
	.boards = "NETIO 230, 4, 4All, 4C, PowerPDU (KSHELL)",
	.link = DRIVER_LINK_TCP,
	.tcp_port = TCP_PORT,
	.channel_first = 1,
	.channel_last = 16,
	.keys = keys,
	.is_one_shot = true,
	.answer_ms = 1500,
	.shortest_ms = 50,
	.check = netio_check,
	.open = netio_open,
	.set = netio_set,
	.get = netio_get,
};
