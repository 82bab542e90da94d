/* SPDX-License-Identifier: MIT */
#include "collector/send.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/net/ackwire.h"

static int parse_event(const char *name, enum ackbody_event *event,
		       struct err *err)
{
	static const struct {
		const char *name;
		enum ackbody_event event;
	} known[] = {
		{"cut-asked", ACKBODY_EVENT_CUT_ASKED},
		{"cut-seen", ACKBODY_EVENT_CUT_SEEN},
		{"restored", ACKBODY_EVENT_RESTORED},
		{"error", ACKBODY_EVENT_ERROR},
		{"note", ACKBODY_EVENT_NOTE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		*event = known[i].event;
		return 0;
	}
	return err_set(err,
		       "cannot send %s: it is none of cut-asked, cut-seen, "
		       "restored, note, error",
		       name);
}

static int encode_event(const struct send_order *order, uint8_t *bodies,
			size_t *length, struct err *err)
{
	struct ackbody body = {.type = ACKBODY_EVENT};
	const char *text = order->text ? order->text : "";

	if (parse_event(order->event, &body.note.event, err) < 0)
		return -1;
	if (strlen(text) >= sizeof(body.note.text))
		return err_set(err, "the text has %zu bytes, %zu are the limit",
			       strlen(text), sizeof(body.note.text) - 1);
	memcpy(body.note.text, text, strlen(text) + 1);
	body.note.at_ns = clock_monotonic_ns();
	*length = 0;
	if (ackbody_encode(&body, bodies, ACKBODY_ENCODED_MAX, length) < 0)
		return err_set(err, "the event is too long");
	return 0;
}

static int await_confirmation(struct ackwire *wire, uint64_t number,
			      uint64_t deadline_ns, struct err *err)
{
	uint64_t confirmed = 0;

	while (confirmed < number) {
		int result =
			ackwire_receive(wire, &confirmed, -1, deadline_ns, err);

		if (result < 0)
			return -1;
		if (result == 0 && clock_until_ms(deadline_ns) == 0)
			return err_set(err, "no confirmation in time");
	}
	return 0;
}

int send_event(const struct send_order *order, struct err *err)
{
	const struct ackwire_place place = {order->address, order->key};
	struct ackproto_hello hello = {.mode = ACKPROTO_OBSERVE};
	uint64_t deadline_ns =
		clock_monotonic_ns() + order->timeout_ms * CLOCK_NS_PER_MS;
	uint8_t bodies[ACKBODY_ENCODED_MAX];
	struct ackwire_answer answer;
	struct ackwire *wire;
	uint64_t number;
	size_t length;
	int result = -1;

	if (run_id_parse(order->run, hello.run_id, err) < 0 ||
	    encode_event(order, bodies, &length, err) < 0)
		return -1;
	wire = ackwire_open(&place, &hello, deadline_ns, &answer, err);
	if (wire == NULL)
		return -1;
	if (ackwire_send(wire, bodies, (uint32_t)length, &number, err) == 1)
		result = await_confirmation(wire, number, deadline_ns, err);
	ackwire_close(wire);
	return result;
}
