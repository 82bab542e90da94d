/* SPDX-License-Identifier: MIT */
#include "common/ackfile/ackout.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/format/ackbody.h"

struct ackout *ackout_new(int fd, const char *name, struct err *err)
{
	struct ackout *out = calloc(1, sizeof(*out));

	if (out == NULL) {
		(void)err_set(err, "cannot write %s: out of memory", name);
		return NULL;
	}
	out->fd = fd;
	out->name = name;
	return out;
}

void ackout_free(struct ackout *out)
{
	free(out);
}

static int write_all(struct ackout *out, const uint8_t *bytes, size_t count,
		     struct err *err)
{
	while (count > 0) {
		ssize_t done = write(out->fd, bytes, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_sys(err, done < 0 ? errno : ENOSPC,
				       "cannot write %s", out->name);
		bytes += done;
		count -= (size_t)done;
		out->bytes += (uint64_t)done;
	}
	return 0;
}

int ackout_finish(struct ackout *out, uint64_t arrival_ns, struct err *err)
{
	struct acklog_frame frame = {
		.length = (uint32_t)out->used,
		.index = out->frames,
		.arrival_ns = arrival_ns,
		.previous_crc = out->crc,
	};
	uint8_t header[ACKLOG_HEADER_BYTES];

	if (out->used == 0)
		return 0;
	acklog_encode(&frame, out->payload, header);
	if (write_all(out, header, sizeof(header), err) < 0 ||
	    write_all(out, out->payload, out->used, err) < 0)
		return -1;
	out->frames++;
	out->crc = frame.crc;
	out->used = 0;
	return 0;
}

int ackout_say(struct ackout *out, const struct ackbody *body,
	       uint64_t arrival_ns, struct err *err)
{
	if (ackbody_encode(body, out->payload, sizeof(out->payload),
			   &out->used) == 0)
		return 0;
	if (ackout_finish(out, arrival_ns, err) < 0)
		return -1;
	if (ackbody_encode(body, out->payload, sizeof(out->payload),
			   &out->used) < 0)
		abort(); /* a body is shorter than a frame may be */
	return 0;
}
