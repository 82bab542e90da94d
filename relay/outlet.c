/* SPDX-License-Identifier: MIT */
#include "relay/outlet.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/options.h"
#include "relay/driver.h"
#include "relay/drivers.h"

#define DRIVER_NAME_BYTES 32
#define TCP_MARK          "tcp://"

static bool is_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && text[digits] == '\0';
}

/* The colon in front of the channel, or NULL where none is given. */
static const char *find_channel(const char *address, bool is_tcp)
{
	const char *last = strrchr(address, ':');
	const char *end = last;

	if (last == NULL || !is_number(last + 1))
		return NULL;
	if (!is_tcp)
		return last;
	/* HOST:PORT:CHANNEL: a colon with a number stands before this one,
	 * and it is not part of an IPv6 address in brackets. */
	while (end > address && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end < last && end > address && end[-1] == ':' ? last : NULL;
}

static int take_driver(const char *text, struct outlet *outlet,
		       const char **address, struct err *err)
{
	const char *colon = strchr(text, ':');
	char name[DRIVER_NAME_BYTES] = "";
	size_t length = colon == NULL ? 0 : (size_t)(colon - text);

	if (length == 0 || length >= sizeof(name) || colon[1] == '\0')
		return err_set(err,
			       "outlet \"%.200s\" is not "
			       "DRIVER:ADDRESS[:CHANNEL]",
			       text);
	memcpy(name, text, length);
	outlet->driver = drivers_find(name);
	if (outlet->driver == NULL)
		return err_set(err,
			       "outlet \"%.200s\": there is no driver \"%s\"; "
			       "\"plugpull-relay list\" shows them all",
			       text, name);
	*address = colon + 1;
	return 0;
}

static int take_channel(const char *text, struct outlet *outlet,
			struct err *err)
{
	uint64_t channel = 1;

	if (text != NULL &&
	    options_parse_count(text + 1, "channel", &channel, err) < 0)
		return -1;
	if (channel < 1 || channel > outlet->driver->channels_max)
		return err_set(err, "%s has channels 1 to %u, not %llu",
			       outlet->driver->name,
			       outlet->driver->channels_max,
			       (unsigned long long)channel);
	outlet->channel = (unsigned int)channel;
	return 0;
}

static int check_address(const struct outlet *outlet, bool is_tcp,
			 struct err *err)
{
	bool is_line = outlet->driver->link == DRIVER_LINK_LINE;

	if (is_line && !is_tcp && outlet->address[0] != '/')
		return err_set(err,
			       "\"%s\" is neither the path of a serial device "
			       "nor tcp://HOST:PORT",
			       outlet->address);
	if (!is_line && is_tcp)
		return err_set(err, "%s wants the path of a socket, not \"%s\"",
			       outlet->driver->name, outlet->address);
	return 0;
}

int outlet_parse(const char *text, struct outlet *outlet, struct err *err)
{
	struct outlet parsed = {0};
	const char *address = NULL;
	const char *channel = NULL;
	size_t length = 0;
	bool is_tcp = false;

	if (take_driver(text, &parsed, &address, err) < 0)
		return -1;
	is_tcp = strncmp(address, TCP_MARK, strlen(TCP_MARK)) == 0;
	channel = find_channel(address, is_tcp);
	length =
		channel == NULL ? strlen(address) : (size_t)(channel - address);
	if (length == 0 || length >= sizeof(parsed.address))
		return err_set(err,
			       "outlet \"%.200s\": the address must have 1 to "
			       "%d characters",
			       text, OUTLET_ADDRESS_BYTES - 1);
	memcpy(parsed.address, address, length);
	if (take_channel(channel, &parsed, err) < 0 ||
	    check_address(&parsed, is_tcp, err) < 0)
		return err_prefix(err, "outlet \"%.200s\"", text);
	*outlet = parsed;
	return 0;
}
