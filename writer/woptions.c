/* SPDX-License-Identifier: MIT */
#include "writer/woptions.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "common/target/target.h"

#define HOUR_MS   3600000
#define COUNT_MAX (1ULL << 60)
#define NOT_NOTED SIZE_MAX

/* An option, and where in struct wsettings its value goes. */
struct row_place {
	size_t value, is_given;
	struct option_row row;
};

#define AT(member) offsetof(struct wsettings, member)

static const struct row_place places[] = {
	{AT(target),
	 NOT_NOTED,
	 {.name = "target",
	  .letter = 't',
	  .kind = OPTION_TEXT,
	  .argument = "<T>",
	  .help = "what to write to: a block device (best by\n"
		  "/dev/disk/by-id, or as id:<serial or WWN>), a\n"
		  "file, or an nbd:// or nbd+unix:// URI; a file is\n"
		  "created with --size"}},
	{AT(collector),
	 NOT_NOTED,
	 {.name = "collector",
	  .letter = 'c',
	  .kind = OPTION_TEXT,
	  .argument = "<address>",
	  .help = "where acknowledgements go: HOST:PORT or\n"
		  "unix:PATH"}},
	{AT(key),
	 NOT_NOTED,
	 {.name = "key",
	  .letter = 'k',
	  .kind = OPTION_TEXT,
	  .argument = "<file>",
	  .help = "key shared with the collector (TLS)"}},
	{AT(acklog),
	 NOT_NOTED,
	 {.name = "acklog",
	  .letter = 'a',
	  .kind = OPTION_TEXT,
	  .argument = "<file>",
	  .help = "keep the acknowledgements in a file instead; a\n"
		  "log that exists is gone on with"}},
	{AT(run_text),
	 NOT_NOTED,
	 {.name = "run",
	  .letter = 'r',
	  .kind = OPTION_TEXT,
	  .argument = "<id>",
	  .help = "go on with this run: its next cycle"}},
	{AT(offset_bytes),
	 AT(given.offset),
	 {.name = "offset",
	  .letter = 'o',
	  .kind = OPTION_SIZE,
	  .argument = "<bytes>",
	  .help = "where the region begins (default 0)"}},
	{AT(size_bytes),
	 AT(given.size),
	 {.name = "size",
	  .letter = 's',
	  .kind = OPTION_SIZE,
	  .argument = "<bytes>",
	  .help = "size of the region (default: all behind offset)",
	  .min = 1}},
	{AT(block_bytes),
	 AT(given.block_size),
	 {.name = "block-size",
	  .letter = 'b',
	  .kind = OPTION_SIZE,
	  .argument = "<bytes>",
	  .help = "size of one write, 512 to 4m (default 4k)",
	  .min = RUN_BLOCK_BYTES_MIN,
	  .max = RUN_BLOCK_BYTES_MAX}},
	{AT(pattern_text),
	 AT(given.pattern),
	 {.name = "pattern",
	  .letter = 'p',
	  .kind = OPTION_TEXT,
	  .argument = "<name>",
	  .help = "random (default) or sequential"}},
	{AT(queue_depth),
	 NOT_NOTED,
	 {.name = "queue-depth",
	  .letter = 'd',
	  .kind = OPTION_COUNT,
	  .argument = "<count>",
	  .help = "requests in flight, 1 to 1024 (default 32)",
	  .min = 1,
	  .max = TARGET_DEPTH_MAX}},
	{AT(streams),
	 AT(given.streams),
	 {.name = "streams",
	  .letter = 'n',
	  .kind = OPTION_COUNT,
	  .argument = "<count>",
	  .help = "streams, each with its part of the region,\n"
		  "1 to 64 (default 1)",
	  .min = 1,
	  .max = RUN_STREAMS_MAX}},
	{AT(sync_text),
	 NOT_NOTED,
	 {.name = "sync",
	  .letter = 'y',
	  .kind = OPTION_TEXT,
	  .argument = "<mode>",
	  .help = "flush:N after N writes, flush:Nms after a time,\n"
		  "fua, none (default flush:32)"}},
	{AT(engine_text),
	 NOT_NOTED,
	 {.name = "engine",
	  .letter = 'E',
	  .kind = OPTION_TEXT,
	  .argument = "<name>",
	  .help = "libaio (default), or native: the drive's own\n"
		  "commands past the kernel's block layer"}},
	{AT(write_cache_text),
	 NOT_NOTED,
	 {.name = "write-cache",
	  .kind = OPTION_TEXT,
	  .argument = "<on|off>",
	  .help = "switch the drive's volatile cache for this run,\n"
		  "and back at its end"}},
	{AT(runtime_ms),
	 NOT_NOTED,
	 {.name = "runtime",
	  .letter = 'R',
	  .kind = OPTION_DURATION,
	  .argument = "<time>",
	  .help = "stop after this time (default: when told)",
	  .min = 1}},
	{AT(count),
	 NOT_NOTED,
	 {.name = "count",
	  .letter = 'C',
	  .kind = OPTION_COUNT,
	  .argument = "<count>",
	  .help = "stop after so many writes",
	  .min = 1,
	  .max = COUNT_MAX}},
	{AT(seed),
	 AT(given.seed),
	 {.name = "seed",
	  .letter = 'S',
	  .kind = OPTION_HEX,
	  .argument = "<hex>",
	  .help = "repeat the order of an earlier run (default:\n"
		  "random, printed at the start)"}},
	{AT(erase),
	 NOT_NOTED,
	 {.name = "erase",
	  .letter = 'e',
	  .kind = OPTION_TEXT,
	  .argument = "<name>",
	  .help = "confirm, by serial number, that this drive may\n"
		  "be erased"}},
	{AT(is_filled),
	 AT(given.fill),
	 {.name = "fill",
	  .kind = OPTION_FLAG,
	  .help = "fill a new region with generation 0 first\n"
		  "(default)"}},
	{AT(is_filled),
	 AT(given.no_fill),
	 {.name = "no-fill",
	  .kind = OPTION_NO_FLAG,
	  .help = "do not, for a huge region"}},
	{AT(ack_timeout_ms),
	 NOT_NOTED,
	 {.name = "ack-timeout",
	  .kind = OPTION_DURATION,
	  .argument = "<time>",
	  .help = "how long a lost collector is waited for\n"
		  "(default 60s)",
	  .min = 1,
	  .max = HOUR_MS}},
	{AT(drain_timeout_ms),
	 NOT_NOTED,
	 {.name = "drain-timeout",
	  .kind = OPTION_DURATION,
	  .argument = "<time>",
	  .help = "how long answers are counted after an error\n"
		  "(default 5s)",
	  .max = HOUR_MS}},
	{AT(wants_list),
	 NOT_NOTED,
	 {.name = "list",
	  .letter = 'l',
	  .kind = OPTION_FLAG,
	  .help = "list the drives, whether each may be tested and\n"
		  "why not; --json works, the rest is not needed"}},
	{AT(wants_probe),
	 NOT_NOTED,
	 {.name = "probe",
	  .kind = OPTION_FLAG,
	  .help = "tell all that is known of --target, and whether a\n"
		  "flush would reach the drive; nothing is written"}},
	{AT(wants_trace),
	 NOT_NOTED,
	 {.name = "trace",
	  .kind = OPTION_FLAG,
	  .help = "count flushes and FUA writes in the kernel's own\n"
		  "record, too (tracefs, as root)"}},
	{AT(accepts_elision),
	 NOT_NOTED,
	 {.name = "accept-elided-flush",
	  .kind = OPTION_FLAG,
	  .help = "run where flushes do not reach the drive; there\n"
		  "will be no verdict"}},
	{AT(json),
	 NOT_NOTED,
	 {.name = "json",
	  .letter = 'j',
	  .kind = OPTION_TEXT,
	  .argument = "<file>",
	  .help = "write a summary as JSON"}},
};

