/* SPDX-License-Identifier: MIT */
/*
 * Only the right key gets in, what is plain stays on this host, and every
 * refusal says why.
 */
#include "tests/unit/cmocka_all.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/channel.h"

#define LIMIT_NS (10 * CLOCK_NS_PER_S)
#define MEGABYTE (1024 * 1024)
#define RECORDS  200

static char folder[] = "/tmp/plugpull-channel.XXXXXX";
static char path_right[64], path_wrong[64];
static struct channel_key *right, *wrong;

static int set_up(void **state)
{
	struct err err;

	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path_right, sizeof(path_right), "%s/right", folder);
	snprintf(path_wrong, sizeof(path_wrong), "%s/wrong", folder);
	if (channel_key_create(path_right, &err) < 0 ||
	    channel_key_create(path_wrong, &err) < 0)
		return -1;
	right = channel_key_load(path_right, &err);
	wrong = channel_key_load(path_wrong, &err);
	return right && wrong ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	channel_key_free(right);
	channel_key_free(wrong);
	(void)unlink(path_right);
	(void)unlink(path_wrong);
	return rmdir(folder);
}

/* The other end: one connection, whose bytes come back until it closes. */
struct echo {
	struct channel_listener *listener;
	struct err err;
	bool has_shaken;
	pthread_t thread;
};

static bool wait_for(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd entry = {.fd = fd, .events = events};

	return poll(&entry, 1, clock_until_ms(deadline_ns)) > 0;
}

static void echo_bytes(struct echo *echo, struct channel *channel,
		       uint64_t deadline_ns)
{
	static uint8_t buffer[8192];
	ssize_t count;

	while ((count = channel_read(channel, buffer, sizeof(buffer),
				     &echo->err)) >= 0) {
		const uint8_t *from = buffer;

		if (count == 0 &&
		    !wait_for(channel_fd(channel), channel_wants(channel),
			      deadline_ns))
			return;
		while (count > 0) {
			ssize_t sent = channel_write(channel, from,
						     (size_t)count, &echo->err);

			if (sent < 0)
				return;
			from += sent;
			count -= sent;
			if (sent == 0 && !wait_for(channel_fd(channel), POLLOUT,
						   deadline_ns))
				return;
		}
	}
}

static void *echo_main(void *data)
{
	struct echo *echo = data;
	uint64_t deadline_ns = clock_monotonic_ns() + LIMIT_NS;
	struct channel *channel;
	bool again;
	int result = 0;

	if (!wait_for(channel_listener_fd(echo->listener), POLLIN, deadline_ns))
		return NULL;
	channel = channel_accept(echo->listener, &again, &echo->err);
	if (channel == NULL)
		return NULL;
	while ((result = channel_handshake(channel, &echo->err)) == 0)
		if (!wait_for(channel_fd(channel), channel_wants(channel),
			      deadline_ns))
			break;
	echo->has_shaken = result == 1;
	if (echo->has_shaken)
		echo_bytes(echo, channel, deadline_ns);
	channel_close(channel);
	return NULL;
}

static const char *echo_start(struct echo *echo, const char *address,
			      const struct channel_key *key)
{
	struct err err = {""};

	memset(echo, 0, sizeof(*echo));
	echo->listener = channel_listen(address, key, &err);
	assert_string_equal(err.text, "");
	assert_non_null(echo->listener);
	assert_int_equal(pthread_create(&echo->thread, NULL, echo_main, echo),
			 0);
	return channel_listener_address(echo->listener);
}

static void echo_end(struct echo *echo)
{
	assert_int_equal(pthread_join(echo->thread, NULL), 0);
	channel_listener_close(echo->listener);
}

/* Both ways at once, more than any socket buffer holds. */
static void exchange(struct channel *channel, size_t total)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LIMIT_NS;
	static uint8_t out[MEGABYTE], in[MEGABYTE];
	size_t sent = 0, got = 0;
	struct err err;

	for (size_t i = 0; i < total; i++)
		out[i] = (uint8_t)(i * 31 >> 3);
	while (got < total) {
		ssize_t count = 0;

		if (sent < total)
			count = channel_write(channel, out + sent, total - sent,
					      &err);
		assert_true(count >= 0);
		sent += (size_t)count;
		count = channel_read(channel, in + got, total - got, &err);
		assert_true(count >= 0);
		got += (size_t)count;
		if (count == 0)
			assert_true(wait_for(channel_fd(channel),
					     sent < total ? POLLIN | POLLOUT
							  : POLLIN,
					     deadline_ns));
	}
	assert_memory_equal(in, out, total);
}

