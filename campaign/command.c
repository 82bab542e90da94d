/* SPDX-License-Identifier: MIT */
#include "campaign/command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "campaign/process.h"
#include "common/base/clock.h"
#include "common/base/err.h"

/* How long a raised stop flag may go unseen. */
#define COMMAND_SLICE_MS    100
#define COMMAND_GRACE_MS    5000
#define COMMAND_KILL_MS     2000
#define COMMAND_EXEC_FAILED 127

struct command {
	char name[128];
	pid_t pid;
	int pid_fd;
	int line_fd; /* the pipe from its stdout, or -1 */
	int say_fd;  /* the pipe to its stdin, or -1 */
	int out_fd, err_fd;
	bool has_ended;
	int status;
	size_t held; /* bytes in buffer, not yet a line */
	char buffer[COMMAND_OUTPUT_BYTES];
	char line[COMMAND_OUTPUT_BYTES];
};

/* ---- words ---- */

static void line_take(struct command_line *line, const char *word,
		      size_t length)
{
	if (line->count == COMMAND_WORDS_MAX ||
	    length + 1 > sizeof(line->text) - line->used) {
		line->is_too_long = true;
		return;
	}
	line->words[line->count++] = line->text + line->used;
	line->words[line->count] = NULL;
	memcpy(line->text + line->used, word, length);
	line->used += length;
	line->text[line->used++] = '\0';
}

void command_line_init(struct command_line *line, const char *prefix)
{
	line->count = 0;
	line->used = 0;
	line->is_too_long = false;
	line->words[0] = NULL;
	command_line_add_words(line, prefix);
}

void command_line_add_words(struct command_line *line, const char *words)
{
	while (*words != '\0') {
		const size_t length = strcspn(words, " \t\n");

		if (length > 0)
			line_take(line, words, length);
		words += length;
		words += strspn(words, " \t\n");
	}
}

void command_line_add(struct command_line *line, const char *fmt, ...)
{
	char word[COMMAND_OUTPUT_BYTES];
	va_list ap;
	int length = 0;

	va_start(ap, fmt);
	length = vsnprintf(word, sizeof(word), fmt, ap);
	va_end(ap);
	if (length < 0 || (size_t)length >= sizeof(word))
		line->is_too_long = true;
	else
		line_take(line, word, (size_t)length);
}

/* ---- starting ---- */

static int open_output(const char *path, const char *what, struct err *err)
{
	int fd = -1;

	if (path == NULL)
		fd = memfd_create(what, MFD_CLOEXEC);
	else
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd == -1)
		(void)err_sys(err, errno, "cannot open %s",
			      path == NULL ? "a buffer in memory" : path);
	return fd;
}

/* In the child, between fork and exec: only what a signal handler may do. */
static void child_exec(const struct command_line *line, const int fds[3],
		       bool ends_with_us, pid_t parent)
{
	sigset_t none;

	(void)setpgid(0, 0);
	if (ends_with_us) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(COMMAND_EXEC_FAILED);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
	if (dup2(fds[0], 0) == -1 || dup2(fds[1], 1) == -1 ||
	    dup2(fds[2], 2) == -1)
		_exit(COMMAND_EXEC_FAILED);
	(void)execvp(line->words[0], line->words);

	/* The parent reads this as the child's complaint. */
	{
		const char *why = strerrordesc_np(errno);
		const char *name = line->words[0];

		(void)!write(2, "cannot run ", 11);
		(void)!write(2, name, strlen(name));
		(void)!write(2, ": ", 2);
		(void)!write(2, why, why == NULL ? 0 : strlen(why));
		(void)!write(2, "\n", 1);
	}
	_exit(COMMAND_EXEC_FAILED);
}