#define PLACES_COUNT (sizeof(places) / sizeof(places[0]))

static_assert(PLACES_COUNT < WOPTIONS_ROWS_MAX, "and an empty row behind");

static const struct option_page page = {
	.program = "plugpull-writer",
	.usage = "[options] --target <T> (--collector <address> | --acklog "
		 "<file>)\n--probe --target <T> [--json <file>]\n"
		 "--list [--json <file>]",
	.description =
		"Write numbered records to a drive and acknowledge each one, "
		"on another machine\nor in a file, but only after the drive "
		"has said that it is on stable media.\nAll data in the region "
		"is destroyed.",
	.exit_status = "0 stopped as told, 2 anything else, the drive going "
		       "away included",
	.examples =
		"plugpull-writer --target disk.img --size 64m --acklog "
		"run.acklog\n"
		"plugpull-writer --target /dev/disk/by-id/ata-X --erase X123 "
		"\\\n    --collector bench:7411 --key bench.key",
};

void woptions_init(struct woptions *options, struct wsettings *settings)
{
	memset(options, 0, sizeof(*options));
	for (size_t i = 0; i < PLACES_COUNT; i++) {
		options->rows[i] = places[i].row;
		options->rows[i].value = (char *)settings + places[i].value;
		if (places[i].is_given != NOT_NOTED)
			options->rows[i].is_given =
				(bool *)((char *)settings + places[i].is_given);
	}
	options->page = page;
	options->page.rows = options->rows;
}
