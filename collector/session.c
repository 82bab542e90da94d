/* SPDX-License-Identifier: MIT */
#include "collector/session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/format/ackbody.h"

#define IN_BYTES (ACKPROTO_HEADER_BYTES + ACKPROTO_PAYLOAD_MAX)
/* One answer of each kind at most is on its way. */
#define OUT_BYTES                                             \
	(3 * ACKPROTO_HEADER_BYTES + ACKPROTO_WELCOME_BYTES + \
	 ACKPROTO_TEXT_BYTES)

enum session_state {
	STATE_HELLO,
	STATE_CLAIM,
	STATE_OPEN,
	STATE_PAYLOAD,
	STATE_OVER,
};

struct session {
	enum session_state state;
	struct ackproto_hello hello;
	bool has_run;    /* the run is there: RUN was said or stored */
	uint32_t length; /* of the payload, in STATE_PAYLOAD */
	uint64_t taken;  /* number of the last BODIES frame taken */
	uint64_t confirmed;
	size_t in_start, in_end;
	size_t out_start, out_end;
	char reason[ACKPROTO_TEXT_BYTES];
	uint8_t out[OUT_BYTES];
	uint8_t in[IN_BYTES];
};

struct session *session_new(struct err *err)
{
	struct session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		err_sys(err, ENOMEM, "cannot keep another client");
	return session;
}

void session_free(struct session *session)
{
	free(session);
}

static void answer(struct session *session, enum ackproto_type type,
		   const uint8_t *payload, uint32_t length)
{
	assert(OUT_BYTES - session->out_end >= ACKPROTO_HEADER_BYTES + length);

	ackproto_encode(type, session->confirmed, payload, length,
			session->out + session->out_end);
	session->out_end += ACKPROTO_HEADER_BYTES + length;
}

/* One body of a payload, by who may say it. */
static int check_body(const struct session *session, const struct ackbody *body,
		      bool is_first, struct err *err)
{
	if (session->hello.mode == ACKPROTO_OBSERVE &&
	    body->type != ACKBODY_EVENT)
		return err_set(err, "an observer can only report events");
	if (!session->has_run && is_first && body->type != ACKBODY_RUN)
		return err_set(err, "a new run begins with its description");
	if (body->type == ACKBODY_RUN &&
	    memcmp(body->run.id, session->hello.run_id, RUN_ID_BYTES) != 0)
		return err_set(err, "the description is of another run");
	return 0;
}

static int check_payload(const struct session *session, const uint8_t *payload,
			 uint32_t length, struct err *err)
{
	struct ackbody body;
	bool is_first = true;
	size_t at = 0;
	int result;

	while ((result = ackbody_decode(&body, payload, length, &at, err)) ==
	       1) {
		if (check_body(session, &body, is_first, err) < 0)
			return -1;
		is_first = false;
	}
	return result;
}

static int accept_hello(struct session *session, const uint8_t *payload,
			uint32_t length, struct err *err)
{
	if (ackproto_decode_hello(&session->hello, payload, length, err) < 0)
		return -1;
	session->has_run = session->hello.mode != ACKPROTO_NEW;
	session->in_start += ACKPROTO_HEADER_BYTES + length;
	session->state = STATE_CLAIM;
	return 0;
}

static int accept_frame(struct session *session,
			const struct ackproto_header *header,
			const uint8_t *payload, struct err *err)
{
	if (session->state == STATE_HELLO) {
		if (header->type != ACKPROTO_HELLO)
			return err_set(err, "a client says hello first");
		return accept_hello(session, payload, header->length, err);
	}
	if (header->type != ACKPROTO_BODIES)
		return err_set(err, "a message that is not expected here");
	if (header->number != session->taken + 1)
		return err_set(err, "statements number %llu follow number %llu",
			       (unsigned long long)header->number,
			       (unsigned long long)session->taken);
	if (check_payload(session, payload, header->length, err) < 0)
		return -1;
	session->length = header->length;
	session->state = STATE_PAYLOAD;
	return 0;
}

