/* SPDX-License-Identifier: MIT */
/*
 * plugpull-verifier - after the power is back: compare what the drive holds
 * with what it promised, and name every broken promise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/options.h"
#include "verifier/leash.h"
#include "verifier/scan.h"
#include "verifier/verify.h"
#include "verifier/vjson.h"
#include "verifier/vreport.h"

#define READ_TIMEOUT_MS     30000
#define READ_TIMEOUT_MS_MAX 3600000

struct arguments {
	const char *target, *acklog, *json;
	uint64_t offset_bytes, threads, timeout_ms;
	bool wants_all;
};

static void print_error(const struct err *err)
{
	const char *text = err->text, *end;

	while ((end = strchr(text, '\n')) != NULL) {
		fprintf(stderr, "plugpull-verifier: %.*s\n", (int)(end - text),
			text);
		text = end + 1;
	}
	fprintf(stderr, "plugpull-verifier: %s\n", text);
}

static void print_note(const char *text)
{
	fprintf(stderr, "plugpull-verifier: %s\n", text);
}

#define ROWS 8 /* with the empty one at the end */

static void fill_rows(struct arguments *arguments, struct option_row rows[ROWS])
{
	const struct option_row table[ROWS] = {
		{"target", 't', OPTION_TEXT, &arguments->target, "<target>",
		 "block device, file or nbd:// URI to read, or\n"
		 "id:<serial number or WWN>",
		 0, 0, NULL},
		{"acklog", 'a', OPTION_TEXT, &arguments->acklog, "<file>",
		 "what the drive promised; - is stdin; without it\n"
		 "the drive's own records are believed",
		 0, 0, NULL},
		{"offset", 0, OPTION_SIZE, &arguments->offset_bytes, "<bytes>",
		 "where the region begins (only without a log;\n"
		 "default 0)",
		 0, 0, NULL},
		{"json", 'j', OPTION_TEXT, &arguments->json, "<file>",
		 "write the verdict as JSON; - is stdout, instead of\n"
		 "the text",
		 0, 0, NULL},
		{"all", 0, OPTION_FLAG, &arguments->wants_all, NULL,
		 "print the first 1000 findings, not 20", 0, 0, NULL},
		{"threads", 0, OPTION_COUNT, &arguments->threads, "<count>",
		 "threads that read (default: one a processor)", 1,
		 SCAN_THREADS_MAX, NULL},
		{"read-timeout", 0, OPTION_DURATION, &arguments->timeout_ms,
		 "<time>", "a read without an answer has hung (default 30s)", 1,
		 READ_TIMEOUT_MS_MAX, NULL},
		{NULL, 0, OPTION_FLAG, NULL, NULL, NULL, 0, 0, NULL},
	};

	memcpy(rows, table, sizeof(table));
}

static int refuse(const struct err *err)
{
	print_error(err);
	fprintf(stderr, "Try 'plugpull-verifier --help'.\n");
	return CONCLUDE_NONE;
}

static int check(const struct arguments *arguments, int operands, char **argv)
{
	struct err err;

	if (operands > 0)
		(void)err_set(&err, "unexpected argument '%.100s'", argv[1]);
	else if (arguments->target == NULL)
		(void)err_set(&err, "--target is missing");
	else
		return -1;
	return refuse(&err);
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	struct option_row rows[ROWS];
	const struct option_page page = {
		.program = "plugpull-verifier",
		.usage = "[options] --target <target> [--acklog <file>]",
		.description =
			"Read the region that plugpull-writer wrote, compare "
			"it with what the drive\npromised, and name every "
			"broken promise. Writes nothing to the drive.",
		.rows = rows,
		.exit_status = "0 all promises kept, 1 a promise broken, "
			       "2 no verdict,\n3 kept, but nothing showed that "
			       "this rig could have seen a loss",
		.examples = "plugpull-verifier -t /dev/disk/by-id/ata-X -a "
			    "acks/RUN.acklog\n"
			    "plugpull-verifier -t drive.img --json -",
	};
	struct err err;
	int operands = 0;

	fill_rows(arguments, rows);
	switch (options_parse(&page, argc, argv, &operands, &err)) {
	case OPTIONS_HELP:
		options_print_help(&page, stdout);
		return 0;
	case OPTIONS_VERSION:
		options_print_version(&page, stdout);
		return 0;
	case OPTIONS_BAD:
		return refuse(&err);
	case OPTIONS_GO:
		break;
	}
	return check(arguments, operands, argv);
}

