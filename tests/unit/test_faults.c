/* SPDX-License-Identifier: MIT */
/*
 * Every fault of faults.def earns its class at every cut, and no other class,
 * whatever the seed, the sync mode and the size of a write; the ends of the
 * media stay whole. The judge here is a few lines of its own, so that the table
 * does not lean on the verifier that it calibrates.
 */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/err.h"
#include "common/base/prng.h"
#include "simdrive/faults.h"
#include "simdrive/model.h"
#include "simdrive/power.h"

#define ATOM        512
#define MEDIA_BYTES (4U * 1024 * 1024)
#define SPARE_BYTES (256U * 1024)
#define FILL_BYTES  (128U * 1024)
#define SLOT_MIN    512
#define SLOTS_MAX   (MEDIA_BYTES / SLOT_MIN)
#define WRITES      300
#define IN_FLIGHT   3
#define CYCLES      2
#define SEEDS       5
#define US          1000ULL

enum class {
	INTACT,
	LOST,
	TORN,
	CORRUPT,
	MISDIRECTED,
	UNREADABLE,
	HUNG,
	GONE,
	BLANK,
	CLASSES
};

static const char *const class_names[CLASSES] = {
	"INTACT",     "LOST", "TORN", "CORRUPT", "MISDIRECTED",
	"UNREADABLE", "HUNG", "GONE", "BLANK"};

/* A drive under test and what its writer knows. */
struct bench {
	struct model_config config;
	struct model *model;
	uint8_t *media;
	size_t slot_bytes;
	unsigned int slots, first_slot, last_slot; /* those that are written */
	bool is_fua;
	struct prng prng;
	uint64_t now;
	uint32_t version;
	uint32_t durable[SLOTS_MAX], issued[SLOTS_MAX], undurable[SLOTS_MAX];
	unsigned int seen[CLASSES];
};

static int memory_read(void *context, void *buffer, size_t length,
		       uint64_t offset)
{
	memcpy(buffer, (uint8_t *)context + offset, length);
	return 0;
}

static int memory_write(void *context, const void *buffer, size_t length,
			uint64_t offset)
{
	memcpy((uint8_t *)context + offset, buffer, length);
	return 0;
}

/* An atom says its offset and version; the rest follows from these. */
static void build_atom(uint8_t *atom, uint64_t offset, uint32_t version)
{
	bytes_put64(atom, offset);
	bytes_put64(atom + 8, version);
	for (size_t at = 16; at < ATOM; at += 8)
		bytes_put64(atom + at, prng_mix(offset << 32 ^ version ^ at));
}

static void build(uint8_t *data, uint64_t offset, size_t length,
		  uint32_t version)
{
	for (size_t at = 0; at < length; at += ATOM)
		build_atom(data + at, offset + at, version);
}

/* The class of one atom; FOUND is its version where it has one. */
static enum class look(const uint8_t *atom, uint64_t offset, uint32_t *found) {
	static const uint8_t zeroes[ATOM]; uint8_t built[ATOM];

	*found = 0;
	if (memcmp(atom, zeroes, ATOM) == 0) return BLANK;
	build_atom(built, bytes_get64(atom), (uint32_t)bytes_get64(atom + 8));
	if (memcmp(atom, built, ATOM) != 0) return CORRUPT;
	if (bytes_get64(atom) != offset) return MISDIRECTED;
	*found = (uint32_t)bytes_get64(atom + 8);
	return INTACT;
}

static void judge_block(struct bench *bench, const uint8_t *data,
			uint64_t offset, bool holds_durable)
{
	const uint32_t durable = bench->durable[offset / bench->slot_bytes];
	uint32_t first = 0;

	for (size_t at = 0; at < bench->config.logical_block_bytes;
	     at += ATOM) {
		uint32_t found = 0;
		enum class class = look(data + at, offset + at, &found);

		if (class == INTACT && found < durable)
			class = holds_durable ? TORN : LOST;
		if (class == INTACT && first != 0 && found != first)
			class = CORRUPT; /* P8 */
		if (class == INTACT)
			first = found;
		bench->seen[class]++;
	}
}

