/* SPDX-License-Identifier: MIT */
/*
 * golden_log - the ack log of tests/golden/acklog.hex as a file that a test may
 * cut, damage, lengthen and read. A step that does not work fails the test.
 */
#ifndef TESTS_FAKE_GOLDEN_LOG_H
#define TESTS_FAKE_GOLDEN_LOG_H

#include <stddef.h>
#include <stdint.h>

#define GOLDEN_LOG_FRAMES 4
#define GOLDEN_LOG_BYTES  4096

struct err;
struct ackfile;

struct golden_log {
	char folder[32], path[64];
	uint8_t bytes[GOLDEN_LOG_BYTES];
	size_t size;
	size_t begins[GOLDEN_LOG_FRAMES + 1]; /* of each frame, and the end */
	uint8_t payloads[GOLDEN_LOG_BYTES];   /* one behind the other */
	size_t payloads_size;
	/* of the last golden_log_read(): all bodies, encoded again */
	uint8_t said[2 * GOLDEN_LOG_BYTES];
	size_t said_size;
	uint64_t torn_bytes;
};

int golden_log_set_up(struct golden_log *log); /* a folder of its own */
int golden_log_tear_down(const struct golden_log *log);

void golden_log_write(const struct golden_log *log, const uint8_t *bytes,
		      size_t size);
uint64_t golden_log_file_size(const struct golden_log *log);
/* Reads the file to its end: 0, or -1 for damage. */
int golden_log_read(struct golden_log *log, struct err *err);
struct ackfile *golden_log_resume(const struct golden_log *log,
				  uint64_t *repaired_bytes, struct err *err);

size_t golden_log_note(uint8_t *payload, size_t room, const char *text);
int golden_log_append_note(struct ackfile *file, const char *text,
			   struct err *err);
void golden_log_expect(const struct err *err, const char *part);

#endif
