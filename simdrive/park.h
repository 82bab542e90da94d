/* SPDX-License-Identifier: MIT */
/*
 * park - a client that vanishes must not end the drive.
 *
 * nbdkit 1.32 aborts (raw_send_socket: sock >= 0) when a client goes away while
 * one of its requests is being answered, as a writer that is killed does. That
 * would be a power cut that nobody asked for. The thread that aborts is parked
 * for good instead, after the message; its connection is lost anyway, and the
 * other connections and the next cut go on. A failed assertion of our own parks
 * its thread, too, with the model's lock: the drive then stands still, which no
 * test overlooks.
 */
#ifndef SIMDRIVE_PARK_H
#define SIMDRIVE_PARK_H

void park_aborts(void);

#endif