static void judge_slot(struct bench *bench, unsigned int slot)
{
	uint8_t data[FILL_BYTES];
	const uint64_t offset = slot * (uint64_t)bench->slot_bytes;
	bool holds_durable = false;
	int rc = model_read(bench->model, data, bench->slot_bytes, offset,
			    bench->now);

	if (rc != 0) {
		bench->seen[rc == MODEL_NO_ANSWER ? HUNG
			    : rc == -ESHUTDOWN    ? GONE
						  : UNREADABLE]++;
		return;
	}
	for (size_t at = 0; at < bench->slot_bytes; at += ATOM) {
		uint32_t found = 0;

		if (look(data + at, offset + at, &found) == INTACT)
			holds_durable |= found == bench->durable[slot];
	}
	for (size_t at = 0; at < bench->slot_bytes;
	     at += bench->config.logical_block_bytes)
		judge_block(bench, data + at, offset + at, holds_durable);
}

static void judge_all(struct bench *bench)
{
	memset(bench->seen, 0, sizeof(bench->seen));
	for (unsigned int slot = 0; slot < bench->slots; slot++)
		judge_slot(bench, slot);
}

/* All slots anew, in long requests; then a FLUSH. */
static void fill(struct bench *bench)
{
	uint8_t data[FILL_BYTES];

	bench->version++;
	for (uint64_t at = 0; at < MEDIA_BYTES; at += FILL_BYTES) {
		struct damage_write write = {data, FILL_BYTES, at, false};

		build(data, at, FILL_BYTES, bench->version);
		(void)model_write(bench->model, &write, false, bench->now);
	}
	(void)model_flush(bench->model, bench->now);
	for (unsigned int slot = 0; slot < bench->slots; slot++) {
		bench->durable[slot] = bench->version;
		bench->issued[slot] = bench->version;
		bench->undurable[slot] = 0;
	}
}

static unsigned int draw_slot(struct bench *bench)
{
	return bench->first_slot +
	       (unsigned int)prng_below(
		       &bench->prng, bench->last_slot - bench->first_slot + 1);
}

static void write_one(struct bench *bench)
{
	uint8_t data[FILL_BYTES];
	unsigned int slot = draw_slot(bench);
	struct damage_write write = {data, bench->slot_bytes,
				     slot * (uint64_t)bench->slot_bytes, false};

	build(data, write.offset_bytes, write.length, ++bench->version);
	bench->issued[slot] = bench->version;
	bench->now += 10 * US;
	if (model_write(bench->model, &write, bench->is_fua, bench->now) != 0)
		return;
	bench->undurable[slot] = bench->version;
	if (bench->is_fua)
		bench->durable[slot] = bench->version;
}

static void flush(struct bench *bench)
{
	bench->now += 10 * US;
	if (model_flush(bench->model, bench->now) != 0)
		return;
	for (unsigned int slot = 0; slot < bench->slots; slot++)
		if (bench->undurable[slot] > bench->durable[slot])
			bench->durable[slot] = bench->undurable[slot];
}

static void replace_model(struct bench *bench)
{
	uint8_t *saved = malloc(POWER_STATE_BYTES_MAX);
	struct err err;
	size_t length = 0;

	assert_non_null(saved);
	length = power_save_state(bench->model, saved);
	model_free(bench->model);
	bench->model = model_new(&bench->config, &err);
	assert_non_null(bench->model);
	assert_int_equal(power_load_state(bench->model, saved, length, &err),
			 0);
	free(saved);
}

/* The power falls with three writes in flight, to places where nothing else
 * is going on. */
static void cut(struct bench *bench)
{
	static uint8_t data[IN_FLIGHT][FILL_BYTES];
	struct damage_write writes[IN_FLIGHT];

	for (unsigned int i = 0; i < IN_FLIGHT; i++) {
		unsigned int slot = draw_slot(bench);

		writes[i] = (struct damage_write){
			data[i], bench->slot_bytes,
			slot * (uint64_t)bench->slot_bytes, bench->is_fua};
		build(data[i], writes[i].offset_bytes, bench->slot_bytes,
		      ++bench->version);
	}
	assert_int_equal(power_cut(bench->model, writes, IN_FLIGHT, bench->now),
			 0);
	replace_model(bench);
}