static void meet(const char *address, const struct channel_key *key)
{
	struct echo echo;
	struct err err;
	const char *at = echo_start(&echo, address, key);
	struct channel *channel =
		channel_connect(at, key, clock_monotonic_ns() + LIMIT_NS, &err);

	assert_non_null(channel);
	exchange(channel, MEGABYTE);
	channel_close(channel);
	echo_end(&echo);
	assert_true(echo.has_shaken);
	assert_non_null(strstr(echo.err.text, "closed by the peer"));
}

static void the_right_key_opens(void **state)
{
	(void)state;
	meet("127.0.0.1:0", right);
}

static void loopback_needs_no_key(void **state)
{
	(void)state;
	meet("127.0.0.1:0", NULL);
}

static void a_unix_socket_serves_with_and_without_a_key(void **state)
{
	char address[80];

	(void)state;
	snprintf(address, sizeof(address), "unix:%s/sock", folder);
	meet(address, NULL);
	meet(address, right);
}

/* All of it arrives at once and is taken by the spoonful: what channel_read()
 * holds back, channel_has_pending() has to tell, and the socket cannot. */
static void what_arrived_is_read_without_waiting_for_more(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LIMIT_NS;
	uint8_t bytes[RECORDS] = {0}, spoon[2];
	struct channel *channel;
	struct echo echo;
	struct err err;
	size_t got = 0;

	(void)state;
	channel = channel_connect(echo_start(&echo, "127.0.0.1:0", right),
				  right, deadline_ns, &err);
	assert_non_null(channel);
	for (size_t i = 0; i < RECORDS; i++)
		assert_int_equal(channel_write(channel, bytes, 3, &err), 3);
	while (got < sizeof(bytes) * 3) {
		ssize_t count = 0;

		if (!channel_has_pending(channel))
			assert_true(wait_for(channel_fd(channel), POLLIN,
					     deadline_ns));
		count = channel_read(channel, spoon, sizeof(spoon), &err);
		assert_true(count >= 0);
		got += (size_t)count;
	}
	assert_int_equal(channel_read(channel, spoon, sizeof(spoon), &err), 0);
	assert_false(channel_has_pending(channel));
	channel_close(channel);
	echo_end(&echo);
}

static void expect_no_entry(const struct channel_key *server,
			    const struct channel_key *client,
			    const char *client_says, const char *server_says)
{
	struct echo echo;
	struct err err;
	const char *at = echo_start(&echo, "127.0.0.1:0", server);
	struct channel *channel = channel_connect(
		at, client, clock_monotonic_ns() + LIMIT_NS, &err);
	uint8_t hello[64] = "PPA1 and what else a plain client would say";

	if (client == NULL) {
		assert_non_null(channel);
		assert_true(channel_write(channel, hello, sizeof(hello), &err) >
			    0);
	} else {
		assert_null(channel);
		assert_non_null(strstr(err.text, client_says));
	}
	if (channel != NULL)
		assert_true(wait_for(channel_fd(channel), POLLIN,
				     clock_monotonic_ns() + LIMIT_NS));
	channel_close(channel);
	echo_end(&echo);
	assert_non_null(strstr(echo.err.text, server_says));
}

static void a_wrong_key_is_said_to_be_one_at_both_ends(void **state)
{
	(void)state;
	expect_no_entry(right, wrong, "the key does not match",
			"the peer's key does not match");
}

static void a_plain_client_does_not_pass_a_server_with_a_key(void **state)
{
	(void)state;
	expect_no_entry(right, NULL, "", "does not speak TLS 1.3");
}

static void a_client_with_a_key_does_not_go_on_in_plain(void **state)
{
	(void)state;
	/* The echo of its own greeting is no greeting of a server. */
	expect_no_entry(NULL, right, "TLS", "");
}

static void plain_does_not_leave_this_host(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LIMIT_NS;
	struct err err;

	(void)state;
	assert_null(channel_connect("192.0.2.1:7411", NULL, deadline_ns, &err));
	assert_non_null(strstr(err.text, "not a loopback address"));
	assert_null(channel_listen("0.0.0.0:0", NULL, &err));
	assert_non_null(strstr(err.text, "not a loopback address"));
	assert_null(channel_listen(":0", NULL, &err));
	assert_non_null(strstr(err.text, "not a loopback address"));
	assert_null(channel_listen("[::]:0", NULL, &err));
	assert_non_null(strstr(err.text, "not a loopback address"));
}

