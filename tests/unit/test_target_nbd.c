/* SPDX-License-Identifier: MIT */
/*
 * The NBD engine against real servers: nbdkit with filters that delay, fail,
 * log, or are killed in the middle.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/target/target.h"
#include "common/target/target_ops.h"

#define BLOCK_BYTES 4096U
#define DEPTH       16U
#define WORDS_MAX   24
#define START_MS    10000U

struct server {
	char folder[40];
	char uri[96], socket[64], pidfile[64], log[64];
	pid_t pid;
	struct target *target;
	struct target_queue *queue;
	uint8_t *buffer;
};

static int make_server(void **state)
{
	struct server *server = calloc(1, sizeof(*server));

	(void)strcpy(server->folder, "/tmp/plugpull-test-XXXXXX");
	assert_non_null(mkdtemp(server->folder));
	(void)snprintf(server->socket, sizeof(server->socket), "%s/socket",
		       server->folder);
	(void)snprintf(server->pidfile, sizeof(server->pidfile), "%s/pid",
		       server->folder);
	(void)snprintf(server->log, sizeof(server->log), "%s/log",
		       server->folder);
	(void)snprintf(server->uri, sizeof(server->uri),
		       "nbd+unix:///?socket=%s", server->socket);
	server->buffer =
		target_buffer_new(DEPTH * BLOCK_BYTES, &(struct err){0});
	*state = server;
	return 0;
}

static void kill_server(struct server *server)
{
	if (server->pid == 0)
		return;
	(void)kill(server->pid, SIGKILL);
	(void)waitpid(server->pid, NULL, 0);
	server->pid = 0;
}

static int drop_server(void **state)
{
	struct server *server = *state;

	target_queue_close(server->queue);
	target_close(server->target);
	kill_server(server);
	(void)unlink(server->socket);
	(void)unlink(server->pidfile);
	(void)unlink(server->log);
	(void)rmdir(server->folder);
	free(server->buffer);
	free(server);
	return 0;
}

static void run_nbdkit(const struct server *server, const char *const *words)
{
	char *argv[WORDS_MAX + 8] = {0};
	int count = 0;

	argv[count++] = strdup("nbdkit");
	argv[count++] = strdup("-f");
	argv[count++] = strdup("--exit-with-parent");
	argv[count++] = strdup("--log=null");
	argv[count++] = strdup("-U");
	argv[count++] = strdup(server->socket);
	argv[count++] = strdup("-P");
	argv[count++] = strdup(server->pidfile);
	for (int i = 0; i < WORDS_MAX && words[i] != NULL; i++)
		argv[count++] = strdup(words[i]);
	(void)execvp(argv[0], argv);
	_exit(127);
}

/* nbdkit writes its pid file when it is ready. */
static void serve(struct server *server, const char *const *words)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + START_MS * CLOCK_NS_PER_MS;
	int status = 0;

	(void)unlink(server->pidfile);
	(void)unlink(server->socket);
	server->pid = fork();
	if (server->pid == 0)
		run_nbdkit(server, words);
	while (access(server->pidfile, F_OK) == -1) {
		if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
			server->pid = 0;
			print_message("nbdkit is missing or refused\n");
			skip();
		}
		assert_true(clock_monotonic_ns() < deadline_ns);
		clock_sleep_ms(5);
	}
}

static void open_all(struct server *server, enum target_mode mode)
{
	struct err err;

	server->target = target_open(server->uri, mode, &err);
	if (server->target == NULL)
		fail_msg("%s", err.text);
	server->queue = target_queue_open(server->target, DEPTH, &err);
	if (server->queue == NULL)
		fail_msg("%s", err.text);
}

#define SERVE(server, ...) \
	serve(server, (const char *const[]){__VA_ARGS__, NULL})

static void reap_all(struct server *server, unsigned int count, int64_t result)
{
	struct target_completion done[DEPTH];

	while (count > 0) {
		int got = target_queue_reap(server->queue, done, DEPTH, 10000);

		assert_true(got > 0);
		for (int i = 0; i < got; i++)
			assert_int_equal(done[i].result, result);
		count -= (unsigned int)got;
	}
}

static void queue_writes(struct server *server, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		target_queue_write(server->queue, i,
				   server->buffer + i * BLOCK_BYTES,
				   BLOCK_BYTES, i * BLOCK_BYTES, false);
}

static unsigned int count_in_log(const struct server *server, const char *word)
{
	FILE *file = fopen(server->log, "r");
	unsigned int count = 0;
	char line[1024];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, word) != NULL;
	(void)fclose(file);
	return count;
}