static int spawn(struct command *command, const struct command_line *line,
		 const struct command_files *files, struct err *err)
{
	const char *in_path =
		files->in_path == NULL ? "/dev/null" : files->in_path;
	const pid_t parent = getpid();
	int pipe_fds[2] = {-1, -1}, in_fds[2] = {-1, -1};
	int fds[3] = {-1, -1, -1};
	int rc = -1;

	command->err_fd = open_output(files->err_path, "stderr", err);
	if (command->err_fd == -1)
		return -1;
	if (files->reads_lines && pipe2(pipe_fds, O_CLOEXEC) == -1)
		return err_sys(err, errno, "cannot make a pipe");
	command->line_fd = pipe_fds[0];
	if (!files->reads_lines) {
		command->out_fd = open_output(files->out_path, "stdout", err);
		if (command->out_fd == -1)
			return -1;
	}
	if (!files->writes_lines)
		fds[0] = open(in_path, O_RDONLY | O_CLOEXEC);
	else if (pipe2(in_fds, O_CLOEXEC) == 0)
		fds[0] = in_fds[0];
	command->say_fd = in_fds[1];
	fds[1] = files->reads_lines ? pipe_fds[1] : command->out_fd;
	fds[2] = command->err_fd;
	if (fds[0] == -1) {
		(void)err_sys(err, errno, "cannot open %s",
			      files->writes_lines ? "a pipe" : in_path);
		goto out;
	}
	command->pid = fork();
	if (command->pid == 0)
		child_exec(line, fds, files->ends_with_us, parent);
	if (command->pid == -1) {
		(void)err_sys(err, errno, "cannot start %s", command->name);
		goto out;
	}
	/* Both set it, so that it is set whoever runs first. */
	(void)setpgid(command->pid, command->pid);
	command->pid_fd = pidfd_open(command->pid, 0);
	if (command->pid_fd == -1)
		(void)err_sys(err, errno, "cannot watch %s", command->name);
	else
		rc = 0;
out:
	if (fds[0] != -1)
		(void)close(fds[0]); /* was only read */
	if (pipe_fds[1] != -1)
		(void)close(pipe_fds[1]); /* the child's end */
	return rc;
}

struct command *command_start(const struct command_line *line,
			      const struct command_files *files,
			      struct err *err)
{
	struct command *command = NULL;

	if (line->is_too_long || line->count == 0) {
		(void)err_set(err, "the command line of %s is %s",
			      line->count == 0 ? "a program" : line->words[0],
			      line->count == 0 ? "empty" : "too long");
		return NULL;
	}
	command = calloc(1, sizeof(*command));
	if (command == NULL) {
		(void)err_set(err, "no memory to run %s", line->words[0]);
		return NULL;
	}
	(void)snprintf(command->name, sizeof(command->name), "%s",
		       line->words[0]);
	command->pid = -1;
	command->pid_fd = command->line_fd = command->say_fd = -1;
	command->out_fd = command->err_fd = -1;
	if (spawn(command, line, files, err) == -1) {
		if (command->pid > 0)
			(void)kill(command->pid, SIGKILL);
		command_free(command);
		return NULL;
	}
	return command;
}

/* ---- waiting ---- */

/* Moves the first whole line of the buffer to ->line. A line that fills the
 * buffer counts as one, so that nothing can block the child for ever. */
static bool take_line(struct command *command)
{
	char *end = memchr(command->buffer, '\n', command->held);
	size_t length = 0;
	size_t eaten = 0;

	if (end == NULL && command->held < sizeof(command->buffer) - 1)
		return false;
	length = end == NULL ? command->held : (size_t)(end - command->buffer);
	eaten = end == NULL ? length : length + 1;
	memcpy(command->line, command->buffer, length);
	command->line[length] = '\0';
	command->held -= eaten;
	memmove(command->buffer, command->buffer + eaten, command->held);
	return true;
}

