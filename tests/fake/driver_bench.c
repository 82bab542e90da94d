/* SPDX-License-Identifier: MIT */
#include "tests/fake/driver_bench.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "relay/outlet.h"
#include "tests/unit/cmocka_all.h"

#define LENGTH_MAX 48U
#define VARIANTS   60U
#define SEED       20240917U
#define LEFTOVER   "00 01 A0 01 01 A2 3E"

struct garbage {
	uint8_t bytes[2 * LENGTH_MAX];
	size_t count;
};

static uint64_t soon_ns(void)
{
	return clock_monotonic_ns() + CLOCK_NS_PER_S;
}

int driver_bench_get(const struct outlet *outlet,
		     const struct port_fake_step *steps, const char *leftover,
		     size_t chunk, enum relay_state *told, bool *is_done,
		     struct err *err)
{
	struct port_fake *fake = port_fake_new(steps, leftover);
	int rc = 0;

	port_fake_set_chunk(fake, chunk);
	rc = outlet->driver->get(port_fake_port(fake), outlet, told, soon_ns(),
				 err);
	if (is_done != NULL)
		*is_done = port_fake_is_done(fake);
	port_fake_free(fake);
	return rc;
}

static void expect_done(const struct outlet *outlet, struct port_fake *fake,
			const struct err *err)
{
	if (!port_fake_is_done(fake))
		fail_msg("%s %u does not follow the script: %s",
			 outlet->driver->name, outlet->channel, err->text);
	port_fake_free(fake);
}

int driver_bench_set(const struct outlet *outlet, enum relay_state state,
		     const struct port_fake_step *steps, struct err *err)
{
	struct port_fake *fake = port_fake_new(steps, LEFTOVER);
	int rc = 0;

	port_fake_set_chunk(fake, 1);
	rc = outlet->driver->set(port_fake_port(fake), outlet, state, soon_ns(),
				 err);
	expect_done(outlet, fake, err);
	return rc;
}

int driver_bench_pulse(const struct outlet *outlet, enum relay_state state,
		       uint32_t ms, const struct port_fake_step *steps,
		       struct err *err)
{
	struct port_fake *fake = port_fake_new(steps, LEFTOVER);
	int rc = outlet->driver->pulse_for(port_fake_port(fake), outlet, state,
					   ms, soon_ns(), err);

	expect_done(outlet, fake, err);
	return rc;
}

void driver_bench_expect(const struct outlet *outlet,
			 const struct port_fake_step *steps,
			 enum relay_state state)
{
	static const size_t chunks[] = {1, 3, 1024};

	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		enum relay_state told = !state;
		struct err err = {""};
		bool is_done = false;
		int rc = driver_bench_get(outlet, steps, LEFTOVER, chunks[i],
					  &told, &is_done, &err);

		if (rc != 1 || told != state || !is_done)
			fail_msg("%s %u, %zu bytes a read: %d, %s, %s",
				 outlet->driver->name, outlet->channel,
				 chunks[i], rc, told == RELAY_ON ? "on" : "off",
				 err.text);
	}
}

/* ---- what no board says ---- */

static void parse(const char *text, struct garbage *garbage)
{
	unsigned int value = 0;
	int length = 0;

	garbage->count = 0;
	if (*text == '\'') {
		garbage->count = strlen(text + 1);
		memcpy(garbage->bytes, text + 1, garbage->count);
		return;
	}
	for (; sscanf(text, "%2x%n", &value, &length) == 1; text += length)
		garbage->bytes[garbage->count++] = (uint8_t)value;
}

static void make_noise(struct prng *prng, size_t count, uint64_t below,
		       struct garbage *garbage)
{
	garbage->count = count;
	for (size_t i = 0; i < count; i++)
		garbage->bytes[i] = (uint8_t)prng_below(prng, below);
}

/* GOOD with its end missing, a byte changed, a byte added, or twice. */
static void spoil(struct prng *prng, const struct garbage *good,
		  struct garbage *garbage)
{
	const size_t at = prng_below(prng, good->count);

	*garbage = *good;
	switch (prng_below(prng, 4)) {
	case 0:
		garbage->count = at;
		break;
	case 1:
		garbage->bytes[at] = (uint8_t)prng_below(prng, 256);
		break;
	case 2:
		memmove(garbage->bytes + at + 1, garbage->bytes + at,
			garbage->count - at);
		garbage->bytes[at] = (uint8_t)prng_below(prng, 256);
		garbage->count++;
		break;
	default:
		memcpy(garbage->bytes + good->count, good->bytes, good->count);
		garbage->count += good->count;
	}
}

static void try_answer(const struct outlet *outlet,
		       const struct port_fake_step *steps,
		       const struct garbage *garbage, driver_bench_judge *judge)
{
	struct port_fake_step script[DRIVER_BENCH_STEPS_MAX + 1] = {{0}};
	char text[3 * 2 * LENGTH_MAX + 1] = "";
	enum relay_state told = RELAY_OFF, expected = RELAY_OFF;
	struct err err = {""};
	size_t last = 0;
	bool is_state =
		judge(garbage->bytes, garbage->count, outlet, &expected);
	int rc = 0;

	for (last = 0; steps[last].wants != NULL; last++)
		script[last] = steps[last];
	for (size_t i = 0; i < garbage->count; i++)
		(void)snprintf(text + 3 * i, 4, "%02x ", garbage->bytes[i]);
	script[last - 1].gives = garbage->count == 0 ? NULL : text;
	rc = driver_bench_get(outlet, script, NULL, 7, &told, NULL, &err);
	if (rc > 0 && (!is_state || told != expected))
		fail_msg("%s %u says %d, %s, for %s", outlet->driver->name,
			 outlet->channel, rc, told == RELAY_ON ? "on" : "off",
			 text);
	if (rc < 0 && err.text[0] == '\0')
		fail_msg("%s: no reason given for %s", outlet->driver->name,
			 text);
}

void driver_bench_garbage(const struct outlet *outlet,
			  const struct port_fake_step *steps, const char *good,
			  driver_bench_judge *judge)
{
	struct garbage garbage, whole;
	struct prng prng;

	prng_init(&prng, SEED);
	parse(good, &whole);
	try_answer(outlet, steps, &whole, judge);
	for (size_t count = 0; count <= LENGTH_MAX; count++) {
		for (unsigned int i = 0; i < VARIANTS; i++) {
			make_noise(&prng, count, i % 2 == 0 ? 256 : 3,
				   &garbage);
			try_answer(outlet, steps, &garbage, judge);
			spoil(&prng, &whole, &garbage);
			try_answer(outlet, steps, &garbage, judge);
		}
	}
}
