/* SPDX-License-Identifier: MIT */
/*
 * ackstore must keep what is not confirmed, give it out again after a lost
 * connection, and count as reserved or confirmed only what is in the log (P2).
 */
#include "writer/ackstore.h"

#include <stdlib.h>

#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"

#define NOW_NS 1000000000

static struct ackstore *begin(void)
{
	struct err err;
	struct ackstore *store = ackstore_new(&err);

	if (!store)
		abort();
	return store;
}

static bool add_reserve(struct ackstore *store, uint64_t sequence)
{
	const struct ackbody body = {
		.type = ACKBODY_RESERVE,
		.limit = {.stream = 0, .sequence = sequence},
	};

	return ackstore_add(store, &body);
}

static bool add_durable(struct ackstore *store, uint64_t first, uint64_t last)
{
	const struct ackbody body = {
		.type = ACKBODY_DURABLE,
		.ranges = {.flush = 1, .count = 1, .ranges = {{first, last}}},
	};

	return ackstore_add(store, &body);
}

static uint64_t decode_reserve(const uint8_t *payload, uint32_t length)
{
	static struct ackbody body;
	struct err err;
	size_t at = 0;

	assert_int_equal(ackbody_decode(&body, payload, length, &at, &err), 1);
	assert_int_equal(body.type, ACKBODY_RESERVE);
	return body.limit.sequence;
}

static void p2_a_reservation_counts_only_when_confirmed(void **state)
{
	struct ackstore *store = begin();
	uint32_t length = 0;

	(void)state;
	assert_true(add_reserve(store, 500));
	assert_true(add_durable(store, 1, 7));
	assert_non_null(ackstore_next(store, &length));
	ackstore_sent(store);
	assert_int_equal(ackstore_reserved(store, 0), 0);
	assert_int_equal(ackstore_confirmed_writes(store), 0);
	assert_false(ackstore_is_empty(store));
	assert_true(ackstore_confirm(store, 1, NOW_NS));
	assert_int_equal(ackstore_reserved(store, 0), 500);
	assert_int_equal(ackstore_confirmed_writes(store), 7);
	assert_true(ackstore_is_empty(store));
	ackstore_free(store);
}

static void p2_what_was_not_confirmed_is_given_out_again(void **state)
{
	struct ackstore *store = begin();
	const uint8_t *payload = NULL;
	uint32_t length = 0;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		assert_true(add_reserve(store, i));
		assert_non_null(ackstore_next(store, &length));
		ackstore_sent(store);
	}
	assert_true(ackstore_confirm(store, 1, NOW_NS));
	ackstore_rewind(store);
	for (uint64_t i = 2; i <= 3; i++) {
		payload = ackstore_next(store, &length);
		assert_non_null(payload);
		assert_int_equal(decode_reserve(payload, length), i);
		ackstore_sent(store);
	}
	assert_null(ackstore_next(store, &length));
	assert_true(ackstore_confirm(store, 2, NOW_NS)); /* counted anew */
	assert_true(ackstore_is_empty(store));
	assert_int_equal(ackstore_reserved(store, 0), 3);
	ackstore_free(store);
}

static void p2_a_given_out_payload_is_not_changed(void **state)
{
	struct ackstore *store = begin();
	uint32_t length = 0, again = 0;

	(void)state;
	add_reserve(store, 1);
	ackstore_next(store, &length);
	add_reserve(store, 2);
	ackstore_next(store, &again);
	assert_int_equal(length, again);
	ackstore_sent(store);
	ackstore_rewind(store);
	add_reserve(store, 3);
	ackstore_next(store, &again);
	assert_int_equal(length, again);
	ackstore_free(store);
}

static void p9_a_confirmation_of_nothing_sent_is_refused(void **state)
{
	struct ackstore *store = begin();
	uint32_t length = 0;

	(void)state;
	assert_true(ackstore_confirm(store, 0, NOW_NS));
	assert_false(ackstore_confirm(store, 1, NOW_NS));
	add_reserve(store, 1);
	assert_false(ackstore_confirm(store, 1, NOW_NS));
	ackstore_next(store, &length);
	ackstore_sent(store);
	assert_false(ackstore_confirm(store, 2, NOW_NS));
	assert_true(ackstore_confirm(store, 1, NOW_NS));
	ackstore_free(store);
}

