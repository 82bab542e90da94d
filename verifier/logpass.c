/* SPDX-License-Identifier: MIT */
#include "verifier/logpass.h"

#include <stdlib.h>
#include <string.h>

#include "common/ackfile/ackreader.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "verifier/logbounds.h"
#include "verifier/logstdin.h"

#define FLUSH_PROOF "flush proof: " /* so the writer begins */

static bool tells_of_unsent(const struct ackbody *body)
{
	return body->type == ACKBODY_EVENT &&
	       body->note.event == ACKBODY_EVENT_UNSENT;
}

static void take_event(const struct ackbody *body, struct logpass *facts)
{
	if (tells_of_unsent(body) && facts->unsent[0] == '\0')
		memcpy(facts->unsent, body->note.text, sizeof(facts->unsent));
	if (body->type == ACKBODY_EVENT &&
	    body->note.event == ACKBODY_EVENT_NOTE &&
	    strncmp(body->note.text, FLUSH_PROOF, strlen(FLUSH_PROOF)) == 0)
		memcpy(facts->flush_proof, body->note.text,
		       sizeof(facts->flush_proof));
}

int logpass_load(const char *path, struct ledger *ledger, struct logpass *facts,
		 struct err *err)
{
	struct stat status = {.st_size = -1};
	int known = logstdin_stat(path, &status);
	struct ackreader *reader = logstdin_open(path, err);
	struct ackbody *body = malloc(sizeof(*body));
	struct logbounds bounds = {0};
	uint16_t stream;
	int result = -1;

	memset(facts, 0, sizeof(*facts));
	if (reader == NULL)
		goto out;
	/* What comes behind this is news, whether it is read now or not. */
	if (known == 0)
		facts->status = status;
	if (body == NULL) {
		(void)err_set(err, "cannot read %s: out of memory", path);
		goto out;
	}
	while ((result = ackreader_next(reader, body, NULL, err)) > 0) {
		if (ledger_apply(ledger, body, err) < 0) {
			result = ackreader_reject(reader, err);
			goto out;
		}
		take_event(body, facts);
		logbounds_take(&bounds, body);
		facts->bodies++;
	}
	if (result < 0)
		goto out;
	facts->torn_bytes = ackreader_torn_bytes(reader);
	facts->frames = ackreader_end(reader).frames;
	facts->crc = ackreader_end(reader).crc;
	if (!ledger_has_run(ledger)) {
		result = err_set(err,
				 "%s: not one whole record; it does not even "
				 "say which run it is of",
				 logstdin_name(path));
		goto out;
	}
	result = logbounds_check(&bounds, ledger, err);
	if (result < 0)
		goto close;
	facts->has_cycle = ledger_cycle(ledger) != NULL;
	for (stream = 0; stream < ledger_run(ledger)->streams; stream++)
		facts->durable[stream] = ledger_durable_count(ledger, stream);
out:
	if (result < 0 && reader != NULL)
		(void)err_hint(err, "take an undamaged copy of the log, or "
				    "leave --acklog away");
close:
	free(body);
	ackreader_close(reader);
	return result;
}

