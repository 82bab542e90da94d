/* SPDX-License-Identifier: MIT */
#include "collector/bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"

/* The caller wants the log itself untouched: O_EXCL. */
static int write_file(struct condense_order *order,
		      struct condense_facts *facts, struct err *err)
{
	int fd = open(order->to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int result;

	if (fd < 0)
		return err_sys(err, errno, "cannot create %s", order->to);
	order->to_fd = fd;
	result = condense_log(order, facts, err);
	if (close(fd) < 0 && result == 0)
		result = err_sys(err, errno, "cannot write %s", order->to);
	if (result < 0)
		(void)unlink(order->to); /* ours; err says what went wrong */
	return result;
}

int bounds_write(const char *log, const char *output,
		 struct condense_facts *facts, struct err *err)
{
	/* O_NONBLOCK: a FIFO must not hold us up before it is refused. */
	struct condense_order order = {
		.from_fd = open(log, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
		.from = log,
		.to_fd = STDOUT_FILENO,
		.to = "standard output",
	};
	int result;

	if (order.from_fd < 0)
		return err_sys(err, errno, "cannot open %s", log);
	if (output == NULL || strcmp(output, "-") == 0) {
		result = condense_log(&order, facts, err);
	} else {
		order.to = output;
		result = write_file(&order, facts, err);
	}
	(void)close(order.from_fd); /* was only read */
	return result;
}
