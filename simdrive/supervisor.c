/* SPDX-License-Identifier: MIT */
#include "simdrive/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "simdrive/control.h"
#include "simdrive/media.h"
#include "simdrive/tracefile.h"

#define PLUGIN_NAME       "plugpull-simdrive-plugin.so"
#define NBDKIT_THREADS    "64" /* a read that hangs holds one of them */
#define START_TIMEOUT_MS  20000
#define PLUGIN_TIMEOUT_MS 60000
#define CLIENT_TIMEOUT_MS 2000
#define END_TIMEOUT_MS    10000
#define ARGS_MAX          44
#define CUT_WITHIN_MS_MAX 30000
#define ARG_BYTES         (PATH_MAX + 64)

struct supervisor {
	struct supervisor_config config;
	char plugin[PATH_MAX];
	char media[PATH_MAX];
	char trace[PATH_MAX]; /* empty: none */
	char state[PATH_MAX + 16];
	char counters[CONTROL_LINE_BYTES / 2]; /* as the plugin last said */
	sigset_t signals_before;
	int signal_fd, control_fd;
	int channel; /* to the plugin; -1 while the power is off */
	pid_t nbdkit;
};

/* The words of a command line, in one piece of memory each. */
struct args {
	char text[ARGS_MAX][ARG_BYTES];
	char *argv[ARGS_MAX + 1];
	int count;
};

__attribute__((format(printf, 2, 3))) static void args_add(struct args *args,
							   const char *fmt, ...)
{
	va_list ap;

	assert(args->count < ARGS_MAX);

	va_start(ap, fmt);
	(void)vsnprintf(args->text[args->count], ARG_BYTES, fmt, ap);
	va_end(ap);
	args->argv[args->count] = args->text[args->count];
	args->count++;
	args->argv[args->count] = NULL;
}

static int find_plugin(char *plugin, size_t size, struct err *err)
{
	static const char *const places[] = {"", "../lib/plugpull/"};
	char self[PATH_MAX / 2];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return err_sys(err, errno, "cannot find out where I am");
	self[length] = '\0';
	*(strrchr(self, '/') + 1) = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(plugin, size, "%s%s" PLUGIN_NAME, self,
			       places[i]);
		if (access(plugin, R_OK) == 0)
			return 0;
	}
	return err_set(err,
		       "cannot find " PLUGIN_NAME " in %s or %s../lib/plugpull",
		       self, self);
}

static void add_serial(struct args *args, const struct supervisor *supervisor)
{
	uint64_t hash = 0;

	if (supervisor->config.serial != NULL) {
		args_add(args, "description=plugpull-simdrive %s",
			 supervisor->config.serial);
		return;
	}
	for (const char *c = supervisor->media; *c != '\0'; c++)
		hash = prng_mix(hash + (unsigned char)*c);
	args_add(args, "description=plugpull-simdrive SIM%016jX",
		 (uintmax_t)hash);
}

static void build_args(struct args *args, const struct supervisor *supervisor,
		       int channel)
{
	const struct supervisor_config *config = &supervisor->config;

	args->count = 0;
	args_add(args, "nbdkit");
	args_add(args, "--foreground");
	args_add(args, "--exit-with-parent");
	args_add(args, "--threads");
	args_add(args, NBDKIT_THREADS);
	args_add(args, "--unix");
	args_add(args, "%s", config->socket);
	args_add(args, "%s", supervisor->plugin);
	args_add(args, "media=%s", supervisor->media);
	args_add(args, "state=%s", supervisor->state);
	args_add(args, "control-fd=%d", channel);
	args_add(args, "logical-block=%ju",
		 (uintmax_t)config->logical_block_bytes);
	args_add(args, "cache=%ju", (uintmax_t)config->cache_bytes);
	args_add(args, "drain-ms=%ju", (uintmax_t)config->drain_ms);
	args_add(args, "drain-random=%d", config->drains_random);
	args_add(args, "spare=%ju", (uintmax_t)config->spare_bytes);
	args_add(args, "bypass=%ju", (uintmax_t)config->bypass_bytes);
	args_add(args, "seed=%ju", (uintmax_t)config->seed);
	args_add(args, "fault-every=%ju", (uintmax_t)config->fault_every);
	args_add(args, "cut-drain=%u", config->cut_drain);
	args_add(args, "flush-ms=%ju", (uintmax_t)config->flush_ms);
	args_add(args, "ready-ms=%ju", (uintmax_t)config->ready_ms);
	if (config->fault_cuts != NULL)
		args_add(args, "fault-cuts=%s", config->fault_cuts);
	for (unsigned int i = 0; i < config->fault_count; i++)
		args_add(args, "fault=%s", config->faults[i]);
	if (supervisor->trace[0] != '\0')
		args_add(args, "trace=%s", supervisor->trace);
	add_serial(args, supervisor);
}

