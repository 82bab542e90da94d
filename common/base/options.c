/* SPDX-License-Identifier: MIT */
#include "common/base/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

#define HELP_COLUMN 28
#define LABEL_BYTES 128

static const struct option_row row_help = {
	.name = "help",
	.letter = 'h',
	.kind = OPTION_FLAG,
	.help = "show this help",
};
static const struct option_row row_version = {
	.name = "version",
	.letter = 'V',
	.kind = OPTION_FLAG,
	.help = "show the version",
};

/* Where options_parse() stands in argv. */
struct walk {
	int argc;
	char **argv;
	int at;     /* the word that is read next */
	int kept;   /* argv[1 ... kept] are operands */
	bool ended; /* "--" was seen */
};

static int digit_value(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	if (letter >= 'A' && letter <= 'F')
		return letter - 'A' + 10;
	return 99;
}

/* Reads digits and returns what stands behind them; NULL where there is no
 * digit or the number does not fit. */
static const char *read_number(const char *text, unsigned int base,
			       uint64_t *number)
{
	const char *at = text;
	uint64_t sum = 0;

	for (; (unsigned int)digit_value(*at) < base; at++) {
		if (__builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)digit_value(*at),
					   &sum))
			return NULL;
	}
	*number = sum;
	return at == text ? NULL : at;
}

int options_parse_count(const char *text, const char *what, uint64_t *count,
			struct err *err)
{
	uint64_t number = 0;
	const char *end = read_number(text, 10, &number);

	if (end == NULL || *end != '\0')
		return err_set(err, "%s: \"%s\" is not a number", what, text);
	*count = number;
	return 0;
}

int options_parse_hex(const char *text, const char *what, uint64_t *value,
		      struct err *err)
{
	bool has_mark = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t number = 0;
	const char *end = read_number(has_mark ? text + 2 : text, 16, &number);

	if (end == NULL || *end != '\0')
		return err_set(err,
			       "%s: \"%s\" is not a hexadecimal number of "
			       "64 bits",
			       what, text);
	*value = number;
	return 0;
}

static int size_shift(const char *suffix)
{
	static const char letters[] = "kmgt";
	const char *found;

	if (suffix[0] == '\0')
		return 0;
	found = strchr(letters, suffix[0] | ' ');
	if (found == NULL || suffix[1] != '\0')
		return -1;
	return 10 * (int)(found - letters + 1);
}

int options_parse_size(const char *text, const char *what, uint64_t *bytes,
		       struct err *err)
{
	uint64_t number = 0;
	const char *end = read_number(text, 10, &number);
	int shift = end == NULL ? -1 : size_shift(end);

	if (shift < 0 || number > UINT64_MAX >> shift)
		return err_set(err,
			       "%s: \"%s\" is not a size (a number of bytes, "
			       "or one with k, m, g or t behind it)",
			       what, text);
	*bytes = number << shift;
	return 0;
}

static uint64_t duration_unit_ms(const char *suffix)
{
	static const struct {
		const char *suffix;
		uint64_t ms;
	} units[] = {
		{"", 1000},
		{"ms", 1},
		{"s", 1000},
		{"m", 60 * 1000},
		{"h", 60 * 60 * 1000},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(suffix, units[i].suffix) == 0)
			return units[i].ms;
	}
	return 0;
}

int options_parse_duration(const char *text, const char *what,
			   uint64_t *duration_ms, struct err *err)
{
	uint64_t number = 0;
	const char *end = read_number(text, 10, &number);
	uint64_t unit_ms = end == NULL ? 0 : duration_unit_ms(end);

	if (unit_ms == 0 || number > UINT64_MAX / unit_ms)
		return err_set(err,
			       "%s: \"%s\" is not a duration (seconds, or a "
			       "number with ms, s, m or h behind it)",
			       what, text);
	*duration_ms = number * unit_ms;
	return 0;
}

static const char *unit_of(enum option_kind kind)
{
	if (kind == OPTION_SIZE)
		return " bytes";
	return kind == OPTION_DURATION ? " ms" : "";
}

static int check_range(const struct option_row *row, const char *what,
		       uint64_t number, struct err *err)
{
	const char *unit = unit_of(row->kind);

	if (number < row->min)
		return err_set(err, "%s: must be at least %llu%s", what,
			       (unsigned long long)row->min, unit);
	if (row->max != 0 && number > row->max)
		return err_set(err, "%s: must be at most %llu%s", what,
			       (unsigned long long)row->max, unit);
	return 0;
}

