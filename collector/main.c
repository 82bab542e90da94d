/* SPDX-License-Identifier: MIT */
/*
 * plugpull-collector - keeps acknowledgements on a machine that keeps power.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/bounds.h"
#include "collector/collector.h"
#include "collector/send.h"
#include "common/ackfile/condense.h"
#include "common/base/err.h"
#include "common/base/options.h"
#include "common/net/channel.h"

#define PROGRAM            "plugpull-collector"
#define EXIT_TROUBLE       2
#define TIMEOUT_DEFAULT_MS 10000
#define TIMEOUT_MAX_MS     3600000

struct settings {
	const char *listen, *dir, *key, *new_key, *bounds, *output;
	uint64_t timeout_ms;
	struct send_order order;
};

static volatile sig_atomic_t stop;

static void ask_to_stop(int number)
{
	(void)number;
	stop = 1;
}

/* A second line of the error is its hint. */
static void say(const char *line)
{
	const char *hint = strchr(line, '\n');

	if (hint == NULL) {
		fprintf(stderr, PROGRAM ": %s\n", line);
		return;
	}
	fprintf(stderr, PROGRAM ": %.*s\n", (int)(hint - line), line);
	fprintf(stderr, PROGRAM ": %s\n", hint + 1);
}

/* SIGINT and SIGTERM arrive only while WAIT_MASK is in force. A log at the
 * limit of file sizes is an error like a full disk, not the end. */
static void set_signals(sigset_t *wait_mask)
{
	struct sigaction asked = {.sa_handler = ask_to_stop};
	struct sigaction ignored = {.sa_handler = SIG_IGN};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &blocked, wait_mask) < 0 ||
	    sigaction(SIGINT, &asked, NULL) < 0 ||
	    sigaction(SIGTERM, &asked, NULL) < 0 ||
	    sigaction(SIGPIPE, &ignored, NULL) < 0 ||
	    sigaction(SIGXFSZ, &ignored, NULL) < 0)
		abort(); /* our own mistake: the arguments are constant */
	sigdelset(wait_mask, SIGINT);
	sigdelset(wait_mask, SIGTERM);
}

static int print_bounds(const struct settings *settings, struct err *err)
{
	struct condense_facts facts = {0};
	char line[128];

	if (bounds_write(settings->bounds, settings->output, &facts, err) < 0)
		return -1;
	if (facts.torn_bytes > 0) {
		(void)snprintf(line, sizeof(line),
			       "%" PRIu64 " bytes of an unfinished record "
			       "were left out",
			       facts.torn_bytes);
		say(line);
	}
	return 0;
}

static int serve(const struct settings *settings, const struct channel_key *key,
		 struct err *err)
{
	const struct collector_config config = {
		.address = settings->listen,
		.dir = settings->dir,
		.key = key,
		.say = say,
	};
	struct collector *collector;
	sigset_t wait_mask;
	int result = -1;

	set_signals(&wait_mask);
	collector = collector_open(&config, err);
	if (collector == NULL)
		return -1;
	if (printf("listening on %s\n", collector_address(collector)) < 0 ||
	    fflush(stdout) != 0)
		err_set(err, "cannot write to standard output");
	else
		result = collector_run(collector, &stop, &wait_mask, err);
	collector_close(collector);
	return result;
}

/* One of the three things that it can be asked for, and what belongs to it. */
static int check_settings(const struct settings *settings, struct err *err)
{
	const struct send_order *order = &settings->order;
	int asked = (settings->listen != NULL) + (settings->new_key != NULL) +
		    (order->event != NULL) + (settings->bounds != NULL);

	if (asked != 1)
		return err_set(err, "one of --listen, --send, --bounds, "
				    "--new-key is wanted");
	if ((settings->listen != NULL) != (settings->dir != NULL))
		return err_set(err, "--listen and --dir belong together");
	if ((order->event != NULL) != (order->run != NULL) ||
	    (order->event != NULL) != (order->address != NULL))
		return err_set(err,
			       "--send, --run and --connect belong together");
	if (order->text != NULL && order->event == NULL)
		return err_set(err, "--text belongs to --send");
	if (settings->output != NULL && settings->bounds == NULL)
		return err_set(err, "--output belongs to --bounds");
	if (settings->bounds != NULL && settings->key != NULL)
		return err_set(err, "--bounds reads a file, and needs no key");
	if (settings->new_key != NULL && settings->key != NULL)
		return err_set(err, "--new-key makes a key, --key uses one");
	return 0;
}

