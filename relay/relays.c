/* SPDX-License-Identifier: MIT */
#include "relay/relays.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/opbook.h"
#include "relay/outlet.h"
#include "relay/outlets.h"

#define STOP_CHECK_MS 20U
#define PULSE_LATE_MS 5000U /* behind the board's own time */
#define PULSE_LOOK_MS 100U

struct member {
	struct relays *of;
	struct outlet outlet;
	struct relay *relay;
	struct member *board; /* the first that hangs on the same port */
	struct opbook *book;  /* NULL: it has no name */
	/* Of the order that is carried out. */
	enum relay_state power;
	enum relay_proof proof;
	int rc;
	struct err err;
};

struct relays {
	size_t count;
	struct member members[OUTLETS_MEMBERS_MAX];
};

/* ---- */

/* One serial line; what is behind a network has a connection for each. */
static bool is_same_board(const struct outlet *one, const struct outlet *other)
{
	return one->driver == other->driver && one->driver->open == NULL &&
	       strcmp(one->address, other->address) == 0;
}

static struct member *find_board(struct member *member)
{
	struct member *board = member->of->members;

	while (board != member &&
	       !is_same_board(&board->outlet, &member->outlet))
		board++;
	return board;
}

static int open_member(struct member *member, const struct outlet *outlet,
		       struct port *(*open)(const struct outlet *outlet,
					    struct err *err),
		       struct err *err)
{
	member->outlet = *outlet;
	member->relay = relay_new(&member->outlet, open, err);
	if (member->relay == NULL)
		return -1;
	member->board = find_board(member);
	if (member->board != member)
		relay_share(member->relay, member->board->relay);
	if (outlet->name[0] == '\0')
		return 0;
	member->book = opbook_open(outlet->name, err);
	return member->book == NULL ? -1 : 0;
}

struct relays *relays_new(const struct outlet *outlets, size_t count,
			  struct port *(*open)(const struct outlet *outlet,
					       struct err *err),
			  struct err *err)
{
	struct relays *relays = calloc(1, sizeof(*relays));

	if (relays == NULL) {
		(void)err_set(err, "no memory for %zu outlets", count);
		return NULL;
	}
	while (relays->count < count) {
		struct member *member = &relays->members[relays->count++];

		member->of = relays;
		if (open_member(member, &outlets[relays->count - 1], open,
				err) < 0) {
			relays_free(relays);
			return NULL;
		}
	}
	return relays;
}

void relays_free(struct relays *relays)
{
	if (relays == NULL)
		return;
	for (size_t i = relays->count; i > 0; i--) {
		relay_free(relays->members[i - 1].relay);
		opbook_close(relays->members[i - 1].book);
	}
	free(relays);
}

/* ---- what stands in the way ---- */

static uint64_t left_of(uint64_t wanted_ms, uint64_t gone_ms)
{
	return gone_ms < wanted_ms ? wanted_ms - gone_ms : 0;
}

/* How long this contact is not to be switched to POWER yet. */
static uint64_t must_wait_ms(const struct member *member,
			     enum relay_state power)
{
	const struct outlet *outlet = &member->outlet;
	enum relay_state last = RELAY_ON;
	uint64_t ago_ms = 0, wait_ms = 0, drain_ms = 0;

	if (member->book == NULL || !opbook_last(member->book, &ago_ms, &last))
		return 0;
	wait_ms = left_of(outlet->interval_ms, ago_ms);
	if (power == RELAY_ON && last == RELAY_OFF)
		drain_ms = left_of(outlet->drain_ms, ago_ms);
	return wait_ms > drain_ms ? wait_ms : drain_ms;
}

/* Power comes back, however worn a contact is. */
static int check_worn(const struct member *member, enum relay_state power,
		      struct err *err)
{
	const struct outlet *outlet = &member->outlet;

	if (member->book == NULL || power == RELAY_ON ||
	    outlet->operations_max == 0 ||
	    opbook_operations(member->book) < outlet->operations_max)
		return 0;
	return err_set(err,
		       "%s was switched %" PRIu64
		       " times, and operations_max is %" PRIu64
		       "\nhint: take a fresh contact, and remove its count in "
		       "the folder of the state",
		       outlet->name, opbook_operations(member->book),
		       outlet->operations_max);
}

static int note_all(struct relays *relays, enum relay_state power,
		    struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < relays->count; i++) {
		struct member *member = &relays->members[i];

		if (member->book != NULL &&
		    opbook_note(member->book, power, err) < 0)
			rc = -1;
	}
	return rc;
}

/* It may have taken its time, or several tries. */
static void note_done(struct relays *relays)
{
	struct err unused; /* an earlier moment stands there already */

	for (size_t i = 0; i < relays->count; i++)
		if (relays->members[i].book != NULL)
			(void)opbook_done(relays->members[i].book, &unused);
}

static int prepare(struct relays *relays, enum relay_state power,
		   struct err *err)
{
	uint64_t wait_ms = 0;

