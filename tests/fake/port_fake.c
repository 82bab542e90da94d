/* SPDX-License-Identifier: MIT */
#include "tests/fake/port_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

#define BYTES_MAX 1024

struct bytes {
	uint8_t bytes[BYTES_MAX];
	size_t count;
};

struct port_fake {
	struct port port;
	const struct port_fake_step *step; /* the next one */
	struct bytes input;                /* what can be read */
	size_t chunk;
	bool is_gone;
	bool is_wrong; /* something was written that the script has not */
};

static struct port_fake *fake_of(struct port *port)
{
	return (struct port_fake *)(void *)port; /* its first member */
}

static void append(struct bytes *to, const char *text)
{
	unsigned int value = 0;
	int length = 0;

	if (*text == '\'') {
		memcpy(to->bytes + to->count, text + 1, strlen(text + 1));
		to->count += strlen(text + 1);
		return;
	}
	for (; sscanf(text, "%2x%n", &value, &length) == 1; text += length)
		to->bytes[to->count++] = (uint8_t)value;
}

static int fake_write(struct port *port, const uint8_t *bytes, size_t count,
		      uint64_t deadline_ns, struct err *err)
{
	struct port_fake *fake = fake_of(port);
	struct bytes wanted = {.count = 0};

	(void)deadline_ns;
	if (fake->is_gone)
		return err_set(err, "cannot write to the fake: it is gone");
	if (fake->step->wants != NULL)
		append(&wanted, fake->step->wants);
	if (fake->step->wants == NULL || wanted.count != count ||
	    memcmp(wanted.bytes, bytes, count) != 0) {
		fake->is_wrong = true;
		return err_set(err, "the script has no such write");
	}
	if (fake->step->gives != NULL && *fake->step->gives == '\0')
		fake->is_gone = true;
	else if (fake->step->gives != NULL)
		append(&fake->input, fake->step->gives);
	fake->step++;
	return 0;
}

static ssize_t fake_read(struct port *port, uint8_t *bytes, size_t room,
			 uint64_t deadline_ns, struct err *err)
{
	struct port_fake *fake = fake_of(port);
	size_t count = fake->input.count;

	(void)deadline_ns;
	if (fake->is_gone)
		return err_set(err, "cannot read from the fake: it is gone");
	if (count > room)
		count = room;
	if (count > fake->chunk)
		count = fake->chunk;
	memcpy(bytes, fake->input.bytes, count);
	fake->input.count -= count;
	memmove(fake->input.bytes, fake->input.bytes + count,
		fake->input.count);
	return (ssize_t)count;
}

static int fake_discard_input(struct port *port, struct err *err)
{
	(void)err;
	fake_of(port)->input.count = 0;
	return 0;
}

static void fake_close(struct port *port)
{
	(void)port;
}

static const struct port_ops fake_ops = {
	.write = fake_write,
	.read = fake_read,
	.discard_input = fake_discard_input,
	.close = fake_close,
};

struct port_fake *port_fake_new(const struct port_fake_step *steps,
				const char *leftover)
{
	struct port_fake *fake = calloc(1, sizeof(*fake));

	if (fake == NULL)
		abort();
	fake->port.ops = &fake_ops;
	fake->step = steps;
	fake->chunk = BYTES_MAX;
	if (leftover != NULL)
		append(&fake->input, leftover);
	return fake;
}

struct port *port_fake_port(struct port_fake *fake)
{
	return &fake->port;
}

void port_fake_set_chunk(struct port_fake *fake, size_t count)
{
	fake->chunk = count;
}

bool port_fake_is_done(const struct port_fake *fake)
{
	return fake->step->wants == NULL && !fake->is_wrong;
}

void port_fake_free(struct port_fake *fake)
{
	free(fake);
}
