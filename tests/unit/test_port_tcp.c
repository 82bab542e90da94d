/* SPDX-License-Identifier: MIT */
/*
 * The real way to a board, whole: outlet, relay, driver and port against an
 * emulated board that answers byte for byte over TCP.
 */
#include "relay/port_tcp.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "relay/relay.h"
#include "tests/fake/board_lcus.h"
#include "tests/unit/cmocka_all.h"

#define TEXT_BYTES 128

struct bench {
	struct board_lcus *board;
	struct outlet outlet;
	struct relay *relay;
	enum relay_proof proof;
	struct err err;
};

static void bench_open(struct bench *bench, unsigned int relays,
		       enum board_lcus_manner manner)
{
	char text[TEXT_BYTES];

	memset(bench, 0, sizeof(*bench));
	bench->board = board_lcus_start(relays, manner);
	assert_non_null(bench->board);
	(void)snprintf(text, sizeof(text), "lcus:tcp://127.0.0.1:%u:2",
		       board_lcus_port(bench->board));
	assert_int_equal(outlet_parse(text, &bench->outlet, &bench->err), 0);
	bench->relay = relay_new(&bench->outlet, relay_open_port, &bench->err);
	assert_non_null(bench->relay);
}

static void bench_close(struct bench *bench)
{
	relay_free(bench->relay);
	assert_int_equal(board_lcus_wrong_frames(bench->board), 0);
	board_lcus_stop(bench->board);
}

static void switch_and_check(struct bench *bench, enum relay_state to)
{
	enum relay_state told = !to;

	assert_int_equal(
		relay_switch(bench->relay, to, &bench->proof, &bench->err), 0);
	assert_int_equal(bench->proof, RELAY_PROOF_READ_BACK);
	assert_int_equal(board_lcus_is_on(bench->board, 2), to == RELAY_ON);
	assert_false(board_lcus_is_on(bench->board, 1));
	assert_int_equal(
		relay_read(bench->relay, &told, &bench->proof, &bench->err), 0);
	assert_int_equal(told, to);
}

static void lcus_over_tcp(enum board_lcus_manner manner)
{
	struct bench bench;

	bench_open(&bench, 4, manner);
	switch_and_check(&bench, RELAY_ON);
	switch_and_check(&bench, RELAY_OFF);
	switch_and_check(&bench, RELAY_ON);
	assert_int_equal(board_lcus_switchings(bench.board), 3);
	bench_close(&bench);
}

static void lcus_that_answers_in_text(void **state)
{
	(void)state;
	lcus_over_tcp(BOARD_LCUS_TEXT);
}

static void lcus_that_answers_in_bytes(void **state)
{
	(void)state;
	lcus_over_tcp(BOARD_LCUS_RAW);
}

static void lcus_that_never_answers(void **state)
{
	struct bench bench;
	uint64_t start_ns = clock_monotonic_ns();

	(void)state;
	bench_open(&bench, 2, BOARD_LCUS_SILENT);
	assert_int_equal(
		relay_switch(bench.relay, RELAY_ON, &bench.proof, &bench.err),
		0);
	assert_int_equal(bench.proof, RELAY_PROOF_SILENT);
	assert_true(board_lcus_is_on(bench.board, 2));
	assert_int_equal(board_lcus_switchings(bench.board), 1);
	assert_true(clock_monotonic_ns() - start_ns < 10 * CLOCK_NS_PER_S);
	bench_close(&bench);
}

static void a_board_that_hangs_up_is_noticed_at_once(void **state)
{
	struct bench bench;
	enum relay_state told = RELAY_OFF;
	uint64_t start_ns = clock_monotonic_ns();

	(void)state;
	bench_open(&bench, 2, BOARD_LCUS_HANGS_UP);
	assert_int_equal(
		relay_read(bench.relay, &told, &bench.proof, &bench.err), -1);
	assert_non_null(strstr(bench.err.text, "the other end is gone"));
	assert_true(clock_monotonic_ns() - start_ns < CLOCK_NS_PER_S);
	bench_close(&bench);
}

