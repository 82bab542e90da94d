/* SPDX-License-Identifier: MIT */
/*
 * P9: bounds that are not whole, or were taken while the writer was at work,
 * convict nobody; and a log that is no bounds is not asked.
 */
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "common/ackfile/condense.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/ledger.h"
#include "verifier/logbounds.h"

static struct ledger *ledger;
static struct logbounds bounds;
static struct ackbody body;
static struct err err;

static void say(void)
{
	assert_int_equal(ledger_apply(ledger, &body, &err), 0);
	logbounds_take(&bounds, &body);
}

static void say_event(enum ackbody_event event, const char *text)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_EVENT;
	body.note.event = event;
	(void)snprintf(body.note.text, sizeof(body.note.text), "%s", text);
	say();
}

static void say_limit(enum ackbody_type type, uint16_t stream, uint64_t to)
{
	body.type = type;
	body.limit = (struct ackbody_limit){stream, to};
	say();
}

static void say_cycle(uint32_t cycle, uint64_t first)
{
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_CYCLE;
	body.cycle = (struct ackbody_cycle){.cycle = cycle,
					    .sync_value = 1,
					    .streams = 2,
					    .first_sequence = {first, first}};
	say();
}

static int set_up(void **state)
{
	(void)state;
	memset(&bounds, 0, sizeof(bounds));
	ledger = ledger_new(&err);
	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_RUN;
	body.run = (struct run){.id = {1}, .streams = 2};
	say();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ledger_free(ledger);
	return 0;
}

static void mark(void)
{
	say_event(ACKBODY_EVENT_NOTE, CONDENSE_MARK "7 bytes");
}

static int end(void)
{
	say_event(ACKBODY_EVENT_NOTE, CONDENSE_END);
	return logbounds_check(&bounds, ledger, &err);
}

static void any_other_log_is_not_asked(void **state)
{
	(void)state;
	say_cycle(1, 1);
	mark(); /* not the second statement: somebody's note */
	say_limit(ACKBODY_RESERVE, 0, 5);
	assert_int_equal(logbounds_check(&bounds, ledger, &err), 0);
}

static void p9_what_was_cut_short_is_not_believed(void **state)
{
	(void)state;
	mark();
	assert_int_equal(logbounds_check(&bounds, ledger, &err), -1);
	assert_non_null(strstr(err.text, "cut short"));
	assert_int_equal(end(), 0);
	say_cycle(1, 1); /* an end that is not the last word */
	say_limit(ACKBODY_ISSUED, 0, 0);
	say_limit(ACKBODY_ISSUED, 1, 0);
	assert_int_equal(logbounds_check(&bounds, ledger, &err), -1);
}

static void p9_a_writer_at_work_is_not_judged(void **state)
{
	(void)state;
	mark();
	say_cycle(1, 1);
	say_limit(ACKBODY_RESERVE, 0, 5);
	assert_int_equal(end(), -1);
	assert_non_null(strstr(err.text, "does not say that the writer"));
	say_limit(ACKBODY_ISSUED, 0, 5);
	assert_int_equal(end(), -1); /* one of two streams */
	say_limit(ACKBODY_ISSUED, 1, 0);
	assert_int_equal(end(), 0);
	say_cycle(2, 6); /* the next one goes on */
	assert_int_equal(end(), -1);
}

static void p11_a_writer_that_was_seen_to_go_has_ended(void **state)
{
	(void)state;
	mark();
	say_cycle(1, 1);
	say_event(ACKBODY_EVENT_CUT_ASKED, "");
	assert_int_equal(end(), -1);
	say_event(ACKBODY_EVENT_CUT_SEEN, "");
	assert_int_equal(end(), 0);
	say_limit(ACKBODY_RESERVE, 0, 5); /* a zombie */
	assert_int_equal(end(), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(any_other_log_is_not_asked,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			p9_what_was_cut_short_is_not_believed, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			p9_a_writer_at_work_is_not_judged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			p11_a_writer_that_was_seen_to_go_has_ended, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
