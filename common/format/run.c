/* SPDX-License-Identifier: MIT */
#include "common/format/run.h"

#include <assert.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/err.h"

#define LABELS_BYTES            (2ULL * RUN_LABEL_AREA_BYTES)
#define LOGICAL_BLOCK_BYTES_MAX 65536U
#define SLOTS_PER_STREAM_MAX    (1ULL << 48) /* what schedule.h can permute */
#define LABEL_VERSION           1
#define LABEL_BODY_AT           16
#define FLAG_FILLED             1U
#define FLAG_UNSENT             2U

static_assert(RUN_PATTERN_RANDOM == 0 && RUN_PATTERN_SEQUENTIAL == 1,
	      "the numbers of the patterns are part of the format");
static_assert(64 + 2 * RUN_TEXT_BYTES <= RUN_BODY_BYTES, "body layout");
static_assert(LABEL_BODY_AT + RUN_BODY_BYTES <= RUN_LABEL_BYTES,
	      "label layout");

static const uint8_t label_magic[8] = {'P', 'L', 'U', 'G', 'P', 'U', 'L', 'L'};
static const char *const pattern_names[] = {"random", "sequential"};

static bool is_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

static bool is_all_zero(const uint8_t *bytes, size_t count)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum |= bytes[i];
	return sum == 0;
}

static int check_block(const struct run *run, struct err *err)
{
	uint32_t logical_bytes = run->logical_block_bytes;

	if (!is_power_of_two(logical_bytes) ||
	    logical_bytes < RUN_BLOCK_BYTES_MIN ||
	    logical_bytes > LOGICAL_BLOCK_BYTES_MAX)
		return err_set(err,
			       "a logical block of %u bytes is not a power of "
			       "two from %d to %u",
			       logical_bytes, RUN_BLOCK_BYTES_MIN,
			       LOGICAL_BLOCK_BYTES_MAX);
	if (run->block_bytes < RUN_BLOCK_BYTES_MIN ||
	    run->block_bytes > RUN_BLOCK_BYTES_MAX)
		return err_set(err,
			       "a block of %u bytes is not in the range from "
			       "%d to %d",
			       run->block_bytes, RUN_BLOCK_BYTES_MIN,
			       RUN_BLOCK_BYTES_MAX);
	if (run->block_bytes % logical_bytes != 0)
		return err_set(err,
			       "a block of %u bytes is not a multiple of the "
			       "logical block of %u bytes",
			       run->block_bytes, logical_bytes);
	return 0;
}

static int check_region(const struct run *run, struct err *err)
{
	unsigned long long size_bytes = run->size_bytes;
	unsigned long long offset_bytes = run->offset_bytes;

	if (offset_bytes % run->logical_block_bytes != 0)
		return err_set(err,
			       "a region at byte %llu is not aligned to the "
			       "logical block of %u bytes",
			       offset_bytes, run->logical_block_bytes);
	if (size_bytes > INT64_MAX || offset_bytes > INT64_MAX - size_bytes)
		return err_set(err,
			       "a region of %llu bytes at byte %llu ends "
			       "beyond any drive",
			       size_bytes, offset_bytes);
	if (run->streams < 1 || run->streams > RUN_STREAMS_MAX)
		return err_set(err, "%u streams are not 1 to %d", run->streams,
			       RUN_STREAMS_MAX);
	if (size_bytes == 0 ||
	    size_bytes != run_fit_size(size_bytes, run->block_bytes))
		return err_set(err,
			       "a region of %llu bytes is not two labels of "
			       "1 MiB and whole blocks of %u bytes",
			       size_bytes, run->block_bytes);
	if (run_slots_per_stream(run) < 1)
		return err_set(err,
			       "a region of %llu bytes has no block for each "
			       "of %u streams",
			       size_bytes, run->streams);
	if (run_slots_per_stream(run) > SLOTS_PER_STREAM_MAX)
		return err_set(err,
			       "a region of %llu bytes has more than 2^48 "
			       "blocks a stream",
			       size_bytes);
	return 0;
}

