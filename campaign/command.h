/* SPDX-License-Identifier: MIT */
/*
 * command - other programs as child processes, with deadlines.
 *
 * A command line is words; the user's prefix ("ssh host plugpull-writer") is
 * split at blanks, our own words are passed on as they are. Each child has a
 * process group of its own, so that Ctrl-C reaches the campaign alone, which
 * then ends its children in the right order. Standard error goes to a file or
 * is kept in memory; standard output likewise, or is read line by line.
 *
 * Nothing here knows what the programs mean.
 */
#ifndef CAMPAIGN_COMMAND_H
#define CAMPAIGN_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct command;

#define COMMAND_WORDS_MAX    160
#define COMMAND_TEXT_BYTES   16384
#define COMMAND_OUTPUT_BYTES 4096 /* as much of an output is kept */

struct command_line {
	size_t count, used;
	bool is_too_long;
	char *words[COMMAND_WORDS_MAX + 1]; /* into text: never copy this */
	char text[COMMAND_TEXT_BYTES];
};

void command_line_init(struct command_line *line, const char *prefix);
/* Split at blanks, like a prefix. */
void command_line_add_words(struct command_line *line, const char *words);
void command_line_add(struct command_line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct command_files {
	const char *in_path;  /* NULL: there is no input */
	const char *out_path; /* NULL: kept in memory */
	const char *err_path; /* NULL: kept in memory */
	bool reads_lines;     /* out is a pipe; out_path is not used */
	bool writes_lines;    /* in is a pipe; in_path is not used */
	bool ends_with_us;    /* SIGTERM when the campaign itself dies */
};

struct command *command_start(const struct command_line *line,
			      const struct command_files *files,
			      struct err *err);

enum command_event {
	COMMAND_LINE,  /* a line was read: command_text() */
	COMMAND_ENDED, /* command_status() */
	COMMAND_DEADLINE,
	COMMAND_STOPPED, /* *STOP became non-zero */
};

/*
 * Waits for the next line (with reads_lines and WANTS_LINE) or the end. What
 * the child says while nobody wants lines is dropped. STOP may be NULL.
 */
enum command_event command_await(struct command *command, uint64_t deadline_ns,
				 bool wants_line,
				 const volatile sig_atomic_t *stop);

/* TEXT, whole; only with writes_lines. -1 where nobody reads it. */
int command_say(struct command *command, const char *text, struct err *err);

/* The last line read. */
const char *command_text(const struct command *command);

/* After the end: the exit status, or 128 and the signal. */
int command_status(const struct command *command);
bool command_has_ended(struct command *command);

pid_t command_pid(const struct command *command);
void command_signal(const struct command *command, int signal_number);

/* A thread of it waits for a device in a way that no signal ends. */
bool command_is_blocked(const struct command *command);

/* What is kept of an output, as text; after the end. */
void command_read_out(const struct command *command, char *text, size_t room);

/* The line of standard error that says most: the first but hints. */
void command_complaint(const struct command *command, char *text, size_t room);

/*
 * SIGTERM, and after GRACE_MS SIGKILL; true where it has ended in the end
 * (a blocked process ends when its device lets it go).
 */
bool command_end(struct command *command, uint64_t grace_ms);

/* Forgets the child; one that has not ended is left to itself. NULL is fine. */
void command_free(struct command *command);

/*
 * Starts, waits for the end, at most TIMEOUT_MS, and tells the exit status and
 * (OUT may be NULL) what it said. -1 where it could not be run or had to be
 * ended; STOP (may be NULL) ends it too.
 */
struct command_run {
	const struct command_files *files; /* NULL: all in memory */
	uint64_t timeout_ms;
	const volatile sig_atomic_t *stop;
	int status;
	char out[COMMAND_OUTPUT_BYTES];
	char complaint[COMMAND_OUTPUT_BYTES];
};

int command_run(const struct command_line *line, struct command_run *run,
		struct err *err);

#endif