/* Looks at the message at the front of the input, if it is complete. */
static int look(struct session *session, struct err *err)
{
	const uint8_t *bytes = session->in + session->in_start;
	size_t count = session->in_end - session->in_start;
	struct ackproto_header header;

	if (count < ACKPROTO_HEADER_BYTES)
		return 0;
	if (ackproto_decode_header(&header, bytes, err) < 0)
		return -1;
	if (session->state == STATE_HELLO && header.type != ACKPROTO_HELLO)
		return err_set(err, "a client says hello first");
	if (count - ACKPROTO_HEADER_BYTES < header.length)
		return 0;
	if (ackproto_check(&header, bytes, bytes + ACKPROTO_HEADER_BYTES, err) <
	    0)
		return -1;
	return accept_frame(session, &header, bytes + ACKPROTO_HEADER_BYTES,
			    err);
}

uint8_t *session_room(struct session *session, size_t *room)
{
	*room = 0;
	if (session->state == STATE_OVER) {
		*room = IN_BYTES;
		return session->in;
	}
	if (session->state == STATE_CLAIM || session->state == STATE_PAYLOAD ||
	    session->out_start < session->out_end)
		return NULL;
	memmove(session->in, session->in + session->in_start,
		session->in_end - session->in_start);
	session->in_end -= session->in_start;
	session->in_start = 0;
	*room = IN_BYTES - session->in_end;
	return session->in + session->in_end;
}

void session_fed(struct session *session, size_t count)
{
	if (session->state == STATE_OVER)
		return;
	assert(count <= IN_BYTES - session->in_end);
	session->in_end += count;
}

enum session_need session_need(struct session *session)
{
	struct err err;

	if ((session->state == STATE_HELLO || session->state == STATE_OPEN) &&
	    look(session, &err) < 0)
		session_refuse(session, err.text);
	switch (session->state) {
	case STATE_CLAIM:
		return SESSION_CLAIM;
	case STATE_PAYLOAD:
		return SESSION_PAYLOAD;
	case STATE_OVER:
		return SESSION_OVER;
	case STATE_HELLO:
	case STATE_OPEN:
		break;
	}
	return SESSION_BYTES;
}

const struct ackproto_hello *session_hello(const struct session *session)
{
	assert(session->state != STATE_HELLO);
	return &session->hello;
}

const uint8_t *session_payload(const struct session *session, uint32_t *length)
{
	assert(session->state == STATE_PAYLOAD);
	*length = session->length;
	return session->in + session->in_start + ACKPROTO_HEADER_BYTES;
}

void session_welcome(struct session *session,
		     const struct ackproto_welcome *welcome)
{
	uint8_t payload[ACKPROTO_WELCOME_BYTES];

	assert(session->state == STATE_CLAIM);
	ackproto_encode_welcome(welcome, payload);
	answer(session, ACKPROTO_WELCOME, payload, sizeof(payload));
	session->state = STATE_OPEN;
}

void session_take(struct session *session)
{
	assert(session->state == STATE_PAYLOAD);
	session->taken++;
	session->has_run = true;
	session->in_start += ACKPROTO_HEADER_BYTES + session->length;
	session->state = STATE_OPEN;
}

bool session_is_waiting(const struct session *session)
{
	return session->state != STATE_OVER &&
	       session->taken > session->confirmed;
}

void session_confirm(struct session *session)
{
	assert(session_is_waiting(session));
	session->confirmed = session->taken;
	answer(session, ACKPROTO_CONFIRM, NULL, 0);
}

void session_refuse(struct session *session, const char *reason)
{
	if (session->state == STATE_OVER)
		return;
	session->state = STATE_OVER;
	(void)snprintf(session->reason, sizeof(session->reason), "%s", reason);
	answer(session, ACKPROTO_REFUSE, (const uint8_t *)session->reason,
	       (uint32_t)strlen(session->reason));
}

const char *session_reason(const struct session *session)
{
	return session->reason;
}

bool session_is_idle(const struct session *session)
{
	return session->state == STATE_OPEN &&
	       session->in_start == session->in_end &&
	       session->out_start == session->out_end;
}

const uint8_t *session_output(const struct session *session, size_t *count)
{
	*count = session->out_end - session->out_start;
	return session->out + session->out_start;
}

void session_sent(struct session *session, size_t count)
{
	assert(count <= session->out_end - session->out_start);
	session->out_start += count;
	if (session->out_start < session->out_end)
		return;
	session->out_start = 0;
	session->out_end = 0;
}
