/* SPDX-License-Identifier: MIT */
#include "campaign/counters.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/err.h"

#define COUNTERS_EXACT_MAX  9007199254740992.0 /* 2^53: doubles are exact */
#define COUNTERS_KELVIN     273
#define COUNTERS_ATTRIBUTES 512 /* more than any drive has */

/* NVMe base specification, SMART log, critical warning: the volatile memory
 * backup device has failed. */
#define COUNTERS_BACKUP_BIT 0x10

static const struct {
	const char *name, *words;
	bool is_damage;
} counters_rows[COUNTERS_KINDS] = {
#define COUNTER(symbol, name, words, is_damage) \
	[COUNTERS_##symbol] = {name, words, is_damage},
#include "campaign/counters.def"
#undef COUNTER
};

/* ---- numbers, in whatever form ---- */

static bool parse_text(const char *text, uint64_t *value)
{
	char *end = NULL;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* Nothing above what the journal can keep, which no drive has reached. */
static bool get_number(const json_t *value, uint64_t *number)
{
	if (json_is_string(value))
		return parse_text(json_string_value(value), number) &&
		       *number <= INT64_MAX;
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*number = (uint64_t)json_integer_value(value);
		return true;
	}
	if (json_is_real(value) && json_real_value(value) >= 0 &&
	    json_real_value(value) < COUNTERS_EXACT_MAX) {
		*number = (uint64_t)json_real_value(value);
		return true;
	}
	return false;
}

static void put(struct counters *counters, enum counters_kind kind,
		uint64_t value)
{
	counters->has[kind] = true;
	counters->values[kind] = value;
}

/* What stands first stays. */
static void take(struct counters *counters, enum counters_kind kind,
		 const json_t *value)
{
	uint64_t number = 0;

	if (!counters->has[kind] && get_number(value, &number))
		put(counters, kind, number);
}

/* ---- NVMe ---- */

static void take_nvme_log(struct counters *counters, const json_t *log,
			  uint64_t kelvin)
{
	const json_t *warning = json_object_get(log, "critical_warning");
	uint64_t number = 0;

	take(counters, COUNTERS_POWER_CYCLES,
	     json_object_get(log, "power_cycles"));
	take(counters, COUNTERS_UNSAFE_SHUTDOWNS,
	     json_object_get(log, "unsafe_shutdowns"));
	take(counters, COUNTERS_MEDIA_ERRORS,
	     json_object_get(log, "media_errors"));
	/* An object in some versions of nvme-cli. */
	if (json_is_object(warning))
		warning = json_object_get(warning, "value");
	if (get_number(warning, &number))
		put(counters, COUNTERS_BACKUP_FAILED,
		    (number & COUNTERS_BACKUP_BIT) != 0);
	if (get_number(json_object_get(log, "temperature"), &number) &&
	    number >= kelvin)
		put(counters, COUNTERS_TEMPERATURE, number - kelvin);
}

/* A and B but for case, and with _ for a blank. */
static bool is_same_name(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++) {
		const int left = *a == '_' ? ' ' : tolower((unsigned char)*a);
		const int right = *b == '_' ? ' ' : tolower((unsigned char)*b);

		if (left != right)
			return false;
	}
	return *a == *b;
}

static void take_ocp(struct counters *counters, json_t *log)
{
	static const struct {
		const char *name;
		enum counters_kind kind;
	} known[] = {
		{"PLP start count", COUNTERS_PLP_STARTS},
		{"Incomplete shutdowns", COUNTERS_INCOMPLETE_SHUTDOWNS},
		{"Capacitor health", COUNTERS_CAPACITOR_HEALTH},
	};
	const char *key = NULL;
	json_t *value = NULL;

	json_object_foreach(log, key, value)
	{
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (is_same_name(key, known[i].name))
				take(counters, known[i].kind, value);
	}
}

/* ---- ATA: attributes are named and numbered by their vendors ---- */

/* Ids alone say nothing: 174 is Host_Reads_MiB on some drives. In the order
 * of trust; a hard disk counts emergency retracts. */
static const struct {
	const char *part; /* of the name */
	unsigned int id;  /* 0: any */
	enum counters_kind kind;
} counters_attributes[] = {
	{"Power_Cycle_Count", 12, COUNTERS_POWER_CYCLES},
	{"Unsafe_Shutdown", 0, COUNTERS_UNSAFE_SHUTDOWNS},
	{"Unexpect", 0, COUNTERS_UNSAFE_SHUTDOWNS},
	{"Sudden_Power", 0, COUNTERS_UNSAFE_SHUTDOWNS},
	{"Power_Loss_Count", 0, COUNTERS_UNSAFE_SHUTDOWNS},
	{"Retract", 192, COUNTERS_UNSAFE_SHUTDOWNS},
	{"Reallocat", 5, COUNTERS_REALLOCATED},
	{"Reported_Uncorrect", 187, COUNTERS_MEDIA_ERRORS},
	{"Offline_Uncorrectable", 198, COUNTERS_MEDIA_ERRORS},
	{"Power_Loss_Cap_Test", 175, COUNTERS_CAPACITOR_HEALTH},
	{"Capacitor_Health", 0, COUNTERS_CAPACITOR_HEALTH},
};

/* Vendors pack several numbers into the 48 bits of a raw value; its string
 * begins with the one that counts. */
static bool get_raw(const json_t *attribute, uint64_t *number)
{
	const json_t *raw = json_object_get(attribute, "raw");
	const char *text = json_string_value(json_object_get(raw, "string"));
	const size_t digits = text == NULL ? 0 : strspn(text, "0123456789");

	if (digits > 0 && digits < 20 &&
	    (text[digits] == '\0' || text[digits] == ' ')) {
		*number = strtoull(text, NULL, 10);
		return true;
	}
	return get_number(json_object_get(raw, "value"), number);
}

