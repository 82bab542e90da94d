/* SPDX-License-Identifier: MIT */
/*
 * plugpull-simdrive - a drive whose honesty is known and whose power can be
 * cut, as an NBD export; and the switch for it.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/err.h"
#include "common/base/options.h"
#include "simdrive/control.h"
#include "simdrive/faults.h"
#include "simdrive/model.h"
#include "simdrive/supervisor.h"

#define PROGRAM        "plugpull-simdrive"
#define ASK_TIMEOUT_MS 90000
#define STATUS_TROUBLE 2
#define ROWS_MAX       24
#define WITHIN_MS      10000

struct choice {
	struct supervisor_config serve;
	const char *drain_order, *cut_drain;
	uint64_t after_writes, within_ms; /* of a cut */
	bool has_after_writes;
	const char *fault; /* for the help only, see take_faults() */
	bool has_seed, lists_faults;
};

static void print_error(const struct err *err)
{
	(void)fprintf(stderr, PROGRAM ": %s\n", err->text);
}

/*
 * Takes "--fault X" and "--fault=X" out of the command line, since it is the
 * one option that may be given several times.
 */
static int take_faults(struct supervisor_config *config, int *argc, char **argv,
		       struct err *err)
{
	struct faults faults = {.count = 0};
	int kept = 1;

	for (int i = 1; i < *argc; i++) {
		const char *value = NULL;

		if (strncmp(argv[i], "--fault=", strlen("--fault=")) == 0)
			value = argv[i] + strlen("--fault=");
		else if (strcmp(argv[i], "--fault") == 0 && i + 1 < *argc)
			value = argv[++i];
		if (value == NULL) {
			argv[kept++] = argv[i];
			continue;
		}
		if (faults_add(&faults, value, err) != 0)
			return -1;
		if (faults.count > config->fault_count)
			config->faults[config->fault_count++] = value;
	}
	argv[kept] = NULL;
	*argc = kept;
	return 0;
}

static int check_serve(struct choice *choice, struct err *err)
{
	struct supervisor_config *config = &choice->serve;
	uint64_t block = config->logical_block_bytes;
	struct faults faults = {.count = 0};

	if (config->socket == NULL || config->media == NULL ||
	    config->control == NULL)
		return err_set(err, "serve needs --socket, --media and "
				    "--control");
	if (block != 512 && block != 4096)
		return err_set(err, "--logical-block is 512 or 4096");
	if (config->size_bytes % block != 0)
		return err_set(err,
			       "--size is not a multiple of the logical "
			       "block of %ju bytes",
			       (uintmax_t)block);
	if (strcmp(choice->drain_order, "random") == 0)
		config->drains_random = true;
	else if (strcmp(choice->drain_order, "fifo") != 0)
		return err_set(err, "--drain-order is fifo or random");
	if (strcmp(choice->cut_drain, "part") == 0)
		config->cut_drain = MODEL_CUT_PART;
	else if (strcmp(choice->cut_drain, "any") == 0)
		config->cut_drain = MODEL_CUT_ANY;
	else if (strcmp(choice->cut_drain, "oldest") != 0)
		return err_set(err, "--cut-drain is oldest, part or any");
	if (config->fault_cuts != NULL &&
	    faults_set_cuts(&faults, config->fault_cuts, err) != 0)
		return err_prefix(err, "--fault-cuts");
	if (!choice->has_seed &&
	    getrandom(&config->seed, sizeof(config->seed), 0) < 0)
		return err_sys(err, errno, "cannot draw a seed");
	return 0;
}

static int serve(struct choice *choice, struct err *err)
{
	struct supervisor *supervisor = NULL;
	int rc = 0;

	supervisor = supervisor_open(&choice->serve, err);
	if (supervisor == NULL)
		return -1;
	if (printf("seed %jx\nserving nbd+unix:///?socket=%s\n",
		   (uintmax_t)choice->serve.seed, choice->serve.socket) < 0 ||
	    fflush(stdout) != 0)
		rc = err_sys(err, errno, "cannot write to standard output");
	if (rc == 0)
		rc = supervisor_run(supervisor, err);
	supervisor_close(supervisor);
	return rc;
}

