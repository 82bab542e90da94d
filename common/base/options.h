/* SPDX-License-Identifier: MIT */
/*
 * options - one table a program: its parser, its --help and its --version.
 *
 * A wrong option is one sentence in err, never the help page (main adds the
 * line "Try '... --help'."). Numbers are range-checked here, once.
 */
#ifndef COMMON_BASE_OPTIONS_H
#define COMMON_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct err;

#define PLUGPULL_VERSION "0.1.0"

enum option_kind {
	OPTION_FLAG,     /* bool: set to true */
	OPTION_NO_FLAG,  /* bool: set to false */
	OPTION_TEXT,     /* const char *: points into argv */
	OPTION_SIZE,     /* uint64_t bytes, suffixes k m g t (powers of 1024) */
	OPTION_COUNT,    /* uint64_t */
	OPTION_HEX,      /* uint64_t, hexadecimal with or without 0x */
	OPTION_DURATION, /* uint64_t ms; "5" and "5s", "250ms", "2m", "1h" */
};

struct option_row {
	const char *name; /* without the dashes */
	char letter;      /* 0 where there is no short form */
	enum option_kind kind;
	void *value;
	const char *argument; /* as --help shows it; NULL for flags */
	const char *help;     /* one or more lines separated by \n */
	uint64_t min, max;    /* for the numbers; max 0 means no limit */
	bool *is_given;       /* may be NULL; set where the option was given */
};

struct option_page {
	const char *program;           /* "plugpull-writer" */
	const char *usage;             /* after the name, see below */
	const char *description;       /* text before the options */
	const struct option_row *rows; /* ends with name == NULL */
	const char *exit_status;       /* what follows "Exit status: " */
	const char *examples;          /* lines */
	const char *more; /* where to read on; NULL: the man page */
};

/*
 * A line of usage that begins with a space goes on with the form above it; any
 * other line is one more way to call the program. "-h, --help" and "-V,
 * --version" belong to every program and are not in its rows.
 */

enum option_outcome { OPTIONS_GO, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_BAD };

/*
 * Parses argv[1..]. Operands (words without a dash) are moved in order to
 * argv[1] ... argv[*operand_count]; "--" ends the options. OPTIONS_BAD has
 * filled ERR.
 */
enum option_outcome options_parse(const struct option_page *page, int argc,
				  char **argv, int *operand_count,
				  struct err *err);

/* util-linux form, at most 80 columns. Only main.c calls these two. */
void options_print_help(const struct option_page *page, FILE *to);
void options_print_version(const struct option_page *page, FILE *to);

/* The number parsers by themselves, for INI files: 0, or -1 with err filled;
 * WHAT names the thing in the message. */
int options_parse_size(const char *text, const char *what, uint64_t *bytes,
		       struct err *err);
int options_parse_count(const char *text, const char *what, uint64_t *count,
			struct err *err);
int options_parse_hex(const char *text, const char *what, uint64_t *value,
		      struct err *err);
int options_parse_duration(const char *text, const char *what,
			   uint64_t *duration_ms, struct err *err);

#endif
