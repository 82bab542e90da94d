/* SPDX-License-Identifier: MIT */
/*
 * bare - how fast this machine can write at all: the limit that the writer is
 * measured against. Requests are laid out once, every write sends one constant
 * buffer to a random place, and each turn submits and reaps in one call each.
 * There is no content, no promise and no log.
 *
 * WHAT IT WRITES TO IS OVERWRITTEN, without a question; only a block device in
 * use is refused (O_EXCL). The result is one JSON object on stdout.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libaio.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/options.h"

#define THREADS_MAX   64
#define DEPTH_MAX     1024
#define BLOCK_MAX     (4 * 1024 * 1024)
#define FLUSHES_MAX   8 /* in flight at once, as the writer has them */
#define BUFFER_ALIGN  4096
#define BUFFER_BYTE   0xa5
#define TRIES_MAX     2000 /* with a millisecond between them */
#define MULTIPLIER    6364136223846793005ULL
#define INCREMENT     1442695040888963407ULL
#define NEVER_NS      UINT64_MAX
#define NS_PER_SECOND 1e9

struct plan {
	const char *target;
	uint64_t offset_bytes, size_bytes, block_bytes;
	uint64_t depth, threads;
	uint64_t runtime_ms, count, flush_every;
	bool is_read, is_dsync;
	int fd;
	void *buffer; /* all requests share it */
};

/* One thread with its own part of the target. */
struct loop {
	const struct plan *plan;
	pthread_t thread;
	io_context_t context;
	struct iocb *iocbs; /* DEPTH transfers, then FLUSHES_MAX flushes */
	struct iocb **idle, **idle_flushes, **queue;
	unsigned int idle_count, idle_flush_count, queued, flying;
	struct io_event *events;
	uint64_t first_byte, slots, mask, state;
	unsigned int shift;
	uint64_t issued, done, flushes, since_flush;
	uint64_t until_ns;
	struct err err;
	bool has_failed;
};

/* A generator of full period over the next power of two, skipping what lies
 * beyond: each place comes once a round, so no two requests meet. */
static uint64_t next_place(struct loop *loop)
{
	uint64_t slot;

	do {
		loop->state =
			(loop->state * MULTIPLIER + INCREMENT) & loop->mask;
		slot = loop->state ^ loop->state >> loop->shift;
	} while (slot >= loop->slots);
	return loop->first_byte + slot * loop->plan->block_bytes;
}

static void queue_flush(struct loop *loop)
{
	struct iocb *iocb = loop->idle_flushes[--loop->idle_flush_count];

	loop->since_flush = 0;
	loop->queue[loop->queued++] = iocb;
	loop->flying++;
}

static void queue_transfer(struct loop *loop)
{
	struct iocb *iocb = loop->idle[--loop->idle_count];

	iocb->u.c.offset = (long long)next_place(loop);
	loop->queue[loop->queued++] = iocb;
	loop->flying++;
	loop->issued++;
}

static int submit(struct loop *loop, struct err *err)
{
	unsigned int taken = 0, tries = 0;

	while (taken < loop->queued) {
		int result =
			io_submit(loop->context, (long)(loop->queued - taken),
				  loop->queue + taken);

		if (result > 0) {
			taken += (unsigned int)result;
			continue;
		}
		if (result != -EAGAIN && result != -EINTR)
			return err_sys(err, -result, "cannot submit to %s",
				       loop->plan->target);
		if (++tries == TRIES_MAX)
			return err_sys(err, EAGAIN, "cannot submit to %s",
				       loop->plan->target);
		clock_sleep_ms(1);
	}
	loop->queued = 0;
	return 0;
}

static int take(struct loop *loop, const struct io_event *event,
		struct err *err)
{
	const struct plan *plan = loop->plan;
	bool is_flush = event->obj >= loop->iocbs + plan->depth;
	int64_t result = (int64_t)event->res;

	loop->flying--;
	if (result < 0)
		return err_sys(err, (int)-result, "a request to %s failed",
			       plan->target);
	if (is_flush) {
		loop->idle_flushes[loop->idle_flush_count++] = event->obj;
		loop->flushes++;
		return 0;
	}
	if ((uint64_t)result != plan->block_bytes)
		return err_set(err, "a request to %s came back short",
			       plan->target);
	loop->idle[loop->idle_count++] = event->obj;
	loop->done++;
	loop->since_flush++;
	return 0;
}