static int ask(const char *control, const char *command, struct err *err)
{
	char answer[CONTROL_LINE_BYTES];

	if (control_ask(control, command, answer, ASK_TIMEOUT_MS, err) != 0)
		return -1;
	if (puts(answer) < 0 || fflush(stdout) != 0)
		return err_sys(err, errno, "cannot write to standard output");
	return 0;
}

static int print_faults(void)
{
	for (int kind = 0; kind < FAULT_KINDS; kind++) {
		const struct fault_row *row = faults_row((enum fault_kind)kind);
		char name[64];

		(void)snprintf(name, sizeof(name), "%s%s", row->name,
			       row->arg != 0 ? "=ARG" : "");
		(void)printf("%-24s %s", name, row->does);
		if (row->arg != 0)
			(void)printf(" (default %ju)", (uintmax_t)row->arg);
		(void)putchar('\n');
	}
	return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
}

static int wrong_usage(const struct err *err)
{
	print_error(err);
	(void)fputs("Try '" PROGRAM " --help'.\n", stderr);
	return STATUS_TROUBLE;
}

/* The command that stands in argv[1]: a usage error is told by 1. */
static int obey(struct choice *choice, const char *command, struct err *err)
{
	char line[CONTROL_LINE_BYTES];

	if (strcmp(command, "serve") == 0) {
		if (check_serve(choice, err) != 0)
			return 1;
		return serve(choice, err);
	}
	if (strcmp(command, "cut") != 0 && strcmp(command, "restore") != 0 &&
	    strcmp(command, "status") != 0) {
		(void)err_set(err, "there is no command %s", command);
		return 1;
	}
	if (choice->serve.control == NULL) {
		(void)err_set(err, "%s needs --control", command);
		return 1;
	}
	if (strcmp(command, "cut") == 0 && choice->has_after_writes)
		(void)snprintf(line, sizeof(line), "cut %ju %ju",
			       (uintmax_t)choice->after_writes,
			       (uintmax_t)choice->within_ms);
	else
		(void)snprintf(line, sizeof(line), "%s", command);
	return ask(choice->serve.control, line, err);
}

static void fill_rows(struct choice *choice, struct option_row *rows)
{
	struct supervisor_config *config = &choice->serve;
	const struct option_row table[] = {
		{"socket", 0, OPTION_TEXT, &config->socket, "<path>",
		 "where the drive is to be met (NBD)", 0, 0, NULL},
		{"media", 0, OPTION_TEXT, &config->media, "<file>",
		 "what the drive keeps; made where it is missing", 0, 0, NULL},
		{"size", 0, OPTION_SIZE, &config->size_bytes, "<bytes>",
		 "size of the drive; existing media must have it", 1, 0, NULL},
		{"control", 0, OPTION_TEXT, &config->control, "<path>",
		 "socket of the power switch", 0, 0, NULL},
		{"fault", 0, OPTION_TEXT, &choice->fault, "<name>",
		 "how it lies: name[=arg]; up to 4 times", 0, 0, NULL},
		{"fault-every", 0, OPTION_COUNT, &config->fault_every, "<n>",
		 "only at every n-th cut", 1, 0, NULL},
		{"fault-cuts", 0, OPTION_TEXT, &config->fault_cuts, "<a-b>",
		 "only at these cuts, from 1; also a, a-", 0, 0, NULL},
		{"list-faults", 0, OPTION_FLAG, &choice->lists_faults, NULL,
		 "name all faults", 0, 0, NULL},
		{"cache", 0, OPTION_SIZE, &config->cache_bytes, "<bytes>",
		 "size of the volatile cache (default 64m)", 512,
		 MODEL_CACHE_BYTES_MAX, NULL},
		{"logical-block", 0, OPTION_SIZE, &config->logical_block_bytes,
		 "<n>", "its bytes: 512 or 4096 (default)", 512, 4096, NULL},
		{"drain-ms", 0, OPTION_COUNT, &config->drain_ms, "<ms>",
		 "age at which writes are drained (default 2000)", 0,
		 UINT32_MAX, NULL},
		{"drain-order", 0, OPTION_TEXT, &choice->drain_order, "<order>",
		 "what is drained first: fifo or random", 0, 0, NULL},
		{"cut-drain", 0, OPTION_TEXT, &choice->cut_drain, "<what>",
		 "half drained at a cut: oldest, part or any", 0, 0, NULL},
		{"flush-ms", 0, OPTION_COUNT, &config->flush_ms, "<ms>",
		 "time that a FLUSH takes (default 0)", 0, UINT32_MAX, NULL},
		{"ready-ms", 0, OPTION_COUNT, &config->ready_ms, "<ms>",
		 "silence behind power-on (default 0)", 0, UINT32_MAX, NULL},
		{"spare", 0, OPTION_SIZE, &config->spare_bytes, "<bytes>",
		 "ends of the drive without faults (default 1m)", 0, 0, NULL},
		{"bypass", 0, OPTION_SIZE, &config->bypass_bytes, "<bytes>",
		 "longer requests of a liar are not cached (128k)", 0, 0, NULL},
		{"trace", 0, OPTION_TEXT, &config->trace, "<file>",
		 "tell there what the drive truly does", 0, 0, NULL},
		{"serial", 0, OPTION_TEXT, &config->serial, "<text>",
		 "serial number (default: from the path of the media)", 0, 0,
		 NULL},
		{"after-writes", 0, OPTION_COUNT, &choice->after_writes, "<n>",
		 "cut after so many more", 0, 0, &choice->has_after_writes},
		{"within", 0, OPTION_DURATION, &choice->within_ms, "<time>",
		 "or after this time (default 10s)", 0, 0, NULL},
		{"seed", 0, OPTION_HEX, &config->seed, "<hex>",
		 "repeat an earlier run's chances", 0, 0, &choice->has_seed},
		{.name = NULL},
	};

	static_assert(sizeof(table) <= ROWS_MAX * sizeof(table[0]),
		      "room for all rows");
	memcpy(rows, table, sizeof(table));
}