static struct bench *bench_new(const char *fault, size_t slot_bytes,
			       uint32_t block_bytes, uint64_t seed)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct err err;

	assert_non_null(bench);
	bench->media = calloc(1, MEDIA_BYTES);
	assert_non_null(bench->media);
	bench->slot_bytes = slot_bytes;
	bench->slots = (unsigned int)(MEDIA_BYTES / slot_bytes);
	bench->first_slot = (unsigned int)(SPARE_BYTES / slot_bytes);
	bench->last_slot = bench->slots - bench->first_slot - 1;
	bench->config = (struct model_config){
		.media = {memory_read, memory_write, bench->media, MEDIA_BYTES},
		.logical_block_bytes = block_bytes,
		.cache_bytes = 4U * 1024 * 1024,
		.drain_ms = 2000,
		.spare_bytes = SPARE_BYTES,
		.bypass_bytes = FILL_BYTES,
		.seed = seed,
	};
	prng_init(&bench->prng, seed);
	assert_int_equal(faults_add(&bench->config.faults, fault, &err), 0);
	bench->model = model_new(&bench->config, &err);
	assert_non_null(bench->model);
	return bench;
}

static void bench_free(struct bench *bench)
{
	model_free(bench->model);
	free(bench->media);
	free(bench);
}

static void one_cycle(struct bench *bench)
{
	fill(bench);
	for (unsigned int i = 0; i < WRITES; i++) {
		write_one(bench);
		if (!bench->is_fua && i % 8 == 7)
			flush(bench);
	}
	cut(bench);
	judge_all(bench);
}

static void expect_earned(const struct bench *bench, const char *name,
			  const char *earned, const char *also)
{
	for (int class = LOST; class < CLASSES; class ++) {
		const char *word = class_names[class];
		bool must = strcmp(word, earned) == 0;
		bool may = must || strcmp(word, also) == 0;

		if (must && bench->seen[class] == 0)
			fail_msg("%s earned no %s (slot %zu, fua %d)", name,
				 word, bench->slot_bytes, bench->is_fua);
		if (!may && bench->seen[class] != 0)
			fail_msg("%s earned %s (slot %zu, fua %d)", name, word,
				 bench->slot_bytes, bench->is_fua);
	}
}

static void expect_ends_whole(const struct bench *bench)
{
	for (uint64_t at = 0; at < SPARE_BYTES; at += ATOM) {
		uint64_t far = MEDIA_BYTES - ATOM - at;
		uint32_t found = 0;

		assert_int_equal(look(bench->media + at, at, &found), INTACT);
		assert_int_equal(look(bench->media + far, far, &found), INTACT);
	}
}

static void convict(enum fault_kind kind, bool is_fua, size_t slot_bytes,
		    uint64_t seed)
{
	const struct fault_row *row = faults_row(kind);
	struct bench *bench = bench_new(row->name, slot_bytes, 4096, seed);

	bench->is_fua = is_fua;
	for (int cycle = 0; cycle < CYCLES; cycle++) {
		one_cycle(bench);
		expect_earned(bench, row->name,
			      is_fua ? row->earns_fua : row->earns_flush,
			      row->also);
		expect_ends_whole(bench);
	}
	bench_free(bench);
}

static void every_fault_earns_its_class_and_no_other(void **state)
{
	(void)state;
	for (int kind = 0; kind < FAULT_KINDS; kind++)
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			convict((enum fault_kind)kind, false, 16384, seed);
			convict((enum fault_kind)kind, true, 16384, seed);
		}
}

static void every_fault_bites_small_and_large_writes(void **state)
{
	(void)state;
	for (int kind = 0; kind < FAULT_KINDS; kind++) {
		convict((enum fault_kind)kind, false, 4096, 6);
		convict((enum fault_kind)kind, true, 4096, 7);
		convict((enum fault_kind)kind, false, 65536, 8);
		convict((enum fault_kind)kind, true, 65536, 9);
	}
}

static void tears_at_4096_tears_whole_units(void **state)
{
	struct bench *bench = bench_new("tears=4096", 16384, 512, 3);

	(void)state;
	one_cycle(bench);
	expect_earned(bench, "tears=4096", "TORN", "NONE");
	assert_int_equal(bench->seen[TORN] % 8, 0);
	bench_free(bench);
}

