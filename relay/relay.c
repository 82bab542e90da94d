/* SPDX-License-Identifier: MIT */
#include "relay/relay.h"

#include <assert.h>
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

struct relay {
	const struct outlet *outlet;
	const struct relay_driver *driver;
	struct port *(*open)(const struct outlet *outlet, struct err *err);
	struct port *own;   /* NULL between two attempts */
	struct port **port; /* our own, or that of another channel */
	bool was_set;       /* relay_start() has sent the command */
	uint64_t done_ns;   /* when the last command was through */
};

struct port *relay_open_port(const struct outlet *outlet, struct err *err)
{
	const struct relay_driver *driver = outlet->driver;

	if (driver->open != NULL)
		return driver->open(outlet,
				    clock_monotonic_ns() +
					    driver->answer_ms * CLOCK_NS_PER_MS,
				    err);
	if (driver->link == DRIVER_LINK_UNIX)
		return port_tcp_open_unix(outlet->address, err);
	if (driver->link == DRIVER_LINK_TCP)
		return port_open_tcp(outlet->address, driver->tcp_port, err);
	return port_open_line(outlet->address,
			      outlet->baud == 0 ? driver->baud : outlet->baud,
			      err);
}

static void hang_up(struct relay *relay)
{
	port_close(*relay->port);
	*relay->port = NULL;
}

static int call_up(struct relay *relay, struct err *err)
{
	if (*relay->port == NULL)
		*relay->port = relay->open(relay->outlet, err);
	return *relay->port == NULL ? -1 : 0;
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
	relay->port = &relay->own;
	return relay;
}

void relay_free(struct relay *relay)
{
	if (relay == NULL)
		return;
	port_close(relay->own);
	free(relay);
}

static uint64_t answer_deadline_ns(const struct relay *relay)
{
	return clock_monotonic_ns() +
	       relay->driver->answer_ms * CLOCK_NS_PER_MS;
}

/* Whatever went wrong, the next attempt starts on a fresh line. */
static int set_once(struct relay *relay, enum relay_state power,
		    struct err *err)
{
	int rc = call_up(relay, err);

	if (rc == 0)
		rc = relay->driver->set(*relay->port, relay->outlet,
					outlet_contact(relay->outlet, power),
					answer_deadline_ns(relay), err);
	relay->done_ns = clock_monotonic_ns();
	if (rc == 0)
		clock_sleep_ms(relay->driver->settle_ms);
	if (rc < 0 || relay->driver->is_one_shot)
		hang_up(relay);
	return rc;
}

/* As the driver's get(). */
static int get_once(struct relay *relay, enum relay_state *power,
		    struct err *err)
{
	enum relay_state contact = RELAY_OFF;
	int rc = call_up(relay, err);

	if (rc == 0)
		rc = relay->driver->get(*relay->port, relay->outlet, &contact,
					answer_deadline_ns(relay), err);
	if (rc > 0)
		*power = outlet_contact(relay->outlet, contact);
	if (rc < 0 || relay->driver->is_one_shot)
		hang_up(relay);
	return rc;
}

static int read_state(struct relay *relay, enum relay_state *power,
		      enum relay_proof *proof, struct err *err)
{
	int rc = -1;

	*proof = RELAY_PROOF_NONE;
	if (relay->driver->get == NULL)
		return 0;
	for (unsigned int i = 0; i < READ_TRIES && rc <= 0; i++) {
		if (i > 0)
			clock_sleep_ms(RETRY_PAUSE_MS);
		rc = get_once(relay, power, err);
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
		return err_set(err, "the board says that %s is still %s",
			       relay->outlet->is_inverted ? "power" : "it",
			       told == RELAY_ON ? "on" : "off");
	return 0;
}

static int name_outlet(const struct relay *relay, struct err *err)
{
	char text[2 * OUTLET_ADDRESS_BYTES];

	outlet_tell(relay->outlet, text, sizeof(text));
	return err_prefix(err, "%s", text);
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

void relay_share(struct relay *relay, struct relay *other)
{
	relay->port = other->port;
}

void relay_start(struct relay *relay, enum relay_state power)
{
	struct err unused; /* relay_switch() tries it again */

	relay->was_set = set_once(relay, power, &unused) == 0;
}

/* True where relay_start() was all that was needed. */
static bool has_started(struct relay *relay, enum relay_state power,
			enum relay_proof *proof)
{
	enum relay_state told = power;
	struct err unused; /* it is tried again */
	bool was_set = relay->was_set;

	relay->was_set = false;
	return was_set && read_state(relay, &told, proof, &unused) == 0 &&
	       told == power;
}

int relay_switch(struct relay *relay, enum relay_state power,
		 enum relay_proof *proof, struct err *err)
{
	unsigned int tries = power == RELAY_ON ? ON_TRIES : OFF_TRIES;

	if (has_started(relay, power, proof))
		return 0;
	for (unsigned int i = 0; i < tries; i++) {
		if (i > 0) {
			clock_sleep_ms(RETRY_PAUSE_MS);
			if (is_already(relay, power, proof))
				return 0;
		}
		if (set_and_check(relay, power, proof, err) == 0)
			return 0;
	}
	(void)err_prefix(err, "cannot switch %s, tried %u times",
			 power == RELAY_ON ? "on" : "off", tries);
	return name_outlet(relay, err);
}

int relay_read(struct relay *relay, enum relay_state *power,
	       enum relay_proof *proof, struct err *err)
{
	if (read_state(relay, power, proof, err) < 0)
		return name_outlet(relay, err);
	return 0;
}

uint64_t relay_done_ns(const struct relay *relay)
{
	return relay->done_ns;
}

int relay_prepare(struct relay *relay, struct err *err)
{
	if (relay->driver->is_one_shot || call_up(relay, err) == 0)
		return 0;
	return name_outlet(relay, err);
}

bool relay_can_pulse(const struct relay *relay, uint64_t off_ms)
{
	const struct driver_pulse *pulse = &relay->driver->pulse;
	const bool has_it = outlet_contact(relay->outlet, RELAY_OFF) == RELAY_ON
				    ? pulse->has_on
				    : pulse->has_off;

	if (!has_it || (relay->driver->can_pulse != NULL &&
			!relay->driver->can_pulse(relay->outlet)))
		return false;
	return off_ms >= pulse->min_ms && off_ms <= pulse->max_ms &&
	       off_ms % pulse->step_ms == 0;
}

/* Never repeated: a second one would be a second cut. */
int relay_pulse(struct relay *relay, uint64_t off_ms, struct err *err)
{
	int rc = call_up(relay, err);

	assert(relay_can_pulse(relay, off_ms));

	if (rc == 0)
		rc = relay->driver->pulse_for(
			*relay->port, relay->outlet,
			outlet_contact(relay->outlet, RELAY_OFF),
			(uint32_t)off_ms, answer_deadline_ns(relay), err);
	relay->done_ns = clock_monotonic_ns();
	if (rc < 0 || relay->driver->is_one_shot)
		hang_up(relay);
	return rc < 0 ? name_outlet(relay, err) : 0;
}
