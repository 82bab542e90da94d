/* SPDX-License-Identifier: MIT */
/*
 * kmtronic - KMTronic's boards with USB or RS-232.
 *
 * FF, channel, state; the board does not answer it. Boards with four or eight
 * relays are asked with FF 09 00 and tell a byte of 00 or 01 a relay; boards
 * with one or two are asked with FF, channel, 03 and tell FF, channel, state.
 * No board has a relay 9 and 00 means off, so that FF 09 00 does no harm to a
 * board with fewer; how one with more takes an 03 is not known, so it is sent
 * only where the key says that the board has one or two. To the radio (RF)
 * boards, which are another family, FF 09 00 is a command.
 *
 * Source: the vendor's list of commands,
 * kmtronic.blogspot.com/2015/04/kmtronic-usb-relay-test-software.html; frames
 * also tiiuae/ci-test-automation KMTronic/, Anding/ForthKMTronic protocol.md.
 * An 8-channel box that never answers: donatmarko/kmtronic-usb-relaybox-mqtt.
 */
#include "relay/driver.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define START        0xFF
#define ASK_ALL      9
#define ASK_ONE      3
#define CHANNELS_MAX 8U

static const struct driver_key keys[] = {
	{"relays", "how many the board has: 1, 2, 4 or 8", "8", false},
	{NULL, NULL, NULL, false},
};

/* 0: there is no such board. */
static unsigned int relays_of(const struct outlet *outlet)
{
	const char *text = outlet_option(outlet, "relays");

	if (strlen(text) == 1 && strchr("1248", *text) != NULL)
		return (unsigned int)(*text - '0');
	return 0;
}

static int kmtronic_check(const struct outlet *outlet, struct err *err)
{
	const unsigned int relays = relays_of(outlet);

	if (relays == 0)
		return err_set(err, "relays: %.40s is not 1, 2, 4 or 8",
			       outlet_option(outlet, "relays"));
	if (outlet->channel > relays)
		return err_set(err, "relays: %u, and the channel is %u", relays,
			       outlet->channel);
	return 0;
}

static int kmtronic_set(struct port *port, const struct outlet *outlet,
			enum relay_state state, uint64_t deadline_ns,
			struct err *err)
{
	const uint8_t frame[] = {START, (uint8_t)outlet->channel,
				 state == RELAY_ON};

	assert(outlet->channel >= 1 && outlet->channel <= CHANNELS_MAX);

	return port_write(port, frame, sizeof(frame), deadline_ns, err);
}

static int get_one(struct port *port, const struct outlet *outlet,
		   enum relay_state *state, uint64_t deadline_ns,
		   struct err *err)
{
	const uint8_t request[] = {START, (uint8_t)outlet->channel, ASK_ONE};
	uint8_t answer[16];
	ssize_t count = answer_ask(port, request, sizeof(request), answer,
				   sizeof(answer), deadline_ns, err);

	if (count <= 0)
		return (int)count;
	if (count != 3 || answer[0] != START || answer[1] != request[1] ||
	    answer[2] > 1)
		return answer_refuse(answer, (size_t)count, "\"state\"", err);
	*state = answer[2] == 1 ? RELAY_ON : RELAY_OFF;
	return 1;
}

/* How many answer is not left open: four bytes behind four late ones would be
 * an answer of eight. */
static int get_of_all(struct port *port, const struct outlet *outlet,
		      size_t relays, enum relay_state *state,
		      uint64_t deadline_ns, struct err *err)
{
	static const uint8_t request[] = {START, ASK_ALL, 0};
	uint8_t answer[2 * CHANNELS_MAX + 1];
	ssize_t count = answer_ask(port, request, sizeof(request), answer,
				   sizeof(answer), deadline_ns, err);
	bool is_good = count == (ssize_t)relays;

	if (count <= 0)
		return (int)count;
	for (ssize_t i = 0; i < count; i++)
		is_good = is_good && answer[i] <= 1;
	if (!is_good) {
		(void)answer_refuse(answer, (size_t)count, "\"states\"", err);
		return err_hint(err,
				"a board with %zu relays answers with as "
				"many bytes; see the key relays",
				relays);
	}
	*state = answer[outlet->channel - 1] == 1 ? RELAY_ON : RELAY_OFF;
	return 1;
}

static int kmtronic_get(struct port *port, const struct outlet *outlet,
			enum relay_state *state, uint64_t deadline_ns,
			struct err *err)
{
	const unsigned int relays = relays_of(outlet);

	assert(relays > 0 && outlet->channel <= relays); /* kmtronic_check() */
	assert(outlet->channel >= 1);

	if (relays <= 2)
		return get_one(port, outlet, state, deadline_ns, err);
	return get_of_all(port, outlet, relays, state, deadline_ns, err);
}

const struct relay_driver driver_kmtronic = {
	.name = "kmtronic",
	.boards = "KMTronic USB and RS-232 boards (FTDI, 9600 baud)",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = CHANNELS_MAX,
	.keys = keys,
	.settle_ms = 100,
	.answer_ms = 500,
	.shortest_ms = 50,
	.check = kmtronic_check,
	.set = kmtronic_set,
	.get = kmtronic_get,
};
