/* SPDX-License-Identifier: MIT */
/*
 * Several contacts are one outlet: half a cut is none, and what lies between
 * the first and the last is told. What a contact has been through is kept.
 */
#include "relay/relays.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/opbook.h"
#include "relay/outlet.h"
#include "tests/fake/port_fake.h"
#include "tests/unit/cmocka_all.h"

#define BOARDS 3
#define ORDERS 64

static struct {
	enum relay_state contact[BOARDS]; /* by channel */
	unsigned int offs[BOARDS], ons[BOARDS];
	bool is_stuck[BOARDS];
	uint64_t off_ns[BOARDS], on_ns[BOARDS];
	uint32_t pulse_ms;
	bool pulse_fails, never_returns;
	unsigned int opens;
	atomic_uint order_count; /* of sets and gets */
	char orders[ORDERS];
} boards;

static char folder[64];
static struct port_fake *fake;
static const struct port_fake_step no_steps[] = {{0}};
static const volatile sig_atomic_t never = 0;
static const volatile sig_atomic_t now = 1;

static int board_set(struct port *port, const struct outlet *outlet,
		     enum relay_state state, uint64_t deadline_ns,
		     struct err *err)
{
	unsigned int i = outlet->channel;

	(void)port;
	boards.orders[boards.order_count++ % ORDERS] = 's';
	(void)deadline_ns;
	if (state == RELAY_ON) {
		boards.ons[i]++;
		boards.on_ns[i] = clock_monotonic_ns();
	} else {
		boards.offs[i]++;
		boards.off_ns[i] = clock_monotonic_ns();
	}
	if (boards.is_stuck[i])
		return err_set(err, "board %u is stuck", i);
	boards.contact[i] = state;
	return 0;
}

static int board_get(struct port *port, const struct outlet *outlet,
		     enum relay_state *state, uint64_t deadline_ns,
		     struct err *err)
{
	(void)port;
	(void)deadline_ns;
	(void)err;
	boards.orders[boards.order_count++ % ORDERS] = 'g';
	*state = boards.contact[outlet->channel];
	return 1;
}

static int board_pulse(struct port *port, const struct outlet *outlet,
		       enum relay_state state, uint32_t ms,
		       uint64_t deadline_ns, struct err *err)
{
	(void)port;
	(void)deadline_ns;
	assert_int_equal(state, RELAY_OFF);
	if (boards.pulse_fails)
		return err_set(err, "pulse trouble");
	boards.pulse_ms = ms;
	boards.contact[outlet->channel] =
		boards.never_returns ? RELAY_OFF : RELAY_ON;
	return 0;
}

static const struct relay_driver driver = {
	.name = "board",
	.channel_first = 0,
	.channel_last = BOARDS - 1,
	.answer_ms = 1000,
	.shortest_ms = 50,
	.set = board_set,
	.get = board_get,
};
static const struct relay_driver driver_timed = {
	.name = "timed",
	.channel_first = 0,
	.channel_last = BOARDS - 1,
	.answer_ms = 1000,
	.set = board_set,
	.get = board_get,
	.pulse_for = board_pulse,
	.pulse = {.has_off = true,
		  .min_ms = 100,
		  .max_ms = 900,
		  .step_ms = 100},
};

static struct port *board_open(const struct outlet *outlet, struct err *err)
{
	(void)outlet;
	(void)err;
	boards.opens++;
	return port_fake_port(fake);
}

static int set_up(void **state)
{
	(void)state;
	memset(&boards, 0, sizeof(boards));
	for (int i = 0; i < BOARDS; i++)
		boards.contact[i] = RELAY_ON;
	strcpy(folder, "/tmp/test_relays.XXXXXX");
	if (mkdtemp(folder) == NULL || setenv("PLUGPULL_STATE", folder, 1) != 0)
		return -1;
	fake = port_fake_new(no_steps, NULL);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	char path[96];

	(void)state;
	port_fake_free(fake);
	for (int i = 0; i < BOARDS; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s.outlet", folder,
			       names[i]);
		(void)unlink(path); /* not each test has each */
	}
	return rmdir(folder);
}

static struct outlet named(const char *name, unsigned int channel)
{
	struct outlet outlet = {.driver = &driver, .channel = channel};

	(void)snprintf(outlet.name, sizeof(outlet.name), "%s", name);
	(void)snprintf(outlet.address, sizeof(outlet.address), "/dev/%s", name);
	return outlet;
}

static struct relays *open_all(const struct outlet *outlets, size_t count)
{
	struct err err = {""};
	struct relays *relays = relays_new(outlets, count, board_open, &err);

	if (relays == NULL)
		fail_msg("%s", err.text);
	return relays;
}

