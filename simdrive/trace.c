/* SPDX-License-Identifier: MIT */
#include "simdrive/trace.h"

#include <assert.h>

#include "common/base/bytes.h"
#include "simdrive/damage.h"

void trace_tell(const struct trace_sink *sink, const struct trace_event *event)
{
	if (sink->tell != NULL)
		sink->tell(sink->context, event);
}

void trace_tell_write(const struct trace_sink *sink, enum trace_type type,
		      const struct damage_write *write, uint64_t request)
{
	trace_tell(sink, &(struct trace_event){
				 .type = type,
				 .flags = write->is_fua ? TRACE_FUA : 0,
				 .data = write->data,
				 .length = write->length,
				 .request = request,
				 .offset_bytes = write->offset_bytes,
			 });
}

void trace_tell_moment(const struct trace_sink *sink, enum trace_type type,
		       uint8_t flags, uint64_t request)
{
	trace_tell(sink, &(struct trace_event){
				 .type = type,
				 .flags = flags,
				 .request = request,
			 });
}

void trace_encode_header(const struct trace_event *event, uint8_t *header)
{
	assert(event->length <= UINT32_MAX);

	bytes_put32(header, TRACE_MAGIC);
	header[4] = (uint8_t)event->type;
	header[5] = event->flags;
	bytes_put16(header + 6, 0);
	bytes_put32(header + 8, (uint32_t)event->length);
	bytes_put32(header + 12,
		    event->data == NULL ? 0 : (uint32_t)event->length);
	bytes_put64(header + 16, event->request);
	bytes_put64(header + 24, event->offset_bytes);
	bytes_put64(header + 32, event->time_ns);
}