static int spawn(struct supervisor *supervisor, int channel, struct err *err)
{
	static struct args args; /* too large for the stack */
	posix_spawnattr_t attributes;
	int rc = posix_spawnattr_init(&attributes);

	if (rc == 0)
		rc = posix_spawnattr_setsigmask(&attributes,
						&supervisor->signals_before);
	if (rc == 0)
		rc = posix_spawnattr_setflags(&attributes,
					      POSIX_SPAWN_SETSIGMASK);
	if (rc == 0) {
		build_args(&args, supervisor, channel);
		rc = posix_spawnp(&supervisor->nbdkit, "nbdkit", NULL,
				  &attributes, args.argv, environ);
	}
	(void)posix_spawnattr_destroy(&attributes); /* cannot fail on Linux */
	if (rc == ENOENT)
		return err_set(err, "cannot start nbdkit: it is not installed "
				    "(Debian and Fedora: package nbdkit)");
	return rc == 0 ? 0 : err_sys(err, rc, "cannot start nbdkit");
}

/* Waits for the end of nbdkit, and makes sure of it after a while. Returns its
 * status as waitpid() tells it. */
static int reap(struct supervisor *supervisor)
{
	uint64_t deadline =
		clock_monotonic_ns() + END_TIMEOUT_MS * CLOCK_NS_PER_MS;
	int status = 0;

	while (waitpid(supervisor->nbdkit, &status, WNOHANG) == 0) {
		if (clock_monotonic_ns() >= deadline)
			(void)kill(supervisor->nbdkit, SIGKILL);
		clock_sleep_ms(1);
	}
	if (supervisor->channel >= 0)
		(void)close(supervisor->channel); /* nothing unsaid in it */
	supervisor->channel = -1;
	(void)unlink(supervisor->config.socket); /* perhaps never made */
	return status;
}

static int start_drive(struct supervisor *supervisor, struct err *err)
{
	uint64_t deadline =
		clock_monotonic_ns() + START_TIMEOUT_MS * CLOCK_NS_PER_MS;
	char line[CONTROL_LINE_BYTES];
	int pair[2];
	int rc = 0;

	(void)unlink(supervisor->config.socket); /* mostly not there */
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return err_sys(err, errno, "cannot make a socket pair");
	if (fcntl(pair[0], F_SETFD, FD_CLOEXEC) != 0)
		rc = err_sys(err, errno, "cannot prepare a socket pair");
	if (rc == 0)
		rc = spawn(supervisor, pair[1], err);
	(void)close(pair[1]); /* it is the plugin's */
	if (rc != 0) {
		(void)close(pair[0]);
		return -1;
	}
	supervisor->channel = pair[0];
	rc = control_read_line(pair[0], line, sizeof(line), deadline);
	if (rc == 0)
		return 0;
	(void)kill(supervisor->nbdkit, SIGKILL); /* if it is still there */
	(void)reap(supervisor);
	return err_set(err, "nbdkit did not start: %s",
		       rc == -ETIMEDOUT ? "it says nothing"
					: "it has ended; see its message");
}