/* Control characters are refused: the text ends up on somebody's terminal. */
static int check_text(const char *text, const char *what, struct err *err)
{
	size_t length = strnlen(text, RUN_TEXT_BYTES);

	if (length == RUN_TEXT_BYTES)
		return err_set(err, "the text of the %s does not end", what);
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return err_set(err,
				       "the text of the %s holds a control "
				       "character",
				       what);
	}
	return 0;
}

int run_check(const struct run *run, struct err *err)
{
	if (is_all_zero(run->id, RUN_ID_BYTES))
		return err_set(err, "a run id of zeroes names no run");
	if (run->pattern != RUN_PATTERN_RANDOM &&
	    run->pattern != RUN_PATTERN_SEQUENTIAL)
		return err_set(err, "pattern %u is unknown",
			       (unsigned int)run->pattern);
	if (check_block(run, err) < 0 || check_region(run, err) < 0 ||
	    check_text(run->identity, "identity", err) < 0 ||
	    check_text(run->target, "target", err) < 0)
		return -1;
	return 0;
}

uint64_t run_fit_size(uint64_t room_bytes, uint32_t block_bytes)
{
	uint64_t slots = 0;

	if (block_bytes == 0 || room_bytes < LABELS_BYTES + block_bytes)
		return 0;
	slots = (room_bytes - LABELS_BYTES) / block_bytes;
	return LABELS_BYTES + slots * block_bytes;
}

uint64_t run_slots_total(const struct run *run)
{
	return (run->size_bytes - LABELS_BYTES) / run->block_bytes;
}

uint64_t run_slots_per_stream(const struct run *run)
{
	return run_slots_total(run) / run->streams;
}

uint64_t run_slot_offset(const struct run *run, uint64_t slot)
{
	return run->offset_bytes + RUN_LABEL_AREA_BYTES +
	       slot * run->block_bytes;
}

uint64_t run_label_offset(const struct run *run, unsigned int copy)
{
	assert(copy <= 1);

	if (copy == 0)
		return run->offset_bytes;
	return run->offset_bytes + run->size_bytes - RUN_LABEL_AREA_BYTES;
}

int run_stream_of_slot(const struct run *run, uint64_t slot)
{
	uint64_t stream = slot / run_slots_per_stream(run);

	return stream < run->streams ? (int)stream : -1;
}

void run_encode_body(const struct run *run, uint8_t body[RUN_BODY_BYTES])
{
	memset(body, 0, RUN_BODY_BYTES);
	memcpy(body, run->id, RUN_ID_BYTES);
	bytes_put64(body + 16, run->offset_bytes);
	bytes_put64(body + 24, run->size_bytes);
	bytes_put32(body + 32, run->block_bytes);
	bytes_put32(body + 36, run->logical_block_bytes);
	bytes_put16(body + 40, run->streams);
	bytes_put16(body + 42, (uint16_t)run->pattern);
	bytes_put16(body + 44, (uint16_t)((run->is_filled ? FLAG_FILLED : 0) |
					  (run->is_unsent ? FLAG_UNSENT : 0)));
	bytes_put64(body + 48, run->seed);
	bytes_put64(body + 56, run->created_ns);
	memcpy(body + 64, run->identity,
	       strnlen(run->identity, RUN_TEXT_BYTES - 1));
	memcpy(body + 64 + RUN_TEXT_BYTES, run->target,
	       strnlen(run->target, RUN_TEXT_BYTES - 1));
}

int run_decode_body(struct run *run, const uint8_t body[RUN_BODY_BYTES],
		    struct err *err)
{
	struct run decoded = {0};
	uint16_t pattern = bytes_get16(body + 42);
	uint16_t flags = bytes_get16(body + 44);

