/* SPDX-License-Identifier: MIT */
/* A session answers each line with one line, and knows when it was left. */
#include "relay/relaysession.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/err.h"
#include "relay/relays.h"
#include "tests/fake/port_fake.h"
#include "tests/unit/cmocka_all.h"

static struct {
	enum relay_state contact;
	unsigned int switchings;
	bool is_stuck, is_mute;
} board;

static struct {
	struct relays *relays;
	struct port_fake *fake;
	int ours, theirs;
	enum outlet_lost when_lost;
	pthread_t thread;
	int rc;
	struct err err;
} scene;

static volatile sig_atomic_t is_stopped;
static const struct port_fake_step no_steps[] = {{0}};

static int board_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	(void)port;
	(void)outlet;
	(void)deadline_ns;
	if (board.is_stuck)
		return err_set(err, "stuck\nhint: oil");
	board.contact = state;
	board.switchings++;
	return 0;
}

static int board_get(struct port *port, const struct outlet *outlet,
		     enum relay_state *state, uint64_t deadline_ns,
		     struct err *err)
{
	(void)port;
	(void)outlet;
	(void)deadline_ns;
	(void)err;
	*state = board.contact;
	return !board.is_mute;
}

static const struct relay_driver driver = {
	.name = "board",
	.channel_first = 1,
	.channel_last = 1,
	.answer_ms = 1000,
	.set = board_set,
	.get = board_get,
};

static struct port *board_open(const struct outlet *outlet, struct err *err)
{
	(void)outlet;
	(void)err;
	return port_fake_port(scene.fake);
}

static void *run(void *argument)
{
	(void)argument;
	scene.rc = relaysession_run(scene.relays, scene.when_lost, scene.theirs,
				    scene.theirs, &is_stopped, &scene.err);
	return NULL;
}

static void begin(enum outlet_lost when_lost)
{
	scene.when_lost = when_lost;
	assert_int_equal(pthread_create(&scene.thread, NULL, run, NULL), 0);
}

static void expect_end(int rc, const char *why)
{
	assert_int_equal(pthread_join(scene.thread, NULL), 0);
	assert_int_equal(scene.rc, rc);
	if (strstr(scene.err.text, why) == NULL)
		fail_msg("%s", scene.err.text);
}

static int set_up(void **state)
{
	const struct outlet outlet = {
		.driver = &driver, .address = "x", .channel = 1};
	int ends[2];

	(void)state;
	memset(&board, 0, sizeof(board));
	memset(&scene, 0, sizeof(scene));
	board.contact = RELAY_ON;
	is_stopped = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	scene.ours = ends[0];
	scene.theirs = ends[1];
	scene.fake = port_fake_new(no_steps, NULL);
	scene.relays = relays_new(&outlet, 1, board_open, &scene.err);
	return scene.relays == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	relays_free(scene.relays);
	port_fake_free(scene.fake);
	if (scene.ours != -1)
		(void)close(scene.ours);
	(void)close(scene.theirs);
	return 0;
}

static void say(const char *text)
{
	assert_int_equal(write(scene.ours, text, strlen(text)), strlen(text));
}

/* One line comes, and begins like this. */
static void expect(const char *begin)
{
	char line[512];
	size_t used = 0;

	do
		assert_int_equal(read(scene.ours, line + used, 1), 1);
	while (line[used++] != '\n');
	line[used] = '\0';
	if (strncmp(line, begin, strlen(begin)) != 0)
		fail_msg("%s", line);
}

static void hang_up(void)
{
	assert_int_equal(close(scene.ours), 0);
	scene.ours = -1;
}

static void each_command_has_its_answer(void **state)
{
	(void)state;
	begin(OUTLET_LOST_OFF);
	say("status\noff\n");
	expect("ok on read-back took_us=");
	expect("ok off read-back took_us=");
	say("stat");
	say("us\ncycle 1\n");
	expect("ok off read-back");
	expect("ok on read-back");
	board.is_mute = true;
	say("status\n");
	expect("ok unknown silent");
	board.is_stuck = true;
	say("off\nhelp\ncycle x\ncycle 99999999999\n\n");
	expect("error board on x: cannot switch off, tried 3 times: stuck "
	       "hint: oil");
	expect("error unknown command \"help\"");
	expect("error cycle");
	expect("error cycle: more than a day");
	expect("error unknown command \"\"");
	board.is_stuck = false;
	say("end\n");
	expect_end(0, "");
	assert_int_equal(board.contact, RELAY_ON);
}

static void who_is_lost_leaves_the_power_as_configured(void **state)
{
	(void)state;
	begin(OUTLET_LOST_ON);
	say("off\n");
	expect("ok off");
	hang_up();
	expect_end(-1, "switched on (when_lost)");
	assert_int_equal(board.contact, RELAY_ON);
}

static void lost_may_mean_dark(void **state)
{
	(void)state;
	begin(OUTLET_LOST_OFF);
	say("status\n");
	expect("ok on");
	hang_up();
	expect_end(-1, "switched off (when_lost)");
	assert_int_equal(board.contact, RELAY_OFF);
}

static void or_as_it_is(void **state)
{
	(void)state;
	begin(OUTLET_LOST_KEEP);
	say("off\n");
	expect("ok off");
	hang_up();
	expect_end(-1, "left as it is");
	assert_int_equal(board.contact, RELAY_OFF);
	assert_int_equal(board.switchings, 1);
}

static void a_signal_is_a_loss_too(void **state)
{
	(void)state;
	begin(OUTLET_LOST_ON);
	say("off\n");
	expect("ok off");
	is_stopped = 1;
	expect_end(-1, "switched on (when_lost)");
}

static void a_line_without_end_is_nobody_who_knows_us(void **state)
{
	char line[RELAYSESSION_LINE_BYTES + 1];

	(void)state;
	begin(OUTLET_LOST_ON);
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	say(line);
	expect_end(-1, "without \"end\"");
}

static void power_that_cannot_be_given_back_is_told(void **state)
{
	(void)state;
	begin(OUTLET_LOST_ON);
	say("off\n");
	expect("ok off");
	board.is_stuck = true;
	hang_up();
	expect_end(-1, "could not be carried out");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_command_has_its_answer),
		TEST(who_is_lost_leaves_the_power_as_configured),
		TEST(lost_may_mean_dark),
		TEST(or_as_it_is),
		TEST(a_signal_is_a_loss_too),
		TEST(a_line_without_end_is_nobody_who_knows_us),
		TEST(power_that_cannot_be_given_back_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
