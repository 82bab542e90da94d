/* SPDX-License-Identifier: MIT */
#include "common/ackfile/condense.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ackfile/ackout.h"
#include "common/ackfile/ackreader.h"
#include "common/ackfile/condcycle.h"
#include "common/ackfile/condsay.h"
#include "common/ackfile/condsets.h"
#include "common/base/err.h"
#include "common/format/ledger.h"

/* What the reader of the outcome has of one stream. */
struct mirror {
	struct rangeset durable, shadow, completed;
};

struct condense {
	const struct condense_order *order;
	struct condense_facts *facts;
	uint64_t bodies; /* of the log; later ones are not looked at */
	struct condsets *sets;
	struct condcycle now;
	struct condsay say;
	struct ackbody body;
	struct mirror mirrors[RUN_STREAMS_MAX];
};

bool condense_is_mark(const struct ackbody *body, uint64_t index)
{
	return index == 1 && body->type == ACKBODY_EVENT &&
	       body->note.event == ACKBODY_EVENT_NOTE &&
	       strncmp(body->note.text, CONDENSE_MARK, strlen(CONDENSE_MARK)) ==
		       0;
}

bool condense_is_end(const struct ackbody *body)
{
	return body->type == ACKBODY_EVENT &&
	       body->note.event == ACKBODY_EVENT_NOTE &&
	       strcmp(body->note.text, CONDENSE_END) == 0;
}

/* ---- the first pass: what is to be believed, and the sets ---- */

static int fold(struct condense *condense, struct ackreader *reader,
		struct ledger *ledger, struct err *err)
{
	struct ackbody *body = &condense->body;
	int got;

	while ((got = ackreader_next(reader, body, NULL, err)) > 0) {
		if (ledger_apply(ledger, body, err) < 0)
			return ackreader_reject(reader, err);
		condsets_take(condense->sets, body);
		condense->bodies++;
	}
	if (got == 0 && !ledger_has_run(ledger))
		return err_set(err,
			       "%s: not one whole record; it does not even "
			       "say which run it is of",
			       condense->order->from);
	condense->facts->torn_bytes = ackreader_torn_bytes(reader);
	condense->facts->from_bytes = ackreader_end(reader).bytes;
	return got;
}

static int first_pass(struct condense *condense, struct err *err)
{
	const struct condense_order *order = condense->order;
	struct ackreader *reader =
		ackreader_open_fd(order->from_fd, order->from, err);
	struct ledger *ledger = ledger_new(err);
	int result = -1;

	if (reader != NULL && ledger != NULL)
		result = fold(condense, reader, ledger, err);
	/* P2: nothing goes out that a crash of this host could take back. */
	if (result == 0 && fdatasync(order->from_fd) < 0)
		result = err_sys(err, errno, "cannot make %s durable",
				 order->from);
	ledger_free(ledger);
	ackreader_close(reader);
	return result;
}

/* ---- the second pass: cycle by cycle ---- */

static int say_note(struct condense *condense, enum ackbody_type type,
		    const struct ackbody_note *note, struct err *err)
{
	struct ackbody *body = &condense->say.body;

	body->type = type;
	body->note = *note;
	return condsay_body(&condense->say, body, err);
}

static int say_text(struct condense *condense, const char *text,
		    struct err *err)
{
	struct ackbody_note note = {.event = ACKBODY_EVENT_NOTE};

	(void)snprintf(note.text, sizeof(note.text), "%s", text);
	return say_note(condense, ACKBODY_EVENT, &note, err);
}

/* The events that stood on one side of "cut asked". */
static int say_events(struct condense *condense, bool is_before_cut,
		      struct err *err)
{
	const struct condcycle *now = &condense->now;
	const struct condcycle_note *first[] = {&now->unsent, &now->seen,
						&now->restored};

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (first[i]->is_there &&
		    first[i]->is_before_cut == is_before_cut &&
		    say_note(condense, ACKBODY_EVENT, &first[i]->note, err) < 0)
			return -1;
	for (size_t i = 0; i < now->notes; i++)
		if (now->note[i].is_before_cut == is_before_cut &&
		    say_note(condense, ACKBODY_EVENT, &now->note[i].note, err) <
			    0)
			return -1;
	return 0;
}

static int say_limits(struct condense *condense, enum ackbody_type type,
		      struct err *err)
{
	const struct condcycle *now = &condense->now;
	struct ackbody *body = &condense->say.body;