static const char description[] =
	"Serve a simulated drive with a volatile write cache over NBD, and cut "
	"and\nrestore its power. It is honest unless it is given a fault.";
static const char examples[] =
	"plugpull-simdrive serve --socket d.sock --media d.img --size 1g "
	"--control d.ctl\n"
	"plugpull-simdrive cut --control d.ctl";

int main(int argc, char **argv)
{
	struct choice choice = {
		.serve = {.logical_block_bytes = 4096,
			  .cache_bytes = MODEL_CACHE_BYTES_DEFAULT,
			  .drain_ms = MODEL_DRAIN_MS_DEFAULT,
			  .spare_bytes = MODEL_SPARE_BYTES_DEFAULT,
			  .bypass_bytes = MODEL_BYPASS_BYTES_DEFAULT},
		.drain_order = "fifo",
		.cut_drain = "oldest",
		.within_ms = WITHIN_MS,
	};
	struct option_row rows[ROWS_MAX];
	const struct option_page page = {
		.program = PROGRAM,
		.usage = "serve|cut|restore|status [options]",
		.description = description,
		.rows = rows,
		.exit_status = "0 done, 2 anything else",
		.examples = examples,
	};
	struct err err = {.text = ""};
	int operands = 0;
	enum option_outcome outcome = OPTIONS_BAD;
	int rc = take_faults(&choice.serve, &argc, argv, &err);

	fill_rows(&choice, rows);
	if (rc == 0)
		outcome = options_parse(&page, argc, argv, &operands, &err);
	if (outcome == OPTIONS_HELP)
		options_print_help(&page, stdout);
	else if (outcome == OPTIONS_VERSION)
		options_print_version(&page, stdout);
	if (outcome == OPTIONS_HELP || outcome == OPTIONS_VERSION)
		return fflush(stdout) == 0 ? 0 : STATUS_TROUBLE;
	if (outcome == OPTIONS_GO && choice.lists_faults)
		return print_faults();
	if (outcome == OPTIONS_GO && operands != 1)
		(void)err_set(&err, "say one of serve, cut, restore, status");
	if (outcome != OPTIONS_GO || operands != 1)
		return wrong_usage(&err);

	rc = obey(&choice, argv[1], &err);
	if (rc == 1)
		return wrong_usage(&err);
	if (rc != 0)
		print_error(&err);
	return rc == 0 ? 0 : STATUS_TROUBLE;
}