static int reap(struct loop *loop, struct err *err)
{
	int count = io_getevents(loop->context, 1, (long)loop->plan->depth,
				 loop->events, NULL);

	if (count == -EINTR)
		return 0;
	if (count < 0)
		return err_sys(err, -count, "cannot wait for %s",
			       loop->plan->target);
	for (int i = 0; i < count; i++)
		if (take(loop, &loop->events[i], err) < 0)
			return -1;
	return 0;
}

static int run(struct loop *loop, struct err *err)
{
	const struct plan *plan = loop->plan;

	for (;;) {
		bool is_over = loop->issued == plan->count ||
			       clock_monotonic_ns() >= loop->until_ns;

		if (is_over && loop->flying == 0)
			return 0;
		if (plan->flush_every && !is_over &&
		    loop->since_flush >= plan->flush_every &&
		    loop->flying < plan->depth && loop->idle_flush_count)
			queue_flush(loop);
		while (!is_over && loop->flying < plan->depth &&
		       loop->issued < plan->count)
			queue_transfer(loop);
		if (submit(loop, err) < 0 || reap(loop, err) < 0)
			return -1;
	}
}

static void *loop_main(void *argument)
{
	struct loop *loop = argument;

	if (run(loop, &loop->err) < 0)
		loop->has_failed = true;
	return NULL;
}

static void lay_out_requests(struct loop *loop)
{
	const struct plan *plan = loop->plan;
	unsigned int depth = (unsigned int)plan->depth;
	unsigned int flushes = depth / 2 < 1 ? 1 : depth / 2;

	for (unsigned int i = 0; i < depth; i++) {
		struct iocb *iocb = &loop->iocbs[i];

		if (plan->is_read)
			io_prep_pread(iocb, plan->fd, plan->buffer,
				      plan->block_bytes, 0);
		else
			io_prep_pwrite(iocb, plan->fd, plan->buffer,
				       plan->block_bytes, 0);
		iocb->aio_rw_flags = plan->is_dsync ? RWF_DSYNC : 0;
		loop->idle[loop->idle_count++] = iocb;
	}
	for (unsigned int i = 0; i < flushes && i < FLUSHES_MAX; i++) {
		struct iocb *iocb = &loop->iocbs[depth + i];

		io_prep_fdsync(iocb, plan->fd);
		loop->idle_flushes[loop->idle_flush_count++] = iocb;
	}
}

/* The part of the target that is this thread's. */
static void set_places(struct loop *loop, uint64_t number)
{
	const struct plan *plan = loop->plan;
	unsigned int bits = 1;

	loop->slots = plan->size_bytes / plan->block_bytes / plan->threads;
	loop->first_byte =
		plan->offset_bytes + number * loop->slots * plan->block_bytes;
	while (bits < 63 && 1ULL << bits < loop->slots)
		bits++;
	loop->mask = (1ULL << bits) - 1;
	loop->shift = (bits + 1) / 2;
}

static int loop_open(struct loop *loop, const struct plan *plan,
		     uint64_t number, struct err *err)
{
	size_t requests = (size_t)plan->depth + FLUSHES_MAX;
	int result;

	loop->plan = plan;
	set_places(loop, number);
	loop->iocbs = calloc(requests, sizeof(*loop->iocbs));
	loop->idle = calloc(requests, sizeof(struct iocb *));
	loop->idle_flushes = calloc(FLUSHES_MAX, sizeof(struct iocb *));
	loop->queue = calloc(requests, sizeof(struct iocb *));
	loop->events = calloc(requests, sizeof(*loop->events));
	if (!loop->iocbs || !loop->idle || !loop->idle_flushes ||
	    !loop->queue || !loop->events)
		return err_sys(err, ENOMEM, "cannot start");
	result = io_setup((int)requests, &loop->context);
	if (result < 0)
		return err_sys(err, -result, "cannot open a queue of %zu",
			       requests);
	lay_out_requests(loop);
	return 0;
}