static void all_are_switched_and_the_skew_is_told(void **state)
{
	const struct outlet outlets[] = {named("a", 0), named("b", 1),
					 named("c", 2)};
	struct relays *relays = open_all(outlets, 3);
	struct relays_told told;
	struct err err = {""};

	(void)state;
	assert_int_equal(relays_switch(relays, RELAY_OFF, &told, &err), 0);
	for (int i = 0; i < BOARDS; i++)
		assert_int_equal(boards.contact[i], RELAY_OFF);
	assert_int_equal(told.proof, RELAY_PROOF_READ_BACK);
	assert_true(told.skew_ns <= told.took_ns);
	assert_true(told.took_ns < CLOCK_NS_PER_S);
	assert_int_equal(relays_read(relays, &told, &err), 0);
	assert_int_equal(told.power, RELAY_OFF);
	boards.contact[1] = RELAY_ON;
	assert_int_equal(relays_read(relays, &told, &err), -1);
	assert_non_null(strstr(err.text, "b is on"));
	relays_free(relays);
}

/* Two rails on one board: one port, and both are told before one is asked. */
static void channels_of_one_board_have_one_port(void **state)
{
	struct outlet outlets[] = {named("a", 0), named("b", 1)};
	struct relays *relays;
	struct relays_told told;
	struct err err = {""};

	(void)state;
	strcpy(outlets[0].address, "/dev/one");
	strcpy(outlets[1].address, "/dev/one");
	relays = open_all(outlets, 2);
	assert_int_equal(relays_switch(relays, RELAY_OFF, &told, &err), 0);
	assert_int_equal(boards.opens, 1);
	assert_memory_equal(boards.orders, "ssgg", 4);
	assert_int_equal(boards.order_count, 4);
	assert_int_equal(relays_switch(relays, RELAY_ON, &told, &err), 0);
	assert_int_equal(boards.opens, 1);
	boards.is_stuck[0] = true;
	assert_int_equal(relays_switch(relays, RELAY_OFF, &told, &err), -1);
	assert_int_equal(boards.contact[1], RELAY_ON);
	relays_free(relays);
}

static void half_a_cut_is_taken_back(void **state)
{
	const struct outlet outlets[] = {named("a", 0), named("b", 1)};
	struct relays *relays = open_all(outlets, 2);
	struct relays_told told;
	struct err err = {""};

	(void)state;
	boards.is_stuck[1] = true;
	assert_int_equal(relays_switch(relays, RELAY_OFF, &told, &err), -1);
	assert_non_null(strstr(err.text, "board 1 is stuck"));
	assert_int_equal(boards.offs[0], 1);
	assert_int_equal(boards.contact[0], RELAY_ON);
	relays_free(relays);
}

static void a_cycle_keeps_power_away_as_long_as_told(void **state)
{
	const struct outlet outlet = named("a", 0);
	struct relays *relays = open_all(&outlet, 1);
	struct relays_told told;
	struct err err = {""};

	(void)state;
	assert_int_equal(relays_cycle(relays, 150, &never, &told, &err), 0);
	assert_int_equal(boards.contact[0], RELAY_ON);
	assert_int_equal(boards.offs[0], 1);
	assert_int_equal(boards.ons[0], 1);
	assert_int_equal(told.proof, RELAY_PROOF_READ_BACK);
	assert_true(boards.on_ns[0] - boards.off_ns[0] >=
		    150 * CLOCK_NS_PER_MS);
	relays_free(relays);
}

static void a_stopped_cycle_gives_power_back(void **state)
{
	const struct outlet outlet = named("a", 0);
	struct relays *relays = open_all(&outlet, 1);
	struct relays_told told;
	struct err err = {""};

	(void)state;
	assert_int_equal(relays_cycle(relays, 3600000, &now, &told, &err), -1);
	assert_int_equal(boards.contact[0], RELAY_ON);
	assert_int_equal(boards.ons[0], 1);
	relays_free(relays);
}

static void a_failed_off_still_gives_power_back(void **state)
{
	const struct outlet outlet = named("a", 0);
	struct relays *relays = open_all(&outlet, 1);
	struct relays_told told;
	struct err err = {""};

	(void)state;
	boards.is_stuck[0] = true;
	assert_int_equal(relays_cycle(relays, 50, &never, &told, &err), -1);
	assert_true(boards.ons[0] > 0);
	relays_free(relays);
}

static void what_the_mechanics_cannot_do_is_refused(void **state)
{
	struct outlet outlet = named("a", 0);
	struct relays *relays;
	struct relays_told told;
	struct err err = {""};

	(void)state;
	outlet.drain_ms = 300;
	relays = open_all(&outlet, 1);
	assert_int_equal(relays_cycle(relays, 49, &never, &told, &err), -1);
	assert_non_null(strstr(err.text, "50 ms at least"));
	assert_int_equal(relays_cycle(relays, 299, &never, &told, &err), -1);
	assert_non_null(strstr(err.text, "drain_time"));
	assert_int_equal(boards.offs[0], 0);
	relays_free(relays);
}

