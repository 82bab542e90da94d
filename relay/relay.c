/* SPDX-License-Identifier: MIT */
#include "relay/relay.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "relay/outlet.h"
#include "relay/port.h"
#include "relay/port_tcp.h"

#define OFF_TRIES      3U
#define ON_TRIES       10U
#define READ_TRIES     3U
#define RETRY_PAUSE_MS 100U
#define STOP_CHECK_MS  20U

struct relay {
	const struct outlet *outlet;
	const struct relay_driver *driver;
	struct port *(*open)(const struct outlet *outlet, struct err *err);
	struct port *port; /* NULL between two attempts */
};

struct port *relay_open_port(const struct outlet *outlet, struct err *err)
{
	if (outlet->driver->link == DRIVER_LINK_UNIX)
		return port_tcp_open_unix(outlet->address, err);
	return port_open_line(outlet->address, outlet->driver->baud, err);
}

static void hang_up(struct relay *relay)
{
	port_close(relay->port);
	relay->port = NULL;
}

static int call_up(struct relay *relay, struct err *err)
{
	if (relay->port == NULL)
		relay->port = relay->open(relay->outlet, err);
	return relay->port == NULL ? -1 : 0;
}

struct relay *relay_new(const struct outlet *outlet,
			struct port *(*open)(const struct outlet *outlet,
					     struct err *err),
			struct err *err)
{
	struct relay *relay = calloc(1, sizeof(*relay));

	if (relay == NULL) {
		(void)err_set(err, "cannot open %s: no memory",
			      outlet->address);
		return NULL;
	}
	relay->outlet = outlet;
	relay->driver = outlet->driver;
	relay->open = open;
	return relay;
}

void relay_free(struct relay *relay)
{
	if (relay == NULL)
		return;
	hang_up(relay);
	free(relay);
}

static uint64_t answer_deadline_ns(const struct relay *relay)
{
	return clock_monotonic_ns() +
	       relay->driver->answer_ms * CLOCK_NS_PER_MS;
}

/* Whatever went wrong, the next attempt starts on a fresh line. */
static int set_once(struct relay *relay, enum relay_state state,
		    struct err *err)
{
	int rc = call_up(relay, err);

	if (rc == 0)
		rc = relay->driver->set(relay->port, relay->outlet->channel,
					state, answer_deadline_ns(relay), err);
	if (rc == 0)
		clock_sleep_ms(relay->driver->settle_ms);
	if (rc < 0 || relay->driver->is_one_shot)
		hang_up(relay);
	return rc;
}

/* As the driver's get(). */
static int get_once(struct relay *relay, enum relay_state *state,
		    struct err *err)
{
	int rc = call_up(relay, err);

	if (rc == 0)
		rc = relay->driver->get(relay->port, relay->outlet->channel,
					state, answer_deadline_ns(relay), err);
	if (rc < 0 || relay->driver->is_one_shot)
		hang_up(relay);
	return rc;
}

static int read_state(struct relay *relay, enum relay_state *state,
		      enum relay_proof *proof, struct err *err)
{
	int rc = -1;

	*proof = RELAY_PROOF_NONE;
	if (relay->driver->get == NULL)
		return 0;
	for (unsigned int i = 0; i < READ_TRIES && rc <= 0; i++) {
		if (i > 0)
			clock_sleep_ms(RETRY_PAUSE_MS);
		rc = get_once(relay, state, err);
	}
	if (rc < 0)
		return -1;
	*proof = rc > 0 ? RELAY_PROOF_READ_BACK : RELAY_PROOF_SILENT;
	return 0;
}

static int set_and_check(struct relay *relay, enum relay_state state,
			 enum relay_proof *proof, struct err *err)
{
	enum relay_state told = state;

	if (set_once(relay, state, err) < 0 ||
	    read_state(relay, &told, proof, err) < 0)
		return -1;
	if (told != state)
		return err_set(err, "the board says that it is still %s",
			       told == RELAY_ON ? "on" : "off");
	return 0;
}

static int name_outlet(const struct relay *relay, struct err *err)
{
	return err_prefix(err, "%s on %s, channel %u", relay->driver->name,
			  relay->outlet->address, relay->outlet->channel);
}

/* An attempt can succeed and only its answer be lost: asking first saves the
 * drive a second cut. */
static bool is_already(struct relay *relay, enum relay_state state,
		       enum relay_proof *proof)
{
	enum relay_state told = state;
	struct err unused;

	return read_state(relay, &told, proof, &unused) == 0 &&
	       *proof == RELAY_PROOF_READ_BACK && told == state;
}

int relay_switch(struct relay *relay, enum relay_state state,
		 enum relay_proof *proof, struct err *err)
{
	unsigned int tries = state == RELAY_ON ? ON_TRIES : OFF_TRIES;

	for (unsigned int i = 0; i < tries; i++) {
		if (i > 0) {
			clock_sleep_ms(RETRY_PAUSE_MS);
			if (is_already(relay, state, proof))
				return 0;
		}
		if (set_and_check(relay, state, proof, err) == 0)
			return 0;
	}
	(void)err_prefix(err, "cannot switch %s, tried %u times",
			 state == RELAY_ON ? "on" : "off", tries);
	return name_outlet(relay, err);
}

int relay_read(struct relay *relay, enum relay_state *state,
	       enum relay_proof *proof, struct err *err)
{
	if (read_state(relay, state, proof, err) < 0)
		return name_outlet(relay, err);
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

int relay_cycle(struct relay *relay, uint64_t off_ms,
		const volatile sig_atomic_t *stop, enum relay_proof *proof,
		struct err *err)
{
	struct err on_err = {""};
	enum relay_proof off_proof = RELAY_PROOF_NONE;
	int rc = relay_switch(relay, RELAY_OFF, &off_proof, err);

	if (rc == 0 && !pause_off(off_ms, stop))
		rc = err_set(err, "stopped during the pause");
	if (relay_switch(relay, RELAY_ON, proof, &on_err) < 0) {
		*err = on_err;
		return -1;
	}
	if (off_proof != RELAY_PROOF_READ_BACK)
		*proof = off_proof;
	return rc;
}
