/* SPDX-License-Identifier: MIT */
/*
 * plugpull-relay - cut the power of one outlet and give it back.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/options.h"
#include "relay/driver.h"
#include "relay/drivers.h"
#include "relay/outlet.h"
#include "relay/relay.h"

#define PROGRAM         "plugpull-relay"
#define STATUS_TROUBLE  2
#define OFF_TIME_MS     5000U
#define OFF_TIME_MS_MAX 86400000U

static volatile sig_atomic_t is_stopped;

static void note_stop(int number)
{
	(void)number;
	is_stopped = 1;
}

/* A signal ends the pause of a cycle, never a command half way. A board that
 * hangs up is told by write(), not by a signal. */
static void set_up_signals(void)
{
	struct sigaction action = {.sa_handler = note_stop};

	(void)sigaction(SIGINT, &action, NULL); /* cannot fail: all valid */
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &action, NULL);
}

static int complain(const struct err *err)
{
	(void)fprintf(stderr, PROGRAM ": %s\n", err->text);
	return STATUS_TROUBLE;
}

static int complain_usage(const struct err *err)
{
	(void)complain(err);
	(void)fprintf(stderr, "Try '" PROGRAM " --help'.\n");
	return STATUS_TROUBLE;
}

static void tell_proof(const struct outlet *outlet, enum relay_proof proof)
{
	if (proof == RELAY_PROOF_NONE)
		(void)fprintf(stderr,
			      PROGRAM ": %s on %s: this board cannot be read "
				      "back\n",
			      outlet->driver->name, outlet->address);
	if (proof == RELAY_PROOF_SILENT)
		(void)fprintf(stderr,
			      PROGRAM ": %s on %s: no answer to \"status\" "
				      "within %u ms; this board cannot be read "
				      "back\n",
			      outlet->driver->name, outlet->address,
			      outlet->driver->answer_ms);
}

static int list_drivers(void)
{
	for (size_t i = 0; drivers_all[i] != NULL; i++)
		(void)printf("%-6s %s\n", drivers_all[i]->name,
			     drivers_all[i]->boards);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static int print_status(struct relay *relay, enum relay_proof *proof,
			struct err *err)
{
	enum relay_state state = RELAY_OFF;

	if (relay_read(relay, &state, proof, err) < 0)
		return -1;
	if (*proof != RELAY_PROOF_READ_BACK)
		(void)puts("unknown");
	else
		(void)puts(state == RELAY_ON ? "on" : "off");
	if (fflush(stdout) != 0)
		return err_set(err, "cannot write to the standard output");
	return 0;
}

static int run_command(const char *command, const struct outlet *outlet,
		       uint64_t off_ms)
{
	enum relay_proof proof = RELAY_PROOF_READ_BACK;
	struct relay *relay = NULL;
	struct err err = {""};
	int rc = 0;

	relay = relay_new(outlet, relay_open_port, &err);
	if (relay == NULL)
		return complain(&err);
	if (strcmp(command, "status") == 0)
		rc = print_status(relay, &proof, &err);
	else if (strcmp(command, "cycle") == 0)
		rc = relay_cycle(relay, off_ms, &is_stopped, &proof, &err);
	else
		rc = relay_switch(relay,
				  strcmp(command, "on") == 0 ? RELAY_ON
							     : RELAY_OFF,
				  &proof, &err);
	relay_free(relay);
	if (rc < 0)
		return complain(&err);
	tell_proof(outlet, proof);
	return 0;
}

static bool is_command(const char *word)
{
	static const char *const words[] = {"on", "off", "cycle", "status"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i], word) == 0)
			return true;
	}
	return false;
}

static int check_words(int count, char **argv, const char *outlet,
		       struct err *err)
{
	bool is_list = count == 1 && strcmp(argv[1], "list") == 0;

	if (count == 0)
		return err_set(err, "no command given");
	if (!is_list && !is_command(argv[1]))
		return err_set(err, "unknown command \"%.80s\"", argv[1]);
	if (count > 1)
		return err_set(err, "one command is expected, not \"%.80s\"",
			       argv[2]);
	if (!is_list && outlet == NULL)
		return err_set(err, "%s needs --outlet", argv[1]);
	return 0;
}

static const char usage[] = "--outlet <outlet> on|off|status\n"
			    "--outlet <outlet> [--off-time <time>] cycle\n"
			    "list";
static const char description[] =
	"Cut the power of one outlet, or give it back.\n\n"
	"Commands:\n"
	" on, off                    switch, and read back where the board "
	"can\n"
	" cycle                      off, pause, on\n"
	" status                     print on, off, or unknown\n"
	" list                       print the drivers, one a line";
static const char examples[] =
	"plugpull-relay list\n"
	"plugpull-relay -o lcus:/dev/serial/by-path/...-port0:1 off\n"
	"plugpull-relay -o lcus:tcp://127.0.0.1:4001:2 --off-time 10s cycle";

int main(int argc, char **argv)
{
	const char *outlet_text = NULL;
	uint64_t off_ms = OFF_TIME_MS;
	const struct option_row rows[] = {
		{"outlet", 'o', OPTION_TEXT, &outlet_text, "<outlet>",
		 "DRIVER:ADDRESS[:CHANNEL]; the channel is 1\n"
		 "where none is given",
		 0, 0, NULL},
		{"off-time", 0, OPTION_DURATION, &off_ms, "<time>",
		 "how long a cycle keeps power away (default: 5s)", 0,
		 OFF_TIME_MS_MAX, NULL},
		{0},
	};
	const struct option_page page = {
		.program = PROGRAM,
		.usage = usage,
		.description = description,
		.rows = rows,
		.exit_status = "0 done as told, 2 anything else.",
		.examples = examples,
	};
	struct outlet outlet;
	struct err err = {""};
	int count = 0;

	switch (options_parse(&page, argc, argv, &count, &err)) {
	case OPTIONS_HELP:
		options_print_help(&page, stdout);
		return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
	case OPTIONS_VERSION:
		options_print_version(&page, stdout);
		return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
	case OPTIONS_BAD:
		return complain_usage(&err);
	case OPTIONS_GO:
	default:
		break;
	}
	if (check_words(count, argv, outlet_text, &err) < 0)
		return complain_usage(&err);
	if (strcmp(argv[1], "list") == 0)
		return list_drivers();
	if (outlet_parse(outlet_text, &outlet, &err) < 0)
		return complain_usage(&err);
	set_up_signals();
	return run_command(argv[1], &outlet, off_ms);
}
