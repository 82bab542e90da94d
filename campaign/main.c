/* SPDX-License-Identifier: MIT */
/*
 * plugpull-campaign - many power cuts, unattended, and what they prove.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "campaign/campaign.h"
#include "common/base/err.h"
#include "common/base/options.h"

#define PROGRAM "plugpull-campaign"

static volatile sig_atomic_t stop_asked;

static void ask_stop(int signal_number)
{
	(void)signal_number;
	stop_asked = 1;
}

static int catch_signals(struct err *err)
{
	const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = ask_stop};

	(void)sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], &action, NULL) == -1)
			return err_set(err, "cannot catch signals");
	action.sa_handler = SIG_IGN;
	if (sigaction(SIGPIPE, &action, NULL) == -1)
		return err_set(err, "cannot catch signals");
	return 0;
}

static int complain(const struct err *err)
{
	(void)fprintf(stderr, PROGRAM ": %s\n", err->text);
	return 2;
}

static int complain_usage(const struct err *err)
{
	(void)complain(err);
	(void)fprintf(stderr, "Try '" PROGRAM " --help'.\n");
	return 2;
}

/* FILE.ini without folder and ending, and ".campaign". */
static void default_dir(const char *ini, char *dir, size_t room)
{
	const char *slash = strrchr(ini, '/');
	const char *name = slash == NULL ? ini : slash + 1;
	size_t length = strlen(name);

	if (length > 4 && strcmp(name + length - 4, ".ini") == 0)
		length -= 4;
	(void)snprintf(dir, room, "%.*s.campaign", (int)length, name);
}

/* Prints the summary and tells the exit status. */
static int conclude(const struct campaign *campaign)
{
	const struct csummary summary = campaign_summary(campaign);
	struct err err;

	csummary_print(&summary, stdout);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		(void)err_set(&err, "cannot write the summary to stdout");
		return complain(&err);
	}
	return tally_exit_status(csummary_verdict(&summary));
}

static int drive(struct campaign *campaign)
{
	char text[2048];
	struct err err;

	campaign_describe(campaign, text, sizeof(text));
	(void)printf("%s\n", text);
	(void)fflush(stdout); /* conclude() checks stdout */
	if (campaign_run(campaign, stdout, &stop_asked, &err) == -1)
		(void)complain(&err);
	/* The verdict is told even where it cannot be kept. */
	if (campaign_write_summary(campaign, &err) == -1) {
		(void)conclude(campaign);
		return complain(&err);
	}
	return conclude(campaign);
}

static int run_verb(const char *verb, const char *what,
		    struct campaign_wishes *wishes)
{
	char dir[1024];
	struct campaign *campaign = NULL;
	struct err err;
	int status = 0;

	if (strcmp(verb, "run") == 0) {
		default_dir(what, dir, sizeof(dir));
		if (wishes->dir == NULL)
			wishes->dir = dir;
		campaign = campaign_create(what, wishes, &err);
	} else {
		campaign =
			campaign_load(what, strcmp(verb, "resume") == 0, &err);
	}
	if (campaign == NULL)
		return complain(&err);
	if (strcmp(verb, "report") == 0)
		status = conclude(campaign);
	else
		status = drive(campaign);
	campaign_free(campaign);
	return status;
}

static int check_operands(int count, char **argv,
			  const struct campaign_wishes *wishes, struct err *err)
{
	const bool is_run = count > 0 && strcmp(argv[1], "run") == 0;

	if (count == 0)
		return err_set(err, "run, resume or report?");
	if (!is_run && strcmp(argv[1], "resume") != 0 &&
	    strcmp(argv[1], "report") != 0)
		return err_set(err, "%s is neither run, resume nor report",
			       argv[1]);
	if (count != 2)
		return err_set(err, "%s takes one %s", argv[1],
			       is_run ? "settings file" : "folder");
	if (!is_run &&
	    (wishes->dir != NULL || wishes->has_seed || wishes->has_cycles))
		return err_set(err, "--dir, --seed and --cycles go with run");
	return 0;
}

int main(int argc, char **argv)
{
	struct campaign_wishes wishes = {0};
	const struct option_row rows[] = {
		{"dir", 'd', OPTION_TEXT, &wishes.dir, "<folder>",
		 "folder of the campaign, made if it does not exist\n"
		 "(default: FILE.campaign here)",
		 0, 0, NULL},
		{"seed", 's', OPTION_HEX, &wishes.seed, "<hex>",
		 "repeat the moments of an earlier campaign", 0, 0,
		 &wishes.has_seed},
		{"cycles", 'n', OPTION_COUNT, &wishes.cycles, "<count>",
		 "cuts in the test arm, instead of the file's", 1, 500000,
		 &wishes.has_cycles},
		{0},
	};
	const struct option_page page = {
		.program = PROGRAM,
		.usage = "run FILE.ini [options] | resume DIR | report DIR",
		.description =
			"Run many power cuts on one drive and say what they "
			"prove.\n\nrun starts a campaign, resume goes on with "
			"one that was broken off,\nreport prints its summary "
			"again. All data on the drive is destroyed.",
		.rows = rows,
		.exit_status =
			"0 every promise kept and the rig saw losses, 1 a "
			"promise broken,\n2 no verdict, 3 kept, but nothing "
			"showed that a loss could be seen.",
		.examples = "plugpull-campaign run bench.ini\n"
			    "plugpull-campaign report bench.campaign",
	};
	int operand_count = 0;
	struct err err;

	switch (options_parse(&page, argc, argv, &operand_count, &err)) {
	case OPTIONS_HELP:
		options_print_help(&page, stdout);
		return fflush(stdout) == 0 ? 0 : 2;
	case OPTIONS_VERSION:
		options_print_version(&page, stdout);
		return fflush(stdout) == 0 ? 0 : 2;
	case OPTIONS_BAD:
		return complain_usage(&err);
	case OPTIONS_GO:
		break;
	}
	if (check_operands(operand_count, argv, &wishes, &err) == -1)
		return complain_usage(&err);
	if (catch_signals(&err) == -1)
		return complain(&err);
	return run_verb(argv[1], argv[2], &wishes);
}
