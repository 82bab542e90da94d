/* SPDX-License-Identifier: MIT */
#include "campaign/csettings.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/ccheck.h"
#include "campaign/plan.h"
#include "common/base/err.h"
#include "common/base/options.h"
#include "common/format/run.h"

#define CSETTINGS_FILE_BYTES_MAX (64 * 1024)
#define CSETTINGS_DAY_MS         (24ULL * 3600 * 1000)

enum csettings_kind {
	CSETTINGS_TEXT,
	CSETTINGS_SCRIPT, /* text whose further lines stay lines */
	CSETTINGS_COUNT,
	CSETTINGS_SIZE,
	CSETTINGS_DURATION,
	CSETTINGS_HEX,
	CSETTINGS_YES_NO,
	CSETTINGS_PERCENT,
};

struct csettings_row {
	const char *section;
	const char *key;
	enum csettings_kind kind;
	bool is_required;
	size_t offset;     /* of the value */
	size_t given_flag; /* offset of the bool that says "given", or 0 */
	uint64_t min, max;
};

#define AT(member) offsetof(struct csettings, member)
#define ANY        UINT64_MAX

static const struct csettings_row csettings_rows[] = {
	{"campaign", "name", CSETTINGS_TEXT, false, AT(name), 0, 0, 0},
	{"campaign", "cycles", CSETTINGS_COUNT, true, AT(cycles), 0, 1,
	 PLAN_CYCLES_MAX / 2},
	{"campaign", "control_cycles", CSETTINGS_COUNT, false,
	 AT(control_cycles), AT(has_control_cycles), 0, PLAN_CYCLES_MAX / 2},
	{"campaign", "seed", CSETTINGS_HEX, false, AT(seed), AT(has_seed), 0,
	 ANY},
	{"campaign", "stop_on_broken", CSETTINGS_YES_NO, false,
	 AT(stop_on_broken), 0, 0, 0},
	{"campaign", "bound", CSETTINGS_PERCENT, false, AT(bound), 0, 0, 0},
	{"drive", "target", CSETTINGS_TEXT, true, AT(target), 0, 0, 0},
	{"drive", "erase", CSETTINGS_TEXT, false, AT(erase), 0, 0, 0},
	{"drive", "offset", CSETTINGS_SIZE, false, AT(offset_bytes), 0, 0, ANY},
	{"drive", "size", CSETTINGS_SIZE, false, AT(size_bytes), 0, 1, ANY},
	{"drive", "counters", CSETTINGS_TEXT, false, AT(counters), 0, 0, 0},
	{"drive", "counters_device", CSETTINGS_TEXT, false, AT(counters_device),
	 0, 0, 0},
	{"drive", "rescan", CSETTINGS_YES_NO, false, AT(rescan), 0, 0, 0},
	{"workload", "block_size", CSETTINGS_SIZE, false, AT(block_bytes), 0,
	 RUN_BLOCK_BYTES_MIN, RUN_BLOCK_BYTES_MAX},
	{"workload", "pattern", CSETTINGS_TEXT, false, AT(pattern), 0, 0, 0},
	{"workload", "queue_depth", CSETTINGS_COUNT, false, AT(queue_depth), 0,
	 1, 1024},
	{"workload", "streams", CSETTINGS_COUNT, false, AT(streams), 0, 1,
	 RUN_STREAMS_MAX},
	{"workload", "sync", CSETTINGS_TEXT, false, AT(sync), 0, 0, 0},
	{"workload", "fill", CSETTINGS_YES_NO, false, AT(fill), 0, 0, 0},
	{"power", "outlet", CSETTINGS_TEXT, true, AT(outlet), 0, 0, 0},
	{"power", "outlets", CSETTINGS_TEXT, false, AT(outlets), 0, 0, 0},
	{"power", "session", CSETTINGS_YES_NO, false, AT(has_session),
	 AT(is_session_given), 0, 0},
	{"power", "off_time", CSETTINGS_DURATION, false, AT(off_time_ms),
	 AT(has_off_time), 0, CSETTINGS_DAY_MS},
	{"power", "off_min", CSETTINGS_DURATION, false, AT(off_min_ms),
	 AT(has_off_range), 0, CSETTINGS_DAY_MS},
	{"power", "off_max", CSETTINGS_DURATION, false, AT(off_max_ms),
	 AT(has_off_range), 0, CSETTINGS_DAY_MS},
	{"power", "return_timeout", CSETTINGS_DURATION, false,
	 AT(return_timeout_ms), 0, 1, CSETTINGS_DAY_MS},
	{"power", "gone_timeout", CSETTINGS_DURATION, false,
	 AT(gone_timeout_ms), 0, 1, CSETTINGS_DAY_MS},
	{"cut", "after_min", CSETTINGS_DURATION, false, AT(after_min_ms), 0, 0,
	 CSETTINGS_DAY_MS},
	{"cut", "after_max", CSETTINGS_DURATION, false, AT(after_max_ms), 0, 0,
	 CSETTINGS_DAY_MS},
	{"cut", "recuts", CSETTINGS_COUNT, false, AT(recuts), 0, 0,
	 PLAN_RECUTS_MAX},
	{"cut", "recut_after_min", CSETTINGS_DURATION, false,
	 AT(recut_after_min_ms), 0, 0, CSETTINGS_DAY_MS},
	{"cut", "recut_after_max", CSETTINGS_DURATION, false,
	 AT(recut_after_max_ms), 0, 0, CSETTINGS_DAY_MS},
	{"cut", "recut_off_min", CSETTINGS_DURATION, false,
	 AT(recut_off_min_ms), 0, 0, CSETTINGS_DAY_MS},
	{"cut", "recut_off_max", CSETTINGS_DURATION, false,
	 AT(recut_off_max_ms), 0, 0, CSETTINGS_DAY_MS},
	{"host", "via", CSETTINGS_TEXT, false, AT(via), 0, 0, 0},
	{"host", "ready", CSETTINGS_TEXT, false, AT(ready), 0, 0, 0},
	{"host", "key", CSETTINGS_TEXT, false, AT(host_key), 0, 0, 0},
	{"host", "boot_timeout", CSETTINGS_DURATION, false, AT(boot_timeout_ms),
	 0, 1, CSETTINGS_DAY_MS},
	{"host", "boot_tries", CSETTINGS_COUNT, false, AT(boot_tries), 0, 1,
	 CSETTINGS_BOOT_TRIES_MAX},
	{"collector", "listen", CSETTINGS_TEXT, false, AT(listen), 0, 0, 0},
	{"collector", "advertise", CSETTINGS_TEXT, false, AT(advertise), 0, 0,
	 0},
	{"collector", "connect", CSETTINGS_TEXT, false, AT(connect), 0, 0, 0},
	{"collector", "key", CSETTINGS_TEXT, false, AT(key), 0, 0, 0},
	{"collector", "dir", CSETTINGS_TEXT, false, AT(log_dir), 0, 0, 0},
	{"commands", "writer", CSETTINGS_TEXT, false, AT(writer), 0, 0, 0},
	{"commands", "verifier", CSETTINGS_TEXT, false, AT(verifier), 0, 0, 0},
	{"commands", "relay", CSETTINGS_TEXT, false, AT(relay), 0, 0, 0},
	{"commands", "collector", CSETTINGS_TEXT, false, AT(collector), 0, 0,
	 0},
	{"commands", "smartctl", CSETTINGS_TEXT, false, AT(smartctl), 0, 0, 0},
	{"commands", "nvme", CSETTINGS_TEXT, false, AT(nvme), 0, 0, 0},
	{"hooks", "after_off", CSETTINGS_SCRIPT, false, AT(after_off), 0, 0, 0},
	{"hooks", "after_on", CSETTINGS_SCRIPT, false, AT(after_on), 0, 0, 0},
	{"hooks", "verifier_options", CSETTINGS_TEXT, false,
	 AT(verifier_options), 0, 0, 0},
};