static int parse_number(const struct option_row *row, const char *what,
			const char *text, struct err *err)
{
	uint64_t number = 0;
	int rc = -1;

	if (row->kind == OPTION_SIZE)
		rc = options_parse_size(text, what, &number, err);
	else if (row->kind == OPTION_HEX)
		rc = options_parse_hex(text, what, &number, err);
	else if (row->kind == OPTION_DURATION)
		rc = options_parse_duration(text, what, &number, err);
	else
		rc = options_parse_count(text, what, &number, err);
	if (rc < 0 || check_range(row, what, number, err) < 0)
		return -1;
	*(uint64_t *)row->value = number;
	return 0;
}

static bool is_flag(const struct option_row *row)
{
	return row->kind == OPTION_FLAG || row->kind == OPTION_NO_FLAG;
}

static int set_value(const struct option_row *row, const char *text,
		     struct err *err)
{
	char what[LABEL_BYTES];

	(void)snprintf(what, sizeof(what), "--%s", row->name);
	if (is_flag(row))
		*(bool *)row->value = row->kind == OPTION_FLAG;
	else if (row->kind == OPTION_TEXT)
		*(const char **)row->value = text;
	else if (parse_number(row, what, text, err) < 0)
		return -1;
	if (row->is_given != NULL)
		*row->is_given = true;
	return 0;
}

static const struct option_row *find_name(const struct option_page *page,
					  const char *name, size_t length)
{
	const struct option_row *const fixed[] = {&row_help, &row_version};

	for (const struct option_row *row = page->rows; row->name; row++) {
		if (strlen(row->name) == length &&
		    strncmp(row->name, name, length) == 0)
			return row;
	}
	for (size_t i = 0; i < 2; i++) {
		if (strlen(fixed[i]->name) == length &&
		    strncmp(fixed[i]->name, name, length) == 0)
			return fixed[i];
	}
	return NULL;
}

static const struct option_row *find_letter(const struct option_page *page,
					    char letter)
{
	for (const struct option_row *row = page->rows; row->name; row++) {
		if (row->letter != 0 && row->letter == letter)
			return row;
	}
	if (letter == row_help.letter)
		return &row_help;
	return letter == row_version.letter ? &row_version : NULL;
}

static enum option_outcome apply(const struct option_row *row, const char *text,
				 struct err *err)
{
	if (row == &row_help)
		return OPTIONS_HELP;
	if (row == &row_version)
		return OPTIONS_VERSION;
	return set_value(row, text, err) < 0 ? OPTIONS_BAD : OPTIONS_GO;
}

/* Applies ROW with ATTACHED as its value, or else with the next word. */
static enum option_outcome take(struct walk *walk, const struct option_row *row,
				const char *attached, struct err *err)
{
	if (is_flag(row) || attached != NULL)
		return apply(row, attached, err);
	if (walk->at >= walk->argc) {
		(void)err_set(err, "option --%s needs a value", row->name);
		return OPTIONS_BAD;
	}
	return apply(row, walk->argv[walk->at++], err);
}

static enum option_outcome take_long(const struct option_page *page,
				     struct walk *walk, const char *word,
				     struct err *err)
{
	size_t length = strcspn(word, "=");
	const char *attached = word[length] == '=' ? word + length + 1 : NULL;
	const struct option_row *row = find_name(page, word, length);

	if (row == NULL) {
		(void)err_set(err, "unknown option --%.*s", (int)length, word);
		return OPTIONS_BAD;
	}
	if (is_flag(row) && attached != NULL) {
		(void)err_set(err, "option --%s takes no value", row->name);
		return OPTIONS_BAD;
	}
	return take(walk, row, attached, err);
}

/* "-q", "-q8", "-q 8"; flags may stand together. */
static enum option_outcome take_letters(const struct option_page *page,
					struct walk *walk, const char *word,
					struct err *err)
{
	enum option_outcome outcome = OPTIONS_GO;