static unsigned int default_threads(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (online < 1)
		return 1;
	return online > SCAN_THREADS_MAX ? SCAN_THREADS_MAX
					 : (unsigned int)online;
}

/* The hint behind a newline is for people; the reason is one sentence. */
static void no_verdict(struct result *result, const struct err *err)
{
	struct err reason = *err;
	char *end = strchr(reason.text, '\n');

	if (end != NULL)
		*end = '\0';
	conclude_none(result, reason.text);
	print_error(err);
}

static int tell(const struct arguments *arguments, const struct result *result)
{
	const char *json = arguments->json;
	struct err err;

	if (json == NULL || strcmp(json, "-") != 0)
		vreport_print(result, arguments->wants_all, stdout);
	if (json != NULL && vjson_write(result, json, &err) < 0) {
		print_error(&err);
		return CONCLUDE_NONE;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "plugpull-verifier: cannot write the report\n");
		return CONCLUDE_NONE;
	}
	return result->status;
}

/* What waits in the kernel for a block device waits without end; NBD does not,
 * and a file waits for its file system. */
static bool needs_leash(const char *target)
{
	struct stat status;

	if (strstr(target, "://") != NULL)
		return false;
	return stat(target, &status) == -1 || !S_ISREG(status.st_mode);
}

static int verify(const struct arguments *arguments, struct leash *leash,
		  struct result *result)
{
	const struct verify_options options = {
		.target = arguments->target,
		.acklog = arguments->acklog,
		.offset_bytes = arguments->offset_bytes,
		.threads = (unsigned int)arguments->threads,
		.timeout_ms = (unsigned int)arguments->timeout_ms,
		.note = print_note,
		.leash = leash,
	};
	struct err err;
	int status;

	if (verify_run(&options, result, &err) < 0)
		no_verdict(result, &err);
	status = tell(arguments, result);
	if (leash != NULL)
		leash_tell(leash, status);
	/* A drive that still owes answers must not hold the verdict back. */
	if (result->is_stuck)
		_exit(status);
	return status;
}

/* In a process that can be left behind. */
static int verify_on_leash(const struct arguments *arguments,
			   struct result *result)
{
	const uint64_t limit_ms =
		LEASH_PATIENCE * arguments->timeout_ms + LEASH_LEAST_MS;
	struct err err;
	struct leash *leash = leash_start(&err);
	int status = -1;

	if (leash != NULL && leash_is_child(leash))
		status = verify(arguments, leash, result);
	else if (leash != NULL)
		status = leash_follow(leash, limit_ms, &err);
	if (status == -1) {
		no_verdict(result, &err);
		status = tell(arguments, result);
	}
	leash_free(leash);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.timeout_ms = READ_TIMEOUT_MS,
				      .threads = default_threads()};
	struct result *result;
	int status = parse(argc, argv, &arguments);

	if (status >= 0)
		return status;
	result = calloc(1, sizeof(*result));
	if (result == NULL) {
		fprintf(stderr, "plugpull-verifier: out of memory\n");
		return CONCLUDE_NONE;
	}
	result->target_name = arguments.target;
	result->has_log = arguments.acklog != NULL;
	if (needs_leash(arguments.target))
		status = verify_on_leash(&arguments, result);
	else
		status = verify(&arguments, NULL, result);
	free(result);
	return status;
}
