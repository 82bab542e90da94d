/* SPDX-License-Identifier: MIT */
/*
 *   mount tracefs, seen by nobody -> instances/plugpull-PID -> filters, events
 *        -> a thread reads trace_pipe ... -> read the rest -> remove it
 */
#include "writer/wtrace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/queuefacts.h"
#include "common/target/stack.h"

#define PREFIX       "plugpull-"
#define DRIVES_MAX   32 /* of a filter */
#define FILTER_BYTES 4096
#define LINE_BYTES   1024
#define READ_BYTES   65536
#define BUFFER_KB    "1024" /* of each processor */
#define POLL_MS      100
#define REST_READS   4096 /* at the end, of READ_BYTES */

struct wtrace {
	int root;     /* of tracefs */
	int instance; /* its folder; -1: none */
	int pipe;
	char name[64];
	unsigned int events; /* that are on */
	pthread_t thread;
	bool is_started;
	atomic_bool is_over;
	struct traceline_sums sums;
	char line[LINE_BYTES];
	size_t used; /* of line; LINE_BYTES: too long, to be skipped */
	char buffer[READ_BYTES];
};

struct drive {
	struct queuefacts queue;
	unsigned int scsi[4]; /* host, channel, id, lun */
	bool is_nvme, is_scsi;
};

/* ---- tracefs ---- */

/* A mount that has no place: it ends with its descriptor. */
static int open_tracefs(struct err *err)
{
	int root = -1;
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);

	if (context != -1 && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE,
				     NULL, NULL, 0) == 0)
		root = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	if (root == -1)
		(void)err_sys(err, errno, "cannot open tracefs for --trace");
	if (context != -1)
		(void)close(context); /* nothing was written */
	return root;
}

