/* SPDX-License-Identifier: MIT */
/*
 * For every board alike: trouble is retried within limits, a board that says
 * no is not believed to have switched, and one that cannot tell is said so.
 */
#include "relay/relay.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "tests/fake/port_fake.h"
#include "tests/unit/cmocka_all.h"

/* A board made of counters; the tests say what fails how often. */
static struct {
	enum relay_state contact;
	unsigned int opens, offs, ons, gets;
	unsigned int opens_fail, sets_fail, sets_lost, gets_fail;
	bool is_welded, is_silent, is_answer_lost;
	uint64_t off_ns, on_ns;
} board;

static const struct port_fake_step no_steps[] = {{0}};
static struct port_fake *fake;

static int board_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	assert_ptr_equal(port, port_fake_port(fake));
	assert_int_equal(outlet->channel, 2);
	assert_true(deadline_ns > clock_monotonic_ns());
	if (state == RELAY_ON)
		board.ons++;
	else
		board.offs++;
	if (board.sets_fail > 0 && board.sets_fail--)
		return err_set(err, "set trouble");
	if (state == RELAY_ON)
		board.on_ns = clock_monotonic_ns();
	else
		board.off_ns = clock_monotonic_ns();
	if (board.sets_lost > 0)
		board.sets_lost--;
	else if (!board.is_welded)
		board.contact = state;
	if (board.is_answer_lost) {
		board.is_answer_lost = false;
		return err_set(err, "answer lost");
	}
	return 0;
}

static int board_get(struct port *port, const struct outlet *outlet,
		     enum relay_state *state, uint64_t deadline_ns,
		     struct err *err)
{
	(void)port;
	(void)outlet;
	(void)deadline_ns;
	board.gets++;
	if (board.gets_fail > 0 && board.gets_fail--)
		return err_set(err, "get trouble");
	if (board.is_silent)
		return 0;
	*state = board.contact;
	return 1;
}

static const struct relay_driver driver_telling = {
	.name = "telling",
	.channel_first = 1,
	.channel_last = 2,
	.settle_ms = 1,
	.answer_ms = 1000,
	.set = board_set,
	.get = board_get,
};
static const struct relay_driver driver_mute = {
	.name = "mute",
	.channel_first = 1,
	.channel_last = 2,
	.answer_ms = 1000,
	.set = board_set,
};
static const struct relay_driver driver_one_shot = {
	.name = "one-shot",
	.is_one_shot = true,
	.channel_first = 1,
	.channel_last = 2,
	.answer_ms = 1000,
	.set = board_set,
	.get = board_get,
};
static const struct outlet telling = {
	.driver = &driver_telling, .address = "/dev/board", .channel = 2};
static const struct outlet mute = {
	.driver = &driver_mute, .address = "/dev/board", .channel = 2};
static const struct outlet one_shot = {
	.driver = &driver_one_shot, .address = "/dev/board", .channel = 2};

static struct port *board_open(const struct outlet *outlet, struct err *err)
{
	(void)outlet;
	board.opens++;
	if (board.opens_fail > 0 && board.opens_fail--) {
		(void)err_set(err, "open trouble");
		return NULL;
	}
	return port_fake_port(fake);
}