static void loop_close(struct loop *loop)
{
	if (loop->context)
		(void)io_destroy(loop->context); /* waits for what flies */
	free(loop->iocbs);
	free(loop->idle);
	free(loop->idle_flushes);
	free(loop->queue);
	free(loop->events);
}

static int find_size(struct plan *plan, struct err *err)
{
	uint64_t size_bytes = 0;
	struct stat status;

	if (fstat(plan->fd, &status) == -1)
		return err_sys(err, errno, "cannot look at %s", plan->target);
	size_bytes = (uint64_t)status.st_size;
	if (S_ISBLK(status.st_mode) &&
	    ioctl(plan->fd, BLKGETSIZE64, &size_bytes) == -1)
		return err_sys(err, errno, "cannot tell the size of %s",
			       plan->target);
	if (plan->offset_bytes > size_bytes)
		return err_set(err, "%s ends before --offset", plan->target);
	if (!plan->size_bytes)
		plan->size_bytes = size_bytes - plan->offset_bytes;
	if (plan->size_bytes > size_bytes - plan->offset_bytes ||
	    plan->size_bytes / plan->block_bytes / plan->threads < plan->depth)
		return err_set(err, "%s is too small for that", plan->target);
	return 0;
}

static int plan_open(struct plan *plan, struct err *err)
{
	int flags = O_DIRECT | O_CLOEXEC | (plan->is_read ? O_RDONLY : O_RDWR);
	struct stat status;

	if (!plan->target)
		return err_set(err, "--target is missing");
	if (!plan->runtime_ms == !plan->count)
		return err_set(err, "one of --runtime and --count is needed");
	if (stat(plan->target, &status) == 0 && S_ISBLK(status.st_mode))
		flags |= O_EXCL;
	plan->fd = open(plan->target, flags);
	if (plan->fd == -1)
		return err_sys(err, errno, "cannot open %s", plan->target);
	if (find_size(plan, err) < 0)
		return -1;
	if (posix_memalign(&plan->buffer, BUFFER_ALIGN, plan->block_bytes)) {
		plan->buffer = NULL;
		return err_sys(err, ENOMEM, "cannot start");
	}
	memset(plan->buffer, BUFFER_BYTE, plan->block_bytes);
	if (!plan->count)
		plan->count = UINT64_MAX;
	return 0;
}