/* Asks the plugin and keeps the counters it answers with. */
static int ask_plugin(struct supervisor *supervisor, const char *command,
		      struct err *err)
{
	uint64_t deadline =
		clock_monotonic_ns() + PLUGIN_TIMEOUT_MS * CLOCK_NS_PER_MS;
	char line[sizeof(supervisor->counters)];
	int rc = control_write_line(supervisor->channel, command);

	if (rc == 0)
		rc = control_read_line(supervisor->channel, line, sizeof(line),
				       deadline);
	if (rc != 0)
		return err_sys(err, -rc, "the drive does not answer %s",
			       command);
	if (strncmp(line, "error ", strlen("error ")) == 0)
		return err_set(err, "the media: %s", line + strlen("error "));
	memcpy(supervisor->counters, line, sizeof(line));
	return 0;
}

/* Ends the drive by "cut" or "stop". */
static int end_drive(struct supervisor *supervisor, const char *command,
		     struct err *err)
{
	int rc = ask_plugin(supervisor, command, err);
	char *dirty = strstr(supervisor->counters, " ");

	if (rc != 0)
		(void)kill(supervisor->nbdkit, SIGKILL); /* its end at last */
	(void)reap(supervisor);
	if (rc == 0 && dirty != NULL) {
		/* Nothing is dirty in a cache without power. */
		char rest[sizeof(supervisor->counters)];

		(void)snprintf(rest, sizeof(rest), "%s", dirty);
		(void)snprintf(supervisor->counters,
			       sizeof(supervisor->counters),
			       "dirty_bytes=0%.200s", rest);
	}
	return rc;
}

/* "cut", and "cut WRITES MILLISECONDS" with nothing behind it. */
static bool is_cut(const char *command)
{
	uint64_t writes = 0, within_ms = 0;
	int end = 0;

	if (strcmp(command, "cut") == 0)
		return true;
	return sscanf(command, "cut %" SCNu64 " %" SCNu64 "%n", &writes,
		      &within_ms, &end) == 2 &&
	       command[end] == '\0' && within_ms <= CUT_WITHIN_MS_MAX;
}

static void obey(struct supervisor *supervisor, const char *command,
		 char *answer)
{
	struct err err = {.text = ""};
	const bool is_on = supervisor->channel >= 0;
	int rc = 0;

	(void)snprintf(answer, CONTROL_LINE_BYTES, "ok");
	if (is_cut(command)) {
		if (is_on)
			rc = end_drive(supervisor, command, &err);
	} else if (strcmp(command, "restore") == 0) {
		if (!is_on)
			rc = start_drive(supervisor, &err);
	} else if (strcmp(command, "status") == 0) {
		if (is_on)
			rc = ask_plugin(supervisor, "status", &err);
		(void)snprintf(answer, CONTROL_LINE_BYTES, "ok state=%s %s",
			       is_on ? "on" : "off", supervisor->counters);
	} else {
		rc = err_set(&err, "unknown command; cut, restore and status "
				   "are known");
	}
	if (rc != 0)
		(void)snprintf(answer, CONTROL_LINE_BYTES, "error %.480s",
			       err.text);
}

static void serve_client(struct supervisor *supervisor)
{
	int fd = accept4(supervisor->control_fd, NULL, NULL, SOCK_CLOEXEC);
	uint64_t deadline =
		clock_monotonic_ns() + CLIENT_TIMEOUT_MS * CLOCK_NS_PER_MS;
	char command[CONTROL_LINE_BYTES];
	char answer[CONTROL_LINE_BYTES];

	if (fd < 0)
		return; /* it has gone away again */
	if (control_read_line(fd, command, sizeof(command), deadline) == 0) {
		command[strcspn(command, "\r")] = '\0';
		obey(supervisor, command, answer);
		/* Whoever does not wait for the answer does not get one. */
		(void)control_write_line(fd, answer);
	}
	(void)close(fd);
}

