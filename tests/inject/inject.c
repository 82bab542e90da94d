/* SPDX-License-Identifier: MIT */
#include "tests/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPEC_BYTES 64
#define PATH_BYTES 4096

static const struct {
	const char *name;
	int number;
} errors[] = {
	{"EIO", EIO},
	{"ENOSPC", ENOSPC},
	{"EFBIG", EFBIG},
	{"EINTR", EINTR},
	{"EAGAIN", EAGAIN},
	{"EINVAL", EINVAL},
	{"ENOMEM", ENOMEM},
	{"EMFILE", EMFILE},
	{"EACCES", EACCES},
	{"ENOENT", ENOENT},
	{"EPIPE", EPIPE},
	{"ECONNRESET", ECONNRESET},
	{"ECONNREFUSED", ECONNREFUSED},
	{"ECONNABORTED", ECONNABORTED},
	{"ETIMEDOUT", ETIMEDOUT},
	{"EHOSTUNREACH", EHOSTUNREACH},
};

#define INJECT_KIND(symbol, name) name,
static const char *const kinds[] = {
#include "tests/inject/kinds.def"
};
#undef INJECT_KIND

/* One process, one fault: this is the whole state of it. */
static struct {
	bool is_on;
	bool is_lasting;
	enum inject_kind kind;
	unsigned long nth;
	enum inject_hit hit;
	int errnum;
	bool is_deadly;
	bool is_torn;
	const char *path;
	const char *report;
	atomic_ulong count;
	atomic_bool is_met;
} fault;

static void give_up(const char *why)
{
	(void)dprintf(STDERR_FILENO, "inject: %s\n", why);
	_exit(99);
}

static enum inject_kind find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i], name) == 0)
			return (enum inject_kind)i;
	give_up("there is no such kind");
	return INJECT_NONE;
}

static void read_what(const char *what)
{
	fault.hit = INJECT_FAIL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(errors[i].name, what) == 0)
			fault.errnum = errors[i].number;
	if (strcmp(what, "short") == 0)
		fault.hit = INJECT_SHORT;
	else if (strcmp(what, "torn") == 0)
		fault.is_torn = true;
	else if (strcmp(what, "zero") == 0)
		fault.hit = INJECT_ZERO;
	else if (strcmp(what, "lose") == 0 || strcmp(what, "cut") == 0)
		fault.hit = INJECT_LOSE;
	else if (strcmp(what, "kill") != 0 && fault.errnum == 0)
		give_up("there is no such error");
	fault.is_deadly = strcmp(what, "kill") == 0 || strcmp(what, "cut") == 0;
}

/* Raw calls: our own must not be counted. The shim has no other output. */
static void write_report(void)
{
	char text[SPEC_BYTES];
	int length = snprintf(text, sizeof(text), "%lu %s\n",
			      atomic_load(&fault.count),
			      atomic_load(&fault.is_met) ? "met" : "missed");
	long fd = 0;

	if (fault.report == NULL)
		return;
	fd = syscall(SYS_openat, AT_FDCWD, fault.report,
		     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || syscall(SYS_write, fd, text, length) != length)
		give_up("cannot write the report");
	(void)syscall(SYS_close, fd); /* read by nobody before we end */
}

__attribute__((constructor)) static void begin(void)
{
	const char *spec = getenv("INJECT");
	const char *program = getenv("INJECT_PROGRAM");
	char kind[SPEC_BYTES], what[SPEC_BYTES], lasting[2] = "";

	if (spec == NULL ||
	    (program != NULL &&
	     strcmp(program, program_invocation_short_name) != 0))
		return;
	if (sscanf(spec, "%63[a-z]:%lu:%63s", kind, &fault.nth, what) != 3 &&
	    sscanf(spec, "%63[a-z]:%lu%1[+]:%63s", kind, &fault.nth, lasting,
		   what) != 4)
		give_up("INJECT is KIND:N[+]:WHAT");
	fault.is_lasting = lasting[0] == '+';
	fault.kind = find_kind(kind);
	read_what(what);
	fault.path = getenv("INJECT_PATH");
	fault.report = getenv("INJECT_REPORT");
	fault.is_on = true;
}

__attribute__((destructor)) static void end(void)
{
	if (fault.is_on)
		write_report();
	fault.is_on = false;
}

/* The verifier leaves in this way, past every destructor. */
void _exit(int status)
{
	if (fault.is_on)
		write_report();
	(void)syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

void inject_may_die(void)
{
	if (fault.is_deadly)
		(void)syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

bool inject_counts(enum inject_kind kind)
{
	return fault.is_on && kind == fault.kind;
}

/* Half of the nth is done; the rest of it does not fit any more. */
static enum inject_hit tear(unsigned long number)
{
	errno = ENOSPC;
	return number == fault.nth ? INJECT_SHORT : INJECT_FAIL;
}

enum inject_hit inject_call(enum inject_kind kind)
{
	unsigned long number = 0;

	if (!inject_counts(kind))
		return INJECT_PASS;
	number = atomic_fetch_add(&fault.count, 1) + 1;
	if (fault.nth == 0 || number < fault.nth ||
	    (number > fault.nth + fault.is_torn && !fault.is_lasting))
		return INJECT_PASS;
	if (!atomic_exchange(&fault.is_met, true))
		write_report();
	if (fault.is_torn)
		return tear(number);
	if (fault.hit == INJECT_FAIL)
		inject_may_die();
	errno = fault.errnum;
	return fault.hit;
}

enum inject_hit inject_path_call(enum inject_kind kind, const char *path)
{
	if (fault.path != NULL && strstr(path, fault.path) == NULL)
		return INJECT_PASS;
	return inject_call(kind);
}

enum inject_hit inject_fd_call(enum inject_kind kind, int fd)
{
	char link[SPEC_BYTES], path[PATH_BYTES];
	long length = 0;

	if (!inject_counts(kind) || fault.path == NULL)
		return inject_call(kind);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length =
		syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = '\0';
	return inject_path_call(kind, path);
}

void inject_next(const char *name, void *to)
{
	void *next = dlsym(RTLD_NEXT, name);

	if (next == NULL)
		give_up(name);
	memcpy(to, &next, sizeof(next));
}
