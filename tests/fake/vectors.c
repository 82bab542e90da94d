/* SPDX-License-Identifier: MIT */
#include "tests/fake/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/outlet.h"
#include "tests/fake/port_fake.h"
#include "tests/unit/cmocka_all.h"

#define FILE_NAME  "tests/vectors/relay.tsv"
#define LINE_BYTES 4096
#define SECOND_NS  CLOCK_NS_PER_S

static FILE *open_file(void)
{
	const char *root = getenv("SOURCE");
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", root == NULL ? "." : root,
		       FILE_NAME);
	file = fopen(path, "re");
	if (file == NULL)
		fail_msg("cannot read %s", path);
	return file;
}

static void copy(char *to, size_t room, const char *from)
{
	if (strlen(from) >= room)
		fail_msg("too long for a vector: %s", from);
	(void)snprintf(to, room, "%s", strcmp(from, "-") == 0 ? "" : from);
}

static bool take(char *line, const char *protocol, struct vector *row)
{
	char *at = line, *words[6];

	if (*line == '#' || *line == '\n')
		return false;
	for (size_t i = 0; i < 6; i++) {
		words[i] = strsep(&at, "\t\n");
		if (words[i] == NULL)
			fail_msg("not a row of six: %s", line);
	}
	if (strcmp(words[0], protocol) != 0 ||
	    strcmp(words[5], "unverified") == 0)
		return false;
	copy(row->action, sizeof(row->action), words[1]);
	row->channel = (unsigned int)strtoul(words[2], NULL, 10);
	copy(row->sent, sizeof(row->sent), words[3]);
	copy(row->reply, sizeof(row->reply), words[4]);
	return true;
}

size_t vectors_of(const char *protocol, struct vector rows[VECTORS_MAX])
{
	FILE *file = open_file();
	char line[LINE_BYTES];
	size_t count = 0;

	while (fgets(line, sizeof(line), file) != NULL) {
		if (count == VECTORS_MAX)
			fail_msg("too many rows of %s", protocol);
		count += take(line, protocol, &rows[count]);
	}
	(void)fclose(file); /* was only read */
	if (count == 0)
		fail_msg("no rows of %s", protocol);
	return count;
}

bool vectors_is(const struct vector *row, const char *action)
{
	return strcmp(row->action, action) == 0;
}

static struct port_fake *fake_of(const struct vector *row,
				 struct port_fake_step script[2])
{
	script[0] = (struct port_fake_step){
		row->sent, row->reply[0] == '\0' ? NULL : row->reply};
	script[1] = (struct port_fake_step){0};
	return port_fake_new(script, NULL);
}

static void expect_done(const struct vector *row, const struct outlet *outlet,
			int rc, int wanted, const struct port_fake *fake,
			const struct err *err)
{
	if (rc != wanted)
		fail_msg("%s %s %u: %d, %s", outlet->driver->name, row->action,
			 row->channel, rc, err->text);
	if (!port_fake_is_done(fake))
		fail_msg("%s %s %u: not sent: %s", outlet->driver->name,
			 row->action, row->channel, row->sent);
}

void vectors_switch(const struct vector *row, struct outlet *outlet)
{
	struct port_fake_step script[2];
	struct port_fake *fake = fake_of(row, script);
	enum relay_state state =
		strncmp(row->action, "on", 2) == 0 ? RELAY_ON : RELAY_OFF;
	struct err err = {""};
	int rc = 0;

	outlet->channel = row->channel;
	port_fake_set_chunk(fake, 3);
	rc = outlet->driver->set(port_fake_port(fake), outlet, state,
				 clock_monotonic_ns() + SECOND_NS, &err);
	expect_done(row, outlet, rc, 0, fake, &err);
	port_fake_free(fake);
}

enum relay_state vectors_read(const struct vector *row, struct outlet *outlet)
{
	struct port_fake_step script[2];
	struct port_fake *fake = fake_of(row, script);
	enum relay_state state = RELAY_OFF;
	struct err err = {""};
	int rc = 0;

	port_fake_set_chunk(fake, 3);
	rc = outlet->driver->get(port_fake_port(fake), outlet, &state,
				 clock_monotonic_ns() + SECOND_NS, &err);
	expect_done(row, outlet, rc, 1, fake, &err);
	port_fake_free(fake);
	return state;
}