static int work(struct settings *settings, struct err *err)
{
	struct channel_key *key = NULL;
	int result;

	if (settings->new_key != NULL)
		return channel_key_create(settings->new_key, err);
	if (settings->bounds != NULL)
		return print_bounds(settings, err);
	if (settings->key != NULL) {
		key = channel_key_load(settings->key, err);
		if (key == NULL)
			return -1;
	}
	settings->order.key = key;
	settings->order.timeout_ms = settings->timeout_ms;
	if (settings->order.event != NULL)
		result = send_event(&settings->order, err);
	else
		result = serve(settings, key, err);
	channel_key_free(key);
	return result;
}

static const char description[] =
	"Keep the acknowledgements of writers on a machine that keeps power, "
	"one log for\neach run, and answer only what is safe in it.";

static const char exit_status[] =
	"0 stopped as told, the event is on record, or the bounds are out;\n"
	"2 anything else.";

static const char examples[] =
	" plugpull-collector --new-key rig.key\n"
	" plugpull-collector --listen :7411 --dir acks --key rig.key\n"
	" plugpull-collector --send cut-asked --run ID --connect bench:7411 "
	"\\\n"
	"     --key rig.key";

static enum option_outcome parse(struct settings *settings, int argc,
				 char **argv, struct err *err)
{
	struct send_order *order = &settings->order;
	const struct option_row rows[] = {
		{"listen", 'l', OPTION_TEXT, &settings->listen, "<address>",
		 "HOST:PORT, [V6]:PORT or unix:PATH to serve on", 0, 0, NULL},
		{"dir", 'd', OPTION_TEXT, &settings->dir, "<dir>",
		 "where the logs are kept", 0, 0, NULL},
		{"key", 'k', OPTION_TEXT, &settings->key, "<file>",
		 "the key that both ends have; without it nothing\n"
		 "leaves this host",
		 0, 0, NULL},
		{"new-key", 0, OPTION_TEXT, &settings->new_key, "<file>",
		 "make a new key and end", 0, 0, NULL},
		{"send", 's', OPTION_TEXT, &order->event, "<event>",
		 "put an event on record and end: cut-asked,\n"
		 "cut-seen, restored, note or error",
		 0, 0, NULL},
		{"run", 'r', OPTION_TEXT, &order->run, "<id>",
		 "the run that the event belongs to", 0, 0, NULL},
		{"connect", 'c', OPTION_TEXT, &order->address, "<address>",
		 "the collector that has the run", 0, 0, NULL},
		{"text", 't', OPTION_TEXT, &order->text, "<text>",
		 "what else is to be said of the event", 0, 0, NULL},
		{"bounds", 'b', OPTION_TEXT, &settings->bounds, "<file>",
		 "condense a log for a verifier elsewhere, and end", 0, 0,
		 NULL},
		{"output", 'o', OPTION_TEXT, &settings->output, "<file>",
		 "where the bounds go, a new file (default: stdout)", 0, 0,
		 NULL},
		{"timeout", 0, OPTION_DURATION, &settings->timeout_ms,
		 "<duration>", "give up sending after this (default 10s)", 1,
		 TIMEOUT_MAX_MS, NULL},
		{0},
	};
	const struct option_page page = {
		.program = PROGRAM,
		.usage = "--listen <address> --dir <dir> [--key <file>]",
		.description = description,
		.rows = rows,
		.exit_status = exit_status,
		.examples = examples,
	};
	int operands = 0;
	enum option_outcome outcome =
		options_parse(&page, argc, argv, &operands, err);

	if (outcome == OPTIONS_HELP)
		options_print_help(&page, stdout);
	if (outcome == OPTIONS_VERSION)
		options_print_version(&page, stdout);
	if (outcome != OPTIONS_GO)
		return outcome;
	if (operands > 0) {
		err_set(err, "unexpected argument %s", argv[1]);
		return OPTIONS_BAD;
	}
	return check_settings(settings, err) < 0 ? OPTIONS_BAD : OPTIONS_GO;
}

int main(int argc, char **argv)
{
	struct settings settings = {.timeout_ms = TIMEOUT_DEFAULT_MS};
	struct err err = {""};
	enum option_outcome outcome = parse(&settings, argc, argv, &err);

	if (outcome == OPTIONS_HELP || outcome == OPTIONS_VERSION)
		return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_TROUBLE;
	if (outcome == OPTIONS_BAD) {
		say(err.text);
		fprintf(stderr, "Try '" PROGRAM " --help'.\n");
		return EXIT_TROUBLE;
	}
	if (work(&settings, &err) < 0) {
		say(err.text);
		return EXIT_TROUBLE;
	}
	return EXIT_SUCCESS;
}