	for (uint16_t i = 0; i < now->cycle.streams; i++) {
		bool is_issued = type == ACKBODY_ISSUED;

		if (is_issued ? !now->is_issued[i] : now->reserved[i] == 0)
			continue;
		body->type = type;
		body->limit.stream = i;
		body->limit.sequence =
			is_issued ? now->issued[i] : now->reserved[i];
		if (condsay_body(&condense->say, body, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_last_cycle(const struct condense *condense)
{
	return condense->now.cycle.cycle == condense->sets->cycle.cycle;
}

static struct condsay_order order_of(const struct condense *condense,
				     uint16_t stream)
{
	return (struct condsay_order){
		.type = ACKBODY_DURABLE,
		.stream = stream,
		.low = condense->now.cycle.first_sequence[stream],
		.high = ACKBODY_SEQUENCE_MAX,
	};
}

/* HIGH: the last number that belongs to this cycle. */
static int say_older(struct condense *condense, uint16_t stream, uint64_t high,
		     struct err *err)
{
	const struct condsets_stream *of = &condense->sets->of[stream];
	struct condsay_order order = order_of(condense, stream);

	order.set = &of->durable;
	order.high = high;
	order.floor = of->durable.floor;
	order.mirror = &condense->mirrors[stream].durable;
	if (is_last_cycle(condense)) {
		order.set = &of->older;
		order.at_ns = of->older_ns;
	}
	return condsay_ranges(&condense->say, &order, err);
}

static int say_recent(struct condense *condense, uint16_t stream,
		      struct err *err)
{
	const uint64_t floor = condense->sets->of[stream].durable.floor;
	const struct condsets_recent *recent;

	for (size_t i = 0;
	     (recent = condsets_recent_at(condense->sets, i)) != NULL; i++) {
		struct ackbody_flush flush = recent->flush;

		if (recent->stream != stream || flush.range.last <= floor)
			continue;
		if (flush.range.first <= floor)
			flush.range.first = floor + 1;
		if (floor > 0)
			(void)rangeset_add(&condense->mirrors[stream].durable,
					   flush.range.first, flush.range.last);
		if (condsay_flush(&condense->say, stream, &flush, err) < 0)
			return -1;
	}
	return condsay_flushes_end(&condense->say, err);
}

/* The next cycle begins above everything that was reserved in this one, so
 * what this one promised lies at or below its reservation. */
static int say_durable(struct condense *condense, struct err *err)
{
	const struct condcycle *now = &condense->now;

	for (uint16_t i = 0; i < now->cycle.streams; i++) {
		if (now->reserved[i] >= now->cycle.first_sequence[i] &&
		    say_older(condense, i, now->reserved[i], err) < 0)
			return -1;
		if (is_last_cycle(condense) && say_recent(condense, i, err) < 0)
			return -1;
	}
	return 0;
}

/* Of the last cycle: what is no promise, but evidence. */
static int say_evidence(struct condense *condense, enum ackbody_type type,
			struct err *err)
{
	for (uint16_t i = 0; i < condense->now.cycle.streams; i++) {
		const struct condsets_stream *of = &condense->sets->of[i];
		struct mirror *mirror = &condense->mirrors[i];
		struct condsay_order order = order_of(condense, i);
		bool is_shadow = type == ACKBODY_DURABLE;

		order.type = type;
		order.set = is_shadow ? &of->shadow : &of->completed;
		order.mirror = is_shadow ? &mirror->shadow : &mirror->completed;
		order.floor = order.set->floor;
		if (condsay_ranges(&condense->say, &order, err) < 0)
			return -1;
	}
	return 0;
}

static int say_writes(struct condense *condense, struct err *err)
{
	struct ackbody *body = &condense->say.body;

	if (condense->now.cycle.cycle == 0)
		return 0;
	body->type = ACKBODY_CYCLE;
	body->cycle = condense->now.cycle;
	if (condsay_body(&condense->say, body, err) < 0 ||
	    say_limits(condense, ACKBODY_RESERVE, err) < 0)
		return -1;
	return say_durable(condense, err);
}

/* P11: what was promised behind "cut asked" stays behind it. */
static int say_cut(struct condense *condense, struct err *err)
{
	const struct condcycle *now = &condense->now;
	bool is_last = now->cycle.cycle > 0 && is_last_cycle(condense);

	if (now->asked.is_there &&
	    say_note(condense, ACKBODY_EVENT, &now->asked.note, err) < 0)
		return -1;
	if (is_last && (say_evidence(condense, ACKBODY_DURABLE, err) < 0 ||
			say_evidence(condense, ACKBODY_COMPLETED, err) < 0))
		return -1;
	if (say_limits(condense, ACKBODY_ISSUED, err) < 0)
		return -1;
	if (now->end.is_there &&
	    say_note(condense, ACKBODY_END, &now->end.note, err) < 0)
		return -1;
	return 0;
}

static int say_cycle(struct condense *condense, struct err *err)
{
	if (say_writes(condense, err) < 0 ||
	    say_events(condense, true, err) < 0 || say_cut(condense, err) < 0)
		return -1;
	return say_events(condense, false, err);
}

static int say_head(struct condense *condense, struct err *err)
{
	char text[ACKBODY_TEXT_BYTES];

	if (condsay_body(&condense->say, &condense->body, err) < 0)
		return -1;
	(void)snprintf(text, sizeof(text), CONDENSE_MARK "%" PRIu64 " bytes",
		       condense->facts->from_bytes);
	return say_text(condense, text, err);
}

static int second_pass(struct condense *condense, struct ackreader *reader,
		       struct err *err)
{
	struct ackbody *body = &condense->body;
	uint64_t arrival_ns = 0;

	for (uint64_t i = 0; i < condense->bodies; i++) {
		int got = ackreader_next(reader, body, &arrival_ns, err);

		if (got == 0)
			return err_set(err, "%s changed while it was read",
				       condense->order->from);
		if (got < 0)
			return -1;
		condense->say.arrival_ns = arrival_ns;
		if (i == 0 && say_head(condense, err) < 0)
			return -1;
		if (!condcycle_ends(&condense->now, body)) {
			condcycle_take(&condense->now, body);
			continue;
		}
		if (say_cycle(condense, err) < 0)
			return -1;
		condcycle_begin(&condense->now, &body->cycle);
	}
	return say_cycle(condense, err);
}

/* What was forgotten by the log's reader is forgotten by the outcome's. */
static int check_floors(const struct condense *condense, struct err *err)
{
	for (uint16_t i = 0; i < condense->sets->streams; i++) {
		const struct condsets_stream *of = &condense->sets->of[i];
		const struct mirror *mirror = &condense->mirrors[i];

		if (of->durable.floor != mirror->durable.floor ||
		    of->shadow.floor != mirror->shadow.floor ||
		    of->completed.floor != mirror->completed.floor)
			return err_set(err, "cannot condense %s: out of memory",
				       condense->order->from);
	}
	return 0;
}

static int init_mirrors(struct condense *condense, struct err *err)
{
	const uint16_t streams = condense->sets->streams;

	for (uint16_t i = 0; i < streams; i++) {
		struct mirror *mirror = &condense->mirrors[i];

		if (rangeset_init(&mirror->durable, err) < 0 ||
		    rangeset_init(&mirror->shadow, err) < 0 ||
		    rangeset_init(&mirror->completed, err) < 0)
			return -1;
		rangeset_set_limit(&mirror->durable,
				   condsets_durable_max(streams));
		rangeset_set_limit(&mirror->shadow,
				   condsets_evidence_max(streams));
		rangeset_set_limit(&mirror->completed,
				   condsets_evidence_max(streams));
	}
	return 0;
}

static void free_all(struct condense *condense)
{
	for (size_t i = 0; i < RUN_STREAMS_MAX; i++) {
		rangeset_free(&condense->mirrors[i].durable);
		rangeset_free(&condense->mirrors[i].shadow);
		rangeset_free(&condense->mirrors[i].completed);
	}
	condsets_free(condense->sets);
	ackout_free(condense->say.out);
	free(condense);
}

static int say_all(struct condense *condense, struct err *err)
{
	const struct condense_order *order = condense->order;
	struct ackreader *reader =
		ackreader_open_fd(order->from_fd, order->from, err);
	int result = -1;

	if (reader != NULL)
		result = second_pass(condense, reader, err);
	ackreader_close(reader);
	if (result < 0 || check_floors(condense, err) < 0 ||
	    say_text(condense, CONDENSE_END, err) < 0 ||
	    ackout_finish(condense->say.out, condense->say.arrival_ns, err) < 0)
		return -1;
	condense->facts->to_bytes = condense->say.out->bytes;
	return 0;
}

int condense_log(const struct condense_order *order,
		 struct condense_facts *facts, struct err *err)
{
	struct condense *condense = calloc(1, sizeof(*condense));
	int result = -1;

	if (condense == NULL)
		return err_set(err, "cannot condense %s: out of memory",
			       order->from);
	condense->order = order;
	condense->facts = facts;
	condense->sets = condsets_new(err);
	condense->say.out = ackout_new(order->to_fd, order->to, err);
	if (condense->sets != NULL && condense->say.out != NULL &&
	    first_pass(condense, err) == 0 && init_mirrors(condense, err) == 0)
		result = say_all(condense, err);
	free_all(condense);
	return result;
}