	for (; *word != '\0' && outcome == OPTIONS_GO; word++) {
		const struct option_row *row = find_letter(page, *word);

		if (row == NULL) {
			(void)err_set(err, "unknown option -%c", *word);
			return OPTIONS_BAD;
		}
		if (!is_flag(row))
			return take(walk, row,
				    word[1] == '\0' ? NULL : word + 1, err);
		outcome = take(walk, row, NULL, err);
	}
	return outcome;
}

static enum option_outcome take_word(const struct option_page *page,
				     struct walk *walk, struct err *err)
{
	char *word = walk->argv[walk->at++];

	if (walk->ended || word[0] != '-' || word[1] == '\0') {
		walk->argv[++walk->kept] = word;
		return OPTIONS_GO;
	}
	if (strcmp(word, "--") == 0) {
		walk->ended = true;
		return OPTIONS_GO;
	}
	if (word[1] == '-')
		return take_long(page, walk, word + 2, err);
	return take_letters(page, walk, word + 1, err);
}

enum option_outcome options_parse(const struct option_page *page, int argc,
				  char **argv, int *operand_count,
				  struct err *err)
{
	struct walk walk = {.argc = argc, .argv = argv, .at = 1};
	enum option_outcome outcome = OPTIONS_GO;

	while (walk.at < argc && outcome == OPTIONS_GO)
		outcome = take_word(page, &walk, err);
	*operand_count = walk.kept;
	return outcome;
}

static void print_row(const struct option_row *row, FILE *to)
{
	char label[LABEL_BYTES];
	char letter[5] = "    ";
	const char *line = row->help;

	if (row->letter != 0)
		(void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	(void)snprintf(label, sizeof(label), " %s--%s%s%s", letter, row->name,
		       row->argument == NULL ? "" : " ",
		       row->argument == NULL ? "" : row->argument);
	if (strlen(label) + 2 > HELP_COLUMN)
		(void)fprintf(to, "%s\n%*s", label, HELP_COLUMN, "");
	else
		(void)fprintf(to, "%-*s", HELP_COLUMN, label);
	for (const char *end; (end = strchr(line, '\n')) != NULL;
	     line = end + 1)
		(void)fprintf(to, "%.*s\n%*s", (int)(end - line), line,
			      HELP_COLUMN + 2, "");
	(void)fprintf(to, "%s\n", line);
}

/* A line that begins with a space goes on with the form above it; any other
 * is another way to call the program. */
static void print_usage(const struct option_page *page, FILE *to)
{
	const char *line = page->usage;
	const char *head = "Usage:";

	for (const char *end = NULL; line != NULL;
	     line = end == NULL ? NULL : end + 1) {
		int length = 0;

		end = strchr(line, '\n');
		length = (int)(end == NULL ? strlen(line)
					   : (size_t)(end - line));
		if (line[0] == ' ')
			(void)fprintf(to, "%-6s %.*s\n", head, length, line);
		else
			(void)fprintf(to, "%-6s %s%s%.*s\n", head,
				      page->program, length > 0 ? " " : "",
				      length, line);
		head = "";
	}
}

/* Every line of TEXT with a space in front. */
static void print_indented(const char *text, FILE *to)
{
	const char *end;

	for (; (end = strchr(text, '\n')) != NULL; text = end + 1)
		(void)fprintf(to, " %.*s\n", (int)(end - text), text);
	if (*text != '\0')
		(void)fprintf(to, " %s\n", text);
}

void options_print_help(const struct option_page *page, FILE *to)
{
	print_usage(page, to);
	if (page->description != NULL)
		(void)fprintf(to, "\n%s\n", page->description);
	(void)fprintf(to, "\nOptions:\n");
	for (const struct option_row *row = page->rows; row->name; row++)
		print_row(row, to);
	print_row(&row_help, to);
	print_row(&row_version, to);
	if (page->exit_status != NULL)
		(void)fprintf(to, "\nExit status: %s\n", page->exit_status);
	if (page->examples != NULL) {
		(void)fprintf(to, "\nExamples:\n");
		print_indented(page->examples, to);
	}
	if (page->more != NULL)
		(void)fprintf(to, "\nMore: %s\n", page->more);
	else
		(void)fprintf(to, "\nMore: %s(1)\n", page->program);
}

void options_print_version(const struct option_page *page, FILE *to)
{
	(void)fprintf(to, "%s %s\n", page->program, PLUGPULL_VERSION);
}
