/* SPDX-License-Identifier: MIT */
#include "tests/fake/smallmodel_past.h"

#include "common/base/prng.h"

bool smallmodel_past_is_busy(const struct small_past *past, unsigned int slot)
{
	for (unsigned int i = past->cycle_writes; i < past->writes; i++)
		if (past->write[i].slot == slot && !past->write[i].is_completed)
			return true;
	return false;
}

unsigned int smallmodel_past_covered(const struct small_past *past,
				     uint16_t stream)
{
	unsigned int set = 0;

	for (unsigned int i = past->cycle_writes; i < past->writes; i++)
		if (past->write[i].stream == stream &&
		    past->write[i].is_completed)
			set |= 1u << i;
	return set;
}

bool smallmodel_past_wants_flush(const struct small_past *past, uint16_t stream)
{
	unsigned int set = smallmodel_past_covered(past, stream);

	for (unsigned int i = 0; i < past->flushes; i++)
		if (past->flush[i].stream == stream)
			set &= ~past->flush[i].covers;
	for (unsigned int i = 0; i < past->writes; i++)
		if (past->write[i].is_fua)
			set &= ~(1u << i);
	return set != 0;
}

uint64_t smallmodel_past_hash(const struct small_past *past, unsigned int world)
{
	uint64_t hash = past->cycle + 31 * world;

	for (unsigned int i = 0; i < past->writes; i++) {
		const struct small_write *write = &past->write[i];

		hash = prng_mix(hash * 31 + (write->sequence << 16 |
					     (uint64_t)write->stream << 8 |
					     write->is_durable));
		hash = prng_mix(hash * 31 + write->w);
	}
	for (unsigned int i = 0; i < past->tells; i++) {
		const struct small_tell *told = &past->tell[i];

		hash = prng_mix(hash * 31 +
				(told->last << 32 | told->first << 16 |
				 (uint64_t)told->stream << 8 | told->type));
	}
	return hash;
}

uint64_t smallmodel_past_hash_writes(const struct small_past *past)
{
	uint64_t sum = past->cycle;

	for (unsigned int i = 0; i < past->writes; i++) {
		const struct small_write *write = &past->write[i];
		uint64_t hash = prng_mix(write->sequence << 16 |
					 (uint64_t)write->stream << 8 |
					 write->is_durable);

		sum += prng_mix(hash * 31 + write->w);
	}
	return sum;
}