static void a_channel_that_the_board_has_not_is_an_error(void **state)
{
	struct bench bench;
	enum relay_state told = RELAY_OFF;

	(void)state;
	bench_open(&bench, 1, BOARD_LCUS_TEXT);
	assert_int_equal(
		relay_read(bench.relay, &told, &bench.proof, &bench.err), -1);
	assert_non_null(strstr(bench.err.text, "channel 2"));
	bench_close(&bench);
}

static void nobody_there_is_an_error(void **state)
{
	struct board_lcus *board = board_lcus_start(1, BOARD_LCUS_TEXT);
	char address[TEXT_BYTES];
	struct err err = {""};

	(void)state;
	assert_non_null(board);
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u",
		       board_lcus_port(board));
	board_lcus_stop(board);
	assert_null(port_tcp_open(address, &err));
	assert_non_null(strstr(err.text, "Connection refused"));
	assert_null(port_tcp_open("127.0.0.1", &err));
	assert_null(port_tcp_open(":1", &err));
	assert_null(port_tcp_open("127.0.0.1:", &err));
	assert_null(port_tcp_open_unix("/nonexistent/socket", &err));
}

/* What close() finds unread must not reset the connection: the last command
 * would be lost on its way. */
static void the_last_command_arrives_whatever_was_unread(void **state)
{
	struct board_lcus *board = board_lcus_start(8, BOARD_LCUS_TEXT);
	static const uint8_t ask_and_switch[] = {0xff, 0xa0, 1, 1, 0xa2};
	uint64_t deadline_ns = clock_monotonic_ns() + CLOCK_NS_PER_S;
	char address[TEXT_BYTES];
	struct port *port = NULL;
	struct err err = {""};

	(void)state;
	assert_non_null(board);
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u",
		       board_lcus_port(board));
	port = port_tcp_open(address, &err);
	assert_non_null(port);
	assert_int_equal(port_write(port, ask_and_switch,
				    sizeof(ask_and_switch), deadline_ns, &err),
			 0);
	port_close(port);
	assert_true(board_lcus_is_on(board, 1));
	board_lcus_stop(board);
}

/* One connection of a simulated drive's control socket. */
static void *answer_one_line(void *argument)
{
	int listener = *(int *)argument;
	int fd = accept(listener, NULL, NULL);
	char line[16] = "";
	const char *answer = "ok state=off\n";

	if (fd < 0 || recv(fd, line, sizeof(line) - 1, 0) <= 0 ||
	    strcmp(line, "status\n") != 0)
		answer = "error what\n";
	(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
	(void)close(fd);
	return NULL;
}

static void a_unix_socket_carries_the_simulated_drive(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	enum relay_state told = RELAY_ON;
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct outlet outlet;
	struct relay *relay = NULL;
	struct err err = {""};
	char text[TEXT_BYTES];
	pthread_t thread;

	(void)state;
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/tmp/plugpull-test-%d.sock", (int)getpid());
	(void)unlink(address.sun_path);
	assert_int_equal(bind(listener, (struct sockaddr *)(void *)&address,
			      sizeof(address)),
			 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(
		pthread_create(&thread, NULL, answer_one_line, &listener), 0);
	(void)snprintf(text, sizeof(text), "sim:%s", address.sun_path);
	assert_int_equal(outlet_parse(text, &outlet, &err), 0);
	relay = relay_new(&outlet, relay_open_port, &err);
	assert_non_null(relay);
	assert_int_equal(relay_read(relay, &told, &proof, &err), 0);
	assert_int_equal(told, RELAY_OFF);
	relay_free(relay);
	(void)pthread_join(thread, NULL);
	(void)close(listener);
	(void)unlink(address.sun_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lcus_that_answers_in_text),
		cmocka_unit_test(lcus_that_answers_in_bytes),
		cmocka_unit_test(lcus_that_never_answers),
		cmocka_unit_test(a_board_that_hangs_up_is_noticed_at_once),
		cmocka_unit_test(a_channel_that_the_board_has_not_is_an_error),
		cmocka_unit_test(nobody_there_is_an_error),
		cmocka_unit_test(the_last_command_arrives_whatever_was_unread),
		cmocka_unit_test(a_unix_socket_carries_the_simulated_drive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
