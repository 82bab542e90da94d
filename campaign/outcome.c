/* SPDX-License-Identifier: MIT */
#include "campaign/outcome.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

static const char *const outcome_verdict_names[] = {"none", "kept", "broken",
						    "gone"};
static const char *const outcome_second_names[] = {
	"not looked", "persists", "healed", "changed", "unknown"};
static const char *const outcome_class_names[OUTCOME_CLASSES] = {
	"intact",  "newer",       "lost",       "blank", "foreign", "torn",
	"corrupt", "misdirected", "unreadable", "hung",  "gone"};

#define COUNT_OF(names) (sizeof(names) / sizeof((names)[0]))

/* One row a plain member: its name in JSON and where it lies. */
struct outcome_number {
	const char *name;
	size_t offset;
};

#define NUMBER(name, member)                           \
	{                                              \
		name, offsetof(struct outcome, member) \
	}

static const struct outcome_number outcome_numbers[] = {
	NUMBER("cycle", cycle),
	NUMBER("run_cycle", run_cycle),
	NUMBER("after_ms", after_ms),
	NUMBER("off_ms", off_ms),
	NUMBER("relay_ms", relay_ms),
	NUMBER("skew_us", skew_us),
	NUMBER("recuts", recuts),
	NUMBER("gone_ms", gone_ms),
	NUMBER("ready_ms", ready_ms),
	NUMBER("judged_ms", judged_ms),
	NUMBER("own_ms", own_ms),
	NUMBER("diskseq_before", evidence.diskseq_before),
	NUMBER("diskseq_after", evidence.diskseq_after),
	NUMBER("boots", host.boots),
	NUMBER("boot_ms", host.boot_ms),
	NUMBER("writes", writer.writes),
	NUMBER("issued", writer.issued),
	NUMBER("durable", writer.durable),
	NUMBER("flushes", writer.flushes),
	NUMBER("in_flight", writer.in_flight),
	NUMBER("confirm_median_us", writer.confirm_median_us),
	NUMBER("confirm_p99_us", writer.confirm_p99_us),
	NUMBER("confirm_max_us", writer.confirm_max_us),
	NUMBER("durable_log", judged.durable_log),
	NUMBER("completed_lost", judged.completed_lost),
	NUMBER("shadow_lost", judged.shadow_lost),
};

static const struct outcome_number outcome_flags[] = {
	NUMBER("was_cut", was_cut),
	NUMBER("was_loaded", was_loaded),
	NUMBER("writer_known", writer.is_known),
	NUMBER("saw_gone", writer.saw_gone),
	NUMBER("cycle_promised", judged.has_promise),
	NUMBER("host_cut", host.is_cut_too),
	NUMBER("host_writing", host.was_writing),
	NUMBER("host_silent", host.fell_silent),
	NUMBER("host_booted", host.has_booted),
};

struct outcome_text {
	const char *name;
	size_t offset, room;
};

#define TEXT(name, member)                                       \
	{                                                        \
		name, offsetof(struct outcome, member),          \
			sizeof(((struct outcome *)NULL)->member) \
	}

static const struct outcome_text outcome_texts[] = {
	TEXT("run", run),
	TEXT("writer_error", writer.error),
	TEXT("reason", judged.reason),
	TEXT("cache_before", evidence.cache_before),
	TEXT("cache_after", evidence.cache_after),
	TEXT("trouble", trouble),
	TEXT("void", void_reason),
};

