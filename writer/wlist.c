/* SPDX-License-Identifier: MIT */
#include "writer/wlist.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "common/base/err.h"
#include "common/target/survey.h"

#define DRIVE_MS      10000 /* a drive that has not answered hangs */
#define COLUMNS       6
#define CELL_BYTES    640
#define GAP           2
#define SIZE_BYTES    16
#define JSON_FLAGS    (JSON_INDENT(2) | JSON_SORT_KEYS)
#define TARGET_PREFIX "id:"

static const char *const heads[COLUMNS] = {"NAME",  "SIZE",   "TRANSPORT",
					   "MODEL", "SERIAL", "MAY BE TESTED"};

struct line {
	char cells[COLUMNS][CELL_BYTES];
};

static void tell_size(uint64_t bytes, char *text, size_t room)
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	unsigned int unit = 0;

	while (value >= 1024 && units[unit + 1] != '\0') {
		value /= 1024;
		unit++;
	}
	(void)snprintf(text, room, unit == 0 ? "%.0f%c" : "%.1f%c", value,
		       units[unit]);
}

/* What --target should be told: a name that stays with the drive. */
static void tell_target(const struct survey_row *row, char *text, size_t room)
{
	if (row->by_id[0] != '\0')
		(void)snprintf(text, room, "%s", row->by_id);
	else if (row->same_serial == 1 &&
		 identity_is_telling(row->facts.serial))
		(void)snprintf(text, room, TARGET_PREFIX "%s",
			       row->facts.serial);
	else
		(void)snprintf(text, room, "%s", row->path);
}

static void tell_answer(const struct survey_row *row, char *text, size_t room)
{
	static const char *const words[] = {[SURVEY_FREE] = "yes",
					    [SURVEY_REFUSED] = "no",
					    [SURVEY_UNASKED] = "unknown"};
	char target[SURVEY_TEXT_BYTES + 8], twins[64] = "";

	tell_target(row, target, sizeof(target));
	if (row->same_serial > 1)
		(void)snprintf(twins, sizeof(twins),
			       "; %u drives have this serial",
			       row->same_serial);
	if (row->answer == SURVEY_FREE)
		(void)snprintf(text, room, "yes: --target '%s' --erase '%s'%s",
			       target, row->erase_name, twins);
	else
		(void)snprintf(text, room, "%s: %s%s", words[row->answer],
			       row->reason, twins);
}

static void fill_line(const struct survey_row *row, struct line *line)
{
	(void)snprintf(line->cells[0], CELL_BYTES, "%s", row->name.name);
	tell_size(row->facts.size_bytes, line->cells[1], SIZE_BYTES);
	(void)snprintf(line->cells[2], CELL_BYTES, "%s", row->facts.transport);
	(void)snprintf(line->cells[3], CELL_BYTES, "%s", row->facts.model);
	(void)snprintf(line->cells[4], CELL_BYTES, "%s", row->facts.serial);
	tell_answer(row, line->cells[5], CELL_BYTES);
	for (unsigned int i = 0; i < COLUMNS; i++) {
		if (line->cells[i][0] == '\0')
			(void)snprintf(line->cells[i], CELL_BYTES, "-");
	}
}

static void print_line(const struct line *line, const int widths[COLUMNS],
		       FILE *to)
{
	for (unsigned int i = 0; i + 1 < COLUMNS; i++)
		fprintf(to, "%-*s", widths[i] + GAP, line->cells[i]);
	fprintf(to, "%s\n", line->cells[COLUMNS - 1]);
}

static void widen(int widths[COLUMNS], const struct line *line)
{
	for (unsigned int i = 0; i < COLUMNS; i++) {
		int width = (int)strlen(line->cells[i]);

		if (width > widths[i])
			widths[i] = width;
	}
}