static void what_was_written_is_read(void **state)
{
	struct server *server = *state;
	uint8_t *back =
		target_buffer_new(DEPTH * BLOCK_BYTES, &(struct err){0});

	SERVE(server, "memory", "64M");
	open_all(server, TARGET_WRITE);
	for (unsigned int i = 0; i < DEPTH * BLOCK_BYTES; i++)
		server->buffer[i] = (uint8_t)(i * 2654435761U >> 24);
	queue_writes(server, DEPTH);
	assert_int_equal(target_queue_submit(server->queue), 0);
	reap_all(server, DEPTH, BLOCK_BYTES);
	for (unsigned int i = 0; i < DEPTH; i++)
		target_queue_read(server->queue, i, back + i * BLOCK_BYTES,
				  BLOCK_BYTES, i * BLOCK_BYTES);
	assert_int_equal(target_queue_submit(server->queue), 0);
	reap_all(server, DEPTH, BLOCK_BYTES);
	assert_memory_equal(back, server->buffer, DEPTH * BLOCK_BYTES);
	assert_true(target_info(server->target)->size_bytes == 64U << 20);
	assert_int_equal(target_info(server->target)->logical_block_bytes, 512);
	assert_string_equal(target_info(server->target)->identity, "");
	assert_string_equal(target_info(server->target)->erase_name,
			    server->uri);
	assert_false(target_is_gone(server->target));
	free(back);
}

static void p1_flush_and_fua_reach_the_server(void **state)
{
	struct server *server = *state;
	char option[80];

	(void)snprintf(option, sizeof(option), "logfile=%s", server->log);
	SERVE(server, "--filter=log", "memory", "64M", option);
	open_all(server, TARGET_WRITE);
	target_queue_write(server->queue, 1, server->buffer, BLOCK_BYTES, 0,
			   true);
	target_queue_write(server->queue, 2, server->buffer, BLOCK_BYTES,
			   BLOCK_BYTES, false);
	assert_int_equal(target_queue_submit(server->queue), 0);
	reap_all(server, 2, BLOCK_BYTES);
	assert_int_equal(count_in_log(server, " fua=1 "), 1);
	assert_int_equal(count_in_log(server, " fua=0 "), 1);
	assert_int_equal(count_in_log(server, " Flush "), 0);
	target_queue_flush(server->queue, 3);
	assert_int_equal(target_queue_submit(server->queue), 0);
	reap_all(server, 1, 0);
	assert_int_equal(count_in_log(server, " Flush "), 1);
}

/* A server may serve one connection only (qemu-nbd does). */
static void one_queue_is_one_connection(void **state)
{
	struct server *server = *state;
	char option[80];

	(void)snprintf(option, sizeof(option), "logfile=%s", server->log);
	SERVE(server, "--filter=log", "memory", "64M", option);
	open_all(server, TARGET_WRITE);
	target_queue_close(server->queue);
	assert_int_equal(target_read_once(server->target, server->buffer,
					  BLOCK_BYTES, 0, 10000),
			 0);
	server->queue = target_queue_open(server->target, 1, &(struct err){0});
	assert_non_null(server->queue);
	assert_int_equal(count_in_log(server, " Connect "), 1);
}

static void p1_a_lost_connection_completes_nothing(void **state)
{
	struct server *server = *state;
	struct target_completion done[DEPTH];
	struct err err;

	SERVE(server, "--filter=delay", "memory", "64M", "wdelay=60");
	open_all(server, TARGET_WRITE);
	queue_writes(server, 4);
	assert_int_equal(target_queue_submit(server->queue), 0);
	assert_int_equal(target_queue_reap(server->queue, done, DEPTH, 20), 0);
	assert_false(target_is_gone(server->target));
	kill_server(server);
	assert_int_equal(target_queue_reap(server->queue, done, DEPTH, 10000),
			 -ENOTCONN);
	assert_int_equal(target_queue_reap(server->queue, done, DEPTH, 10000),
			 -ENOTCONN);
	assert_true(target_is_gone(server->target));
	target_queue_flush(server->queue, 9);
	assert_int_equal(target_queue_submit(server->queue), -ENOTCONN);
	assert_null(target_queue_open(server->target, 1, &err));
}

/* The reads wait for ever, the writes are answered at once: their answers are
 * real although the server then dies. */
static void what_was_answered_before_the_end_is_told(void **state)
{
	struct server *server = *state;
	struct target_completion done[DEPTH];
	unsigned int count = 0;
	int got;

	SERVE(server, "--filter=delay", "memory", "64M", "rdelay=60");
	open_all(server, TARGET_WRITE);
	queue_writes(server, 3);
	target_queue_read(server->queue, 99, server->buffer + 8 * BLOCK_BYTES,
			  BLOCK_BYTES, 0);
	assert_int_equal(target_queue_submit(server->queue), 0);
	while (count < 3) {
		got = target_queue_reap(server->queue, done, 1, 10000);
		assert_int_equal(got, 1);
		assert_int_equal(done[0].result, BLOCK_BYTES);
		assert_true(done[0].tag < 3);
		count++;
	}
	kill_server(server);
	assert_int_equal(target_queue_reap(server->queue, done, DEPTH, 10000),
			 -ENOTCONN);
}