static void stale_content_heals_after_its_reads(void **state)
{
	struct bench *bench =
		bench_new("stale-after-restore=2", 16384, 4096, 3);

	(void)state;
	one_cycle(bench);
	expect_earned(bench, "stale", "LOST", "NONE");
	judge_all(bench);
	expect_earned(bench, "stale", "LOST", "NONE");
	judge_all(bench);
	expect_earned(bench, "stale", "INTACT", "NONE");
	bench_free(bench);
}

static void new_write_heals_unreadable_blocks(void **state)
{
	struct bench *bench = bench_new("unreadable", 16384, 4096, 3);

	(void)state;
	one_cycle(bench);
	expect_earned(bench, "unreadable", "UNREADABLE", "NONE");
	judge_all(bench);
	expect_earned(bench, "unreadable", "UNREADABLE", "NONE");
	fill(bench);
	judge_all(bench);
	expect_earned(bench, "unreadable", "INTACT", "NONE");
	bench_free(bench);
}

static void fault_every_bites_at_every_nth_cut_only(void **state)
{
	struct bench *bench = bench_new("ignores-flush", 16384, 4096, 3);
	struct err err;

	(void)state;
	model_free(bench->model);
	bench->config.faults.every = 3;
	bench->model = model_new(&bench->config, &err);
	assert_non_null(bench->model);
	for (int cycle = 1; cycle <= 6; cycle++) {
		one_cycle(bench);
		expect_earned(bench, "every third",
			      cycle % 3 == 0 ? "LOST" : "INTACT", "NONE");
	}
	bench_free(bench);
}

static void p6_protected_drive_loses_nothing_at_all(void **state)
{
	struct bench *bench = bench_new("protected", 16384, 4096, 3);

	(void)state;
	fill(bench);
	for (int i = 0; i < 50; i++)
		write_one(bench);
	assert_true(model_dirty_bytes(bench->model) > 0);
	memcpy(bench->durable, bench->issued, sizeof(bench->durable));
	assert_int_equal(power_cut(bench->model, NULL, 0, bench->now), 0);
	judge_all(bench);
	expect_earned(bench, "protected", "INTACT", "NONE");
	bench_free(bench);
}

static void wrong_faults_are_refused_by_name(void **state)
{
	static const char *const wrong[] = {
		"lies",   "",       "tears=1024",
		"tears=", "dies=3", "flushes-partly=0",
		"tear",   "tears=x"};
	struct faults faults = {.count = 0};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(faults_add(&faults, wrong[i], &err), -1);
	assert_int_equal(faults.count, 0);
	assert_int_equal(faults_add(&faults, "none", &err), 0);
	assert_int_equal(faults_add(&faults, "tears=4096", &err), 0);
	assert_int_equal(faults_add(&faults, "tears", &err), -1);
	assert_int_equal(faults_add(&faults, "dies", &err), 0);
	assert_int_equal(faults_add(&faults, "hangs", &err), 0);
	assert_int_equal(faults_add(&faults, "blanks", &err), 0);
	assert_int_equal(faults_add(&faults, "corrupts", &err), -1);
	assert_int_equal(faults_find(&faults, FAULT_TEARS)->arg, 4096);
}

static void table_speaks_words_the_verifier_has(void **state)
{
	(void)state;
	for (int kind = 0; kind < FAULT_KINDS; kind++) {
		const struct fault_row *row = faults_row((enum fault_kind)kind);
		const char *words[] = {row->earns_flush, row->earns_fua};

		for (int w = 0; w < 2; w++) {
			int class = 0;

			while (class < CLASSES &&
			       strcmp(words[w], class_names[class]) != 0)
				class ++;
			assert_true(class < CLASSES);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_earns_its_class_and_no_other),
		cmocka_unit_test(every_fault_bites_small_and_large_writes),
		cmocka_unit_test(tears_at_4096_tears_whole_units),
		cmocka_unit_test(stale_content_heals_after_its_reads),
		cmocka_unit_test(new_write_heals_unreadable_blocks),
		cmocka_unit_test(fault_every_bites_at_every_nth_cut_only),
		cmocka_unit_test(p6_protected_drive_loses_nothing_at_all),
		cmocka_unit_test(wrong_faults_are_refused_by_name),
		cmocka_unit_test(table_speaks_words_the_verifier_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
