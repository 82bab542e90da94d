/* SPDX-License-Identifier: MIT */
/*
 * ackbell - wakes the thread that keeps the ack log informed, and costs who
 * rings next to nothing: a system call only where that thread waits for it.
 *
 * A bell that was not heard is no loss: the thread looks at its rings before
 * it waits, and never waits for long.
 */
#ifndef WRITER_ACKBELL_H
#define WRITER_ACKBELL_H

struct ackbell;
struct err;

struct ackbell *ackbell_new(struct err *err);
void ackbell_free(struct ackbell *bell); /* NULL is allowed */

/* Any thread, behind what it has to say; never waits. */
void ackbell_ring(struct ackbell *bell);

/* The waiting thread: from now on ackbell_fd() can be read once somebody has
 * rung. What was said before is not told by it: look first, behind this. */
void ackbell_arm(struct ackbell *bell);
void ackbell_disarm(struct ackbell *bell);
int ackbell_fd(const struct ackbell *bell);

#endif