static int catch_signals(struct supervisor *supervisor, struct err *err)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, &supervisor->signals_before) == 0)
		supervisor->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (supervisor->signal_fd < 0)
		return err_sys(err, errno, "cannot catch signals");
	return 0;
}

/* What is wrong with the trace is better said here than by nbdkit. */
static int prepare_trace(struct supervisor *supervisor, struct err *err)
{
	const char *path = supervisor->config.trace;
	int fd = -1;

	if (path == NULL)
		return 0;
	fd = tracefile_open(path, err);
	if (fd < 0)
		return -1;
	(void)close(fd); /* nothing was written */
	if (realpath(path, supervisor->trace) == NULL)
		return err_sys(err, errno, "cannot find trace %s", path);
	return 0;
}

static int prepare(struct supervisor *supervisor, struct err *err)
{
	struct supervisor_config *config = &supervisor->config;

	if (find_plugin(supervisor->plugin, sizeof(supervisor->plugin), err) !=
		    0 ||
	    media_prepare_file(config->media, &config->size_bytes, err) != 0 ||
	    prepare_trace(supervisor, err) != 0)
		return -1;
	if (realpath(config->media, supervisor->media) == NULL)
		return err_sys(err, errno, "cannot find media %s",
			       config->media);
	(void)snprintf(supervisor->state, sizeof(supervisor->state), "%s.state",
		       supervisor->media);
	/* A drive that is served anew is in good health. */
	if (unlink(supervisor->state) != 0 && errno != ENOENT)
		return err_sys(err, errno, "cannot remove %s",
			       supervisor->state);
	supervisor->control_fd = control_listen(config->control, err);
	return supervisor->control_fd < 0 ? -1 : 0;
}

struct supervisor *supervisor_open(const struct supervisor_config *config,
				   struct err *err)
{
	struct supervisor *supervisor = calloc(1, sizeof(*supervisor));

	if (supervisor == NULL) {
		(void)err_sys(err, ENOMEM, "cannot make a drive");
		return NULL; /* tells it */
	}
	supervisor->config = *config;
	supervisor->signal_fd = -1;
	supervisor->control_fd = -1;
	supervisor->channel = -1;
	(void)snprintf(supervisor->counters, sizeof(supervisor->counters),
		       "dirty_bytes=0");
	if (catch_signals(supervisor, err) == 0 &&
	    prepare(supervisor, err) == 0 && start_drive(supervisor, err) == 0)
		return supervisor;
	supervisor_close(supervisor);
	return NULL;
}

static int explain_end(struct supervisor *supervisor, struct err *err)
{
	int status = reap(supervisor);

	if (WIFSIGNALED(status))
		return err_set(err, "the drive was ended by signal %d",
			       WTERMSIG(status));
	return err_set(err, "the drive has ended by itself with status %d",
		       WEXITSTATUS(status));
}

int supervisor_run(struct supervisor *supervisor, struct err *err)
{
	for (;;) {
		struct pollfd waits[] = {
			{.fd = supervisor->signal_fd, .events = POLLIN},
			{.fd = supervisor->control_fd, .events = POLLIN},
			{.fd = supervisor->channel, .events = POLLIN},
		};

		if (poll(waits, 3, -1) < 0) {
			if (errno == EINTR)
				continue;
			return err_sys(err, errno, "cannot wait");
		}
		if (waits[0].revents != 0)
			return 0;
		if (waits[2].revents != 0)
			return explain_end(supervisor, err);
		if (waits[1].revents != 0)
			serve_client(supervisor);
	}
}

void supervisor_close(struct supervisor *supervisor)
{
	struct err ignored; /* it is the end in any case */

	if (supervisor == NULL)
		return;
	if (supervisor->channel >= 0)
		(void)end_drive(supervisor, "stop", &ignored);
	if (supervisor->control_fd >= 0) {
		(void)close(supervisor->control_fd);
		(void)unlink(supervisor->config.control);
		(void)unlink(supervisor->state);
	}
	if (supervisor->signal_fd >= 0)
		(void)close(supervisor->signal_fd);
	free(supervisor);
}
