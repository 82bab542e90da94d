/* SPDX-License-Identifier: MIT */
/*
 * board_lcus - an LCUS board behind a serial server: a thread that listens on
 * a loopback port, takes the board's bytes one by one and answers as the board
 * does. It shares no code with the driver.
 */
#ifndef TESTS_FAKE_BOARD_LCUS_H
#define TESTS_FAKE_BOARD_LCUS_H

#include <stdbool.h>

enum board_lcus_manner {
	BOARD_LCUS_TEXT,     /* "CH1: OFF" and so on */
	BOARD_LCUS_RAW,      /* a byte a relay */
	BOARD_LCUS_SILENT,   /* the old firmware: no answer at all */
	BOARD_LCUS_HANGS_UP, /* closes on a request for the states */
};

struct board_lcus;

/* RELAYS relays, all off. NULL where no port can be had. */
struct board_lcus *board_lcus_start(unsigned int relays,
				    enum board_lcus_manner manner);
unsigned int board_lcus_port(const struct board_lcus *board);
bool board_lcus_is_on(struct board_lcus *board, unsigned int channel);
/* How often a relay was told anything, and how often a frame was wrong. */
unsigned int board_lcus_switchings(struct board_lcus *board);
unsigned int board_lcus_wrong_frames(struct board_lcus *board);
void board_lcus_stop(struct board_lcus *board);

#endif
