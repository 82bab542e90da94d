/* SPDX-License-Identifier: MIT */
/*
 * plugpull-writer - write numbered records, acknowledge what is durable.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/options.h"
#include "writer/stream.h"
#include "writer/wlist.h"
#include "writer/woptions.h"
#include "writer/wreport.h"
#include "writer/writer.h"
#include "writer/wsettings.h"
#include "writer/wstop.h"
#include "writer/wsummary.h"

#define PROGRAM      "plugpull-writer"
#define EXIT_TOLD    0
#define EXIT_TROUBLE 2

static struct wstop stop; /* the one stop flag, for signals */

static void handle_signal(int number)
{
	(void)number; /* both mean the same */
	atomic_store(&stop.is_asked, true);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = handle_signal};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

/* The first line of an error, and its hints, each behind the program's name. */
static void print_error(const char *text)
{
	size_t length = strcspn(text, "\n");

	while (length > 0) {
		(void)fprintf(stderr, PROGRAM ": %.*s\n", (int)length, text);
		text += length;
		text += *text == '\n';
		length = strcspn(text, "\n");
	}
}

static int write_json(const struct wsettings *settings,
		      const struct writer_result *result, const char *error)
{
	struct err err;

	if (!settings->json ||
	    wsummary_json(settings->json, result, error, &err) == 0)
		return 0;
	print_error(err.text);
	return -1;
}

static int go(struct wsettings *settings)
{
	struct writer_result result;
	struct err err;
	int status = EXIT_TOLD;

	memset(&result, 0, sizeof(result));
	catch_signals();
	if (writer_run(settings, &stop, &result, &err) < 0)
		status = EXIT_TROUBLE;
	wsummary_end(&result);
	if (status != EXIT_TOLD)
		print_error(err.text);
	if (write_json(settings, &result,
		       status == EXIT_TOLD ? NULL : err.text) < 0)
		status = EXIT_TROUBLE;
	if (fflush(stdout) != 0)
		status = EXIT_TROUBLE;
	stream_await_left();
	return status;
}

static int refuse(const struct err *err)
{
	print_error(err->text);
	(void)fprintf(stderr, "Try '" PROGRAM " --help'.\n");
	return EXIT_TROUBLE;
}

static int list(const struct wsettings *settings)
{
	struct err err;

	if (wlist_run(settings->json, stdout, &err) < 0) {
		print_error(err.text);
		return EXIT_TROUBLE;
	}
	return fflush(stdout) == 0 ? EXIT_TOLD : EXIT_TROUBLE;
}

static int probe(const struct wsettings *settings)
{
	struct err err;
	int status = wreport_run(settings, stdout, &err);

	if (status < 0)
		print_error(err.text);
	return fflush(stdout) == 0 && status == 0 ? EXIT_TOLD : EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
	struct wsettings settings;
	struct woptions options;
	struct err err;
	int operands = 0;

	wstop_init(&stop);
	wsettings_init(&settings);
	woptions_init(&options, &settings);
	switch (options_parse(&options.page, argc, argv, &operands, &err)) {
	case OPTIONS_HELP:
		options_print_help(&options.page, stdout);
		return fflush(stdout) == 0 ? EXIT_TOLD : EXIT_TROUBLE;
	case OPTIONS_VERSION:
		options_print_version(&options.page, stdout);
		return fflush(stdout) == 0 ? EXIT_TOLD : EXIT_TROUBLE;
	case OPTIONS_GO:
		break;
	case OPTIONS_BAD:
		return refuse(&err);
	}
	if (operands == 0 && settings.wants_list)
		return list(&settings);
	if (operands > 0)
		(void)err_set(&err, "'%.80s' is not an option", argv[1]);
	if (operands > 0 || wsettings_check(&settings, &err) < 0)
		return refuse(&err);
	return settings.wants_probe ? probe(&settings) : go(&settings);
}
