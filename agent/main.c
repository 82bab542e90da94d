/* SPDX-License-Identifier: MIT */
/*
 * plugpull-agent - runs the writer and the verifier on a host that loses power,
 * at the word of one that keeps it.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agentcall.h"
#include "agent/agentserve.h"
#include "common/base/err.h"
#include "common/base/options.h"
#include "common/net/channel.h"

#define PROGRAM            "plugpull-agent"
#define EXIT_TROUBLE       255 /* as ssh: no program's own status */
#define TIMEOUT_DEFAULT_MS 60000
#define TIMEOUT_MAX_MS     86400000

struct settings {
	const char *connect, *listen, *key, *programs;
	uint64_t timeout_ms;
	char **words;
	size_t count;
};

static volatile sig_atomic_t stop;

static void ask_to_stop(int number)
{
	(void)number;
	if (stop < 2)
		stop++;
}

static void say(const char *text)
{
	const char *end;

	while ((end = strchr(text, '\n')) != NULL) {
		fprintf(stderr, PROGRAM ": %.*s\n", (int)(end - text), text);
		text = end + 1;
	}
	fprintf(stderr, PROGRAM ": %s\n", text);
}

/* SIGINT, SIGTERM and SIGHUP arrive only while WAIT_MASK is in force. */
static void set_signals(sigset_t *wait_mask)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction asked = {.sa_handler = ask_to_stop};
	struct sigaction ignored = {.sa_handler = SIG_IGN};
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < 3; i++) {
		sigaddset(&blocked, numbers[i]);
		if (sigaction(numbers[i], &asked, NULL) < 0)
			abort(); /* our own mistake: constant arguments */
	}
	if (sigprocmask(SIG_BLOCK, &blocked, wait_mask) < 0 ||
	    sigaction(SIGPIPE, &ignored, NULL) < 0)
		abort(); /* our own mistake, as well */
	for (size_t i = 0; i < 3; i++)
		sigdelset(wait_mask, numbers[i]);
}

/* The folder that this program is in. */
static int own_folder(char folder[PATH_MAX], struct err *err)
{
	ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (length < 0)
		return err_set(err, "cannot find the folder of this program; "
				    "say --programs");
	folder[length] = '\0';
	slash = strrchr(folder, '/');
	if (slash != NULL)
		*slash = '\0';
	return 0;
}

static int serve(const struct settings *settings, const struct channel_key *key,
		 struct err *err)
{
	char folder[PATH_MAX];
	sigset_t wait_mask;
	const struct agentserve_config config = {
		.address = settings->connect,
		.key = key,
		.folder = settings->programs ? settings->programs : folder,
		.say = say,
		.stop = &stop,
		.wait_mask = &wait_mask,
	};

	if (settings->programs == NULL && own_folder(folder, err) < 0)
		return -1;
	set_signals(&wait_mask);
	return agentserve_run(&config, err);
}

static int call(const struct settings *settings, const struct channel_key *key,
		struct err *err)
{
	sigset_t wait_mask;
	const struct agentcall_config config = {
		.address = settings->listen,
		.key = key,
		.timeout_ms = settings->timeout_ms,
		.words = settings->words,
		.count = settings->count,
		.say = say,
		.stop = &stop,
		.wait_mask = &wait_mask,
	};

	set_signals(&wait_mask);
	return agentcall_run(&config, err);
}

/* The exit status; -1: trouble. */
static int work(const struct settings *settings, struct err *err)
{
	struct channel_key *key = NULL;
	int result;

	if (settings->key != NULL) {
		key = channel_key_load(settings->key, err);
		if (key == NULL)
			return -1;
	}
	result = settings->connect != NULL ? serve(settings, key, err)
					   : call(settings, key, err);
	channel_key_free(key);
	return result;
}

static int check_settings(struct settings *settings, int operands, char **argv,
			  struct err *err)
{
	const char *command = operands > 0 ? argv[1] : "";
	bool is_serve = strcmp(command, "serve") == 0;

	if (!is_serve && strcmp(command, "call") != 0)
		return err_set(err, "say serve or call");
	if (is_serve && operands > 1)
		return err_set(err, "unexpected argument %s", argv[2]);
	if (is_serve != (settings->connect != NULL) ||
	    is_serve == (settings->listen != NULL))
		return err_set(err, "serve wants --connect, call --listen");
	if (!is_serve && settings->programs != NULL)
		return err_set(err, "--programs belongs to serve");
	if (!is_serve && operands < 2)
		return err_set(err, "call wants -- and a command");
	settings->words = argv + 2;
	settings->count = operands < 2 ? 0 : (size_t)operands - 1;
	return 0;
}

static const char description[] =
	"serve: on the host that loses power, dial the controller for ever and "
	"run writer\nand verifier for it. call: on the host that keeps power, "
	"wait for the agent and\nhave it run a command, as ssh would.";

static const char exit_status[] =
	"call: that of the command, 128 and the signal that ended it,\n"
	"126 refused by the agent, 127 not there, 255 no agent or connection "
	"lost.\nserve: 0 stopped as told, 255 anything else.";

static const char examples[] =
	"plugpull-agent serve --connect bench:7412 --key rig.key\n"
	"plugpull-agent call --listen :7412 --key rig.key -- \\\n"
	"    plugpull-verifier --target /dev/nvme0n1 --acklog - --json -";

static enum option_outcome parse(struct settings *settings, int argc,
				 char **argv, struct err *err)
{
	const struct option_row rows[] = {
		{"connect", 'c', OPTION_TEXT, &settings->connect, "<address>",
		 "serve: HOST:PORT, [V6]:PORT or unix:PATH to dial", 0, 0,
		 NULL},
		{"listen", 'l', OPTION_TEXT, &settings->listen, "<address>",
		 "call: where the agent dials in", 0, 0, NULL},
		{"key", 'k', OPTION_TEXT, &settings->key, "<file>",
		 "the key that both ends have; without it nothing\n"
		 "leaves this host",
		 0, 0, NULL},
		{"programs", 0, OPTION_TEXT, &settings->programs, "<dir>",
		 "serve: where writer and verifier are (default:\n"
		 "beside this program)",
		 0, 0, NULL},
		{"timeout", 0, OPTION_DURATION, &settings->timeout_ms,
		 "<duration>",
		 "call: how long to wait for the agent (default 60s)", 1,
		 TIMEOUT_MAX_MS, NULL},
		{0},
	};
	const struct option_page page = {
		.program = PROGRAM,
		.usage = "serve --connect <address> [--key <file>]\n"
			 "call --listen <address> [--key <file>] -- "
			 "<command>...",
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
	return check_settings(settings, operands, argv, err) < 0 ? OPTIONS_BAD
								 : OPTIONS_GO;
}

int main(int argc, char **argv)
{
	struct settings settings = {.timeout_ms = TIMEOUT_DEFAULT_MS};
	struct err err = {""};
	enum option_outcome outcome = parse(&settings, argc, argv, &err);
	int status;

	if (outcome == OPTIONS_HELP || outcome == OPTIONS_VERSION)
		return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_TROUBLE;
	if (outcome == OPTIONS_BAD) {
		say(err.text);
		fprintf(stderr, "Try '" PROGRAM " --help'.\n");
		return EXIT_TROUBLE;
	}
	status = work(&settings, &err);
	if (status < 0) {
		say(err.text);
		return EXIT_TROUBLE;
	}
	return status;
}
