/* SPDX-License-Identifier: MIT */
/* The command line is a contract: what is not understood is refused. */
#include "common/base/options.h"

#include <string.h>

#include "common/base/err.h"
#include "tests/unit/cmocka_all.h"

#define WORDS_MAX 16

static struct {
	bool force, fill, is_given;
	const char *target;
	uint64_t size, depth, seed, runtime_ms;
} got;

static const struct option_row rows[] = {
	{"force", 'f', OPTION_FLAG, &got.force, NULL, "do it", 0, 0, NULL},
	{"no-fill", 0, OPTION_NO_FLAG, &got.fill, NULL, "no fill", 0, 0, NULL},
	{"target", 't', OPTION_TEXT, &got.target, "<path>",
	 "what to write to,\nby serial number", 0, 0, &got.is_given},
	{"size", 's', OPTION_SIZE, &got.size, "<bytes>", "size", 512, 0, NULL},
	{"depth", 'q', OPTION_COUNT, &got.depth, "<count>", "depth", 1, 1024,
	 NULL},
	{"seed", 0, OPTION_HEX, &got.seed, "<hexadecimal number>", "seed", 0, 0,
	 NULL},
	{"runtime", 0, OPTION_DURATION, &got.runtime_ms, "<time>", "time", 0,
	 3600000, NULL},
	{0},
};

static const struct option_page page = {
	.program = "plugpull-test",
	.usage = "[options] --target <path>\n   [--force]\nlist",
	.description = "Test the options.",
	.rows = rows,
	.exit_status = "0 good, 2 bad.",
	.examples = "plugpull-test -t a\nplugpull-test list",
};

struct line {
	int argc;
	char words[WORDS_MAX][64];
	char *argv[WORDS_MAX];
	int operands;
	struct err err;
};

/* Parses TEXT, split at blanks, as the words behind the program's name. */
static enum option_outcome parse(struct line *line, const char *text)
{
	memset(&got, 0, sizeof(got));
	memset(line, 0, sizeof(*line));
	got.fill = true;
	line->argv[line->argc++] = line->words[0];
	while (*text != '\0') {
		size_t length = strcspn(text, " ");

		memcpy(line->words[line->argc], text, length);
		line->argv[line->argc] = line->words[line->argc];
		line->argc++;
		text += length + (text[length] == ' ');
	}
	return options_parse(&page, line->argc, line->argv, &line->operands,
			     &line->err);
}

static void assert_bad(const char *text, const char *message)
{
	struct line line;

	assert_int_equal(parse(&line, text), OPTIONS_BAD);
	assert_string_equal(line.err.text, message);
}

static void all_kinds_and_forms(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, "--target /dev/x --size=4k -q 32 "
				      "--seed 0xfF --runtime 250ms -f"),
			 OPTIONS_GO);
	assert_string_equal(got.target, "/dev/x");
	assert_true(got.is_given && got.force && got.fill);
	assert_int_equal(got.size, 4096);
	assert_int_equal(got.depth, 32);
	assert_int_equal(got.seed, 0xff);
	assert_int_equal(got.runtime_ms, 250);
	assert_int_equal(line.operands, 0);

	assert_int_equal(parse(&line, "-fq8 -tx --no-fill"), OPTIONS_GO);
	assert_int_equal(got.depth, 8);
	assert_string_equal(got.target, "x");
	assert_false(got.fill);
	assert_true(got.force);

	assert_int_equal(parse(&line, ""), OPTIONS_GO);
	assert_false(got.is_given);
}

static void operands_keep_their_order(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, "run -f file -q 3 - -- -x --force"),
			 OPTIONS_GO);
	assert_int_equal(line.operands, 5);
	assert_string_equal(line.argv[1], "run");
	assert_string_equal(line.argv[2], "file");
	assert_string_equal(line.argv[3], "-");
	assert_string_equal(line.argv[4], "-x");
	assert_string_equal(line.argv[5], "--force");
}

static void a_value_may_look_like_an_option(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, "--target --force"), OPTIONS_GO);
	assert_string_equal(got.target, "--force");
	assert_false(got.force);
	assert_int_equal(parse(&line, "--target="), OPTIONS_GO);
	assert_string_equal(got.target, "");
}

static void help_and_version_are_always_there(void **state)
{
	struct line line;

	(void)state;
	assert_int_equal(parse(&line, "--help --nonsense"), OPTIONS_HELP);
	assert_int_equal(parse(&line, "-fh"), OPTIONS_HELP);
	assert_int_equal(parse(&line, "-V"), OPTIONS_VERSION);
	assert_int_equal(parse(&line, "--version"), OPTIONS_VERSION);
}