#define CSETTINGS_ROWS (sizeof(csettings_rows) / sizeof(csettings_rows[0]))

/* What the reader and the handler of inih share; inih itself counts no lines
 * for us and cuts long ones in silence. */
struct csettings_reader {
	struct csettings *settings;
	const char *name;
	const char *at; /* what is left of the text */
	unsigned int line;
	bool is_continuation;
	bool has_comment; /* the line holds " ;", which begins a comment */
	bool is_bad;
	bool given[CSETTINGS_ROWS];
	struct err *err;
};

static int reader_refuse(struct csettings_reader *reader, const char *what,
			 const char *why)
{
	if (!reader->is_bad)
		(void)err_set(reader->err, "%s:%u: %s: %s", reader->name,
			      reader->line, what, why);
	reader->is_bad = true;
	return 0; /* what inih takes for "no" */
}

/* inih asks for lines like fgets() gives them. */
static char *reader_next_line(char *to, int room, void *stream)
{
	struct csettings_reader *reader = stream;
	const size_t length = strcspn(reader->at, "\n");

	if (*reader->at == '\0' || reader->is_bad)
		return NULL;
	reader->line++;
	if (length + 2 > (size_t)room) {
		char why[96];

		(void)snprintf(why, sizeof(why),
			       "%zu characters are too many; go on in an "
			       "indented line after %d",
			       length, room - 2);
		(void)reader_refuse(reader, "line too long", why);
		return NULL;
	}
	memcpy(to, reader->at, length);
	to[length] = '\n';
	to[length + 1] = '\0';
	reader->is_continuation = *to == ' ' || *to == '\t';
	reader->has_comment =
		strstr(to, " ;") != NULL || strstr(to, "\t;") != NULL;
	reader->at += length + (reader->at[length] == '\n');
	return to;
}