static int outcome_name_index(const char *const *names, size_t count,
			      const char *name)
{
	for (size_t i = 0; name != NULL && i < count; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

/* A text from elsewhere that is not UTF-8 is kept without its odd bytes. */
static json_t *outcome_encode_text(const char *text)
{
	json_t *value = json_string(text);
	char plain[OUTCOME_TEXT_BYTES];
	size_t used = 0;

	if (value != NULL)
		return value;
	for (size_t i = 0; text[i] != '\0' && used + 1 < sizeof(plain); i++)
		plain[used++] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	plain[used] = '\0';
	return json_string(plain);
}

static uint64_t outcome_get_number(const json_t *object, const char *name)
{
	const json_int_t value =
		json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

static void outcome_get_text(const json_t *object, const char *name, char *to,
			     size_t room)
{
	const char *text = json_string_value(json_object_get(object, name));

	(void)snprintf(to, room, "%s", text == NULL ? "" : text);
}

const char *outcome_verdict_name(enum outcome_verdict verdict)
{
	return outcome_verdict_names[verdict];
}

const char *outcome_second_name(enum outcome_second second)
{
	return outcome_second_names[second];
}

const char *outcome_class_name(enum outcome_class class_)
{
	return outcome_class_names[class_];
}

uint64_t outcome_broken_atoms(const struct outcome_judged *judged)
{
	uint64_t total = 0;

	for (size_t i = OUTCOME_LOST; i < OUTCOME_CLASSES; i++)
		total += judged->atoms[i];
	return total;
}

bool outcome_counters_are_lost(const struct outcome *outcome)
{
	return outcome->was_cut &&
	       counters_are_read(&outcome->evidence.before) &&
	       !counters_are_read(&outcome->evidence.after);
}

json_t *outcome_encode(const struct outcome *outcome)
{
	const char *base = (const char *)outcome;
	json_t *object = json_object();
	json_t *atoms = json_object();
	int bad = object == NULL || atoms == NULL;

	for (size_t i = 0; i < COUNT_OF(outcome_numbers); i++) {
		uint64_t value = 0;

		memcpy(&value, base + outcome_numbers[i].offset, sizeof(value));
		bad |= json_object_set_new(object, outcome_numbers[i].name,
					   json_integer((json_int_t)value));
	}
	for (size_t i = 0; i < COUNT_OF(outcome_flags); i++) {
		bool value = false;

		memcpy(&value, base + outcome_flags[i].offset, sizeof(value));
		bad |= json_object_set_new(object, outcome_flags[i].name,
					   json_boolean(value));
	}
	for (size_t i = 0; i < COUNT_OF(outcome_texts); i++)
		bad |= json_object_set_new(
			object, outcome_texts[i].name,
			outcome_encode_text(base + outcome_texts[i].offset));
	bad |= json_object_set_new(object, "arm",
				   json_string(plan_arm_name(outcome->arm)));
	bad |= json_object_set_new(
		object, "verdict",
		json_string(outcome_verdict_name(outcome->judged.verdict)));
	bad |= json_object_set_new(
		object, "second",
		json_string(outcome_second_name(outcome->second)));
	bad |= json_object_set_new(object, "counters_before",
				   counters_encode(&outcome->evidence.before));
	bad |= json_object_set_new(object, "counters_after",
				   counters_encode(&outcome->evidence.after));
	for (size_t i = 0; i < OUTCOME_CLASSES; i++)
		bad |= json_object_set_new(
			atoms, outcome_class_names[i],
			json_integer((json_int_t)outcome->judged.atoms[i]));
	bad |= json_object_set_new(object, "atoms", atoms);
	if (!bad)
		return object;
	json_decref(object);
	return NULL;
}

static int outcome_decode_names(struct outcome *outcome, const json_t *object)
{
	const char *arm = json_string_value(json_object_get(object, "arm"));
	const int verdict = outcome_name_index(
		outcome_verdict_names, COUNT_OF(outcome_verdict_names),
		json_string_value(json_object_get(object, "verdict")));
	const int second = outcome_name_index(
		outcome_second_names, COUNT_OF(outcome_second_names),
		json_string_value(json_object_get(object, "second")));

	if (arm == NULL || verdict < 0 || second < 0)
		return -1;
	if (strcmp(arm, "control") != 0 && strcmp(arm, "test") != 0)
		return -1;
	outcome->arm =
		strcmp(arm, "control") == 0 ? PLAN_ARM_CONTROL : PLAN_ARM_TEST;
	outcome->judged.verdict = (enum outcome_verdict)verdict;
	outcome->second = (enum outcome_second)second;
	return 0;
}

int outcome_decode(struct outcome *outcome, const json_t *object,
		   struct err *err)
{
	char *base = (char *)outcome;
	const json_t *atoms = json_object_get(object, "atoms");

	memset(outcome, 0, sizeof(*outcome));
	for (size_t i = 0; i < COUNT_OF(outcome_numbers); i++) {
		const uint64_t value =
			outcome_get_number(object, outcome_numbers[i].name);

		memcpy(base + outcome_numbers[i].offset, &value, sizeof(value));
	}
	for (size_t i = 0; i < COUNT_OF(outcome_flags); i++) {
		const bool value = json_is_true(
			json_object_get(object, outcome_flags[i].name));

		memcpy(base + outcome_flags[i].offset, &value, sizeof(value));
	}
	for (size_t i = 0; i < COUNT_OF(outcome_texts); i++)
		outcome_get_text(object, outcome_texts[i].name,
				 base + outcome_texts[i].offset,
				 outcome_texts[i].room);
	for (size_t i = 0; i < OUTCOME_CLASSES; i++)
		outcome->judged.atoms[i] =
			outcome_get_number(atoms, outcome_class_names[i]);
	counters_take(&outcome->evidence.before,
		      json_object_get(object, "counters_before"));
	counters_take(&outcome->evidence.after,
		      json_object_get(object, "counters_after"));
	if (outcome->cycle == 0 || outcome_decode_names(outcome, object) == -1)
		return err_set(err, "a finished cycle is on record without its "
				    "number, arm or verdict");
	return 0;
}

static json_t *outcome_load(const char *path, struct err *err)
{
	json_error_t where;
	json_t *object = json_load_file(path, 0, &where);

	if (object == NULL)
		(void)err_set(err, "cannot read %s: %s (line %d)", path,
			      where.text, where.line);
	return object;
}

/* Milliseconds as a fraction; 0 where there are none. */
static uint64_t get_us(const json_t *object, const char *name)
{
	double ms = json_number_value(json_object_get(object, name));

	return ms > 0 && ms < 1e12 ? (uint64_t)(ms * 1e3 + 0.5) : 0;
}

int outcome_read_writer(struct outcome_writer *writer, const char *path,
			struct err *err)
{
	json_t *object = outcome_load(path, err), *confirm;

	memset(writer, 0, sizeof(*writer));
	if (object == NULL)
		return -1;
	confirm = json_object_get(object, "confirm_ms");
	writer->confirm_median_us = get_us(confirm, "median");
	writer->confirm_p99_us = get_us(confirm, "p99");
	writer->confirm_max_us = get_us(confirm, "max");
	writer->writes = outcome_get_number(object, "writes");
	writer->issued = outcome_get_number(object, "issued");
	writer->durable = outcome_get_number(object, "durable");
	writer->flushes = outcome_get_number(object, "flushes");
	writer->in_flight = outcome_get_number(object, "in_flight");
	writer->saw_gone = json_is_true(json_object_get(object, "gone"));
	outcome_get_text(object, "error", writer->error, sizeof(writer->error));
	writer->is_known = true;
	json_decref(object);
	return 0;
}

int outcome_read_verdict(struct outcome_judged *judged, const char *path,
			 struct err *err)
{
	json_t *object = outcome_load(path, err);
	const char *name = NULL;
	int verdict = 0;

	memset(judged, 0, sizeof(*judged));
	if (object == NULL)
		return -1;
	name = json_string_value(json_object_get(object, "verdict"));
	verdict = outcome_name_index(outcome_verdict_names,
				     COUNT_OF(outcome_verdict_names), name);
	if (verdict < 0) {
		json_decref(object);
		return err_set(err, "%s holds no verdict", path);
	}
	judged->verdict = (enum outcome_verdict)verdict;
	outcome_get_text(object, "reason", judged->reason,
			 sizeof(judged->reason));
	for (size_t i = 0; i < OUTCOME_CLASSES; i++)
		judged->atoms[i] = outcome_get_number(
			json_object_get(object, outcome_class_names[i]),
			"atoms");
	judged->durable_log = outcome_get_number(object, "durable_log");
	judged->completed_lost = outcome_get_number(object, "completed_lost");
	judged->shadow_lost = outcome_get_number(object, "shadow_lost");
	judged->has_promise =
		json_is_true(json_object_get(object, "cycle_promised"));
	json_decref(object);
	return 0;
}
