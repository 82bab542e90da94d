/* SPDX-License-Identifier: MIT */
#include "simdrive/park.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void park(int number)
{
	(void)number;
	for (;;)
		(void)pause(); /* until the process ends */
}

void park_aborts(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = park;
	if (sigaction(SIGABRT, &action, NULL) < 0)
		abort(); /* no valid signal is refused */
}
