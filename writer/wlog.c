/* SPDX-License-Identifier: MIT */
#include "writer/wlog.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"
#include "writer/wgone.h"
#include "writer/wprogress.h"
#include "writer/wsettings.h"
#include "writer/wstop.h"

#define CONFIRM_EXTRA_MS 1000 /* beyond what the ack thread itself waits */

int wlog_open(struct wlog *log, const struct wsettings *settings,
	      struct wstop *stop, struct err *err)
{
	struct ackclient_setup setup = {
		.collector = settings->collector,
		.log_path = settings->acklog,
		.is_resume = settings->is_resume,
		.timeout_ms = settings->ack_timeout_ms,
		.stop = stop,
		.note = wprogress_note,
	};

	log->timeout_ms = settings->ack_timeout_ms;
	if (settings->key) {
		log->key = channel_key_load(settings->key, err);
		if (!log->key)
			return -1;
	}
	setup.key = log->key;
	memcpy(setup.run_id, settings->run_id, RUN_ID_BYTES);
	log->acks = ackclient_open(&setup, &log->before, err);
	return log->acks ? 0 : -1;
}

int wlog_close(struct wlog *log, struct err *err)
{
	int status = ackclient_close(log->acks, err);

	channel_key_free(log->key);
	return status;
}

int wlog_say(struct wlog *log, enum ackbody_type type, struct err *err)
{
	log->body.type = type;
	return ackclient_say(log->acks, &log->body, err);
}

int wlog_say_limit(struct wlog *log, enum ackbody_type type, uint16_t stream,
		   uint64_t sequence, struct err *err)
{
	log->body.limit.stream = stream;
	log->body.limit.sequence = sequence;
	return wlog_say(log, type, err);
}

static int say_text(struct wlog *log, enum ackbody_type type,
		    enum ackbody_event event, const char *text, struct err *err)
{
	struct ackbody_note *note = &log->body.note;

	memset(note, 0, sizeof(*note));
	note->event = event;
	note->at_ns = clock_monotonic_ns();
	(void)snprintf(note->text, sizeof(note->text), "%.*s",
		       (int)strcspn(text, "\n"), text);
	return wlog_say(log, type, err);
}

int wlog_say_note(struct wlog *log, enum ackbody_event event, const char *text,
		  struct err *err)
{
	return say_text(log, ACKBODY_EVENT, event, text, err);
}

int wlog_say_end(struct wlog *log, const char *text, struct err *err)
{
	return say_text(log, ACKBODY_END, ACKBODY_EVENT_NOTE, text, err);
}

/* When it went, behind REASON. */
static void add_gone(struct wgone *gone, struct wstop *stop, struct err *reason)
{
	struct wgone_words words;
	char text[256];

	if (gone == NULL)
		return;
	wgone_words(gone, stop, &words);
	wgone_tell(&words, text, sizeof(text));
	gone->is_event_told = words.action != UEVENT_OTHER;
	reason->text[strcspn(reason->text, "\n")] = '\0';
	if (text[0] != '\0') {
		struct err first = *reason;

		(void)err_set(reason, "%.250s (%s)", first.text, text);
	}
}

void wlog_say_failure(struct wlog *log, struct wstop *stop)
{
	enum ackbody_event event = ACKBODY_EVENT_ERROR;
	struct err reason;
	struct err err; /* an ack log that fails too is told at the end */

	if (log->is_failure_said || !wstop_has_failed(stop))
		return;
	log->is_failure_said = true;
	wstop_reason(stop, &reason);
	if (atomic_load(&stop->is_unsent)) /* P9: whatever came behind it */
		event = ACKBODY_EVENT_UNSENT;
	else if (atomic_load(&stop->is_gone))
		event = ACKBODY_EVENT_CUT_SEEN;
	if (event == ACKBODY_EVENT_CUT_SEEN)
		add_gone(log->gone, stop, &reason);
	(void)wlog_say_note(log, event, reason.text, &err);
}

int wlog_confirm(struct wlog *log, struct err *err)
{
	return ackclient_wait(log->acks, log->timeout_ms + CONFIRM_EXTRA_MS,
			      err);
}
