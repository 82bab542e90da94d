/* SPDX-License-Identifier: MIT */
/*
 * custom - a board that no driver knows and whose words its user does: bytes
 * for on and for off, and if it can be asked, a question and its two answers.
 *
 *   on = A0 01 01 A2
 *   off = 'relay off\r'
 *   query = '?\r\n'
 *   reply_on = 'ON'
 *   reply_off = 'OFF'
 *   match = contains
 *
 * An answer is what comes until the board falls silent. It must be one of the
 * two, whole, or contain one of them and not the other. Bytes that could say
 * both, and questions whose echo would be an answer, are refused before
 * anything is sent. What a board says to on and off is not listened to.
 */
#include "relay/driver.h"

#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/bytestring.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define ANSWER_BYTES_MAX 512U
#define BYTES_HELP       "A0 01, or 'text' with \\r \\n \\x00"

static const struct driver_key keys[] = {
	{"on", "what switches it on: " BYTES_HELP, NULL, false},
	{"off", "what switches it off", NULL, false},
	{"query", "what asks for the state", "", false},
	{"reply_on", "what it answers when it is on", "", false},
	{"reply_off", "what it answers when it is off", "", false},
	{"match", "the answer is the reply, whole, or contains it", "whole",
	 false},
	{NULL, NULL, NULL, false},
};

struct words {
	struct bytestring on, off, query, reply_on, reply_off;
	bool can_ask, contains;
};

static bool is_given(const struct outlet *outlet, const char *key)
{
	return *outlet_option(outlet, key) != '\0';
}

static int parse(const struct outlet *outlet, const char *key,
		 struct bytestring *bytes, struct err *err)
{
	return bytestring_parse(outlet_option(outlet, key), key, bytes, err);
}

static int read_words(const struct outlet *outlet, struct words *words,
		      struct err *err)
{
	const char *match = outlet_option(outlet, "match");
	const int given = is_given(outlet, "query") +
			  is_given(outlet, "reply_on") +
			  is_given(outlet, "reply_off");

	words->contains = strcmp(match, "contains") == 0;
	if (!words->contains && strcmp(match, "whole") != 0)
		return err_set(err,
			       "match: %.40s is neither whole nor contains",
			       match);
	if (given != 0 && given != 3)
		return err_set(err, "query, reply_on and reply_off: all three "
				    "are needed, or none");
	words->can_ask = given == 3;
	if (parse(outlet, "on", &words->on, err) < 0 ||
	    parse(outlet, "off", &words->off, err) < 0)
		return -1;
	if (!words->can_ask)
		return 0;
	if (parse(outlet, "query", &words->query, err) < 0 ||
	    parse(outlet, "reply_on", &words->reply_on, err) < 0)
		return -1;
	return parse(outlet, "reply_off", &words->reply_off, err);
}

static bool are_same(const struct bytestring *one,
		     const struct bytestring *other)
{
	return bytestring_is(one, other->bytes, other->count);
}

/* Is ANSWER, of COUNT bytes, taken for REPLY? */
static bool matches(const struct words *words, const struct bytestring *reply,
		    const void *answer, size_t count)
{
	return words->contains ? bytestring_is_in(reply, answer, count)
			       : bytestring_is(reply, answer, count);
}

static int check_question(const struct words *words, struct err *err)
{
	const struct bytestring *query = &words->query;
	const struct bytestring *on = &words->reply_on,
				*off = &words->reply_off;

	if (are_same(query, &words->on) || are_same(query, &words->off))
		return err_set(err, "query: it would switch");
	if (matches(words, on, off->bytes, off->count) ||
	    matches(words, off, on->bytes, on->count))
		return err_set(err, "reply_on and reply_off: an answer could "
				    "be both");
	if (matches(words, on, query->bytes, query->count) ||
	    matches(words, off, query->bytes, query->count))
		return err_set(err, "query: its echo would be taken for an "
				    "answer");
	return 0;
}

static int custom_check(const struct outlet *outlet, struct err *err)
{
	struct words words;

	if (read_words(outlet, &words, err) < 0)
		return -1;
	if (are_same(&words.on, &words.off))
		return err_set(err, "on and off: are the same");
	return words.can_ask ? check_question(&words, err) : 0;
}

static int custom_set(struct port *port, const struct outlet *outlet,
		      enum relay_state state, uint64_t deadline_ns,
		      struct err *err)
{
	const struct bytestring *bytes = NULL;
	struct words words;

	if (read_words(outlet, &words, err) < 0)
		return -1;
	bytes = state == RELAY_ON ? &words.on : &words.off;
	return port_write(port, bytes->bytes, bytes->count, deadline_ns, err);
}

static int custom_get(struct port *port, const struct outlet *outlet,
		      enum relay_state *state, uint64_t deadline_ns,
		      struct err *err)
{
	uint8_t answer[ANSWER_BYTES_MAX];
	struct words words;
	bool is_on = false, is_off = false;
	ssize_t count = 0;

	if (read_words(outlet, &words, err) < 0)
		return -1;
	if (!words.can_ask)
		return 0;
	count = answer_ask(port, words.query.bytes, words.query.count, answer,
			   sizeof(answer), deadline_ns, err);
	if (count <= 0)
		return (int)count;
	is_on = matches(&words, &words.reply_on, answer, (size_t)count);
	is_off = matches(&words, &words.reply_off, answer, (size_t)count);
	if (is_on == is_off)
		return answer_refuse(answer, (size_t)count, "query", err);
	*state = is_on ? RELAY_ON : RELAY_OFF;
	return 1;
}

const struct relay_driver driver_custom = {
	.name = "custom",
	.boards = "any board, with the bytes that its user gives",
	.link = DRIVER_LINK_LINE,
	.baud = 9600,
	.channel_first = 1,
	.channel_last = 1,
	.keys = keys,
	.settle_ms = 100,
	.answer_ms = 1000,
	.shortest_ms = 50,
	.check = custom_check,
	.set = custom_set,
	.get = custom_get,
};
