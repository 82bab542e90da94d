/* SPDX-License-Identifier: MIT */
/*
 * plugpull-relay - cut the power of one outlet and give it back.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/options.h"
#include "relay/driver.h"
#include "relay/drivers.h"
#include "relay/outlets.h"
#include "relay/relay.h"
#include "relay/relayprobe.h"
#include "relay/relays.h"
#include "relay/relaysession.h"

#define PROGRAM         "plugpull-relay"
#define STATUS_TROUBLE  2
#define OFF_TIME_MS     5000U
#define OFF_TIME_MS_MAX 86400000U
#define OUTLETS_FILE    "/etc/plugpull/outlets.ini"

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

/* ---- what was done ---- */

static void tell_proof(enum relay_proof proof)
{
	if (proof == RELAY_PROOF_NONE)
		(void)fprintf(stderr, PROGRAM ": this board cannot be read "
					      "back\n");
	if (proof == RELAY_PROOF_SILENT)
		(void)fprintf(stderr, PROGRAM ": the board did not answer; its "
					      "state cannot be read back\n");
}

static void tell_skew(size_t count, const struct relays_told *told)
{
	if (count > 1)
		(void)fprintf(stderr,
			      PROGRAM
			      ": %zu outlets, %.3f ms between the first "
			      "and the last\n",
			      count, (double)told->skew_ns / 1e6);
}

/* "1-8", "read back", ... */
static void list_driver(const struct relay_driver *driver)
{
	char channels[32];

	(void)snprintf(channels, sizeof(channels), "%u-%u",
		       driver->channel_first, driver->channel_last);
	(void)printf("%-14s %-5s %-9s %-6s %s\n", driver->name,
		     driver->channel_last > driver->channel_first ? channels
								  : "1",
		     driver->get == NULL ? "-" : "read-back",
		     driver->pulse_for == NULL ? "-" : "timed", driver->boards);
}

static int list_drivers(void)
{
	for (size_t i = 0; drivers_all[i] != NULL; i++)
		list_driver(drivers_all[i]);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static void describe_key(const struct driver_key *key)
{
	(void)printf("  %-14s %s", key->name, key->help);
	if (key->is_secret)
		(void)printf("; a file that holds it, mode 600");
	if (key->otherwise == NULL)
		(void)printf("; must be given");
	else if (*key->otherwise != '\0')
		(void)printf("; otherwise %s", key->otherwise);
	(void)putchar('\n');
}

static void describe_pulse(const struct driver_pulse *pulse)
{
	(void)printf("timed by the board: %s%s%s, %g s to %g s in steps of %g "
		     "s\n",
		     pulse->has_off ? "off" : "",
		     pulse->has_off && pulse->has_on ? " or " : "",
		     pulse->has_on ? "on" : "", pulse->min_ms / 1e3,
		     pulse->max_ms / 1e3, pulse->step_ms / 1e3);
}

static int describe_driver(const char *name)
{
	const struct relay_driver *driver = drivers_find(name);
	const struct driver_key *key;
	struct err err;

	if (driver == NULL) {
		(void)err_set(&err, "there is no driver \"%.80s\"", name);
		return complain(&err);
	}
	(void)printf("%s: %s\nchannels %u to %u; %s\n", driver->name,
		     driver->boards, driver->channel_first,
		     driver->channel_last,
		     driver->get == NULL ? "cannot be read back"
					 : "can be read back");
	if (driver->pulse_for != NULL)
		describe_pulse(&driver->pulse);
	if (driver->is_held)
		(void)puts("keeps its state only as long as its port is open: "
			   "use \"session\"");
	if (driver->shortest_ms > 0)
		(void)printf("the shortest interruption: %u ms\n",
			     driver->shortest_ms);
	for (key = driver->keys; key != NULL && key->name != NULL; key++)
		describe_key(key);
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static void tell_found(void *context, const struct relayprobe_found *found)
{
	size_t *count = context;

	++*count;
	(void)printf("%s: %s, at %s\n  drivers: %s%s%s\n", found->device,
		     found->usb, found->place, found->drivers,
		     *found->warning == '\0' ? "" : "; ", found->warning);
}

/* Nothing is opened, and nothing is switched. */
static int probe(void)
{
	size_t count = 0;
	struct err err;

	if (relayprobe_look("/sys", tell_found, &count, &err) < 0)
		return complain(&err);
	if (count == 0)
		(void)fprintf(stderr, PROGRAM ": nothing on USB looks like a "
					      "board\n");
	else
		(void)fprintf(stderr,
			      PROGRAM ": name a board by its path below "
				      "/dev/serial/by-path: its number "
				      "is another one after the next "
				      "plug\n");
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static int print_status(struct relays *relays, struct relays_told *told,
			struct err *err)
{
	if (relays_read(relays, told, err) < 0)
		return -1;
	if (told->proof != RELAY_PROOF_READ_BACK)
		(void)puts("unknown");
	else
		(void)puts(told->power == RELAY_ON ? "on" : "off");
	if (fflush(stdout) != 0)
		return err_set(err, "cannot write to the standard output");
	return 0;
}

/* ---- doing it ---- */

struct order {
	const char *command;
	const char *outlet, *file;
	uint64_t off_ms;
	size_t count;
	struct outlet outlets[OUTLETS_MEMBERS_MAX];
};

/* DRIVER:ADDRESS[:CHANNEL], or a name of the file. */
static int find_outlets(struct order *order, struct err *err)
{
	struct outlets *outlets = NULL;

	if (strchr(order->outlet, ':') != NULL) {
		order->count = 1;
		return outlet_parse(order->outlet, &order->outlets[0], err);
	}
	outlets = outlets_load(order->file, err);
	if (outlets == NULL)
		return -1;
	order->count =
		outlets_find(outlets, order->outlet, order->outlets, err);
	outlets_free(outlets);
	return order->count == 0 ? -1 : 0;
}

/* What one of several asks for, all get; off is asked for louder than on. */
static enum outlet_lost when_lost(const struct order *order)
{
	enum outlet_lost lost = OUTLET_LOST_KEEP;

	for (size_t i = 0; i < order->count; i++)
		if (order->outlets[i].when_lost > lost)
			lost = order->outlets[i].when_lost;
	return lost;
}

static bool is_held(const struct order *order)
{
	for (size_t i = 0; i < order->count; i++)
		if (order->outlets[i].driver->is_held)
			return true;
	return false;
}

static int carry_out(const struct order *order, struct relays *relays,
		     struct relays_told *told, struct err *err)
{
	const char *command = order->command;

	if (strcmp(command, "session") == 0)
		return relaysession_run(relays, when_lost(order), STDIN_FILENO,
					STDOUT_FILENO, &is_stopped, err);
	if (strcmp(command, "status") == 0)
		return print_status(relays, told, err);
	if (strcmp(command, "cycle") == 0)
		return relays_cycle(relays, order->off_ms, &is_stopped, told,
				    err);
	if (strcmp(command, "off") == 0 && is_held(order))
		return err_set(err, "this contact keeps its state only as long "
				    "as its port is open\nhint: use "
				    "\"session\", or \"cycle\"");
	return relays_switch(relays,
			     strcmp(command, "on") == 0 ? RELAY_ON : RELAY_OFF,
			     told, err);
}

static int run_command(struct order *order)
{
	struct relays_told told = {.proof = RELAY_PROOF_READ_BACK};
	struct relays *relays = NULL;
	struct err err = {""};
	int rc = 0;

	if (find_outlets(order, &err) < 0)
		return complain_usage(&err);
	relays =
		relays_new(order->outlets, order->count, relay_open_port, &err);
	if (relays == NULL)
		return complain(&err);
	rc = carry_out(order, relays, &told, &err);
	relays_free(relays);
	if (rc < 0)
		return complain(&err);
	tell_proof(told.proof);
	tell_skew(order->count, &told);
	return 0;
}

static bool is_command(const char *word)
{
	static const char *const words[] = {"on", "off", "cycle", "status",
					    "session"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i], word) == 0)
			return true;
	}
	return false;
}

