/* SPDX-License-Identifier: MIT */
/*
 * lcus - CH340 boards sold as LCUS-1 ... LCUS-8.
 *
 * A command is four bytes: A0, channel, state, and the low byte of the sum of
 * the first three; the board does not answer it. FF asks for the states: most
 * boards answer in text, a line a relay ("CH1: OFF"), some with a byte of 00 or
 * 01 a relay, some not at all. Newer firmware knows commands that answer; how
 * an older one takes them is not known, so they are never sent.
 */
#include "relay/driver.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define COMMAND_START    0xA0
#define STATUS_REQUEST   0xFF
#define CHANNELS_MAX     8U
#define ANSWER_BYTES_MAX 256U
#define QUIET_MS         100U /* so long a silence ends an answer */

static int lcus_set(struct port *port, const struct outlet *outlet,
		    enum relay_state state, uint64_t deadline_ns,
		    struct err *err)
{
	uint8_t frame[4] = {COMMAND_START, (uint8_t)outlet->channel,
			    state == RELAY_ON, 0};

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	frame[3] = (uint8_t)(frame[0] + frame[1] + frame[2]);
	return port_write(port, frame, sizeof(frame), deadline_ns, err);
}

/* Reads until the board falls silent, so that no late line of this answer can
 * be taken for a part of the next. Returns how many bytes there were. */
static ssize_t read_answer(struct port *port, uint8_t *answer, size_t room,
			   uint64_t deadline_ns, struct err *err)
{
	uint64_t until_ns = deadline_ns;
	size_t used = 0;

	while (used < room) {
		ssize_t count = port_read(port, answer + used, room - used,
					  until_ns, err);

		if (count < 0)
			return -1;
		if (count == 0)
			return (ssize_t)used;
		used += (size_t)count;
		until_ns = clock_monotonic_ns() + QUIET_MS * CLOCK_NS_PER_MS;
	}
	return err_set(err, "the board does not stop answering");
}

static const char *skip_spaces(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

/* "CH<channel> : ON" with spaces anywhere; true where TEXT begins like that. */
static bool parse_line(const char *text, unsigned int *channel,
		       enum relay_state *state)
{
	if (strncasecmp(text, "CH", 2) != 0)
		return false;
	text = skip_spaces(text + 2);
	if (*text < '1' || *text > '8')
		return false;
	*channel = (unsigned int)(*text - '0');
	text = skip_spaces(text + 1);
	if (*text != ':')
		return false;
	text = skip_spaces(text + 1);
	*state = strncasecmp(text, "ON", 2) == 0 ? RELAY_ON : RELAY_OFF;
	text += *state == RELAY_ON ? 2 : 3;
	return (*state == RELAY_ON || strncasecmp(text - 3, "OFF", 3) == 0) &&
	       !isalnum((unsigned char)*text);
}

/* The last word counts, should a board tell a channel twice. */
static bool find_in_text(const char *answer, unsigned int channel,
			 enum relay_state *state)
{
	bool is_found = false;

	for (; *answer != '\0'; answer++) {
		enum relay_state told = RELAY_OFF;
		unsigned int of = 0;

		if (parse_line(answer, &of, &told) && of == channel) {
			*state = told;
			is_found = true;
		}
	}
	return is_found;
}

static bool find_in_bytes(const uint8_t *answer, size_t count,
			  unsigned int channel, enum relay_state *state)
{
	if (count < channel || count > CHANNELS_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (answer[i] > 1)
			return false;
	}
	*state = answer[channel - 1] == 1 ? RELAY_ON : RELAY_OFF;
	return true;
}

static int refuse_answer(const uint8_t *answer, size_t count,
			 unsigned int channel, struct err *err)
{
	char text[3 * 16 + 1] = "";

	for (size_t i = 0; i < count && i < 16; i++)
		(void)snprintf(text + 3 * i, 4, " %02x", answer[i]);
	return err_set(err,
		       "the answer to \"status\" does not tell channel %u:"
		       "%s%s",
		       channel, text, count > 16 ? " ..." : "");
}

static int lcus_get(struct port *port, const struct outlet *outlet,
		    enum relay_state *state, uint64_t deadline_ns,
		    struct err *err)
{
	static const uint8_t request[] = {STATUS_REQUEST};
	uint8_t answer[ANSWER_BYTES_MAX + 1];
	ssize_t count = 0;

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	if (port_discard_input(port, err) < 0 ||
	    port_write(port, request, sizeof(request), deadline_ns, err) < 0)
		return -1;
	count = read_answer(port, answer, ANSWER_BYTES_MAX, deadline_ns, err);
	if (count <= 0)
		return (int)count;
	answer[count] = '\0';
	if (find_in_text((const char *)answer, outlet->channel, state) ||
	    find_in_bytes(answer, (size_t)count, outlet->channel, state))
		return 1;
	return refuse_answer(answer, (size_t)count, outlet->channel, err);
}

const struct relay_driver driver_lcus = {
	.name = "lcus",
	.boards = "LCUS-1, LCUS-2, LCUS-4, LCUS-8 (CH340, 9600 baud)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.settle_ms = 100,
	.answer_ms = 500,
	.shortest_ms = 50,
	.set = lcus_set,
	.get = lcus_get,
};
