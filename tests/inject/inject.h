/* SPDX-License-Identifier: MIT */
/*
 * inject - lets the nth call of one kind fail, come up short, or end the
 * process, and tells how many such calls there were.
 *
 * It is preloaded (LD_PRELOAD) into one program, which knows nothing of it. It
 * never makes up success: what it lets fail has not been done, but for a FLUSH,
 * a close and an accept, which may have been.
 *
 *   INJECT=KIND:N[+]:WHAT  the nth call, from 1; "+" and all behind it. N is 0:
 *                          only count. WHAT is an errno by name, or
 *                            short  half of it is done
 *                            torn   half of it is done, the next is ENOSPC
 *                            zero   end of file, nothing done
 *                            kill   SIGKILL in front of the call
 *                            lose   of sync: EIO, and what was appended since
 *                                   the last good sync is gone
 *                            cut    lose, then kill: the host lost its power
 *   INJECT_PROGRAM=NAME    only in this program; its children inherit us.
 *   INJECT_PATH=TEXT       file calls: only those whose path holds TEXT.
 *   INJECT_REPORT=FILE     "COUNT met" or "COUNT missed", at the strike and
 *                          when the program ends.
 */
#ifndef TESTS_INJECT_INJECT_H
#define TESTS_INJECT_INJECT_H

#include <stdbool.h>

#define INJECT_KIND(symbol, name) INJECT_##symbol,
enum inject_kind {
#include "tests/inject/kinds.def"
	INJECT_NONE,
};
#undef INJECT_KIND

enum inject_hit {
	INJECT_PASS,
	INJECT_FAIL, /* errno says why */
	INJECT_SHORT,
	INJECT_ZERO,
	INJECT_LOSE,
};

/* Is this the kind that is counted? */
bool inject_counts(enum inject_kind kind);

/* Counts one call of KIND, and says what is to become of it. */
enum inject_hit inject_call(enum inject_kind kind);

/* As inject_call(), for a file by its path or its descriptor. */
enum inject_hit inject_path_call(enum inject_kind kind, const char *path);
enum inject_hit inject_fd_call(enum inject_kind kind, int fd);

/* SIGKILL, where that is what WHAT asks for behind a loss. */
void inject_may_die(void);

/* The function NAME behind this library, into the pointer at TO. */
void inject_next(const char *name, void *to);

#endif