static int set_up(void **state)
{
	(void)state;
	memset(&board, 0, sizeof(board));
	board.contact = RELAY_ON;
	fake = port_fake_new(no_steps, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	port_fake_free(fake);
	return 0;
}

static int switch_to(const struct outlet *outlet, enum relay_state to,
		     enum relay_proof *proof, struct err *err)
{
	struct relay *relay = relay_new(outlet, board_open, err);
	int rc = 0;

	assert_non_null(relay);
	rc = relay_switch(relay, to, proof, err);
	relay_free(relay);
	return rc;
}

static void a_state_is_read_back(void **state)
{
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct err err = {""};

	(void)state;
	assert_int_equal(switch_to(&telling, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(proof, RELAY_PROOF_READ_BACK);
	assert_int_equal(board.contact, RELAY_OFF);
	assert_int_equal(board.offs, 1);
	assert_int_equal(board.gets, 1);
	assert_int_equal(board.opens, 1);
}

static void a_board_that_cannot_tell_is_said_so(void **state)
{
	enum relay_state told = RELAY_OFF;
	enum relay_proof proof = RELAY_PROOF_READ_BACK;
	struct relay *relay = NULL;
	struct err err = {""};

	(void)state;
	assert_int_equal(switch_to(&mute, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(proof, RELAY_PROOF_NONE);
	relay = relay_new(&mute, board_open, &err);
	assert_non_null(relay);
	assert_int_equal(relay_read(relay, &told, &proof, &err), 0);
	assert_int_equal(proof, RELAY_PROOF_NONE);
	relay_free(relay);

	board.is_silent = true;
	assert_int_equal(switch_to(&telling, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(proof, RELAY_PROOF_SILENT);
	assert_int_equal(board.gets, 3);
	assert_int_equal(board.offs, 2);
}

static void trouble_is_retried_on_a_fresh_line(void **state)
{
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct err err = {""};

	(void)state;
	board.opens_fail = 1;
	board.sets_fail = 1;
	assert_int_equal(switch_to(&telling, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(board.contact, RELAY_OFF);
	assert_int_equal(board.offs, 2);
	assert_true(board.opens >= 3);
}

static void off_gives_up_early_and_on_late(void **state)
{
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct err err = {""};

	(void)state;
	board.sets_fail = 1000;
	assert_int_equal(switch_to(&telling, RELAY_OFF, &proof, &err), -1);
	assert_int_equal(board.offs, 3);
	assert_string_equal(err.text, "telling on /dev/board, channel 2: "
				      "cannot switch off, tried 3 times: "
				      "set trouble");
	board.contact = RELAY_OFF;
	board.sets_fail = 9;
	assert_int_equal(switch_to(&telling, RELAY_ON, &proof, &err), 0);
	assert_int_equal(board.ons, 10);
	board.sets_fail = 10;
	board.contact = RELAY_OFF;
	assert_int_equal(switch_to(&telling, RELAY_ON, &proof, &err), -1);
}

static void a_board_that_says_no_is_told_again_then_an_error(void **state)
{
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct err err = {""};

	(void)state;
	board.sets_lost = 2;
	assert_int_equal(switch_to(&telling, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(board.offs, 3);

	board.is_welded = true;
	board.contact = RELAY_ON;
	assert_int_equal(switch_to(&telling, RELAY_OFF, &proof, &err), -1);
	assert_non_null(strstr(err.text, "still on"));
}

/* A lost answer must not become a second cut. */
static void a_lost_answer_is_asked_for_not_repeated(void **state)
{
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct err err = {""};

	(void)state;
	board.is_answer_lost = true;
	assert_int_equal(switch_to(&telling, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(board.offs, 1);
	assert_int_equal(proof, RELAY_PROOF_READ_BACK);
}

static void one_shot_boards_get_a_line_for_each_command(void **state)
{
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct err err = {""};

	(void)state;
	assert_int_equal(switch_to(&one_shot, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(board.opens, 2);
	assert_int_equal(proof, RELAY_PROOF_READ_BACK);
}

static void status_is_retried_then_an_error(void **state)
{
	enum relay_state told = RELAY_OFF;
	enum relay_proof proof = RELAY_PROOF_NONE;
	struct err err = {""};
	struct relay *relay = relay_new(&telling, board_open, &err);

	(void)state;
	assert_non_null(relay);
	board.gets_fail = 2;
	assert_int_equal(relay_read(relay, &told, &proof, &err), 0);
	assert_int_equal(told, RELAY_ON);
	assert_int_equal(proof, RELAY_PROOF_READ_BACK);
	board.gets_fail = 3;
	assert_int_equal(relay_read(relay, &told, &proof, &err), -1);
	assert_int_equal(board.offs + board.ons, 0);
	relay_free(relay);
}

/* Wired to the contact that is closed at rest: power is on while the board says
 * "off". */
static void an_inverted_contact_is_told_the_contrary(void **state)
{
	static const struct outlet inverted = {
		.driver = &driver_telling, .channel = 2, .is_inverted = true};
	enum relay_proof proof = RELAY_PROOF_NONE;
	enum relay_state power = RELAY_ON;
	struct err err = {""};
	struct relay *relay = relay_new(&inverted, board_open, &err);

	(void)state;
	assert_non_null(relay);
	board.contact = RELAY_OFF;
	assert_int_equal(relay_switch(relay, RELAY_OFF, &proof, &err), 0);
	assert_int_equal(board.contact, RELAY_ON);
	assert_int_equal(relay_read(relay, &power, &proof, &err), 0);
	assert_int_equal(power, RELAY_OFF);
	board.is_welded = true;
	assert_int_equal(relay_switch(relay, RELAY_ON, &proof, &err), -1);
	assert_non_null(strstr(err.text, "power is still off"));
	relay_free(relay);
}

static int board_pulse(struct port *port, const struct outlet *outlet,
		       enum relay_state state, uint32_t ms,
		       uint64_t deadline_ns, struct err *err)
{
	(void)port;
	(void)outlet;
	(void)deadline_ns;
	(void)err;
	board.contact = state;
	board.offs += ms;
	return 0;
}

static void a_board_s_own_clock_has_its_limits(void **state)
{
	static const struct relay_driver timed = {
		.name = "timed",
		.channel_first = 1,
		.channel_last = 1,
		.answer_ms = 1000,
		.set = board_set,
		.pulse_for = board_pulse,
		.pulse = {.has_on = true,
			  .min_ms = 100,
			  .max_ms = 5000,
			  .step_ms = 100},
	};
	struct outlet outlet = {.driver = &timed, .channel = 1};
	struct err err = {""};
	struct relay *relay = relay_new(&outlet, board_open, &err);

	(void)state;
	assert_non_null(relay);
	assert_false(relay_can_pulse(relay, 200)); /* it can only be on */
	outlet.is_inverted = true;
	assert_true(relay_can_pulse(relay, 200));
	assert_false(relay_can_pulse(relay, 250));
	assert_false(relay_can_pulse(relay, 0));
	assert_true(relay_can_pulse(relay, 5000));
	assert_false(relay_can_pulse(relay, 5100));
	assert_int_equal(relay_pulse(relay, 200, &err), 0);
	assert_int_equal(board.contact, RELAY_ON);
	assert_int_equal(board.offs, 200);
	relay_free(relay);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_state_is_read_back),
		TEST(a_board_that_cannot_tell_is_said_so),
		TEST(trouble_is_retried_on_a_fresh_line),
		TEST(off_gives_up_early_and_on_late),
		TEST(a_board_that_says_no_is_told_again_then_an_error),
		TEST(a_lost_answer_is_asked_for_not_repeated),
		TEST(one_shot_boards_get_a_line_for_each_command),
		TEST(status_is_retried_then_an_error),
		TEST(an_inverted_contact_is_told_the_contrary),
		TEST(a_board_s_own_clock_has_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