static void a_board_s_own_clock_is_preferred(void **state)
{
	struct outlet outlet = named("a", 0);
	struct relays *relays;
	struct relays_told told;
	struct err err = {""};

	(void)state;
	outlet.driver = &driver_timed;
	relays = open_all(&outlet, 1);
	assert_true(relays_can_pulse(relays, 200));
	assert_int_equal(relays_cycle(relays, 200, &never, &told, &err), 0);
	assert_int_equal(boards.pulse_ms, 200);
	assert_int_equal(boards.offs[0] + boards.ons[0], 0);
	boards.never_returns = true;
	assert_int_equal(relays_cycle(relays, 100, &never, &told, &err), -1);
	assert_non_null(strstr(err.text, "not come back by itself"));
	assert_int_equal(boards.contact[0], RELAY_ON); /* it was given back */
	boards.contact[0] = RELAY_ON;
	boards.pulse_fails = true;
	assert_int_equal(relays_cycle(relays, 100, &never, &told, &err), -1);
	assert_int_equal(boards.contact[0], RELAY_ON);
	relays_free(relays);
}

static void drain_time_and_interval_hold_across_programs(void **state)
{
	struct outlet outlet = named("a", 0);
	struct relays *relays;
	struct relays_told told;
	struct err err = {""};

	(void)state;
	outlet.drain_ms = 200;
	relays = open_all(&outlet, 1);
	assert_int_equal(relays_switch(relays, RELAY_OFF, &told, &err), 0);
	relays_free(relays);
	relays = open_all(&outlet, 1); /* as another process would */
	assert_int_equal(relays_switch(relays, RELAY_ON, &told, &err), 0);
	assert_true(boards.on_ns[0] - boards.off_ns[0] >=
		    195 * CLOCK_NS_PER_MS);
	relays_free(relays);
	outlet.interval_ms = 250;
	relays = open_all(&outlet, 1);
	assert_int_equal(relays_switch(relays, RELAY_OFF, &told, &err), 0);
	assert_true(boards.off_ns[0] - boards.on_ns[0] >=
		    245 * CLOCK_NS_PER_MS);
	relays_free(relays);
}

/* Power comes back however worn the contact is. */
static void a_worn_contact_cuts_no_more(void **state)
{
	struct outlet outlet = named("a", 0);
	struct relays *relays;
	struct relays_told told;
	struct err err = {""};
	struct opbook *book;

	(void)state;
	outlet.operations_max = 2;
	relays = open_all(&outlet, 1);
	assert_int_equal(relays_cycle(relays, 50, &never, &told, &err), 0);
	assert_int_equal(relays_switch(relays, RELAY_OFF, &told, &err), -1);
	assert_non_null(strstr(err.text, "switched 2 times"));
	assert_int_equal(relays_switch(relays, RELAY_ON, &told, &err), 0);
	relays_free(relays);
	book = opbook_open("a", &err);
	assert_non_null(book);
	assert_int_equal(opbook_operations(book), 3);
	opbook_close(book);
}

static void one_program_at_a_time(void **state)
{
	const struct outlet outlet = named("a", 0);
	struct relays *relays = open_all(&outlet, 1);
	struct err err = {""};

	(void)state;
	assert_null(relays_new(&outlet, 1, board_open, &err));
	assert_non_null(strstr(err.text, "cannot have outlet a alone"));
	relays_free(relays);
}

static void a_book_that_is_none_is_refused(void **state)
{
	static const char *const texts[] = {
		"x",
		"plugpull-outlet 1 operations 5",
		"plugpull-outlet 1 operations x last on boot - ms 4\n",
		"plugpull-outlet 2 operations 5 last on boot - ms 4\n",
		"plugpull-outlet 1 operations 5 last up boot - ms 4\n",
	};
	char path[96];
	struct err err = {""};

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/a.outlet", folder);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *file = fopen(path, "we");

		assert_non_null(file);
		(void)fputs(texts[i], file);
		assert_int_equal(fclose(file), 0);
		assert_null(opbook_open("a", &err));
		assert_non_null(strstr(err.text, "is not the book"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_are_switched_and_the_skew_is_told),
		TEST(channels_of_one_board_have_one_port),
		TEST(half_a_cut_is_taken_back),
		TEST(a_cycle_keeps_power_away_as_long_as_told),
		TEST(a_stopped_cycle_gives_power_back),
		TEST(a_failed_off_still_gives_power_back),
		TEST(what_the_mechanics_cannot_do_is_refused),
		TEST(a_board_s_own_clock_is_preferred),
		TEST(drain_time_and_interval_hold_across_programs),
		TEST(a_worn_contact_cuts_no_more),
		TEST(one_program_at_a_time),
		TEST(a_book_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
