/* SPDX-License-Identifier: MIT */
/*
 * run - the description of one run: what the label on the drive and the first
 * body of the ack log say, and the geometry of the region that follows from it.
 *
 * A run is one region filled once; it lives through all cycles of a campaign
 * until a fresh run replaces it. Everything a verifier needs to know where
 * which write belongs is here; what changes from cycle to cycle (sync mode,
 * queue depth, first sequence number) is in struct ackbody_cycle.
 *
 * Region: label copy (1 MiB), slots, label copy (1 MiB). A slot is one write:
 * block_bytes at an aligned place. Stream k owns the k-th equal share of the
 * slots; slots left over after the division hold generation 0 for ever.
 */
#ifndef COMMON_FORMAT_RUN_H
#define COMMON_FORMAT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define RUN_ATOM_BYTES       512
#define RUN_LABEL_AREA_BYTES (1024 * 1024)
#define RUN_LABEL_BYTES      4096
#define RUN_ID_BYTES         16
#define RUN_ID_TEXT_BYTES    33 /* 32 hex digits and the NUL */
#define RUN_BLOCK_BYTES_MIN  512
#define RUN_BLOCK_BYTES_MAX  (4 * 1024 * 1024)
#define RUN_STREAMS_MAX      64
#define RUN_TEXT_BYTES       256

enum run_pattern { RUN_PATTERN_RANDOM, RUN_PATTERN_SEQUENTIAL };

struct run {
	uint8_t id[RUN_ID_BYTES]; /* never all zero */
	uint64_t offset_bytes;    /* of the region on the target */
	uint64_t size_bytes;      /* of the region, both labels included */
	uint32_t block_bytes; /* one write; a multiple of the logical block */
	uint32_t
		logical_block_bytes; /* the drive's atomic unit, power of two */
	uint16_t streams;            /* 1 ... RUN_STREAMS_MAX */
	enum run_pattern pattern;
	bool is_filled; /* generation 0 was written before sequence 1 */
	bool is_unsent; /* its flushes may not have reached the drive (P9) */
	uint64_t seed;  /* of the schedule */
	uint64_t created_ns;           /* wall clock of the writer's host */
	char identity[RUN_TEXT_BYTES]; /* of the drive, see target.h; "" unknown
					*/
	char target[RUN_TEXT_BYTES];   /* as the user named it */
};

/*
 * Refuses what no region can be: sizes out of range or not aligned (offset to
 * the logical block, size so that the slots fill it exactly), no slot for each
 * stream, unterminated text, an all-zero id. Decoding calls it, so a decoded
 * run can be used without fear.
 */
int run_check(const struct run *run, struct err *err);

/* The largest region size <= ROOM_BYTES whose slots fill it exactly; 0 if even
 * one slot does not fit. */
uint64_t run_fit_size(uint64_t room_bytes, uint32_t block_bytes);

uint64_t run_slots_total(const struct run *run);
uint64_t run_slots_per_stream(const struct run *run);

/* Byte offset on the target of slot SLOT (0 ... run_slots_total() - 1). */
uint64_t run_slot_offset(const struct run *run, uint64_t slot);

/* Byte offset on the target of the label copy COPY (0 or 1). */
uint64_t run_label_offset(const struct run *run, unsigned int copy);

/* The stream that owns SLOT, or -1 for a slot left over. */
int run_stream_of_slot(const struct run *run, uint64_t slot);

/*
 * Body: RUN_BODY_BYTES bytes. Label: RUN_LABEL_BYTES bytes with magic, version
 * and CRC around the body; the rest is zero. Layouts: docs/FORMATS.md.
 * run_decode_label() tells RUN_LABEL_NONE where there is no magic (not an
 * error of the drive) from RUN_LABEL_BAD (magic, but damaged; err says how).
 */
#define RUN_BODY_BYTES 640

enum run_label_state { RUN_LABEL_GOOD, RUN_LABEL_NONE, RUN_LABEL_BAD };

void run_encode_body(const struct run *run, uint8_t body[RUN_BODY_BYTES]);
int run_decode_body(struct run *run, const uint8_t body[RUN_BODY_BYTES],
		    struct err *err);
void run_encode_label(const struct run *run, uint8_t label[RUN_LABEL_BYTES]);
enum run_label_state run_decode_label(struct run *run,
				      const uint8_t label[RUN_LABEL_BYTES],
				      struct err *err);

void run_id_text(const uint8_t id[RUN_ID_BYTES], char text[RUN_ID_TEXT_BYTES]);
int run_id_parse(const char *text, uint8_t id[RUN_ID_BYTES], struct err *err);

const char *run_pattern_name(enum run_pattern pattern);
int run_pattern_parse(const char *text, enum run_pattern *pattern,
		      struct err *err);

#endif
