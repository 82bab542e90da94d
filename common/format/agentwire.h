/* SPDX-License-Identifier: MIT */
/*
 * agentwire - what plugpull-agent's two ends say to each other: frames of a
 * type and a payload (docs/FORMATS.md). Pure; no allocation.
 *
 * Both ends may send ALIVE at any time, and do so every second. Data go in
 * windows: of each stream no more than AGENTWIRE_WINDOW bytes may be under way
 * that the taker has not given back with CREDIT, so that a slow reader costs no
 * memory and never holds up the other frames.
 */
#ifndef COMMON_FORMAT_AGENTWIRE_H
#define COMMON_FORMAT_AGENTWIRE_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define AGENTWIRE_VERSION      1
#define AGENTWIRE_HEADER_BYTES 8
#define AGENTWIRE_PAYLOAD_MAX  65536
#define AGENTWIRE_DATA_MAX     32768 /* of one frame */
#define AGENTWIRE_WINDOW       (128 * 1024)
#define AGENTWIRE_WORDS_MAX    256
#define AGENTWIRE_TEXT_MAX     32768 /* of all words, with a NUL for each */
#define AGENTWIRE_EXIT_BYTES   2
#define AGENTWIRE_CREDIT_BYTES 5

enum agentwire_type {
	AGENTWIRE_HELLO = 1, /* agent: ready for a call */
	AGENTWIRE_RUN,       /* call: these words */
	AGENTWIRE_STDIN,     /* call: data; empty: the end of it */
	AGENTWIRE_STDOUT,    /* agent: as above */
	AGENTWIRE_STDERR,    /* agent: as above */
	AGENTWIRE_CREDIT,    /* both: so many bytes of a stream were used up */
	AGENTWIRE_END,       /* call: end the program */
	AGENTWIRE_EXIT,      /* agent: it has ended; the last frame */
	AGENTWIRE_ALIVE,     /* both */
};

struct agentwire_header {
	enum agentwire_type type;
	uint32_t length; /* of the payload, at most AGENTWIRE_PAYLOAD_MAX */
};

struct agentwire_words {
	size_t count; /* 1 ... AGENTWIRE_WORDS_MAX; words[count] is NULL */
	char *words[AGENTWIRE_WORDS_MAX + 1]; /* into text */
	char text[AGENTWIRE_TEXT_MAX];
};

enum agentwire_ending {
	AGENTWIRE_EXITED, /* code is its exit status */
	AGENTWIRE_KILLED, /* code is the signal */
};

struct agentwire_exit {
	enum agentwire_ending ending;
	uint8_t code;
};

struct agentwire_credit {
	enum agentwire_type stream; /* STDIN, STDOUT or STDERR */
	uint32_t bytes;             /* 1 ... AGENTWIRE_WINDOW */
};

void agentwire_encode_header(const struct agentwire_header *header,
			     uint8_t bytes[AGENTWIRE_HEADER_BYTES]);
/* -1: not a frame of this version, an unknown type, or a length that its type
 * cannot have. */
int agentwire_decode_header(struct agentwire_header *header,
			    const uint8_t bytes[AGENTWIRE_HEADER_BYTES],
			    struct err *err);

/* Payload of RUN. -1: no words, too many of them, or too long. */
int agentwire_encode_words(char *const *words, size_t count,
			   uint8_t payload[AGENTWIRE_PAYLOAD_MAX],
			   uint32_t *length, struct err *err);
int agentwire_decode_words(struct agentwire_words *words,
			   const uint8_t *payload, uint32_t length,
			   struct err *err);

void agentwire_encode_exit(const struct agentwire_exit *exit,
			   uint8_t payload[AGENTWIRE_EXIT_BYTES]);
int agentwire_decode_exit(struct agentwire_exit *exit,
			  const uint8_t payload[AGENTWIRE_EXIT_BYTES],
			  struct err *err);

void agentwire_encode_credit(const struct agentwire_credit *credit,
			     uint8_t payload[AGENTWIRE_CREDIT_BYTES]);
int agentwire_decode_credit(struct agentwire_credit *credit,
			    const uint8_t payload[AGENTWIRE_CREDIT_BYTES],
			    struct err *err);

#endif
