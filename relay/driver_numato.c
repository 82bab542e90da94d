/* SPDX-License-Identifier: MIT */
/*
 * numato - Numato Lab's USB relay modules, which are talked to in words.
 *
 * "relay on 0" and a carriage return; the module repeats the line, answers
 * where there is something to say ("relay read 0": "on" or "off"), and prompts
 * with ">". Relays count from 0, as printed on the module. A carriage return
 * alone brings the prompt: it ends what an earlier user may have left half
 * written, and is sent in front of every command.
 *
 * How the relay is written depends on the module: one sign for those with up
 * to 32 (0-9, A-F, A-V; lower case is taken as well by some), two digits for
 * those with 64, and, some say, for those with 32. A module that takes one sign
 * alone may understand "03" as 0, which reading back cannot show: only the
 * contact itself can.
 *
 * Sources: numato/samplecode RelayAndGPIOModules/USBRelayAndGPIOModules;
 * pdudaemon/pdudaemon pdudaemon/drivers/numatousb.py;
 * clearpathrobotics/numato_relay numato_relay.py.
 */
#include "relay/driver.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/answer.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/port.h"

#define CHANNELS_MAX     64U
#define SINGLE_MAX       32U /* so many have a sign of their own */
#define COMMAND_BYTES    32U
#define ANSWER_BYTES_MAX 128U
#define PROMPT           '>'
#define BLANKS           " \t\r\n"

static const struct driver_key keys[] = {
	{"relays", "how many the module has: 1 to 16, 32 or 64", "16", false},
	{"token",
	 "how it wants them written: auto, upper (A), lower (a), decimal (10)",
	 "auto", false},
	{NULL, NULL, NULL, false},
};

enum token { TOKEN_AUTO, TOKEN_UPPER, TOKEN_LOWER, TOKEN_DECIMAL, TOKENS };

static enum token token_of(const struct outlet *outlet)
{
	static const char *const words[TOKENS] = {"auto", "upper", "lower",
						  "decimal"};
	const char *text = outlet_option(outlet, "token");
	enum token token = TOKEN_AUTO;

	while (token < TOKENS && strcmp(text, words[token]) != 0)
		token++;
	return token;
}

static int numato_check(const struct outlet *outlet, struct err *err)
{
	enum token token = token_of(outlet);
	uint64_t relays = 0;

	if (outlet_number(outlet, "relays", 1, CHANNELS_MAX, &relays, err) < 0)
		return -1;
	if (relays > 16 && relays != 32 && relays != 64)
		return err_set(err, "relays: %u is not 1 to 16, 32 or 64",
			       (unsigned int)relays);
	if (outlet->channel >= relays)
		return err_set(err,
			       "relays: %u, counted from 0, and the channel is "
			       "%u",
			       (unsigned int)relays, outlet->channel);
	if (token == TOKENS)
		return err_set(err,
			       "token: %.40s is neither auto, upper, lower nor "
			       "decimal",
			       outlet_option(outlet, "token"));
	if (relays > SINGLE_MAX && token != TOKEN_AUTO &&
	    token != TOKEN_DECIMAL)
		return err_set(err, "token: %u relays have no single signs",
			       (unsigned int)relays);
	return 0;
}

