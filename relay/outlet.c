/* SPDX-License-Identifier: MIT */
#include "relay/outlet.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int outlet_take_driver(struct outlet *outlet, const char *name, struct err *err)
{
	outlet->driver = drivers_find(name);
	if (outlet->driver == NULL)
		return err_set(err,
			       "there is no driver \"%.80s\"; \"plugpull-relay "
			       "list\" shows them all",
			       name);
	outlet->channel = outlet->driver->channel_first;
	return 0;
}

int outlet_take_channel(struct outlet *outlet, uint64_t channel,
			struct err *err)
{
	const struct relay_driver *driver = outlet->driver;

	if (channel < driver->channel_first || channel > driver->channel_last)
		return err_set(err, "%s has channels %u to %u, not %llu",
			       driver->name, driver->channel_first,
			       driver->channel_last,
			       (unsigned long long)channel);
	outlet->channel = (unsigned int)channel;
	return 0;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* What is wrong with the address for this link; NULL: nothing. */
static const char *wrong_for_link(enum driver_link link, const char *address)
{
	const bool is_tcp = begins(address, TCP_MARK);

	switch (link) {
	case DRIVER_LINK_LINE:
		return is_tcp || *address == '/'
			       ? NULL
			       : "is neither the path of a serial device nor "
				 "tcp://HOST:PORT";
	case DRIVER_LINK_TCP:
		return is_tcp ? NULL : "is not tcp://HOST or tcp://HOST:PORT";
	case DRIVER_LINK_UNIX:
		return is_tcp ? "is not the path of a socket" : NULL;
	case DRIVER_LINK_URL:
		return begins(address, "http://") || begins(address, "https://")
			       ? NULL
			       : "is neither http://... nor https://...";
	case DRIVER_LINK_PATH:
		return *address == '/' ? NULL : "is not an absolute path";
	case DRIVER_LINK_NAME:
		return NULL;
	}
	abort();
}

int outlet_take_address(struct outlet *outlet, const char *address,
			struct err *err)
{
	const char *wrong = wrong_for_link(outlet->driver->link, address);
	const size_t length = strlen(address);

	if (length == 0)
		return err_set(err, "the address is empty");
	if (length >= sizeof(outlet->address))
		return err_set(err, "the address is longer than %d bytes",
			       OUTLET_ADDRESS_BYTES - 1);
	if (wrong != NULL)
		return err_set(err, "%s: \"%.200s\" %s", outlet->driver->name,
			       address, wrong);
	memcpy(outlet->address, address, length + 1);
	return 0;
}

static const struct driver_key *find_key(const struct relay_driver *driver,
					 const char *name)
{
	const struct driver_key *key = driver->keys;

	while (key != NULL && key->name != NULL && strcmp(key->name, name) != 0)
		key++;
	return key == NULL || key->name == NULL ? NULL : key;
}

static const struct outlet_option *find_option(const struct outlet *outlet,
					       const char *key)
{
	for (size_t i = 0; i < outlet->option_count; i++) {
		if (strcmp(outlet->options[i].key, key) == 0)
			return &outlet->options[i];
	}
	return NULL;
}

int outlet_take_option(struct outlet *outlet, const char *key,
		       const char *value, struct err *err)
{
	struct outlet_option *option = &outlet->options[outlet->option_count];

	if (find_key(outlet->driver, key) == NULL)
		return err_set(err, "%s: %s has no such key", key,
			       outlet->driver->name);
	if (find_option(outlet, key) != NULL)
		return err_set(err, "%s: given twice", key);
	if (outlet->option_count == OUTLET_OPTIONS_MAX)
		return err_set(err, "%s: more than %d keys of the driver", key,
			       OUTLET_OPTIONS_MAX);
	if (strlen(value) >= sizeof(option->value))
		return err_set(err, "%s: longer than %d bytes", key,
			       OUTLET_VALUE_BYTES - 1);
	(void)snprintf(option->key, sizeof(option->key), "%s", key);
	(void)snprintf(option->value, sizeof(option->value), "%s", value);
	outlet->option_count++;
	return 0;
}

const char *outlet_option(const struct outlet *outlet, const char *key)
{
	const struct outlet_option *option = find_option(outlet, key);
	const struct driver_key *known = find_key(outlet->driver, key);

	assert(known != NULL);

	if (option != NULL)
		return option->value;
	return known->otherwise == NULL ? "" : known->otherwise;
}

int outlet_number(const struct outlet *outlet, const char *key, uint64_t min,
		  uint64_t max, uint64_t *value, struct err *err)
{
	const char *text = outlet_option(outlet, key);
	int rc = begins(text, "0x")
			 ? options_parse_hex(text, key, value, err)
			 : options_parse_count(text, key, value, err);

	if (rc == 0 && (*value < min || *value > max))
		rc = err_set(err, "%s: %s is not from %llu to %llu", key, text,
			     (unsigned long long)min, (unsigned long long)max);
	return rc;
}

static int read_secret(int fd, const char *path, char *to, struct err *err)
{
	struct stat status;
	ssize_t count = -1;

	if (fstat(fd, &status) == -1)
		return err_sys(err, errno, "cannot read %s", path);
	if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0)
		return err_set(err,
			       "cannot use %s: others than its owner may read "
			       "it\nhint: chmod 600 %s",
			       path, path);
	count = read(fd, to, OUTLET_SECRET_BYTES - 1);
	if (count == -1)
		return err_sys(err, errno, "cannot read %s", path);
	to[count] = '\0';
	to[strcspn(to, "\r\n")] = '\0';
	if (*to == '\0')
		return err_set(err, "%s holds no secret in its first line",
			       path);
	return 0;
}