	if (pattern > RUN_PATTERN_SEQUENTIAL ||
	    (flags & ~(FLAG_FILLED | FLAG_UNSENT)) != 0)
		return err_set(err,
			       "the run's pattern %u or flags %#x are unknown",
			       pattern, flags);
	memcpy(decoded.id, body, RUN_ID_BYTES);
	decoded.offset_bytes = bytes_get64(body + 16);
	decoded.size_bytes = bytes_get64(body + 24);
	decoded.block_bytes = bytes_get32(body + 32);
	decoded.logical_block_bytes = bytes_get32(body + 36);
	decoded.streams = bytes_get16(body + 40);
	decoded.pattern = (enum run_pattern)pattern;
	decoded.is_filled = (flags & FLAG_FILLED) != 0;
	decoded.is_unsent = (flags & FLAG_UNSENT) != 0;
	decoded.seed = bytes_get64(body + 48);
	decoded.created_ns = bytes_get64(body + 56);
	memcpy(decoded.identity, body + 64, RUN_TEXT_BYTES);
	memcpy(decoded.target, body + 64 + RUN_TEXT_BYTES, RUN_TEXT_BYTES);
	if (run_check(&decoded, err) < 0)
		return -1;
	*run = decoded;
	return 0;
}

static uint32_t label_crc(const uint8_t label[RUN_LABEL_BYTES])
{
	static const uint8_t zero[4];
	uint32_t crc = crc32c_extend(0, label, 12);

	crc = crc32c_extend(crc, zero, sizeof(zero));
	return crc32c_extend(crc, label + 16, RUN_LABEL_BYTES - 16);
}

void run_encode_label(const struct run *run, uint8_t label[RUN_LABEL_BYTES])
{
	memset(label, 0, RUN_LABEL_BYTES);
	memcpy(label, label_magic, sizeof(label_magic));
	bytes_put16(label + 8, LABEL_VERSION);
	run_encode_body(run, label + LABEL_BODY_AT);
	bytes_put32(label + 12, label_crc(label));
}

enum run_label_state run_decode_label(struct run *run,
				      const uint8_t label[RUN_LABEL_BYTES],
				      struct err *err)
{
	uint32_t stored = bytes_get32(label + 12);
	uint16_t version = bytes_get16(label + 8);

	if (memcmp(label, label_magic, sizeof(label_magic)) != 0)
		return RUN_LABEL_NONE;
	if (stored != label_crc(label)) {
		(void)err_set(err, "label: bad checksum %08x", stored);
		return RUN_LABEL_BAD;
	}
	if (version != LABEL_VERSION) {
		(void)err_set(err, "label: version %u is unknown", version);
		return RUN_LABEL_BAD;
	}
	if (run_decode_body(run, label + LABEL_BODY_AT, err) < 0) {
		(void)err_prefix(err, "label");
		return RUN_LABEL_BAD;
	}
	return RUN_LABEL_GOOD;
}

void run_id_text(const uint8_t id[RUN_ID_BYTES], char text[RUN_ID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < RUN_ID_BYTES; i++) {
		text[2 * i] = digits[id[i] >> 4];
		text[2 * i + 1] = digits[id[i] & 15];
	}
	text[RUN_ID_TEXT_BYTES - 1] = '\0';
}

static int nibble(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	if (letter >= 'A' && letter <= 'F')
		return letter - 'A' + 10;
	return -1;
}

int run_id_parse(const char *text, uint8_t id[RUN_ID_BYTES], struct err *err)
{
	uint8_t parsed[RUN_ID_BYTES] = {0};
	bool is_good = strlen(text) == RUN_ID_TEXT_BYTES - 1;

	for (size_t i = 0; is_good && i < 2 * RUN_ID_BYTES; i++) {
		int value = nibble(text[i]);

		is_good = value >= 0;
		if (is_good)
			parsed[i / 2] = (uint8_t)(parsed[i / 2] << 4 | value);
	}
	if (!is_good || is_all_zero(parsed, RUN_ID_BYTES))
		return err_set(err,
			       "\"%.80s\" is not a run id (32 hexadecimal "
			       "digits, not all zero)",
			       text);
	memcpy(id, parsed, RUN_ID_BYTES);
	return 0;
}

const char *run_pattern_name(enum run_pattern pattern)
{
	return pattern_names[pattern];
}

int run_pattern_parse(const char *text, enum run_pattern *pattern,
		      struct err *err)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (strcmp(text, pattern_names[i]) == 0) {
			*pattern = (enum run_pattern)i;
			return 0;
		}
	}
	return err_set(err, "\"%.80s\" is not a pattern (random or sequential)",
		       text);
}