void wlist_print(const struct survey *survey, FILE *to)
{
	int widths[COLUMNS] = {0};
	struct line line;

	for (unsigned int i = 0; i < COLUMNS; i++)
		(void)snprintf(line.cells[i], CELL_BYTES, "%s", heads[i]);
	widen(widths, &line);
	for (size_t i = 0; i < survey->count; i++) {
		fill_line(&survey->rows[i], &line);
		widen(widths, &line);
	}
	for (unsigned int i = 0; i < COLUMNS; i++)
		(void)snprintf(line.cells[i], CELL_BYTES, "%s", heads[i]);
	print_line(&line, widths, to);
	for (size_t i = 0; i < survey->count; i++) {
		fill_line(&survey->rows[i], &line);
		print_line(&line, widths, to);
	}
}

static json_t *text_or_null(const char *text)
{
	return text[0] == '\0' ? json_null() : json_string(text);
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static int put(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value);
}

static int put_facts(json_t *object, const struct blockfacts *facts)
{
	int status = 0;

	status |= put(object, "size", number(facts->size_bytes));
	status |= put(object, "logical_block",
		      number(facts->logical_block_bytes));
	status |= put(object, "physical_block",
		      number(facts->physical_block_bytes));
	status |= put(object, "transport", text_or_null(facts->transport));
	status |= put(object, "model", text_or_null(facts->model));
	status |= put(object, "serial", text_or_null(facts->serial));
	status |= put(object, "firmware", text_or_null(facts->firmware));
	status |= put(object, "wwn", text_or_null(facts->wwn));
	status |= put(object, "removable", json_boolean(facts->is_removable));
	status |= put(object, "read_only", json_boolean(facts->is_read_only));
	return status;
}

static json_t *make_object(const struct survey_row *row)
{
	json_t *object = json_object();
	char target[SURVEY_TEXT_BYTES + 8];
	int status = put_facts(object, &row->facts);

	tell_target(row, target, sizeof(target));
	status |= put(object, "name", json_string(row->name.name));
	status |= put(object, "path", text_or_null(row->path));
	status |= put(object, "drive", json_string(row->name.disk));
	status |=
		put(object, "partition", json_boolean(row->name.is_partition));
	status |= put(object, "identity", text_or_null(row->identity));
	status |= put(object, "by_id", text_or_null(row->by_id));
	status |= put(object, "target", text_or_null(target));
	status |= put(object, "erase", text_or_null(row->erase_name));
	status |= put(object, "below", text_or_null(row->lineage));
	status |= put(object, "same_serial", number(row->same_serial));
	status |= put(object, "may_be_tested",
		      row->answer == SURVEY_UNASKED
			      ? json_null()
			      : json_boolean(row->answer == SURVEY_FREE));
	status |= put(object, "reason", text_or_null(row->reason));
	if (status == 0)
		return object;
	json_decref(object);
	return NULL;
}

int wlist_json(const struct survey *survey, const char *path, struct err *err)
{
	json_t *list = json_array();
	int status = list == NULL ? -1 : 0;

	errno = 0;
	for (size_t i = 0; status == 0 && i < survey->count; i++)
		status = json_array_append_new(list,
					       make_object(&survey->rows[i]));
	if (status == 0)
		status = strcmp(path, "-") == 0
				 ? json_dumpf(list, stdout, JSON_FLAGS)
				 : json_dump_file(list, path, JSON_FLAGS);
	if (status == 0 && strcmp(path, "-") == 0)
		status = fputc('\n', stdout) == EOF ? -1 : 0;
	json_decref(list);
	if (status < 0)
		return err_sys(err, errno ? errno : EIO, "cannot write %s",
			       path);
	return 0;
}

int wlist_run(const char *json_path, FILE *to, struct err *err)
{
	struct survey *survey = survey_new(DRIVE_MS, err);
	int status = 0;

	if (survey == NULL)
		return -1;
	if (json_path == NULL || strcmp(json_path, "-") != 0)
		wlist_print(survey, to);
	if (json_path != NULL)
		status = wlist_json(survey, json_path, err);
	survey_free(survey);
	return status;
}
