/* SPDX-License-Identifier: MIT */
#include "tests/fake/http_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "relay/outlet.h"
#include "tests/unit/cmocka_all.h"

#define SEED        20261201U
#define NOISE_BYTES 300U
#define NESTING     60000

struct http_fake {
	struct http http;
	const struct http_fake_step *step; /* the next one */
};

static bool same(const char *one, const char *other)
{
	if (one == NULL || other == NULL)
		return one == other;
	return strcmp(one, other) == 0;
}

static int fake_ask(struct http *http, const struct http_request *request,
		    struct http_reply *reply, uint64_t deadline_ns,
		    struct err *err)
{
	struct http_fake *fake = (struct http_fake *)(void *)http;
	const struct http_fake_step *step = fake->step;

	if (deadline_ns <= clock_monotonic_ns())
		fail_msg("no time for %s %s", request->method, request->path);
	if (step->method == NULL || !same(step->method, request->method) ||
	    !same(step->path, request->path) ||
	    !same(step->body, request->body) ||
	    step->is_once != request->is_once)
		fail_msg("not in the script: %s %s %s", request->method,
			 request->path,
			 request->body == NULL ? "" : request->body);
	fake->step++;
	if (step->status == HTTP_FAKE_GONE)
		return err_set(err, "the fake is gone");
	if (step->status == HTTP_FAKE_SILENT)
		return 0;
	*reply = (struct http_reply){
		.status = step->status,
		.text = step->reply,
		.count = step->count != 0 ? step->count : strlen(step->reply)};
	return 1;
}

static struct http_fake new_fake(const struct http_fake_step *script)
{
	return (struct http_fake){.http = {.ask = fake_ask}, .step = script};
}

static void expect_done(const struct http_fake *fake)
{
	if (fake->step->method != NULL)
		fail_msg("not asked: %s %s", fake->step->method,
			 fake->step->path);
}

static uint64_t deadline_ns(const struct outlet *outlet)
{
	return clock_monotonic_ns() +
	       outlet->driver->answer_ms * CLOCK_NS_PER_MS;
}

int http_fake_set(const struct outlet *outlet, enum relay_state state,
		  const struct http_fake_step *script, struct err *err)
{
	struct http_fake fake = new_fake(script);
	int rc = outlet->driver->set(&fake.http.port, outlet, state,
				     deadline_ns(outlet), err);

	expect_done(&fake);
	return rc;
}

int http_fake_get(const struct outlet *outlet, enum relay_state *state,
		  const struct http_fake_step *script, struct err *err)
{
	struct http_fake fake = new_fake(script);
	int rc = outlet->driver->get(&fake.http.port, outlet, state,
				     deadline_ns(outlet), err);

	expect_done(&fake);
	return rc;
}

int http_fake_pulse(const struct outlet *outlet, enum relay_state state,
		    uint32_t ms, const struct http_fake_step *script,
		    struct err *err)
{
	struct http_fake fake = new_fake(script);
	int rc = outlet->driver->pulse_for(&fake.http.port, outlet, state, ms,
					   deadline_ns(outlet), err);

	expect_done(&fake);
	return rc;
}

static void from_hex(const char *hex, char to[VECTORS_HEX_BYTES])
{
	unsigned int value = 0;
	size_t count = 0;
	int length = 0;

	for (; sscanf(hex, "%2x%n", &value, &length) == 1; hex += length)
		to[count++] = (char)value;
	to[count] = '\0';
}

/* "METHOD PATH HTTP/1.0", headers, an empty line, the body. */
void http_fake_row_init(struct http_fake_row *row, const struct vector *vector)
{
	char *path = NULL, *end = NULL, *body = NULL;

	from_hex(vector->sent, row->http);
	from_hex(vector->reply, row->reply);
	path = strchr(row->http, ' ');
	end = path == NULL ? NULL : strchr(path + 1, ' ');
	body = end == NULL ? NULL : strstr(end + 1, "\r\n\r\n");
	if (path == NULL || end == NULL || body == NULL) {
		fail_msg("no request: %s", row->http);
		return; /* never: for the compiler */
	}
	*path = '\0';
	*end = '\0';
	body += 4;
	row->step = (struct http_fake_step){
		.method = row->http,
		.path = path + 1,
		.body = *body == '\0' ? NULL : body,
		.status = 200,
		.reply = row->reply,
	};
}

static void expect_refused(const struct outlet *outlet,
			   const struct http_fake_step *good, const char *text,
			   size_t count)
{
	const struct http_fake_step script[] = {
		{good->method, good->path, good->body, 200, text, count, false},
		{0}};

	for (enum relay_state state = RELAY_OFF; state <= RELAY_ON; state++) {
		enum relay_state told = state;
		struct err err = {""};
		int rc = http_fake_get(outlet, &told, script, &err);

		if (rc != -1 || told != state || err.text[0] == '\0')
			fail_msg("%s takes %zu bytes for an answer: %d, %.*s",
				 outlet->driver->name, count, rc, (int)count,
				 text);
	}
}

static void expect_noise_refused(const struct outlet *outlet,
				 const struct http_fake_step *good)
{
	struct prng prng;
	char noise[NOISE_BYTES + 1];

	prng_init(&prng, SEED);
	for (size_t count = 1; count <= NOISE_BYTES; count++) {
		for (size_t i = 0; i < count; i++)
			noise[i] = (char)prng_next(&prng);
		noise[count] = '\0';
		expect_refused(outlet, good, noise, count);
	}
}

void http_fake_expect_nonsense(const struct outlet *outlet,
			       const struct http_fake_step *good)
{
	static const char page[] = "<html><body>Please log in</body></html>";
	static const char *const others[] = {
		"", "{}", "[]", "null", "true", "\"on\"", "{\"ison\":1}", page};
	char *deep = calloc(1, NESTING + 1);
	const size_t length = strlen(good->reply);

	if (deep == NULL)
		abort();
	memset(deep, '[', NESTING);
	expect_refused(outlet, good, deep, NESTING);
	free(deep);
	for (size_t count = 1; count < length; count++) {
		char *half = strndup(good->reply, count);

		if (half == NULL)
			abort();
		expect_refused(outlet, good, half, count);
		free(half);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		expect_refused(outlet, good, others[i], strlen(others[i]));
	expect_noise_refused(outlet, good);
}