static int write_file(int folder, const char *name, const char *text)
{
	int fd = openat(folder, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t written;

	if (fd == -1)
		return -errno;
	written = write(fd, text, strlen(text));
	if (close(fd) == -1 || written == -1)
		return -errno;
	return 0;
}

/* Of writers that were killed. Names are ours alone. */
static void remove_leftovers(int root)
{
	char path[sizeof("instances/") + NAME_MAX];
	const struct dirent *entry;
	int fd = openat(root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd == -1 ? NULL : fdopendir(fd);
	int pid;
	char rest;

	if (folder == NULL) {
		if (fd != -1)
			(void)close(fd); /* nothing was written */
		return;
	}
	while ((entry = readdir(folder)) != NULL) {
		if (sscanf(entry->d_name, PREFIX "%9d%c", &pid, &rest) != 1 ||
		    pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		(void)snprintf(path, sizeof(path), "instances/%s",
			       entry->d_name);
		(void)unlinkat(root, path, AT_REMOVEDIR); /* or the next one */
	}
	(void)closedir(folder); /* nothing was written */
}

static int make_instance(struct wtrace *trace, struct err *err)
{
	(void)snprintf(trace->name, sizeof(trace->name),
		       "instances/" PREFIX "%d", (int)getpid());
	/* Of a process that had this number before. */
	(void)unlinkat(trace->root, trace->name, AT_REMOVEDIR);
	if (mkdirat(trace->root, trace->name, 0700) == -1)
		return err_sys(err, errno, "cannot make tracefs %s",
			       trace->name);
	trace->instance = openat(trace->root, trace->name,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (trace->instance == -1)
		return err_sys(err, errno, "cannot open tracefs %s",
			       trace->name);
	/* mono: the clock of all other times of the writer. */
	if (write_file(trace->instance, "trace_clock", "mono") < 0 ||
	    write_file(trace->instance, "buffer_size_kb", BUFFER_KB) < 0)
		return err_set(err, "cannot set up tracefs %s", trace->name);
	return 0;
}

/* ---- which events ---- */

static void read_drive(const char *disk, struct drive *drive)
{
	char path[PATH_MAX], real[PATH_MAX];
	const char *name;

	memset(drive, 0, sizeof(*drive));
	queuefacts_read(disk, &drive->queue);
	drive->is_nvme = strncmp(drive->queue.name, "nvme", 4) == 0;
	if (snprintf(path, sizeof(path), "%s/device", disk) >=
		    (int)sizeof(path) ||
	    realpath(path, real) == NULL)
		return;
	name = strrchr(real, '/') + 1; /* realpath() begins with one */
	drive->is_scsi =
		sscanf(name, "%9u:%9u:%9u:%9u", &drive->scsi[0],
		       &drive->scsi[1], &drive->scsi[2], &drive->scsi[3]) == 4;
}

static void append(char *filter, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append(char *filter, const char *format, ...)
{
	size_t used = strlen(filter);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(filter + used, FILTER_BYTES - used, format, list);
	va_end(list);
}

enum event_kind { EVENT_BLOCK, EVENT_NVME, EVENT_SCSI };

/* "A || B": which drives; "" for none of this kind. */
static void filter_drives(const struct drive *drives, size_t count,
			  enum event_kind kind, char *filter)
{
	filter[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const struct drive *drive = &drives[i];
		const unsigned int *at = drive->scsi;
		const char * or = filter[0] == '\0' ? "" : " || ";

		if (kind == EVENT_BLOCK)
			append(filter, "%sdev == %u", or,
			       drive->queue.major << 20 | drive->queue.minor);
		else if (kind == EVENT_NVME && drive->is_nvme)
			append(filter, "%sdisk == \"%s\"", or,
			       drive->queue.name);
		else if (kind == EVENT_SCSI && drive->is_scsi)
			append(filter,
			       "%s(host_no == %u && channel == %u && id == %u "
			       "&& lun == %u)",
			       or, at[0], at[1], at[2], at[3]);
	}
}

/* Those that this kernel does not have are left out. */
static void switch_on(struct wtrace *trace, const struct drive *drives,
		      size_t count)
{
	static const struct {
		enum event_kind kind;
		const char *name, *condition;
	} events[] = {
		{EVENT_BLOCK, "block/block_rq_issue", "rwbs ~ \"*F*\""},
		{EVENT_BLOCK, "block/block_rq_complete", "rwbs ~ \"*F*\""},
		{EVENT_BLOCK, "block/block_rq_requeue", "rwbs ~ \"*F*\""},
		{EVENT_NVME, "nvme/nvme_setup_cmd", "opcode == 0"},
		{EVENT_NVME, "nvme/nvme_complete_rq", "retries > 0"},
		{EVENT_SCSI, "scsi/scsi_dispatch_cmd_start",
		 "(opcode == 0x35 || opcode == 0x91)"},
	};
	char drive_filter[FILTER_BYTES], filter[FILTER_BYTES + 64], path[96];

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		filter_drives(drives, count, events[i].kind, drive_filter);
		if (drive_filter[0] == '\0')
			continue;
		(void)snprintf(filter, sizeof(filter), "(%s) && %s",
			       drive_filter, events[i].condition);
		(void)snprintf(path, sizeof(path), "events/%s/filter",
			       events[i].name);
		if (write_file(trace->instance, path, filter) < 0)
			continue;
		(void)snprintf(path, sizeof(path), "events/%s/enable",
			       events[i].name);
		if (write_file(trace->instance, path, "1") == 0)
			trace->events++;
	}
}

/* ---- reading ---- */

static void take_bytes(struct wtrace *trace, const char *bytes, size_t count)
{
	struct traceline line;

	for (size_t i = 0; i < count; i++) {
		if (bytes[i] != '\n') {
			if (trace->used < LINE_BYTES)
				trace->line[trace->used++] = bytes[i];
			continue;
		}
		if (trace->used < LINE_BYTES) {
			trace->line[trace->used] = '\0';
			traceline_parse(trace->line, &line);
			traceline_add(&trace->sums, &line);
		}
		trace->used = 0;
	}
}

/* True where there may be more. */
static bool read_some(struct wtrace *trace)
{
	ssize_t count = read(trace->pipe, trace->buffer, READ_BYTES);

	if (count <= 0)
		return false;
	take_bytes(trace, trace->buffer, (size_t)count);
	return true;
}

static void *reader_main(void *argument)
{
	struct wtrace *trace = argument;
	struct pollfd wait = {.fd = trace->pipe, .events = POLLIN};
	sigset_t all;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, NULL); /* neither can fail */
	while (!atomic_load(&trace->is_over)) {
		/* It says "there is something" only when half full. */
		(void)poll(&wait, 1, POLL_MS);
		(void)read_some(trace); /* the next one tells */
	}
	for (unsigned int i = 0; i < REST_READS && read_some(trace); i++)
		;
	return NULL;
}

static int start(struct wtrace *trace, struct err *err)
{
	int errnum;

	if (trace->events == 0)
		return err_set(err, "cannot trace flushes: this kernel has no "
				    "such events\nhint: leave --trace away");
	trace->pipe = openat(trace->instance, "trace_pipe",
			     O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (trace->pipe == -1)
		return err_sys(err, errno, "cannot read tracefs %s",
			       trace->name);
	errnum = pthread_create(&trace->thread, NULL, reader_main, trace);
	if (errnum != 0)
		return err_sys(err, errnum, "cannot read tracefs %s",
			       trace->name);
	trace->is_started = true;
	return 0;
}

/* ---- */

/* How many. What is at the bottom is what counts. */
static size_t read_drives(const struct stack *stack, struct drive *drives,
			  bool at_bottom)
{
	size_t count = 0;

	for (unsigned int i = 0; i < stack_count(stack) && count < DRIVES_MAX;
	     i++) {
		read_drive(stack_disk(stack, i), &drives[count]);
		if (drives[count].queue.is_bottom || !at_bottom)
			count++;
	}
	return count;
}

struct wtrace *wtrace_open(const struct stack *stack, struct err *err)
{
	struct wtrace *trace = calloc(1, sizeof(*trace));
	struct drive *drives = calloc(DRIVES_MAX, sizeof(*drives));
	size_t count;

	if (trace == NULL || drives == NULL) {
		(void)err_sys(err, ENOMEM, "cannot trace flushes");
		free(trace);
		free(drives);
		return NULL;
	}
	trace->instance = trace->pipe = -1;
	count = read_drives(stack, drives, true);
	if (count == 0) /* a loop device over what is no drive */
		count = read_drives(stack, drives, false);
	trace->root = open_tracefs(err);
	if (trace->root == -1)
		goto fail;
	remove_leftovers(trace->root);
	if (make_instance(trace, err) < 0)
		goto fail;
	switch_on(trace, drives, count);
	if (start(trace, err) < 0)
		goto fail;
	free(drives);
	return trace;
fail:
	free(drives);
	wtrace_free(trace);
	return NULL;
}

void wtrace_finish(struct wtrace *trace, struct traceline_sums *sums)
{
	if (trace->is_started) {
		(void)write_file(trace->instance, "tracing_on", "0");
		atomic_store(&trace->is_over, true);
		(void)pthread_join(trace->thread, NULL); /* it is ours */
		trace->is_started = false;
	}
	*sums = trace->sums;
}

void wtrace_free(struct wtrace *trace)
{
	struct traceline_sums ignored;

	if (trace == NULL)
		return;
	wtrace_finish(trace, &ignored);
	if (trace->pipe != -1)
		(void)close(trace->pipe); /* was only read */
	if (trace->instance != -1) {
		(void)close(trace->instance); /* was only read */
		(void)unlinkat(trace->root, trace->name, AT_REMOVEDIR);
	}
	if (trace->root != -1)
		(void)close(trace->root); /* nothing was written */
	free(trace);
}
