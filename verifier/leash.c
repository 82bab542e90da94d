/* SPDX-License-Identifier: MIT */
#include "verifier/leash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "verifier/scan.h"

#define MARKS    (SCAN_THREADS_MAX + 1) /* threads that read, and the first */
#define NO_MARK  MARKS
#define LOOK_MS  200
#define LAST_MS  500 /* for an orderly end behind the last word */
#define BYTES    65536
#define NO_TOLD  (-1)
#define TROUBLED 2 /* exit status: no verdict */

struct mark {
	atomic_bool is_taken;
	atomic_uint call;
	atomic_uint_fast64_t offset_bytes;
	atomic_uint_fast64_t serial; /* 0: no call is open */
};

/* What both processes see. */
struct shared {
	atomic_uint_fast64_t moves; /* calls that were begun or ended */
	struct mark marks[MARKS];
};

struct pipes {
	int out[2], err[2], word[2]; /* from child to parent; -1: closed */
};

struct leash {
	struct shared *shared;
	struct pipes pipes;
	pid_t child; /* 0: this is the child */
	bool has_failed_to_pass;
};

static void close_one(int *fd)
{
	if (*fd != -1)
		(void)close(*fd); /* a pipe */
	*fd = -1;
}

static void close_pipes(struct pipes *pipes)
{
	for (int i = 0; i < 2; i++) {
		close_one(&pipes->out[i]);
		close_one(&pipes->err[i]);
		close_one(&pipes->word[i]);
	}
}

static int open_pipes(struct pipes *pipes)
{
	*pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
	if (pipe2(pipes->out, O_CLOEXEC) == 0 &&
	    pipe2(pipes->err, O_CLOEXEC) == 0 &&
	    pipe2(pipes->word, O_CLOEXEC) == 0)
		return 0;
	return -1;
}

/* ---- the child ---- */

/* Whoever reads what the parent says must not wait for this process. */
static void become_child(struct leash *leash, pid_t parent)
{
	struct pipes *pipes = &leash->pipes;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a wrong signal at worst */
	if (getppid() != parent || dup2(pipes->out[1], STDOUT_FILENO) == -1 ||
	    dup2(pipes->err[1], STDERR_FILENO) == -1)
		_exit(TROUBLED);
	for (int i = 0; i < 2; i++) {
		close_one(&pipes->out[i]);
		close_one(&pipes->err[i]);
	}
	close_one(&pipes->word[0]);
}

struct leash *leash_start(struct err *err)
{
	struct leash *leash = calloc(1, sizeof(*leash));
	const pid_t parent = getpid();
	void *memory = MAP_FAILED;

	if (leash == NULL)
		goto fail;
	memory = mmap(NULL, sizeof(*leash->shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		goto fail;
	leash->shared = memory;
	if (open_pipes(&leash->pipes) == -1)
		goto fail;
	leash->child = fork();
	if (leash->child == -1)
		goto fail;
	if (leash->child == 0) {
		become_child(leash, parent);
		return leash;
	}
	close_one(&leash->pipes.out[1]);
	close_one(&leash->pipes.err[1]);
	close_one(&leash->pipes.word[1]);
	return leash;
fail:
	(void)err_sys(err, errno, "cannot start a process to read the drive");
	if (leash != NULL && leash->shared != NULL)
		close_pipes(&leash->pipes);
	leash_free(leash);
	return NULL;
}

void leash_free(struct leash *leash)
{
	if (leash == NULL)
		return;
	if (leash->shared != NULL)
		(void)munmap(leash->shared, sizeof(*leash->shared));
	free(leash);
}

bool leash_is_child(const struct leash *leash)
{
	return leash->child == 0;
}

unsigned int leash_begin(struct leash *leash, enum leash_call call,
			 uint64_t offset_bytes)
{
	if (leash == NULL)
		return NO_MARK;
	for (unsigned int i = 0; i < MARKS; i++) {
		struct mark *mark = &leash->shared->marks[i];

		if (atomic_exchange(&mark->is_taken, true))
			continue;
		atomic_store(&mark->call, call);
		atomic_store(&mark->offset_bytes, offset_bytes);
		atomic_store(&mark->serial,
			     atomic_fetch_add(&leash->shared->moves, 1) + 1);
		return i;
	}
	return NO_MARK; /* the others tell */
}

void leash_end(struct leash *leash, unsigned int mark)
{
	if (leash == NULL || mark == NO_MARK)
		return;
	atomic_store(&leash->shared->marks[mark].serial, 0);
	(void)atomic_fetch_add(&leash->shared->moves, 1);
	atomic_store(&leash->shared->marks[mark].is_taken, false);
}

void leash_tell(struct leash *leash, int status)
{
	const unsigned char word = (unsigned char)status;

	/* A parent that is gone has nobody to tell it to. */
	if (write(leash->pipes.word[1], &word, 1) == -1)
		_exit(TROUBLED);
}

/* ---- the parent ---- */

static bool write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t done = write(fd, bytes, length);

		if (done == -1 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		length -= (size_t)done;
	}
	return true;
}

/* What *FROM has now; at its end it is closed. */
static void pass(struct leash *leash, int *from, int to, char *bytes)
{
	ssize_t length = read(*from, bytes, BYTES);

	if (length == -1 && errno == EINTR)
		return;
	if (length <= 0)
		close_one(from);
	else if (!write_all(to, bytes, (size_t)length))
		leash->has_failed_to_pass = true;
}

/*
 * One look of TIMEOUT_MS at most at what the child says. Its words come before
 * its status: so that is taken only when they have been passed on.
 */
static void listen_to(struct leash *leash, int timeout_ms, int *told,
		      char *bytes)
{
	struct pipes *pipes = &leash->pipes;
	struct pollfd waits[] = {{.fd = pipes->out[0], .events = POLLIN},
				 {.fd = pipes->err[0], .events = POLLIN},
				 {.fd = pipes->word[0], .events = POLLIN}};
	unsigned char word = 0;

	if (poll(waits, 3, timeout_ms) <= 0)
		return; /* or a signal: the caller counts its looks */
	if (waits[0].revents != 0)
		pass(leash, &pipes->out[0], STDOUT_FILENO, bytes);
	if (waits[1].revents != 0)
		pass(leash, &pipes->err[0], STDERR_FILENO, bytes);
	if (waits[0].revents != 0 || waits[1].revents != 0 ||
	    waits[2].revents == 0)
		return;
	if (read(pipes->word[0], &word, 1) == 1)
		*told = word;
	else
		close_one(&pipes->word[0]);
}

/* The oldest open call. */
static const struct mark *oldest(const struct leash *leash)
{
	const struct mark *found = NULL;
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < MARKS; i++) {
		const struct mark *mark = &leash->shared->marks[i];
		uint64_t serial = atomic_load(&mark->serial);

		if (serial != 0 && serial < least) {
			least = serial;
			found = mark;
		}
	}
	return found;
}