static void take_attribute(struct counters *counters, size_t row,
			   const json_t *table)
{
	const enum counters_kind kind = counters_attributes[row].kind;
	const unsigned int id = counters_attributes[row].id;

	for (size_t i = 0; i < COUNTERS_ATTRIBUTES; i++) {
		const json_t *attribute = json_array_get(table, i);
		const char *name =
			json_string_value(json_object_get(attribute, "name"));
		uint64_t number = 0;

		if (attribute == NULL || counters->has[kind])
			return;
		if (name == NULL ||
		    strcasestr(name, counters_attributes[row].part) == NULL)
			continue;
		if (get_number(json_object_get(attribute, "id"), &number) &&
		    (id == 0 || number == id) && get_raw(attribute, &number))
			put(counters, kind, number);
	}
}

/* ---- SCSI ---- */

static void take_scsi(struct counters *counters, const json_t *root)
{
	static const char *const kinds[] = {"read", "write", "verify"};
	const json_t *log = json_object_get(root, "scsi_error_counter_log");
	uint64_t total = 0, number = 0;
	bool has_any = false;

	take(counters, COUNTERS_REALLOCATED,
	     json_object_get(root, "scsi_grown_defect_list"));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const json_t *errors = json_object_get(log, kinds[i]);

		if (!get_number(
			    json_object_get(errors, "total_uncorrected_errors"),
			    &number) ||
		    number > UINT64_MAX - total)
			continue;
		total += number;
		has_any = true;
	}
	if (has_any && !counters->has[COUNTERS_MEDIA_ERRORS])
		put(counters, COUNTERS_MEDIA_ERRORS, total);
}

static void take_smartctl(struct counters *counters, const json_t *root)
{
	const json_t *attributes = json_object_get(
		json_object_get(root, "ata_smart_attributes"), "table");

	take_nvme_log(
		counters,
		json_object_get(root, "nvme_smart_health_information_log"), 0);
	take(counters, COUNTERS_POWER_CYCLES,
	     json_object_get(root, "power_cycle_count"));
	for (size_t i = 0;
	     i < sizeof(counters_attributes) / sizeof(counters_attributes[0]);
	     i++)
		take_attribute(counters, i, attributes);
	take_scsi(counters, root);
	take(counters, COUNTERS_TEMPERATURE,
	     json_object_get(json_object_get(root, "temperature"), "current"));
}

int counters_decode(struct counters *counters, enum counters_source source,
		    const char *text, size_t length, struct err *err)
{
	struct counters fresh = {0};
	json_error_t where;
	json_t *root = NULL;

	if (length > COUNTERS_INPUT_BYTES_MAX)
		return err_set(err, "the answer is longer than %d bytes",
			       COUNTERS_INPUT_BYTES_MAX);
	root = json_loadb(text, length, 0, &where);
	if (root == NULL)
		return err_set(err, "the answer is no JSON: %.100s (line %d)",
			       where.text, where.line);
	if (source == COUNTERS_SMARTCTL)
		take_smartctl(&fresh, root);
	else if (source == COUNTERS_NVME)
		take_nvme_log(&fresh, root, COUNTERS_KELVIN);
	else
		take_ocp(&fresh, root);
	json_decref(root);
	if (!counters_are_read(&fresh))
		return err_set(err,
			       "the answer holds no counter that is known");
	for (int i = 0; i < COUNTERS_KINDS; i++)
		if (fresh.has[i])
			put(counters, (enum counters_kind)i, fresh.values[i]);
	return 0;
}

/* ---- what they say together ---- */

bool counters_are_read(const struct counters *counters)
{
	for (int i = 0; i < COUNTERS_KINDS; i++)
		if (counters->has[i])
			return true;
	return false;
}

enum counters_move counters_moved(const struct counters *before,
				  const struct counters *after,
				  enum counters_kind kind)
{
	const uint64_t was = before->values[kind];
	const uint64_t is = after->values[kind];

	if (!before->has[kind] || !after->has[kind] || (was == 0 && is == 0))
		return COUNTERS_UNKNOWN;
	return is > was ? COUNTERS_ROSE : COUNTERS_STOOD;
}

const char *counters_name(enum counters_kind kind)
{
	return counters_rows[kind].name;
}

const char *counters_words(enum counters_kind kind)
{
	return counters_rows[kind].words;
}

void counters_describe(const struct counters *before,
		       const struct counters *after, bool only_damage,
		       char *text, size_t room)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < COUNTERS_KINDS; i++) {
		int length = 0;

		if (!before->has[i] || !after->has[i])
			continue;
		if (only_damage && (!counters_rows[i].is_damage ||
				    after->values[i] <= before->values[i]))
			continue;
		length = snprintf(text + used, room - used,
				  "%s%s %" PRIu64 " -> %" PRIu64,
				  used == 0 ? "" : ", ", counters_rows[i].words,
				  before->values[i], after->values[i]);
		if (length < 0 || (size_t)length >= room - used)
			return;
		used += (size_t)length;
	}
}

json_t *counters_encode(const struct counters *counters)
{
	json_t *object = json_object();

	for (int i = 0; i < COUNTERS_KINDS; i++)
		if (counters->has[i] &&
		    json_object_set_new(
			    object, counters_rows[i].name,
			    json_integer((json_int_t)counters->values[i])) !=
			    0) {
			json_decref(object);
			return NULL;
		}
	return object;
}

void counters_take(struct counters *counters, const json_t *object)
{
	memset(counters, 0, sizeof(*counters));
	for (int i = 0; i < COUNTERS_KINDS; i++)
		take(counters, (enum counters_kind)i,
		     json_object_get(object, counters_rows[i].name));
}
