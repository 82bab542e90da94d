/* SPDX-License-Identifier: MIT */
/*
 * A client may be silent for ever between two messages, but not in the middle
 * of one, and not before it has said who it is.
 */
#include "tests/unit/cmocka_all.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/client.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/format/ackproto.h"
#include "common/net/channel.h"

#define S CLOCK_NS_PER_S

static char folder[32];
static char said[512];
static struct client_house house;
static struct channel_listener *listener;
static struct channel *peer;
static struct client *client;

static void say(const char *line)
{
	snprintf(said, sizeof(said), "%s", line);
}

static int set_up(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + 10 * S;
	char address[64];
	struct err err;
	bool again;

	(void)state;
	said[0] = '\0';
	strcpy(folder, "/tmp/plugpull-client.XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(address, sizeof(address), "unix:%s/sock", folder);
	house.say = say;
	house.runlogs = runlog_set_new(folder, say, &err);
	listener = channel_listen(address, NULL, &err);
	peer = channel_connect(address, NULL, deadline_ns, &err);
	client = client_new(&house, channel_accept(listener, &again, &err),
			    &err);
	return house.runlogs && peer && client ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	client_free(client);
	channel_close(peer);
	channel_listener_close(listener);
	runlog_set_free(house.runlogs);
	return rmdir(folder);
}

static void serve(void)
{
	client_serve(client, POLLIN);
	client_settle(client);
}

static void send_hello(size_t bytes)
{
	const struct ackproto_hello hello = {
		ACKPROTO_VERSION, ACKPROTO_NEW, {1}};
	uint8_t payload[ACKPROTO_HELLO_BYTES];
	uint8_t frame[ACKPROTO_HEADER_BYTES + ACKPROTO_HELLO_BYTES];
	struct err err;

	ackproto_encode_hello(&hello, payload);
	ackproto_encode(ACKPROTO_HELLO, 0, payload, sizeof(payload), frame);
	assert_int_equal(channel_write(peer, frame, bytes, &err), bytes);
	serve();
}

#define WHOLE_HELLO (ACKPROTO_HEADER_BYTES + ACKPROTO_HELLO_BYTES)

static void who_says_nothing_is_dropped_in_time(void **state)
{
	uint64_t now_ns = clock_monotonic_ns();

	(void)state;
	client_expire(client, now_ns + (CLIENT_HELLO_S - 1) * S);
	assert_false(client_is_gone(client));
	client_expire(client, now_ns + CLIENT_HELLO_S * S);
	assert_true(client_is_gone(client));
	assert_non_null(strstr(said, "no hello in time"));
}

static void half_a_hello_is_none(void **state)
{
	(void)state;
	send_hello(WHOLE_HELLO - 1);
	client_expire(client, clock_monotonic_ns() + CLIENT_HELLO_S * S);
	assert_true(client_is_gone(client));
}

static void who_is_welcome_may_be_silent(void **state)
{
	(void)state;
	send_hello(WHOLE_HELLO);
	assert_true(client_deadline_ns(client) == UINT64_MAX);
	client_expire(client, clock_monotonic_ns() + 100000 * S);
	assert_false(client_is_gone(client));
}

static void who_stalls_in_the_middle_is_dropped(void **state)
{
	uint64_t now_ns;
	struct err err;

	(void)state;
	send_hello(WHOLE_HELLO);
	assert_int_equal(channel_write(peer, "PPA1", 4, &err), 4);
	serve();
	now_ns = clock_monotonic_ns();
	/* Another byte is no message: the time runs on. */
	assert_int_equal(channel_write(peer, "\2", 1, &err), 1);
	serve();
	assert_true(client_deadline_ns(client) <= now_ns + CLIENT_STALL_S * S);
	client_expire(client, now_ns + (CLIENT_STALL_S - 1) * S);
	assert_false(client_is_gone(client));
	client_expire(client, now_ns + CLIENT_STALL_S * S);
	assert_true(client_is_gone(client));
	assert_non_null(strstr(said, "stalled"));
}

static void who_is_refused_hears_why_and_has_to_leave(void **state)
{
	static const char noise[] = "GET / HTTP/1.1 and more of the same";
	uint8_t answer[1024];
	struct err err;

	(void)state;
	assert_true(channel_write(peer, noise, sizeof(noise), &err) > 0);
	serve();
	assert_non_null(strstr(said, "refused: "));
	assert_true(channel_read(peer, answer, sizeof(answer), &err) >
		    ACKPROTO_HEADER_BYTES);
	assert_int_equal(answer[4], ACKPROTO_REFUSE);
	assert_false(client_is_gone(client));
	client_expire(client, clock_monotonic_ns() + CLIENT_OVER_S * S);
	assert_true(client_is_gone(client));
}

static void who_leaves_is_gone(void **state)
{
	uint8_t answer[4096];
	struct err err;

	(void)state;
	send_hello(WHOLE_HELLO);
	assert_true(channel_read(peer, answer, sizeof(answer), &err) > 0);
	channel_close(peer);
	peer = NULL;
	serve();
	assert_true(client_is_gone(client));
	assert_non_null(strstr(said, "has left: closed by the peer"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_says_nothing_is_dropped_in_time),
		TEST(half_a_hello_is_none),
		TEST(who_is_welcome_may_be_silent),
		TEST(who_stalls_in_the_middle_is_dropped),
		TEST(who_is_refused_hears_why_and_has_to_leave),
		TEST(who_leaves_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