static int check_words(int count, char **argv, const char *outlet,
		       struct err *err)
{
	bool is_list = count > 0 && strcmp(argv[1], "list") == 0;
	bool is_probe = count > 0 && strcmp(argv[1], "probe") == 0;

	if (count == 0)
		return err_set(err, "no command given");
	if (!is_list && !is_probe && !is_command(argv[1]))
		return err_set(err, "unknown command \"%.80s\"", argv[1]);
	if (count > 1 + is_list)
		return err_set(err, "one command is expected, not \"%.80s\"",
			       argv[2 + is_list]);
	if (!is_list && !is_probe && outlet == NULL)
		return err_set(err, "%s needs --outlet", argv[1]);
	return 0;
}

static const char usage[] = "--outlet <outlet> on|off|status|session\n"
			    "--outlet <outlet> [--off-time <time>] cycle\n"
			    "list [<driver>]\n"
			    "probe";
static const char description[] =
	"Cut the power of one outlet, or give it back.\n\n"
	"Commands:\n"
	" on, off                    switch, and read back where the board "
	"can\n"
	" cycle                      off, pause, on\n"
	" status                     print on, off, or unknown\n"
	" session                    take these commands from stdin, one a "
	"line\n"
	" list                       print the drivers, one a line; or what "
	"one "
	"can do\n"
	" probe                      print what on USB may be a board; opens "
	"nothing";
static const char examples[] =
	"plugpull-relay list\n"
	"plugpull-relay -o lcus:/dev/serial/by-path/...-port0:1 off\n"
	"plugpull-relay -o lcus:tcp://127.0.0.1:4001:2 --off-time 10s cycle\n"
	"plugpull-relay -o slot3 off";

int main(int argc, char **argv)
{
	struct order order = {.file = OUTLETS_FILE, .off_ms = OFF_TIME_MS};
	const struct option_row rows[] = {
		{"outlet", 'o', OPTION_TEXT, &order.outlet, "<outlet>",
		 "DRIVER:ADDRESS[:CHANNEL], or a name in the file\n"
		 "of outlets",
		 0, 0, NULL},
		{"outlets", 'f', OPTION_TEXT, &order.file, "<file>",
		 "INI file of outlets (default: " OUTLETS_FILE ")", 0, 0, NULL},
		{"off-time", 0, OPTION_DURATION, &order.off_ms, "<time>",
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
	if (check_words(count, argv, order.outlet, &err) < 0)
		return complain_usage(&err);
	if (strcmp(argv[1], "list") == 0)
		return count == 2 ? describe_driver(argv[2]) : list_drivers();
	if (strcmp(argv[1], "probe") == 0)
		return probe();
	order.command = argv[1];
	set_up_signals();
	return run_command(&order);
}