static void addresses_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {"", "localhost",
					  "127.0.0.1:", "::1:80", "unix:"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(channel_listen(bad[i], NULL, &err));
		assert_non_null(strstr(err.text, "is no address"));
	}
}

static void nobody_there_is_an_error_in_time(void **state)
{
	struct err err;
	char address[80];

	(void)state;
	snprintf(address, sizeof(address), "unix:%s/none", folder);
	assert_null(channel_connect(address, NULL,
				    clock_monotonic_ns() + LIMIT_NS, &err));
	assert_non_null(strstr(err.text, "cannot connect to unix:"));
}

static void a_server_that_is_silent_is_given_up(void **state)
{
	struct err err;
	struct channel_listener *listener =
		channel_listen("127.0.0.1:0", right, &err);

	(void)state;
	assert_non_null(listener);
	assert_null(channel_connect(channel_listener_address(listener), right,
				    clock_monotonic_ns() + CLOCK_NS_PER_S / 10,
				    &err));
	assert_non_null(strstr(err.text, "no answer in time"));
	channel_listener_close(listener);
}

static void a_socket_that_is_in_use_is_not_taken_over(void **state)
{
	char address[80];
	struct channel_listener *listener;
	struct err err;

	(void)state;
	snprintf(address, sizeof(address), "unix:%s/used", folder);
	listener = channel_listen(address, NULL, &err);
	assert_non_null(listener);
	assert_null(channel_listen(address, NULL, &err));
	assert_non_null(strstr(err.text, "cannot listen on unix:"));
	channel_listener_close(listener);
}

static void a_socket_that_nobody_listens_on_is_replaced(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct channel_listener *listener;
	char address[80];
	struct err err;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	/* As a killed collector leaves it: no listener, but its name. */
	snprintf(address, sizeof(address), "unix:%s/stale", folder);
	strcpy(name.sun_path, address + strlen("unix:"));
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	(void)close(fd);
	listener = channel_listen(address, NULL, &err);
	assert_non_null(listener);
	channel_listener_close(listener);
	assert_int_equal(access(name.sun_path, F_OK), -1);
}

static void a_key_file_is_its_owners_alone(void **state)
{
	struct stat stat_of;
	struct err err;

	(void)state;
	assert_int_equal(stat(path_right, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 07777, 0600);
	assert_int_equal(chmod(path_right, 0640), 0);
	assert_null(channel_key_load(path_right, &err));
	assert_non_null(strstr(err.text, "is open to others"));
	assert_int_equal(chmod(path_right, 0600), 0);
}

static void a_key_is_never_overwritten(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(channel_key_create(path_right, &err), -1);
	assert_non_null(strstr(err.text, "File exists"));
}

static void a_key_that_is_not_64_digits_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "00",
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddee"
		"f",
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddee"
		"fg",
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddee"
		"ff00"};
	char path[80];
	struct err err;

	(void)state;
	snprintf(path, sizeof(path), "%s/bad", folder);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, bad[i], strlen(bad[i])),
				 strlen(bad[i]));
		(void)close(fd);
		assert_null(channel_key_load(path, &err));
		assert_non_null(strstr(err.text, "hex digits"));
	}
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_right_key_opens),
		cmocka_unit_test(loopback_needs_no_key),
		cmocka_unit_test(a_unix_socket_serves_with_and_without_a_key),
		cmocka_unit_test(what_arrived_is_read_without_waiting_for_more),
		cmocka_unit_test(a_wrong_key_is_said_to_be_one_at_both_ends),
		cmocka_unit_test(
			a_plain_client_does_not_pass_a_server_with_a_key),
		cmocka_unit_test(a_client_with_a_key_does_not_go_on_in_plain),
		cmocka_unit_test(plain_does_not_leave_this_host),
		cmocka_unit_test(addresses_that_are_none_are_refused),
		cmocka_unit_test(nobody_there_is_an_error_in_time),
		cmocka_unit_test(a_server_that_is_silent_is_given_up),
		cmocka_unit_test(a_socket_that_is_in_use_is_not_taken_over),
		cmocka_unit_test(a_socket_that_nobody_listens_on_is_replaced),
		cmocka_unit_test(a_key_file_is_its_owners_alone),
		cmocka_unit_test(a_key_is_never_overwritten),
		cmocka_unit_test(a_key_that_is_not_64_digits_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