static int parse_percent(const char *text, const char *what, double *chance,
			 struct err *err)
{
	char *end = NULL;
	double value = 0;

	errno = 0;
	value = strtod(text, &end);
	if (end == text || errno != 0 || strcmp(end, "%") != 0 ||
	    !isfinite(value))
		return err_set(err, "%s: %s is not a percentage such as 1%%",
			       what, text);
	if (value <= 0 || value >= 100)
		return err_set(err, "%s: %s is not between 0%% and 100%%", what,
			       text);
	*chance = value / 100;
	return 0;
}

static int parse_yes_no(const char *text, const char *what, bool *value,
			struct err *err)
{
	*value = strcmp(text, "yes") == 0;
	if (!*value && strcmp(text, "no") != 0)
		return err_set(err, "%s: %s is neither yes nor no", what, text);
	return 0;
}

static int parse_number(const struct csettings_row *row, const char *text,
			uint64_t *value, struct err *err)
{
	int rc = 0;

	if (row->kind == CSETTINGS_COUNT)
		rc = options_parse_count(text, row->key, value, err);
	else if (row->kind == CSETTINGS_SIZE)
		rc = options_parse_size(text, row->key, value, err);
	else if (row->kind == CSETTINGS_HEX)
		rc = options_parse_hex(text, row->key, value, err);
	else
		rc = options_parse_duration(text, row->key, value, err);
	if (rc == -1)
		return -1;
	if (*value < row->min || *value > row->max)
		return err_set(err, "%s: %s is not between %llu and %llu%s",
			       row->key, text, (unsigned long long)row->min,
			       (unsigned long long)row->max,
			       row->kind == CSETTINGS_DURATION ? " ms" : "");
	return 0;
}

static int store_value(const struct csettings_row *row, const char *text,
		       struct csettings *settings, struct err *err)
{
	char *to = (char *)settings + row->offset;
	uint64_t number = 0;
	double chance = 0;
	bool is_yes = false;

	if (row->kind == CSETTINGS_TEXT || row->kind == CSETTINGS_SCRIPT) {
		if (strlen(text) >= CSETTINGS_TEXT_BYTES)
			return err_set(err, "%s: too long", row->key);
		memcpy(to, text, strlen(text) + 1);
		return 0;
	}
	if (row->kind == CSETTINGS_YES_NO) {
		if (parse_yes_no(text, row->key, &is_yes, err) == -1)
			return -1;
		memcpy(to, &is_yes, sizeof(is_yes));
		return 0;
	}
	if (row->kind == CSETTINGS_PERCENT) {
		if (parse_percent(text, row->key, &chance, err) == -1)
			return -1;
		memcpy(to, &chance, sizeof(chance));
		return 0;
	}
	if (parse_number(row, text, &number, err) == -1)
		return -1;
	memcpy(to, &number, sizeof(number));
	return 0;
}

/* A further line of a text: joined by a blank, of a script by a new line. */
static int append_value(struct csettings_reader *reader,
			const struct csettings_row *row, const char *text)
{
	char *to = (char *)reader->settings + row->offset;
	const size_t used = strlen(to);

	if (row->kind != CSETTINGS_TEXT && row->kind != CSETTINGS_SCRIPT)
		return reader_refuse(reader, row->key,
				     "this value has one line only");
	if (used + 1 + strlen(text) >= CSETTINGS_TEXT_BYTES)
		return reader_refuse(reader, row->key, "too long");
	to[used] = row->kind == CSETTINGS_SCRIPT ? '\n' : ' ';
	memcpy(to + used + 1, text, strlen(text) + 1);
	return 1;
}

