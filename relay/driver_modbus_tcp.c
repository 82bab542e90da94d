/* SPDX-License-Identifier: MIT */
/*
 * modbus-tcp - boards and boxes whose relays are coils, by Modbus TCP, through
 * libmodbus. The functions are those of modbus-rtu.
 */
#include "relay/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/modbus.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define TCP_MARK     "tcp://"
#define TCP_PORT     "502"
#define HOST_BYTES   OUTLET_ADDRESS_BYTES
#define MS_PER_S     1000
#define US_PER_MS    1000
#define UNIT_TCP_MAX 255

static const struct driver_key tcp_keys[] = {
	{"unit", "unit behind the address, 0 to 255", "255", false},
	{0},
};

static int check_unit(const struct outlet *outlet, struct err *err)
{
	uint64_t unused = 0;

	return outlet_number(outlet, "unit", 0, UNIT_TCP_MAX, &unused, err);
}

#ifdef HAVE_LIBMODBUS
#include <modbus/modbus.h>

struct link {
	struct port port;
	modbus_t *modbus;
};

static void link_close(struct port *port)
{
	struct link *link = (struct link *)(void *)port; /* its first member */

	if (link->modbus != NULL) {
		modbus_close(link->modbus);
		modbus_free(link->modbus);
	}
	free(link);
}

/* "tcp://[::1]:1502" is host "::1" and service "1502". */
static void split(const char *address, char host[HOST_BYTES],
		  char service[HOST_BYTES])
{
	const char *from = address + strlen(TCP_MARK);
	char *end;

	(void)snprintf(host, HOST_BYTES, "%s", *from == '[' ? from + 1 : from);
	(void)snprintf(service, HOST_BYTES, "%s", TCP_PORT);
	end = *from == '[' ? strchr(host, ']') : strchr(host, ':');
	if (end == NULL)
		return;
	if (*end == ']') {
		*end++ = '\0';
		if (*end != ':')
			return;
	}
	*end++ = '\0';
	(void)snprintf(service, HOST_BYTES, "%s", end);
}

static int set_limit(modbus_t *modbus, uint64_t deadline_ns, struct err *err)
{
	const int left_ms = clock_until_ms(deadline_ns);

	if (left_ms == 0)
		return err_set(err, "no time is left");
	(void)modbus_set_response_timeout(
		modbus, (uint32_t)left_ms / MS_PER_S,
		(uint32_t)left_ms % MS_PER_S * US_PER_MS); /* it is in range */
	return 0;
}

static int trouble(const char *what, struct err *err)
{
	const int reason = errno;

	if (reason > MODBUS_ENOBASE && reason <= MODBUS_ENOBASE + 6)
		return err_set(err, "%s: %s (exception %d)", what,
			       modbus_exception(
				       (unsigned int)(reason - MODBUS_ENOBASE)),
			       reason - MODBUS_ENOBASE);
	return err_set(err, "%s: %s", what, modbus_strerror(reason));
}

static struct port *link_open(const struct outlet *outlet, uint64_t deadline_ns,
			      struct err *err)
{
	static const struct port_ops ops = {.close = link_close};
	char host[HOST_BYTES], service[HOST_BYTES];
	struct link *link = calloc(1, sizeof(*link));
	uint64_t unit = 0;

	if (link == NULL) {
		(void)err_set(err, "no memory for %s", outlet->address);
		return NULL;
	}
	link->port.ops = &ops;
	split(outlet->address, host, service);
	link->modbus = modbus_new_tcp_pi(host, service);
	if (link->modbus == NULL) {
		(void)trouble("cannot use Modbus TCP", err);
		goto fail;
	}
	if (outlet_number(outlet, "unit", 0, UNIT_TCP_MAX, &unit, err) < 0 ||
	    set_limit(link->modbus, deadline_ns, err) < 0)
		goto fail;
	if (modbus_set_slave(link->modbus, (int)unit) == -1 ||
	    modbus_connect(link->modbus) == -1) {
		(void)trouble("cannot connect", err);
		goto fail;
	}
	return &link->port;
fail:
	link_close(&link->port);
	return NULL;
}

static int tcp_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	modbus_t *modbus = ((struct link *)(void *)port)->modbus;

	if (set_limit(modbus, deadline_ns, err) < 0)
		return -1;
	if (modbus_write_bit(modbus, (int)outlet->channel - 1,
			     state == RELAY_ON) != 1)
		return trouble("cannot write the coil", err);
	return 0;
}

static int tcp_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	modbus_t *modbus = ((struct link *)(void *)port)->modbus;
	uint8_t coil = 0;

	if (set_limit(modbus, deadline_ns, err) < 0)
		return -1;
	if (modbus_read_bits(modbus, (int)outlet->channel - 1, 1, &coil) != 1)
		return trouble("cannot read the coil", err);
	*state = coil != 0 ? RELAY_ON : RELAY_OFF;
	return 1;
}

#else

static struct port *link_open(const struct outlet *outlet, uint64_t deadline_ns,
			      struct err *err)
{
	(void)deadline_ns;
	(void)err_set(err,
		      "cannot open %s: this plugpull-relay was built without "
		      "libmodbus",
		      outlet->address);
	return NULL;
}

static int tcp_set(struct port *port, const struct outlet *outlet,
		   enum relay_state state, uint64_t deadline_ns,
		   struct err *err)
{
	(void)port;
	(void)state;
	(void)link_open(outlet, deadline_ns, err);
	return -1;
}

static int tcp_get(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	(void)port;
	(void)state;
	(void)link_open(outlet, deadline_ns, err);
	return -1;
}

#endif

const struct relay_driver driver_modbus_tcp = {
	.name = "modbus-tcp",
	.boards = "boards and boxes with coils by Modbus TCP (port 502)",
	.link = DRIVER_LINK_TCP,
	.tcp_port = 502,
	.channel_first = 1,
	.channel_last = 65536,
	.keys = tcp_keys,
	.answer_ms = 2000,
	.shortest_ms = 50,
	.check = check_unit,
	.open = link_open,
	.set = tcp_set,
	.get = tcp_get,
};