static void read_pipe(struct command *command)
{
	const ssize_t got =
		read(command->line_fd, command->buffer + command->held,
		     sizeof(command->buffer) - 1 - command->held);

	if (got > 0) {
		command->held += (size_t)got;
		return;
	}
	if (got == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	(void)close(command->line_fd); /* its other end is closed */
	command->line_fd = -1;
}

static void reap(struct command *command)
{
	int status = 0;

	if (command->has_ended ||
	    waitpid(command->pid, &status, WNOHANG) != command->pid)
		return;
	command->has_ended = true;
	command->status = WIFEXITED(status) ? WEXITSTATUS(status)
					    : 128 + WTERMSIG(status);
}

/* One look at the child, at most a slice long. */
static void look(struct command *command, uint64_t deadline_ns)
{
	struct pollfd fds[2] = {
		{.fd = command->pid_fd, .events = POLLIN},
		{.fd = command->line_fd, .events = POLLIN},
	};
	int wait_ms = clock_until_ms(deadline_ns);

	if (wait_ms > COMMAND_SLICE_MS)
		wait_ms = COMMAND_SLICE_MS;
	if (poll(fds, 2, wait_ms) <= 0)
		return;
	if (fds[1].revents != 0)
		read_pipe(command);
	else if (fds[0].revents != 0)
		reap(command);
}

enum command_event command_await(struct command *command, uint64_t deadline_ns,
				 bool wants_line,
				 const volatile sig_atomic_t *stop)
{
	for (;;) {
		while (take_line(command))
			if (wants_line)
				return COMMAND_LINE;
		if (command->has_ended)
			return COMMAND_ENDED;
		if (stop != NULL && *stop)
			return COMMAND_STOPPED;
		look(command, deadline_ns);
		if (!command->has_ended && clock_until_ms(deadline_ns) == 0) {
			reap(command);
			if (!command->has_ended)
				return COMMAND_DEADLINE;
		}
	}
}

/* ---- telling it something ---- */

int command_say(struct command *command, const char *text, struct err *err)
{
	const size_t length = strlen(text);

	/* Short lines into an empty pipe: never in parts, and no wait. */
	if (write(command->say_fd, text, length) != (ssize_t)length)
		return err_sys(err, errno, "cannot tell %s anything",
			       command->name);
	return 0;
}

/* ---- what it is and was ---- */

const char *command_text(const struct command *command)
{
	return command->line;
}

int command_status(const struct command *command)
{
	assert(command->has_ended);
	return command->status;
}

bool command_has_ended(struct command *command)
{
	reap(command);
	return command->has_ended;
}

pid_t command_pid(const struct command *command)
{
	return command->pid;
}

void command_signal(const struct command *command, int signal_number)
{
	if (!command->has_ended)
		(void)kill(-command->pid, signal_number);
}

bool command_is_blocked(const struct command *command)
{
	return process_is_blocked(command->pid);
}

static void read_kept(int fd, char *text, size_t room)
{
	ssize_t got = fd == -1 ? -1 : pread(fd, text, room - 1, 0);

	text[got > 0 ? got : 0] = '\0';
}

void command_read_out(const struct command *command, char *text, size_t room)
{
	read_kept(command->out_fd, text, room);
}

/* The last line that is no hint: what ended the command comes behind what it
 * told on its way. */
void command_complaint(const struct command *command, char *text, size_t room)
{
	char *line = text;
	char *found = NULL;

	read_kept(command->err_fd, text, room);
	while (*line != '\0') {
		const size_t length = strcspn(line, "\n");
		const bool is_last = line[length] == '\0';

		line[length] = '\0';
		if (length > 0 && strstr(line, ": hint: ") == NULL)
			found = line;
		line += length + !is_last;
	}
	if (found != NULL)
		memmove(text, found, strlen(found) + 1);
	else
		(void)snprintf(text, room, "it said nothing on standard error");
}

bool command_end(struct command *command, uint64_t grace_ms)
{
	command_signal(command, SIGTERM);
	if (command_await(command,
			  clock_monotonic_ns() + grace_ms * CLOCK_NS_PER_MS,
			  false, NULL) == COMMAND_ENDED)
		return true;
	command_signal(command, SIGKILL);
	return command_await(command,
			     clock_monotonic_ns() +
				     COMMAND_KILL_MS * CLOCK_NS_PER_MS,
			     false, NULL) == COMMAND_ENDED;
}

void command_free(struct command *command)
{
	if (command == NULL)
		return;
	if (command->pid_fd != -1)
		(void)close(command->pid_fd); /* holds no data */
	if (command->line_fd != -1)
		(void)close(command->line_fd); /* was only read */
	if (command->say_fd != -1)
		(void)close(command->say_fd); /* each line was written whole */
	if (command->out_fd != -1)
		(void)close(command->out_fd); /* the child wrote, not we */
	if (command->err_fd != -1)
		(void)close(command->err_fd); /* the same */
	free(command);
}

int command_run(const struct command_line *line, struct command_run *run,
		struct err *err)
{
	static const struct command_files in_memory = {0};
	struct command *command = command_start(
		line, run->files == NULL ? &in_memory : run->files, err);
	enum command_event event = COMMAND_ENDED;
	int rc = -1;

	if (command == NULL)
		return -1;
	event = command_await(command,
			      clock_monotonic_ns() +
				      run->timeout_ms * CLOCK_NS_PER_MS,
			      false, run->stop);
	if (event == COMMAND_ENDED) {
		run->status = command_status(command);
		command_read_out(command, run->out, sizeof(run->out));
		command_complaint(command, run->complaint,
				  sizeof(run->complaint));
		rc = 0;
	} else {
		(void)command_end(command, COMMAND_GRACE_MS);
		if (event == COMMAND_STOPPED)
			(void)err_set(err, "%s was interrupted", command->name);
		else
			(void)err_set(err, "%s had not ended after %llu ms",
				      command->name,
				      (unsigned long long)run->timeout_ms);
	}
	command_free(command);
	return rc;
}