static void p2_the_store_is_bounded(void **state)
{
	struct ackstore *store = begin();
	uint32_t length = 0;
	int flying = 0;

	(void)state;
	for (int i = 0; add_durable(store, 1, 1000000); i++)
		assert_true(i < 10000000);
	while (ackstore_next(store, &length)) {
		ackstore_sent(store);
		flying++;
	}
	assert_int_equal(flying, ACKSTORE_FLYING_MAX);
	assert_false(add_durable(store, 1, 1000000));
	assert_true(ackstore_confirm(store, 1, NOW_NS));
	assert_true(add_durable(store, 1, 1000000)); /* room again */
	ackstore_free(store);
}

static uint64_t quantile_us(const struct ackstore *store, unsigned int permille)
{
	return histogram_quantile_ns(ackstore_latency(store), permille) / 1000;
}

/* One flush of two ranges is one moment; a confirmation ends the time. */
static void each_moment_is_timed_until_its_confirmation(void **state)
{
	struct ackstore *store = begin();
	uint32_t length = 0;

	(void)state;
	add_durable(store, 1, 7);
	ackstore_mark(store, NOW_NS - 5000000);
	add_durable(store, 9, 9);
	ackstore_mark(store, NOW_NS - 5000000);
	assert_int_equal(ackstore_moments(store), 1);
	assert_non_null(ackstore_next(store, &length));
	ackstore_sent(store);
	assert_int_equal(ackstore_moments(store), 0);
	add_durable(store, 10, 10);
	ackstore_mark(store, NOW_NS - 1000000);
	ackstore_mark(store, NOW_NS - 300000);
	assert_int_equal(ackstore_moments(store), 2);
	assert_int_equal(ackstore_latency(store)->count, 0);
	assert_true(ackstore_confirm(store, 1, NOW_NS));
	assert_int_equal(ackstore_latency(store)->count, 1);
	assert_int_equal(quantile_us(store, 1000), 5000);
	assert_non_null(ackstore_next(store, &length));
	ackstore_sent(store);
	ackstore_confirm_sent(store, NOW_NS + 700000);
	assert_int_equal(ackstore_latency(store)->count, 3);
	assert_in_range(quantile_us(store, 1), 980, 1020);
	assert_in_range(quantile_us(store, 500), 1666, 1734);
	assert_int_equal(quantile_us(store, 1000), 5000);
	ackstore_free(store);
}

/* What was lost with a connection is timed from its first beginning. */
static void repeating_does_not_start_the_time_anew(void **state)
{
	struct ackstore *store = begin();
	uint32_t length = 0;

	(void)state;
	add_durable(store, 1, 7);
	ackstore_mark(store, NOW_NS);
	for (int i = 0; i < 2; i++) {
		assert_non_null(ackstore_next(store, &length));
		ackstore_sent(store);
		if (i == 0)
			ackstore_rewind(store);
	}
	assert_true(ackstore_confirm(store, 1, NOW_NS + 3000000000));
	assert_int_equal(ackstore_latency(store)->count, 1);
	assert_int_equal(quantile_us(store, 1000), 3000000);
	ackstore_free(store);
}

static void the_oldest_moments_are_timed_where_there_are_too_many(void **state)
{
	struct ackstore *store = begin();
	uint32_t length = 0;

	(void)state;
	add_durable(store, 1, 7);
	for (uint64_t i = 0; i < ACKSTORE_MARKS_MAX + 10; i++)
		ackstore_mark(store, NOW_NS + i);
	assert_non_null(ackstore_next(store, &length));
	ackstore_sent(store);
	assert_true(ackstore_confirm(store, 1, NOW_NS + 2000000));
	assert_int_equal(ackstore_latency(store)->count, ACKSTORE_MARKS_MAX);
	assert_int_equal(quantile_us(store, 1000), 2000);
	/* A payload that takes its place begins with none. */
	for (uint64_t i = 0; i <= ACKSTORE_PAYLOADS; i++) {
		add_reserve(store, i);
		assert_non_null(ackstore_next(store, &length));
		ackstore_sent(store);
		ackstore_confirm_sent(store, NOW_NS);
	}
	assert_int_equal(ackstore_latency(store)->count, ACKSTORE_MARKS_MAX);
	ackstore_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p2_a_reservation_counts_only_when_confirmed),
		cmocka_unit_test(p2_what_was_not_confirmed_is_given_out_again),
		cmocka_unit_test(p2_a_given_out_payload_is_not_changed),
		cmocka_unit_test(p9_a_confirmation_of_nothing_sent_is_refused),
		cmocka_unit_test(p2_the_store_is_bounded),
		cmocka_unit_test(each_moment_is_timed_until_its_confirmation),
		cmocka_unit_test(repeating_does_not_start_the_time_anew),
		cmocka_unit_test(
			the_oldest_moments_are_timed_where_there_are_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