/* "relay VERB CHANNEL" and the carriage return. */
static void make_command(const struct outlet *outlet, const char *verb,
			 char command[COMMAND_BYTES])
{
	static const char upper[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
	static const char lower[] = "0123456789abcdefghijklmnopqrstuv";
	enum token token = token_of(outlet);
	uint64_t relays = 0;
	struct err unused;

	assert(token != TOKENS); /* numato_check() */

	if (outlet_number(outlet, "relays", 1, CHANNELS_MAX, &relays, &unused) <
	    0)
		relays = 0;
	if (token == TOKEN_AUTO)
		token = relays > SINGLE_MAX ? TOKEN_DECIMAL : TOKEN_UPPER;
	assert(outlet->channel < relays);
	assert(token == TOKEN_DECIMAL || outlet->channel < SINGLE_MAX);

	if (token == TOKEN_DECIMAL)
		(void)snprintf(command, COMMAND_BYTES, "relay %s %02u\r", verb,
			       outlet->channel);
	else
		(void)snprintf(command, COMMAND_BYTES, "relay %s %c\r", verb,
			       (token == TOKEN_UPPER ? upper
						     : lower)[outlet->channel]);
}

/*
 * What stands between the repeated line and the prompt, without blanks around
 * it, "" for nothing; NULL where the COUNT bytes of ANSWER are not made so.
 * ANSWER is changed.
 */
static char *find_words(uint8_t *answer, size_t count, const char *command)
{
	const size_t length = strlen(command) - 1; /* its end is not repeated */
	char *text = (char *)answer;
	size_t end = 0;

	if (count == 0 || text[count - 1] != PROMPT ||
	    memchr(text, '\0', count) != NULL)
		return NULL;
	text[count - 1] = '\0';
	text += strspn(text, BLANKS);
	if (strncmp(text, command, length) != 0 ||
	    (text[length] != '\r' && text[length] != '\n'))
		return NULL;
	text += length + strspn(text + length, BLANKS);
	end = strlen(text);
	while (end > 0 && strchr(BLANKS, text[end - 1]) != NULL)
		text[--end] = '\0';
	return text;
}

/*
 * Brings the prompt and sends COMMAND: 1 with the WORDS of the answer, which
 * stand in ANSWER; 0 where nothing was said at all; or -1. The answer to a
 * question is read until the module falls silent: behind an answer that was
 * late comes the right one.
 */
static int talk(struct port *port, const char *command, bool is_question,
		uint8_t answer[ANSWER_BYTES_MAX], char **words,
		uint64_t deadline_ns, struct err *err)
{
	uint8_t shown[ANSWER_BYTES_MAX];
	ssize_t count =
		answer_ask_until(port, "\r", 1, answer, ANSWER_BYTES_MAX,
				 PROMPT, deadline_ns, err);

	if (count <= 0)
		return (int)count;
	if (answer[count - 1] != PROMPT)
		return answer_refuse(answer, (size_t)count, "a bare return",
				     err);
	count = is_question ? answer_ask(port, command, strlen(command), answer,
					 ANSWER_BYTES_MAX, deadline_ns, err)
			    : answer_ask_until(port, command, strlen(command),
					       answer, ANSWER_BYTES_MAX, PROMPT,
					       deadline_ns, err);
	if (count < 0)
		return -1;
	if (count == 0)
		return err_set(err, "the module gave its prompt, and no answer "
				    "to the command");
	memcpy(shown, answer, (size_t)count);
	*words = find_words(answer, (size_t)count, command);
	if (*words == NULL)
		return answer_refuse(shown, (size_t)count, "the command", err);
	return 1;
}

static int numato_set(struct port *port, const struct outlet *outlet,
		      enum relay_state state, uint64_t deadline_ns,
		      struct err *err)
{
	uint8_t answer[ANSWER_BYTES_MAX];
	char command[COMMAND_BYTES], *words = NULL;
	int rc = 0;

	make_command(outlet, state == RELAY_ON ? "on" : "off", command);
	rc = talk(port, command, false, answer, &words, deadline_ns, err);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return err_set(err, "the module does not prompt");
	if (*words != '\0')
		return err_set(err, "the module does not take \"%.*s\": %.40s",
			       (int)strlen(command) - 1, command, words);
	return 0;
}

static int numato_get(struct port *port, const struct outlet *outlet,
		      enum relay_state *state, uint64_t deadline_ns,
		      struct err *err)
{
	uint8_t answer[ANSWER_BYTES_MAX];
	char command[COMMAND_BYTES], *words = NULL;
	int rc = 0;

	make_command(outlet, "read", command);
	rc = talk(port, command, true, answer, &words, deadline_ns, err);
	if (rc <= 0)
		return rc;
	if (strcmp(words, "on") == 0)
		*state = RELAY_ON;
	else if (strcmp(words, "off") == 0)
		*state = RELAY_OFF;
	else
		return err_set(err,
			       "the module answers \"%.*s\" with \"%.40s\", "
			       "which is neither on nor off",
			       (int)strlen(command) - 1, command, words);
	return 1;
}

const struct relay_driver driver_numato = {
	.name = "numato",
	.boards = "Numato Lab USB relay modules, 1 to 64 relays",
	.link = DRIVER_LINK_LINE,
	.baud = 9600, /* USB alone: any will do */
	.channel_first = 0,
	.channel_last = CHANNELS_MAX - 1,
	.keys = keys,
	.settle_ms = 10,
	.answer_ms = 500,
	.shortest_ms = 50,
	.check = numato_check,
	.set = numato_set,
	.get = numato_get,
};
