/* SPDX-License-Identifier: MIT */
/*
 * http_fake - a box in the network that follows a script: what must be asked,
 * and what comes back for it. It never waits.
 */
#ifndef TESTS_FAKE_HTTP_FAKE_H
#define TESTS_FAKE_HTTP_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/driver.h"
#include "relay/http.h"
#include "tests/fake/vectors.h"

#define HTTP_FAKE_STEPS_MAX 4
#define HTTP_FAKE_SILENT    0  /* as a status: it takes it and says nothing */
#define HTTP_FAKE_GONE      -1 /* as a status: it cannot be reached */

struct http_fake_step {
	const char *method; /* NULL ends the script */
	const char *path;
	const char *body; /* NULL: none */
	long status;      /* what comes back, or one of the two above */
	const char *reply;
	size_t count; /* of the reply; 0: as long as its text */
	bool is_once; /* as the request must say */
};

/*
 * What OUTLET's driver makes of a box that follows SCRIPT: its set(), get() or
 * pulse_for(). Fails the test where it asks anything else, or less.
 */
int http_fake_set(const struct outlet *outlet, enum relay_state state,
		  const struct http_fake_step *script, struct err *err);
int http_fake_get(const struct outlet *outlet, enum relay_state *state,
		  const struct http_fake_step *script, struct err *err);
int http_fake_pulse(const struct outlet *outlet, enum relay_state state,
		    uint32_t ms, const struct http_fake_step *script,
		    struct err *err);

/* A row's request, whose text is kept in HTTP; the reply, where the row has
 * one, is that of status 200. */
struct http_fake_row {
	char http[VECTORS_HEX_BYTES];
	char reply[VECTORS_HEX_BYTES];
	struct http_fake_step step;
};
void http_fake_row_init(struct http_fake_row *row, const struct vector *vector);

/*
 * get() of a box that answers PATH with each beginning of GOOD, with noise of
 * each length up to 300 (seeded), with a page, with nothing, and with too much
 * nesting: never anything but -1, and the state is left alone.
 */
void http_fake_expect_nonsense(const struct outlet *outlet,
			       const struct http_fake_step *good);

#endif
