/* SPDX-License-Identifier: MIT */
#include "relay/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define EXEC_FAILED 127
#define LOOK_MS     20

struct running {
	pid_t pid;
	int fds[2]; /* of its stdout and stderr; -1: at its end */
	char *to[2];
	size_t used[2];
};

/* Between fork and exec. */
static void child(char *const argv[], const int out[2])
{
	const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)setpgid(0, 0);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)signal(SIGHUP, SIG_DFL);
	if (nothing == -1 || dup2(nothing, 0) == -1 || dup2(out[0], 1) == -1 ||
	    dup2(out[1], 2) == -1)
		_exit(EXEC_FAILED);
	(void)execvp(argv[0], argv);
	{
		const char *why = strerrordesc_np(errno);

		(void)!write(2, why, why == NULL ? 0 : strlen(why));
	}
	_exit(EXEC_FAILED);
}

static int start(struct running *running, char *const argv[], struct err *err)
{
	int out[2] = {-1, -1}, complaint[2] = {-1, -1};
	int rc = -1;

	if (pipe2(out, O_CLOEXEC) == -1 || pipe2(complaint, O_CLOEXEC) == -1) {
		(void)err_sys(err, errno, "cannot make a pipe");
		goto out;
	}
	running->pid = fork();
	if (running->pid == 0)
		child(argv, (const int[2]){out[1], complaint[1]});
	if (running->pid == -1) {
		(void)err_sys(err, errno, "cannot start %.200s", argv[0]);
		goto out;
	}
	/* Both set it, so that it is set whoever runs first. */
	(void)setpgid(running->pid, running->pid);
	running->fds[0] = out[0];
	running->fds[1] = complaint[0];
	out[0] = complaint[0] = -1;
	rc = 0;
out:
	for (int i = 0; i < 2; i++) {
		if (out[i] != -1)
			(void)close(out[i]); /* the child has its own */
		if (complaint[i] != -1)
			(void)close(complaint[i]); /* the same */
	}
	return rc;
}

static void take(struct running *running, int which)
{
	char more[512];
	ssize_t count = read(running->fds[which], more, sizeof(more));
	size_t room = PROGRAM_OUTPUT_BYTES - 1 - running->used[which];

	if (count == -1 && errno == EINTR)
		return;
	if (count <= 0) {
		(void)close(running->fds[which]); /* was only read */
		running->fds[which] = -1;
		return;
	}
	if ((size_t)count < room)
		room = (size_t)count;
	memcpy(running->to[which] + running->used[which], more, room);
	running->used[which] += room;
}

/* True when it has ended. Its output may outlive it, in a child of its own:
 * what was said until then counts. */
static bool look(struct running *running, int *status)
{
	struct pollfd items[2] = {
		{.fd = running->fds[0], .events = POLLIN},
		{.fd = running->fds[1], .events = POLLIN},
	};
	bool has_more = poll(items, 2, LOOK_MS) > 0;

	for (int i = 0; has_more && i < 2; i++)
		if (items[i].revents != 0)
			take(running, i);
	return !has_more &&
	       waitpid(running->pid, status, WNOHANG) == running->pid;
}

static void finish(struct running *running)
{
	for (int i = 0; i < 2; i++)
		if (running->fds[i] != -1)
			(void)close(running->fds[i]); /* was only read */
}

static int give_up(struct running *running, const char *name, struct err *err)
{
	int status;

	(void)kill(-running->pid, SIGKILL);
	while (waitpid(running->pid, &status, 0) == -1 && errno == EINTR)
		continue;
	return err_set(err, "%.200s did not end in time and was killed", name);
}

int program_run(char *const argv[], uint64_t deadline_ns,
		struct program_said *said, struct err *err)
{
	struct running running = {.fds = {-1, -1},
				  .to = {said->output, said->complaint}};
	int status = 0, rc = 0;

	memset(said, 0, sizeof(*said));
	if (start(&running, argv, err) < 0)
		return -1;
	while (rc == 0 && !look(&running, &status))
		if (clock_until_ms(deadline_ns) == 0)
			rc = give_up(&running, argv[0], err);
	finish(&running);
	if (rc < 0)
		return -1;
	said->status = WIFEXITED(status) ? WEXITSTATUS(status)
					 : 128 + WTERMSIG(status);
	if (said->status == EXEC_FAILED)
		return err_set(err, "cannot run %.200s: %.200s", argv[0],
			       said->complaint);
	return 0;
}