static double cpu_seconds(void)
{
	struct rusage usage = {0};

	(void)getrusage(RUSAGE_SELF, &usage); /* cannot fail for ourselves */
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* At the count or the time, whatever was given; the count is each thread's. */
static int run_all(struct loop *loops, const struct plan *plan, struct err *err)
{
	uint64_t until_ns = plan->runtime_ms
				    ? clock_monotonic_ns() +
					      plan->runtime_ms * CLOCK_NS_PER_MS
				    : NEVER_NS;
	uint64_t started = 0;
	int status = 0;

	for (; started < plan->threads && status == 0; started++) {
		struct loop *loop = &loops[started];
		int errnum;

		loop->until_ns = until_ns;
		errnum = pthread_create(&loop->thread, NULL, loop_main, loop);
		if (errnum) {
			status = err_sys(err, errnum, "cannot start a thread");
			break;
		}
	}
	for (uint64_t i = 0; i < started; i++) {
		(void)pthread_join(loops[i].thread, NULL); /* it runs */
		if (loops[i].has_failed) {
			*err = loops[i].err;
			status = -1;
		}
	}
	return status;
}

static int measure(struct loop *loops, const struct plan *plan, struct err *err)
{
	double seconds, cpu = cpu_seconds();
	uint64_t started_ns, done = 0, flushes = 0;

	for (uint64_t i = 0; i < plan->threads; i++)
		if (loop_open(&loops[i], plan, i, err) < 0)
			return -1;
	started_ns = clock_monotonic_ns();
	if (run_all(loops, plan, err) < 0)
		return -1;
	seconds = (double)(clock_monotonic_ns() - started_ns) / NS_PER_SECOND;
	for (uint64_t i = 0; i < plan->threads; i++) {
		done += loops[i].done;
		flushes += loops[i].flushes;
	}
	(void)printf("{\"writes\": %" PRIu64 ", \"bytes\": %" PRIu64
		     ", \"flushes\": %" PRIu64 ", \"seconds\": %.6f, "
		     "\"writes_per_second\": %.1f, \"cpu_seconds\": %.6f}\n",
		     done, done * plan->block_bytes, flushes, seconds,
		     (double)done / seconds, cpu_seconds() - cpu);
	return 0;
}

static int measure_plan(struct plan *plan, struct err *err)
{
	struct loop *loops = calloc(THREADS_MAX, sizeof(*loops));
	int status = -1;

	if (!loops)
		return err_sys(err, ENOMEM, "cannot start");
	if (plan_open(plan, err) == 0)
		status = measure(loops, plan, err);
	for (unsigned int i = 0; i < THREADS_MAX; i++)
		loop_close(&loops[i]);
	free(loops);
	free(plan->buffer);
	if (plan->fd != -1)
		(void)close(plan->fd); /* every write told its own result */
	return status;
}

static enum option_outcome parse(int argc, char **argv, struct plan *plan,
				 struct err *err)
{
	const struct option_row rows[] = {
		{"target", 't', OPTION_TEXT, &plan->target, "<path>",
		 "overwritten without a question", 0, 0, NULL},
		{"offset", 'o', OPTION_SIZE, &plan->offset_bytes, "<bytes>",
		 "where to begin", 0, 0, NULL},
		{"size", 's', OPTION_SIZE, &plan->size_bytes, "<bytes>",
		 "how much (default: all behind offset)", 1, 0, NULL},
		{"block-size", 'b', OPTION_SIZE, &plan->block_bytes, "<bytes>",
		 "size of one request (default 4k)", 512, BLOCK_MAX, NULL},
		{"depth", 'd', OPTION_COUNT, &plan->depth, "<count>",
		 "requests in flight (default 32)", 1, DEPTH_MAX, NULL},
		{"threads", 'n', OPTION_COUNT, &plan->threads, "<count>",
		 "each with its part of the target", 1, THREADS_MAX, NULL},
		{"runtime", 'R', OPTION_DURATION, &plan->runtime_ms, "<time>",
		 "stop after this time", 1, 0, NULL},
		{"count", 'C', OPTION_COUNT, &plan->count, "<count>",
		 "stop after so many requests of each thread", 1, 0, NULL},
		{"flush-every", 'f', OPTION_COUNT, &plan->flush_every,
		 "<count>", "FDSYNC after so many writes", 1, 0, NULL},
		{"dsync", 0, OPTION_FLAG, &plan->is_dsync, NULL,
		 "write with RWF_DSYNC (FUA)", 0, 0, NULL},
		{"read", 0, OPTION_FLAG, &plan->is_read, NULL,
		 "read instead of writing", 0, 0, NULL},
		{0},
	};
	const struct option_page page = {
		.program = "bare",
		.usage = "[options] --target <path> (--runtime <time> | "
			 "--count <count>)",
		.description = "Write one constant buffer to random places, "
			       "as fast as libaio can.",
		.rows = rows,
		.exit_status = "0 measured, 2 anything else",
		.examples = "bare -t /dev/shm/file -R 1s",
		.more = "docs/PERFORMANCE.md",
	};
	enum option_outcome outcome;
	int operands = 0;

	outcome = options_parse(&page, argc, argv, &operands, err);
	if (outcome == OPTIONS_HELP)
		options_print_help(&page, stdout);
	if (outcome == OPTIONS_VERSION)
		options_print_version(&page, stdout);
	if (outcome == OPTIONS_GO && operands > 0) {
		(void)err_set(err, "no operand is taken: %s", argv[1]);
		return OPTIONS_BAD;
	}
	return outcome;
}

int main(int argc, char **argv)
{
	struct plan plan = {
		.block_bytes = 4096, .depth = 32, .threads = 1, .fd = -1};
	enum option_outcome outcome;
	struct err err;

	outcome = parse(argc, argv, &plan, &err);
	if (outcome == OPTIONS_HELP || outcome == OPTIONS_VERSION)
		return 0;
	if (outcome == OPTIONS_GO && measure_plan(&plan, &err) == 0)
		return 0;
	(void)fprintf(stderr, "bare: %s\n", err.text);
	return 2;
}