static bool is_untouched(const struct stat *before, const struct stat *now)
{
	return before->st_dev == now->st_dev && before->st_ino == now->st_ino &&
	       before->st_size == now->st_size &&
	       before->st_mtim.tv_sec == now->st_mtim.tv_sec &&
	       before->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

static bool tells_of_writes(const struct ackbody *body)
{
	switch (body->type) {
	case ACKBODY_CYCLE:
	case ACKBODY_RESERVE:
	case ACKBODY_DURABLE:
	case ACKBODY_COMPLETED:
	case ACKBODY_FLUSHES:
	case ACKBODY_ISSUED:
		return true;
	case ACKBODY_RUN:
	case ACKBODY_EVENT:
	case ACKBODY_END:
		return false;
	}
	abort(); /* decoding lets no other type through */
}

/* READER has used up the last frame that was there before. */
static bool is_same_log(const struct ackreader *reader,
			const struct logpass *facts)
{
	const struct ackreader_end end = ackreader_end(reader);

	return end.frames == facts->frames && end.crc == facts->crc;
}

/* READER has come to the end of the log behind BODIES statements. */
static enum logpass_news judge_end(const struct ackreader *reader,
				   const struct logpass *facts, uint64_t bodies,
				   struct err *err)
{
	uint64_t torn = ackreader_torn_bytes(reader);
	bool has_more = bodies > facts->bodies;

	if (!has_more && !is_same_log(reader, facts)) {
		(void)err_set(err, "it is shorter now, or another one");
		return LOGPASS_UNCLEAR;
	}
	/* Nothing says whose half a record this is. */
	if (torn > 0 && (has_more || torn != facts->torn_bytes)) {
		(void)err_set(err, "it ends in an unfinished record now");
		return LOGPASS_UNCLEAR;
	}
	return LOGPASS_NOTHING;
}

static enum logpass_news read_news(struct ackreader *reader,
				   struct ackbody *body,
				   const struct logpass *facts, struct err *err)
{
	uint64_t bodies = 0;
	int result;

	while ((result = ackreader_next(reader, body, NULL, err)) > 0) {
		bodies++;
		if (bodies == facts->bodies + 1 &&
		    !is_same_log(reader, facts)) {
			(void)err_set(err, "it is another one now");
			return LOGPASS_UNCLEAR;
		}
		if (bodies > facts->bodies && tells_of_writes(body))
			return LOGPASS_WRITER;
		if (bodies > facts->bodies && tells_of_unsent(body)) {
			(void)err_set(err, "flushes were not sent: %s",
				      body->note.text);
			return LOGPASS_UNCLEAR;
		}
	}
	if (result < 0)
		return LOGPASS_UNCLEAR;
	return judge_end(reader, facts, bodies, err);
}

enum logpass_news logpass_look_again(const char *path,
				     const struct logpass *facts,
				     struct err *err)
{
	enum logpass_news news = LOGPASS_UNCLEAR;
	struct ackreader *reader = NULL;
	struct ackbody *body = NULL;
	struct stat status;

	if (logstdin_stat(path, &status) == -1 ||
	    is_untouched(&facts->status, &status))
		return LOGPASS_NOTHING;
	reader = logstdin_open(path, err);
	body = malloc(sizeof(*body));
	if (body == NULL)
		(void)err_set(err, "out of memory");
	else if (reader != NULL)
		news = read_news(reader, body, facts, err);
	free(body);
	ackreader_close(reader);
	return news;
}

/* ---- the second pass ---- */

/* The lost findings by stream and number, so that a range finds them. */
struct seeker {
	struct logpass_ages *ages;
	struct finding *lost[FINDINGS_MAX];
	size_t count;
	uint32_t cycle;
	bool is_cut_asked;
	uint64_t flush_index[RUN_STREAMS_MAX];
	uint32_t flush_cycle[RUN_STREAMS_MAX]; /* of the last one counted */
	uint64_t flush[RUN_STREAMS_MAX];
};

static int compare(int stream, uint64_t sequence, const struct finding *finding)
{
	if (stream != finding->stream)
		return stream < finding->stream ? -1 : 1;
	return (sequence > finding->expected) - (sequence < finding->expected);
}

static int compare_lost(const void *left, const void *right)
{
	const struct finding *a = *(struct finding *const *)left;
	const struct finding *b = *(struct finding *const *)right;

	return compare(a->stream, a->expected, b);
}

static void collect_lost(struct seeker *seeker)
{
	struct findings *findings = seeker->ages->findings;
	size_t i;

	for (i = 0; i < findings->count; i++)
		if (findings->kept[i].expected > 0 &&
		    !findings->kept[i].is_label)
			seeker->lost[seeker->count++] = &findings->kept[i];
	qsort(seeker->lost, seeker->count, sizeof(seeker->lost[0]),
	      compare_lost);
}

static size_t first_at_or_above(const struct seeker *seeker, int stream,
				uint64_t sequence)
{
	size_t low = 0, high = seeker->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(stream, sequence, seeker->lost[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first statement counts: a repeated one is the same promise. */
static void mark_range(struct seeker *seeker, int stream,
		       const struct ackbody_range *range,
		       const struct logpass_mark *mark)
{
	uint64_t oldest = seeker->ages->tally->streams[stream].lost_oldest;
	struct logpass_mark *oldest_mark = &seeker->ages->oldest[stream];
	size_t i = first_at_or_above(seeker, stream, range->first);

	if (oldest >= range->first && oldest <= range->last &&
	    oldest_mark->cycle == 0)
		*oldest_mark = *mark;
	for (; i < seeker->count; i++) {
		struct finding *finding = seeker->lost[i];

		if (finding->stream != stream ||
		    finding->expected > range->last)
			break;
		if (finding->cycle != 0)
			continue;
		finding->cycle = mark->cycle;
		finding->flush = mark->flush;
		finding->flush_index = mark->flush_index;
		finding->acknowledged_ns = mark->acknowledged_ns;
	}
}

static void mark_told(struct seeker *seeker, const struct ackbody_told *told)
{
	uint16_t stream = told->stream, i;
	struct logpass_mark mark = {
		.cycle = seeker->cycle,
		.flush = told->flush,
		.acknowledged_ns = told->completed_ns,
	};

	if (told->flush != 0 && (seeker->flush_cycle[stream] != seeker->cycle ||
				 told->flush > seeker->flush[stream])) {
		seeker->flush_cycle[stream] = seeker->cycle;
		seeker->flush[stream] = told->flush;
		seeker->flush_index[stream]++;
	}
	mark.flush_index = seeker->flush_index[stream];
	for (i = 0; i < told->count; i++)
		mark_range(seeker, stream, &told->ranges[i], &mark);
	seeker->ages->last[stream] = mark;
}

static void seek(struct seeker *seeker, const struct ackbody *body)
{
	struct ackbody_told told;
	size_t i;

	if (body->type == ACKBODY_CYCLE && body->cycle.cycle != seeker->cycle) {
		seeker->cycle = body->cycle.cycle;
		seeker->is_cut_asked = false;
	}
	if (body->type == ACKBODY_EVENT &&
	    body->note.event == ACKBODY_EVENT_CUT_ASKED)
		seeker->is_cut_asked = true;
	/* P11: shadow acknowledgements promise nothing. */
	if (!ackbody_is_durable(body) || seeker->is_cut_asked)
		return;
	for (i = 0; ackbody_told_at(body, i, &told); i++)
		if (told.stream < RUN_STREAMS_MAX)
			mark_told(seeker, &told);
}

int logpass_find_ages(const char *path, struct logpass_ages *ages,
		      struct err *err)
{
	struct ackreader *reader = logstdin_open(path, err);
	struct ackbody *body = malloc(sizeof(*body));
	struct seeker *seeker = calloc(1, sizeof(*seeker));
	int result = -1;

	if (reader == NULL)
		goto out;
	if (body == NULL || seeker == NULL) {
		(void)err_set(err, "cannot read %s: out of memory", path);
		goto out;
	}
	seeker->ages = ages;
	collect_lost(seeker);
	while ((result = ackreader_next(reader, body, NULL, err)) > 0)
		seek(seeker, body);
out:
	free(seeker);
	free(body);
	ackreader_close(reader);
	return result;
}