static const struct csettings_row *find_row(const char *section,
					    const char *key)
{
	for (size_t i = 0; i < CSETTINGS_ROWS; i++)
		if (strcmp(csettings_rows[i].section, section) == 0 &&
		    strcmp(csettings_rows[i].key, key) == 0)
			return &csettings_rows[i];
	return NULL;
}

static bool section_exists(const char *section)
{
	for (size_t i = 0; i < CSETTINGS_ROWS; i++)
		if (strcmp(csettings_rows[i].section, section) == 0)
			return true;
	return false;
}

static int take_pair(void *user, const char *section, const char *key,
		     const char *value)
{
	struct csettings_reader *reader = user;
	const struct csettings_row *row = find_row(section, key);
	struct err why;
	size_t index = 0;

	if (reader->is_bad)
		return 0;
	if (!section_exists(section))
		return reader_refuse(reader, section,
				     "there is no such section");
	if (row == NULL)
		return reader_refuse(reader, key,
				     "there is no such key in this section");
	if (row->kind == CSETTINGS_SCRIPT && reader->has_comment)
		return reader_refuse(reader, key,
				     "a ; behind a blank would begin a comment "
				     "here; use another line or &&");
	index = (size_t)(row - csettings_rows);
	if (reader->given[index] && reader->is_continuation)
		return append_value(reader, row, value);
	if (reader->given[index])
		return reader_refuse(reader, key, "given twice");
	if (*value == '\0')
		return reader_refuse(reader, key, "has no value");
	reader->given[index] = true;
	if (row->given_flag != 0)
		memcpy((char *)reader->settings + row->given_flag,
		       &(bool){true}, sizeof(bool));
	if (store_value(row, value, reader->settings, &why) == 0)
		return 1;
	if (!reader->is_bad)
		(void)err_set(reader->err, "%s:%u: %.400s", reader->name,
			      reader->line, why.text);
	reader->is_bad = true;
	return 0;
}

int csettings_parse(struct csettings *settings, const char *text,
		    const char *name, struct err *err)
{
	struct csettings_reader reader = {
		.settings = settings, .name = name, .at = text, .err = err};
	int rc = 0;

	ccheck_defaults(settings);
	rc = ini_parse_stream(reader_next_line, &reader, take_pair, &reader);
	if (reader.is_bad)
		return -1;
	if (rc != 0)
		return err_set(err, "%s:%d: neither [section] nor key = value",
			       name, rc);
	for (size_t i = 0; i < CSETTINGS_ROWS; i++)
		if (csettings_rows[i].is_required && !reader.given[i])
			return err_set(err, "%s: %s: is missing in [%s]", name,
				       csettings_rows[i].key,
				       csettings_rows[i].section);
	return ccheck_together(settings, name, err);
}

int csettings_read(struct csettings *settings, const char *path,
		   struct err *err)
{
	char *text = calloc(1, CSETTINGS_FILE_BYTES_MAX + 1);
	FILE *file = NULL;
	size_t length = 0;
	int rc = -1;

	if (text == NULL)
		return err_set(err, "no memory for %s", path);
	file = fopen(path, "re");
	if (file == NULL) {
		(void)err_sys(err, errno, "cannot open %s", path);
		goto out;
	}
	length = fread(text, 1, CSETTINGS_FILE_BYTES_MAX + 1, file);
	if (ferror(file))
		(void)err_sys(err, errno, "cannot read %s", path);
	else if (length > CSETTINGS_FILE_BYTES_MAX)
		(void)err_set(err, "%s: is longer than %d bytes", path,
			      CSETTINGS_FILE_BYTES_MAX);
	else if (strlen(text) != length)
		(void)err_set(err, "%s: is no text file", path);
	else
		rc = csettings_parse(settings, text, path, err);
out:
	if (file != NULL)
		(void)fclose(file); /* was only read */
	free(text);
	return rc;
}

bool csettings_cuts_host(const struct csettings *settings)
{
	return settings->via[0] != '\0';
}