static int tell_stuck(const struct leash *leash, uint64_t stuck_ms,
		      struct err *err)
{
	static const char *const calls[LEASH_CALLS] = {
		[LEASH_OPEN] = "opening it",
		[LEASH_SUBMIT] = "handing over a read",
		[LEASH_READ] = "reading",
	};
	const struct mark *mark = oldest(leash);
	unsigned int call =
		mark == NULL ? LEASH_CALLS : atomic_load(&mark->call);

	if (call >= LEASH_CALLS)
		return err_set(err, "the drive does not answer");
	if (call == LEASH_OPEN)
		return err_set(
			err,
			"the drive does not answer: %s has taken %" PRIu64
			" ms\nhint: give it power again, and verify "
			"again",
			calls[call], stuck_ms);
	return err_set(err,
		       "the drive does not answer: %s at byte %" PRIu64
		       " has taken %" PRIu64 " ms in the kernel\nhint: give it "
		       "power again, and verify again",
		       calls[call], (uint64_t)atomic_load(&mark->offset_bytes),
		       stuck_ms);
}

/*
 * Until the child has told its status or has closed the pipe (NO_TOLD). -1
 * where it is stuck. P9: only time that this process sees pass counts, look by
 * look; a machine that stood still has not waited.
 */
static int listen_until_told(struct leash *leash, uint64_t limit_ms,
			     char *bytes, int *told, struct err *err)
{
	uint64_t moves = 0, stuck_ms = 0;

	*told = NO_TOLD;
	while (*told == NO_TOLD && leash->pipes.word[0] != -1) {
		const uint64_t begun_ns = clock_monotonic_ns();
		uint64_t took_ms = 0;

		listen_to(leash, LOOK_MS, told, bytes);
		took_ms = (clock_monotonic_ns() - begun_ns) / CLOCK_NS_PER_MS;
		if (atomic_load(&leash->shared->moves) != moves ||
		    oldest(leash) == NULL) {
			moves = atomic_load(&leash->shared->moves);
			stuck_ms = 0;
			continue;
		}
		stuck_ms += took_ms < LOOK_MS ? took_ms : LOOK_MS;
		if (stuck_ms >= limit_ms && *told == NO_TOLD)
			return tell_stuck(leash, stuck_ms, err);
	}
	return 0;
}

/* How the child ended, which told TOLD before, or nothing. */
static int take_end(struct leash *leash, int told)
{
	int status = 0;

	while (waitpid(leash->child, &status, 0) == -1)
		if (errno != EINTR)
			return told == NO_TOLD ? TROUBLED : told;
	if (WIFSIGNALED(status)) {
		(void)signal(WTERMSIG(status), SIG_DFL); /* KILL: refused */
		(void)raise(WTERMSIG(status));
		return TROUBLED;
	}
	return WEXITSTATUS(status);
}

/* A child whose reads are in flight ends when the drive lets it. */
static int await_end(struct leash *leash, int told, char *bytes)
{
	const uint64_t deadline_ns =
		clock_monotonic_ns() + LAST_MS * CLOCK_NS_PER_MS;
	int ignored = NO_TOLD;

	while (leash->pipes.word[0] != -1 && clock_until_ms(deadline_ns) > 0)
		listen_to(leash, clock_until_ms(deadline_ns), &ignored, bytes);
	if (leash->pipes.word[0] == -1)
		told = take_end(leash, told);
	return told;
}

int leash_follow(struct leash *leash, uint64_t limit_ms, struct err *err)
{
	char *bytes = malloc(BYTES);
	int told = NO_TOLD, result;

	if (bytes == NULL) {
		(void)kill(leash->child, SIGKILL); /* it is ours */
		close_pipes(&leash->pipes);
		return err_sys(err, ENOMEM, "cannot follow the verifier");
	}
	result = listen_until_told(leash, limit_ms, bytes, &told, err);
	if (result == -1)
		(void)kill(leash->child, SIGKILL); /* when it can be ended */
	else
		result = await_end(leash, told, bytes);
	if (leash->has_failed_to_pass && result >= 0)
		result = err_set(err, "cannot write the report");
	free(bytes);
	close_pipes(&leash->pipes);
	return result;
}
