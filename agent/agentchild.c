/* SPDX-License-Identifier: MIT */
#include "agent/agentchild.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define EXEC_FAILED 127

/* In the child, between fork and exec: only what a signal handler may do. */
static void run(const char *path, const struct agentwire_words *words,
		const int fds[3], pid_t parent)
{
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXEC_FAILED);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	if (dup2(fds[0], 0) == -1 || dup2(fds[1], 1) == -1 ||
	    dup2(fds[2], 2) == -1)
		_exit(EXEC_FAILED);
	(void)execv(path, words->words);
	(void)!write(2, "plugpull-agent: cannot run ", 27);
	(void)!write(2, path, strlen(path));
	(void)!write(2, "\n", 1);
	_exit(EXEC_FAILED);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* a pipe: nothing to be reported */
	*fd = -1;
}

static int start(struct agentchild *child, const char *path,
		 const struct agentwire_words *words, const int fds[3])
{
	pid_t parent = getpid();

	child->pid = fork();
	if (child->pid == 0)
		run(path, words, fds, parent);
	if (child->pid < 0) {
		child->pid = 0;
		return -1;
	}
	/* Both set it, so that it is set whoever runs first. */
	(void)setpgid(child->pid, child->pid);
	child->pid_fd = pidfd_open(child->pid, 0);
	return 0;
}

int agentchild_start(struct agentchild *child, const char *path,
		     const struct agentwire_words *words, struct err *err)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, error[2] = {-1, -1};
	int result = -1;

	memset(child, 0, sizeof(*child));
	child->pid_fd = -1;
	(void)snprintf(child->name, sizeof(child->name), "%.60s",
		       words->words[0]);
	if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
	    pipe2(error, O_CLOEXEC) == 0 &&
	    fcntl(in[1], F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(out[0], F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(error[0], F_SETFL, O_NONBLOCK) == 0)
		result = start(child, path, words,
			       (const int[]){in[0], out[1], error[1]});
	if (result < 0)
		(void)err_sys(err, errno, "cannot start %s", child->name);
	child->in_fd = in[1];
	child->out_fd = out[0];
	child->err_fd = error[0];
	close_fd(&in[0]);
	close_fd(&out[1]);
	close_fd(&error[1]);
	if (result < 0)
		agentchild_close(child);
	return result;
}

bool agentchild_is_there(const struct agentchild *child)
{
	return child->pid > 0 && !child->has_ended;
}

void agentchild_end(struct agentchild *child)
{
	if (!agentchild_is_there(child) || child->kill_ns != 0)
		return;
	(void)kill(-child->pid, SIGTERM); /* it may have ended just now */
	child->kill_ns =
		clock_monotonic_ns() + AGENTCHILD_GRACE_MS * CLOCK_NS_PER_MS;
}

static void take_status(struct agentchild *child, int status)
{
	child->has_ended = true;
	if (WIFSIGNALED(status))
		child->exit = (struct agentwire_exit){
			AGENTWIRE_KILLED, (uint8_t)WTERMSIG(status)};
	else
		child->exit = (struct agentwire_exit){
			AGENTWIRE_EXITED, (uint8_t)WEXITSTATUS(status)};
}

void agentchild_look(struct agentchild *child)
{
	int status = 0;

	if (!agentchild_is_there(child))
		return;
	if (waitpid(child->pid, &status, WNOHANG) == child->pid) {
		take_status(child, status);
		/* What it may have left behind is not to go on without it. */
		if (child->kill_ns != 0)
			(void)kill(-child->pid, SIGKILL);
		close_fd(&child->pid_fd);
		return;
	}
	if (child->kill_ns == 0 || child->is_killed ||
	    clock_monotonic_ns() < child->kill_ns)
		return;
	(void)kill(-child->pid, SIGKILL); /* see agentchild_is_blocked() */
	child->is_killed = true;
}

bool agentchild_is_blocked(const struct agentchild *child)
{
	return agentchild_is_there(child) && child->is_killed &&
	       clock_monotonic_ns() - child->kill_ns >
		       AGENTCHILD_GRACE_MS * CLOCK_NS_PER_MS;
}

void agentchild_close_in(struct agentchild *child)
{
	close_fd(&child->in_fd);
}

void agentchild_close(struct agentchild *child)
{
	close_fd(&child->in_fd);
	close_fd(&child->out_fd);
	close_fd(&child->err_fd);
}