static void wrong_options_are_one_sentence(void **state)
{
	(void)state;
	assert_bad("--nonsense", "unknown option --nonsense");
	assert_bad("--targ x", "unknown option --targ");
	assert_bad("--nonsense=3", "unknown option --nonsense");
	assert_bad("-fx", "unknown option -x");
	assert_bad("--target", "option --target needs a value");
	assert_bad("-t", "option --target needs a value");
	assert_bad("--force=yes", "option --force takes no value");
	assert_bad("--depth 0", "--depth: must be at least 1");
	assert_bad("--depth 1025", "--depth: must be at most 1024");
	assert_bad("--size 511", "--size: must be at least 512 bytes");
	assert_bad("--runtime 2h", "--runtime: must be at most 3600000 ms");
	assert_bad("--depth x", "--depth: \"x\" is not a number");
}

static void sizes(void **state)
{
	static const char *const wrong[] = {"",
					    "k",
					    "-1",
					    "1kk",
					    "1b",
					    "1.5k",
					    " 1",
					    "1 ",
					    "0x10",
					    "16777216t",
					    "18446744073709551616"};
	uint64_t bytes = 0;
	struct err err;

	(void)state;
	assert_int_equal(options_parse_size("0", "size", &bytes, &err), 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(options_parse_size("3M", "size", &bytes, &err), 0);
	assert_int_equal(bytes, 3 << 20);
	assert_int_equal(options_parse_size("2g", "size", &bytes, &err), 0);
	assert_true(bytes == 2ULL << 30);
	assert_int_equal(options_parse_size("16777215t", "size", &bytes, &err),
			 0);
	assert_true(bytes == 16777215ULL << 40);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
			options_parse_size(wrong[i], "size", &bytes, &err), -1);
}

static void counts_and_hexadecimals(void **state)
{
	static const char *const wrong[] = {"", "0x", "g", "1 ",
					    "10000000000000000"};
	uint64_t value = 0;
	struct err err;

	(void)state;
	assert_int_equal(
		options_parse_count("18446744073709551615", "n", &value, &err),
		0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(options_parse_count("1f", "n", &value, &err), -1);
	assert_int_equal(
		options_parse_hex("ffffffffffffffff", "seed", &value, &err), 0);
	assert_true(value == UINT64_MAX);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
			options_parse_hex(wrong[i], "seed", &value, &err), -1);
}

static void durations(void **state)
{
	static const char *const wrong[] = {
		"", "s", "1d", "1.5s", "-1s", "1ss", "18446744073709551615s"};
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {
		{"5", 5000},    {"5s", 5000},    {"250ms", 250},
		{"2m", 120000}, {"1h", 3600000}, {"0", 0},
	};
	uint64_t ms = 0;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(
			options_parse_duration(good[i].text, "t", &ms, &err),
			0);
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
			options_parse_duration(wrong[i], "t", &ms, &err), -1);
}

static void the_help_page(void **state)
{
	static const char expected[] =
		"Usage: plugpull-test [options] --target <path>\n"
		"          [--force]\n"
		"       plugpull-test list\n"
		"\n"
		"Test the options.\n"
		"\n"
		"Options:\n"
		" -f, --force                do it\n"
		"     --no-fill              no fill\n"
		" -t, --target <path>        what to write to,\n"
		"                              by serial number\n"
		" -s, --size <bytes>         size\n"
		" -q, --depth <count>        depth\n"
		"     --seed <hexadecimal number>\n"
		"                            seed\n"
		"     --runtime <time>       time\n"
		" -h, --help                 show this help\n"
		" -V, --version              show the version\n"
		"\n"
		"Exit status: 0 good, 2 bad.\n"
		"\n"
		"Examples:\n"
		" plugpull-test -t a\n"
		" plugpull-test list\n"
		"\n"
		"More: plugpull-test(1)\n";
	char text[2048] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(to);
	options_print_help(&page, to);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, expected);
}

static void the_version_line(void **state)
{
	char text[64] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(to);
	options_print_version(&page, to);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, "plugpull-test " PLUGPULL_VERSION "\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_and_forms),
		cmocka_unit_test(operands_keep_their_order),
		cmocka_unit_test(a_value_may_look_like_an_option),
		cmocka_unit_test(help_and_version_are_always_there),
		cmocka_unit_test(wrong_options_are_one_sentence),
		cmocka_unit_test(sizes),
		cmocka_unit_test(counts_and_hexadecimals),
		cmocka_unit_test(durations),
		cmocka_unit_test(the_help_page),
		cmocka_unit_test(the_version_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