int outlet_secret(const struct outlet *outlet, const char *key,
		  char to[OUTLET_SECRET_BYTES], struct err *err)
{
	const char *path = outlet_option(outlet, key);
	int fd, rc;

	memset(to, 0, OUTLET_SECRET_BYTES);
	if (*path == '\0')
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd == -1)
		return err_sys(err, errno, "cannot read %s", path);
	rc = read_secret(fd, path, to, err);
	(void)close(fd); /* was only read */
	return rc;
}

int outlet_check(const struct outlet *outlet, struct err *err)
{
	const struct driver_key *key = outlet->driver->keys;

	if (outlet->address[0] == '\0')
		return err_set(err, "address: is missing");
	for (; key != NULL && key->name != NULL; key++) {
		if (key->otherwise == NULL &&
		    find_option(outlet, key->name) == NULL)
			return err_set(err, "%s: is missing (%s)", key->name,
				       key->help);
	}
	if (outlet->driver->check != NULL)
		return outlet->driver->check(outlet, err);
	return 0;
}

enum relay_state outlet_contact(const struct outlet *outlet,
				enum relay_state power)
{
	if (!outlet->is_inverted)
		return power;
	return power == RELAY_ON ? RELAY_OFF : RELAY_ON;
}

void outlet_tell(const struct outlet *outlet, char *text, size_t room)
{
	if (outlet->name[0] != '\0')
		(void)snprintf(text, room, "%s", outlet->name);
	else if (outlet->driver->channel_last > outlet->driver->channel_first)
		(void)snprintf(text, room, "%s on %s, channel %u",
			       outlet->driver->name, outlet->address,
			       outlet->channel);
	else
		(void)snprintf(text, room, "%s on %s", outlet->driver->name,
			       outlet->address);
}

/* "DRIVER:" in front of everything else. */
static int split_driver(const char *text, struct outlet *outlet,
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
	*address = colon + 1;
	if (outlet_take_driver(outlet, name, err) < 0)
		return err_prefix(err, "outlet \"%.200s\"", text);
	return 0;
}

int outlet_parse(const char *text, struct outlet *outlet, struct err *err)
{
	struct outlet parsed = {0};
	char place[2 * OUTLET_ADDRESS_BYTES] = "";
	const char *address = NULL;
	const char *channel = NULL;
	uint64_t number = 0;
	size_t length = 0;

	if (split_driver(text, &parsed, &address, err) < 0)
		return -1;
	channel = find_channel(address, strstr(address, "://") != NULL);
	length =
		channel == NULL ? strlen(address) : (size_t)(channel - address);
	if (length >= sizeof(place))
		return err_set(err, "outlet \"%.80s...\" is too long", text);
	memcpy(place, address, length);
	if (outlet_take_address(&parsed, place, err) < 0)
		return -1;
	if (channel != NULL &&
	    (options_parse_count(channel + 1, "channel", &number, err) < 0 ||
	     outlet_take_channel(&parsed, number, err) < 0))
		return -1;
	if (outlet_check(&parsed, err) < 0)
		return err_prefix(err, "outlet \"%.200s\"", text);
	*outlet = parsed;
	return 0;
}