/* P10: a server that came back is not the drive that was opened. */
static void p10_no_queue_on_a_server_that_came_back(void **state)
{
	struct server *server = *state;
	struct err err;

	SERVE(server, "memory", "64M");
	server->target = target_open(server->uri, TARGET_WRITE, &err);
	assert_non_null(server->target);
	assert_false(target_is_gone(server->target));
	kill_server(server);
	SERVE(server, "memory", "64M");
	assert_true(target_is_gone(server->target));
	assert_null(target_queue_open(server->target, 1, &err));
	assert_non_null(strstr(err.text, "the connection was lost"));
	assert_int_equal(target_read_once(server->target, server->buffer,
					  BLOCK_BYTES, 0, 1000),
			 -ENODEV);
}

static void an_error_of_the_server_is_a_completion(void **state)
{
	struct server *server = *state;

	SERVE(server, "--filter=error", "memory", "64M", "error-pwrite=ENOSPC",
	      "error-pwrite-rate=100%");
	open_all(server, TARGET_WRITE);
	queue_writes(server, 2);
	assert_int_equal(target_queue_submit(server->queue), 0);
	reap_all(server, 2, -ENOSPC);
	assert_false(target_is_gone(server->target));
}

static void a_read_that_takes_too_long_is_given_up(void **state)
{
	struct server *server = *state;
	uint64_t began_ns;

	SERVE(server, "--filter=delay", "memory", "64M", "rdelay=60");
	server->target =
		target_open(server->uri, TARGET_READ, &(struct err){0});
	assert_non_null(server->target);
	began_ns = clock_monotonic_ns();
	assert_int_equal(target_read_once(server->target, server->buffer,
					  BLOCK_BYTES, 0, 100),
			 -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - began_ns < 10 * CLOCK_NS_PER_S);
}

static void what_the_server_cannot_do_is_said(void **state)
{
	struct server *server = *state;
	const struct target_info *info;

	SERVE(server, "--filter=blocksize-policy", "eval",
	      "get_size=echo 67108864", "pread=exit 1", "pwrite=cat >/dev/null",
	      "can_write=exit 0", "can_flush=exit 3", "can_fua=echo none",
	      "blocksize-minimum=4096", "blocksize-preferred=4096",
	      "blocksize-maximum=1M",
	      "list_exports=echo INTERLEAVED; echo; echo 'Serial  4711\t'",
	      "export_description=echo ' Serial  4711 '");
	open_all(server, TARGET_WRITE);
	info = target_info(server->target);
	assert_false(info->has_flush || info->has_fua || info->is_write_back);
	assert_int_equal(info->logical_block_bytes, 4096);
	assert_int_equal(info->max_request_bytes, 1024 * 1024);
	assert_string_equal(info->identity, "nbd:Serial 4711");
}

static void a_read_only_export_is_not_written(void **state)
{
	struct server *server = *state;
	struct err err;

	SERVE(server, "-r", "memory", "64M");
	assert_null(target_open(server->uri, TARGET_WRITE, &err));
	assert_non_null(strstr(err.text, "for reading only"));
	open_all(server, TARGET_READ);
}

static void no_server_is_said_without_function_names(void **state)
{
	struct err err;

	(void)state;
	assert_null(target_open("nbd+unix:///?socket=/tmp/plugpull-none",
				TARGET_READ, &err));
	assert_null(strstr(err.text, "nbd_"));
	assert_non_null(strstr(err.text, "cannot connect to nbd+unix:///"));
	assert_non_null(strstr(err.text, "No such file"));
}

#define ROW(test) \
	cmocka_unit_test_setup_teardown(test, make_server, drop_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(what_was_written_is_read),
		ROW(p1_flush_and_fua_reach_the_server),
		ROW(one_queue_is_one_connection),
		ROW(p1_a_lost_connection_completes_nothing),
		ROW(what_was_answered_before_the_end_is_told),
		ROW(p10_no_queue_on_a_server_that_came_back),
		ROW(an_error_of_the_server_is_a_completion),
		ROW(a_read_that_takes_too_long_is_given_up),
		ROW(what_the_server_cannot_do_is_said),
		ROW(a_read_only_export_is_not_written),
		ROW(no_server_is_said_without_function_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