	for (size_t i = 0; i < relays->count; i++) {
		struct member *member = &relays->members[i];
		uint64_t its_ms = must_wait_ms(member, power);

		if (check_worn(member, power, err) < 0)
			return -1;
		/* A port that cannot be opened now is tried again for "on". */
		if (power == RELAY_OFF && relay_prepare(member->relay, err) < 0)
			return -1;
		wait_ms = its_ms > wait_ms ? its_ms : wait_ms;
	}
	clock_sleep_ms(wait_ms);
	/* Power comes back also where nobody can write it down. */
	return note_all(relays, power, err) < 0 && power == RELAY_OFF ? -1 : 0;
}

/* ---- all at once ---- */

/* All channels of one board, which is its first member: one port takes one
 * command at a time. */
static void switch_board(struct member *board)
{
	const struct relays *relays = board->of;
	struct member *end = board->of->members + relays->count;

	for (struct member *member = board; member < end; member++)
		if (member->board == board)
			relay_start(member->relay, member->power);
	for (struct member *member = board; member < end; member++)
		if (member->board == board)
			member->rc = relay_switch(member->relay, member->power,
						  &member->proof, &member->err);
}

static void *switch_in_thread(void *argument)
{
	switch_board(argument);
	return NULL;
}

static void switch_all(struct relays *relays, enum relay_state power)
{
	pthread_t threads[OUTLETS_MEMBERS_MAX];
	bool has_thread[OUTLETS_MEMBERS_MAX] = {false};
	struct member *last = NULL;

	for (size_t i = 0; i < relays->count; i++) {
		relays->members[i].power = power;
		if (relays->members[i].board == &relays->members[i])
			last = &relays->members[i];
	}
	/* The last board, and what no thread can be had for, is ours. */
	for (size_t i = 0; i < relays->count; i++)
		if (relays->members[i].board == &relays->members[i] &&
		    &relays->members[i] != last)
			has_thread[i] =
				pthread_create(&threads[i], NULL,
					       switch_in_thread,
					       &relays->members[i]) == 0;
	for (size_t i = relays->count; i > 0; i--)
		if (relays->members[i - 1].board == &relays->members[i - 1] &&
		    !has_thread[i - 1])
			switch_board(&relays->members[i - 1]);
	for (size_t i = 0; i < relays->count; i++)
		if (has_thread[i])
			(void)pthread_join(threads[i], NULL);
}

static enum relay_proof weaker(enum relay_proof one, enum relay_proof other)
{
	return one > other ? one : other;
}

static void tell(const struct relays *relays, enum relay_state power,
		 uint64_t begun_ns, struct relays_told *told)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	told->power = power;
	told->proof = RELAY_PROOF_READ_BACK;
	for (size_t i = 0; i < relays->count; i++) {
		const struct member *member = &relays->members[i];
		uint64_t done_ns = relay_done_ns(member->relay);

		told->proof = weaker(told->proof, member->proof);
		first_ns = done_ns < first_ns ? done_ns : first_ns;
		last_ns = done_ns > last_ns ? done_ns : last_ns;
	}
	told->took_ns = last_ns - begun_ns;
	told->skew_ns = last_ns - first_ns;
}

/* -1: err is that of the first that failed. */
static int all_done(const struct relays *relays, struct err *err)
{
	for (size_t i = 0; i < relays->count; i++) {
		if (relays->members[i].rc < 0) {
			*err = relays->members[i].err;
			return -1;
		}
	}
	return 0;
}

static int give_back(struct relays *relays, struct err *err)
{
	struct err unused; /* the first is the one to tell */

	(void)note_all(relays, RELAY_ON, &unused);
	switch_all(relays, RELAY_ON);
	if (all_done(relays, &unused) < 0)
		return err_prefix(err, "and switching the others on again "
				       "failed, too");
	return err_prefix(err, "the others were switched on again");
}

static void settle(const struct relays *relays)
{
	uint64_t settle_ms = 0;

	for (size_t i = 0; i < relays->count; i++)
		if (relays->members[i].outlet.settle_ms > settle_ms)
			settle_ms = relays->members[i].outlet.settle_ms;
	clock_sleep_ms(settle_ms);
}

int relays_switch(struct relays *relays, enum relay_state power,
		  struct relays_told *told, struct err *err)
{
	uint64_t begun_ns = 0;

	if (prepare(relays, power, err) < 0)
		return -1;
	begun_ns = clock_monotonic_ns();
	switch_all(relays, power);
	tell(relays, power, begun_ns, told);
	note_done(relays);
	if (all_done(relays, err) < 0)
		return power == RELAY_OFF && relays->count > 1
			       ? give_back(relays, err)
			       : -1;
	if (power == RELAY_ON)
		settle(relays);
	return 0;
}

int relays_read(struct relays *relays, struct relays_told *told,
		struct err *err)
{
	memset(told, 0, sizeof(*told));
	told->proof = RELAY_PROOF_READ_BACK;
	for (size_t i = 0; i < relays->count; i++) {
		struct member *member = &relays->members[i];
		enum relay_proof proof = RELAY_PROOF_NONE;
		enum relay_state power = RELAY_OFF;

		if (relay_read(member->relay, &power, &proof, err) < 0)
			return -1;
		told->proof = weaker(told->proof, proof);
		if (i > 0 && proof == RELAY_PROOF_READ_BACK &&
		    power != told->power)
			return err_set(err,
				       "%s is %s, and what is switched with it "
				       "is not",
				       member->outlet.name,
				       power == RELAY_ON ? "on" : "off");
		told->power = power;
	}
	return 0;
}

