/* SPDX-License-Identifier: MIT */
#include "tests/fake/board_lcus.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define RELAYS_MAX 8

struct board_lcus {
	pthread_t thread;
	pthread_mutex_t lock;
	int listener;
	unsigned int port;
	unsigned int relays;
	enum board_lcus_manner manner;
	bool is_on[RELAYS_MAX + 1];
	unsigned int switchings, wrong_frames;
};

/* False where the board hangs up. */
static bool tell_states(struct board_lcus *board, int fd)
{
	char text[16 * RELAYS_MAX];
	size_t used = 0;

	if (board->manner == BOARD_LCUS_HANGS_UP)
		return false;
	if (board->manner == BOARD_LCUS_SILENT)
		return true;
	for (unsigned int i = 1; i <= board->relays; i++) {
		if (board->manner == BOARD_LCUS_RAW)
			text[used++] = board->is_on[i];
		else
			used += (size_t)snprintf(
				text + used, sizeof(text) - used,
				"CH%u: %s\r\n", i,
				board->is_on[i] ? "ON" : "OFF");
	}
	for (size_t i = 0; i < used; i++) {
		if (send(fd, text + i, 1, MSG_NOSIGNAL) != 1)
			return false;
	}
	return true;
}

static void obey(struct board_lcus *board, const uint8_t frame[4])
{
	if (((frame[0] + frame[1] + frame[2]) & 0xff) != frame[3] ||
	    frame[1] < 1 || frame[1] > board->relays || frame[2] > 1) {
		board->wrong_frames++;
		return;
	}
	board->is_on[frame[1]] = frame[2] == 1;
	board->switchings++;
}

static void serve(struct board_lcus *board, int fd)
{
	uint8_t frame[4];
	size_t used = 0;
	uint8_t byte = 0;
	bool is_open = true;

	while (is_open && recv(fd, &byte, 1, 0) == 1) {
		(void)pthread_mutex_lock(&board->lock);
		if (used == 0 && byte == 0xff) {
			is_open = tell_states(board, fd);
		} else if (used == 0 && byte != 0xa0) {
			board->wrong_frames++;
		} else {
			frame[used++] = byte;
			if (used == sizeof(frame)) {
				obey(board, frame);
				used = 0;
			}
		}
		(void)pthread_mutex_unlock(&board->lock);
	}
}

static void *run(void *argument)
{
	struct board_lcus *board = argument;
	int fd = accept(board->listener, NULL, NULL);

	/* The listener is shut down to end this. */
	while (fd >= 0) {
		serve(board, fd);
		(void)close(fd);
		fd = accept(board->listener, NULL, NULL);
	}
	return NULL;
}

static bool listen_on_loopback(struct board_lcus *board)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);
	struct sockaddr *any = (struct sockaddr *)(void *)&address;

	board->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (board->listener < 0)
		return false;
	if (bind(board->listener, any, length) < 0 ||
	    listen(board->listener, 4) < 0 ||
	    getsockname(board->listener, any, &length) < 0) {
		(void)close(board->listener);
		return false;
	}
	board->port = ntohs(address.sin_port);
	return true;
}

struct board_lcus *board_lcus_start(unsigned int relays,
				    enum board_lcus_manner manner)
{
	struct board_lcus *board = calloc(1, sizeof(*board));

	if (board == NULL)
		return NULL;
	board->relays = relays;
	board->manner = manner;
	(void)pthread_mutex_init(&board->lock, NULL);
	if (!listen_on_loopback(board)) {
		free(board);
		return NULL;
	}
	if (pthread_create(&board->thread, NULL, run, board) != 0) {
		(void)close(board->listener);
		free(board);
		return NULL;
	}
	return board;
}

unsigned int board_lcus_port(const struct board_lcus *board)
{
	return board->port;
}

bool board_lcus_is_on(struct board_lcus *board, unsigned int channel)
{
	bool is_on = false;

	(void)pthread_mutex_lock(&board->lock);
	is_on = board->is_on[channel];
	(void)pthread_mutex_unlock(&board->lock);
	return is_on;
}

unsigned int board_lcus_switchings(struct board_lcus *board)
{
	unsigned int count = 0;

	(void)pthread_mutex_lock(&board->lock);
	count = board->switchings;
	(void)pthread_mutex_unlock(&board->lock);
	return count;
}

unsigned int board_lcus_wrong_frames(struct board_lcus *board)
{
	unsigned int count = 0;

	(void)pthread_mutex_lock(&board->lock);
	count = board->wrong_frames;
	(void)pthread_mutex_unlock(&board->lock);
	return count;
}

void board_lcus_stop(struct board_lcus *board)
{
	(void)shutdown(board->listener, SHUT_RDWR);
	(void)pthread_join(board->thread, NULL);
	(void)close(board->listener);
	(void)pthread_mutex_destroy(&board->lock);
	free(board);
}