/* ---- off and on again ---- */

bool relays_can_pulse(const struct relays *relays, uint64_t off_ms)
{
	return relays->count == 1 &&
	       relays->members[0].outlet.drain_ms <= off_ms &&
	       relay_can_pulse(relays->members[0].relay, off_ms);
}

int relays_check_off(const struct relays *relays, uint64_t off_ms,
		     struct err *err)
{
	for (size_t i = 0; i < relays->count; i++) {
		const struct outlet *outlet = &relays->members[i].outlet;

		if (off_ms < outlet->driver->shortest_ms)
			return err_set(
				err,
				"%s cannot interrupt power for %" PRIu64
				" ms: its contacts need the time to let go and "
				"to stop bouncing, %u ms at least\nhint: a "
				"MOSFET switch or a Quarch module can",
				outlet->driver->name, off_ms,
				outlet->driver->shortest_ms);
		if (off_ms < outlet->drain_ms)
			return err_set(
				err,
				"%s is to stay without power for %" PRIu64
				" ms at least (drain_time)",
				outlet->name, outlet->drain_ms);
	}
	return 0;
}

/* False where STOP ended it early. */
static bool pause_off(uint64_t off_ms, const volatile sig_atomic_t *stop)
{
	uint64_t end_ns = clock_monotonic_ns() + off_ms * CLOCK_NS_PER_MS;
	uint64_t left_ms = 0;

	while (!*stop) {
		left_ms = (uint64_t)clock_until_ms(end_ns);
		if (left_ms == 0)
			return true;
		clock_sleep_ms(left_ms < STOP_CHECK_MS ? left_ms
						       : STOP_CHECK_MS);
	}
	return false;
}

/* Whatever came of it, power comes back; err stays. */
static int leave_on(struct relays *relays)
{
	struct err unused; /* the first is the one to tell */

	(void)note_all(relays, RELAY_ON, &unused);
	switch_all(relays, RELAY_ON);
	return -1;
}

/* A box in a network may take its time: asked until it says "on", or no
 * longer. */
static int await_on(struct relays *relays, struct relays_told *told,
		    struct err *err)
{
	uint64_t until_ns =
		clock_monotonic_ns() + PULSE_LATE_MS * CLOCK_NS_PER_MS;

	for (;;) {
		int rc = relays_read(relays, told, err);

		if (rc == 0 && (told->proof != RELAY_PROOF_READ_BACK ||
				told->power == RELAY_ON))
			return 0;
		if (clock_monotonic_ns() >= until_ns && rc == 0)
			return err_set(err, "the board says that power has not "
					    "come back by itself; it was "
					    "switched on");
		if (clock_monotonic_ns() >= until_ns)
			return -1;
		clock_sleep_ms(PULSE_LOOK_MS);
	}
}

/* The board gives power back; that it did is read back where it can be. */
static int cycle_by_board(struct relays *relays, uint64_t off_ms,
			  struct relays_told *told, struct err *err)
{
	const uint64_t begun_ns = clock_monotonic_ns();
	struct relays_told back;

	if (prepare(relays, RELAY_OFF, err) < 0)
		return -1;
	if (relay_pulse(relays->members[0].relay, off_ms, err) < 0)
		return leave_on(relays);
	relays->members[0].proof = RELAY_PROOF_NONE;
	tell(relays, RELAY_ON, begun_ns, told);
	clock_sleep_ms(off_ms);
	if (await_on(relays, &back, err) < 0)
		return leave_on(relays);
	told->proof = back.proof;
	if (note_all(relays, RELAY_ON, err) < 0)
		return -1;
	settle(relays);
	return 0;
}

static int cycle_by_us(struct relays *relays, uint64_t off_ms,
		       const volatile sig_atomic_t *stop,
		       struct relays_told *told, struct err *err)
{
	struct relays_told off = {.proof = RELAY_PROOF_NONE};
	struct err on_err = {""};
	int rc = relays_switch(relays, RELAY_OFF, &off, err);

	if (rc == 0 && !pause_off(off_ms, stop))
		rc = err_set(err, "stopped during the pause");
	if (relays_switch(relays, RELAY_ON, told, &on_err) < 0) {
		*err = on_err;
		return -1;
	}
	told->proof = weaker(told->proof, off.proof);
	told->took_ns = off.took_ns;
	told->skew_ns = off.skew_ns;
	return rc;
}

int relays_cycle(struct relays *relays, uint64_t off_ms,
		 const volatile sig_atomic_t *stop, struct relays_told *told,
		 struct err *err)
{
	memset(told, 0, sizeof(*told));
	if (relays_check_off(relays, off_ms, err) < 0)
		return -1;
	if (relays_can_pulse(relays, off_ms))
		return cycle_by_board(relays, off_ms, told, err);
	return cycle_by_us(relays, off_ms, stop, told, err);
}
