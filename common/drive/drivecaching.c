/* SPDX-License-Identifier: MIT */
#include "common/drive/drivecaching.h"

#include <errno.h>
#include <string.h>

#define HEADER_MAX 8

static bool sense(const struct drivelink *link, unsigned int timeout_ms,
		  const struct scsicmd *command, bool is_long,
		  struct scsicmd_caching *caching)
{
	uint8_t bytes[SCSICMD_MODE_BYTES] = {0};
	struct drivelink_answer answer;

	return drivelink_ask(link, command, bytes, timeout_ms, &answer) == 0 &&
	       scsicmd_parse_mode(bytes, answer.moved_bytes, is_long,
				  caching) == 0;
}

void drivecaching_read(const struct drivelink *link, unsigned int timeout_ms,
		       struct drivecaching *caching)
{
	static const struct {
		uint8_t page;
		bool is_long;
	} ways[] = {
		{SCSICMD_PAGE_CACHING, true},
		{SCSICMD_PAGE_CACHING, false},
		{SCSICMD_PAGE_ALL, false},
	};
	struct scsicmd_caching seen;
	struct scsicmd command;

	memset(caching, 0, sizeof(*caching));
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		command = scsicmd_mode_sense(ways[i].page, SCSICMD_MODE_CURRENT,
					     ways[i].is_long);
		if (!sense(link, timeout_ms, &command, ways[i].is_long, &seen))
			continue;
		if (!caching->has_header || seen.has_page) {
			caching->has_header = true;
			caching->is_long = ways[i].is_long;
			caching->now = seen;
		}
		if (seen.has_page)
			break;
	}
	if (!caching->now.has_page)
		return;
	command = scsicmd_mode_sense(SCSICMD_PAGE_CACHING,
				     SCSICMD_MODE_CHANGEABLE, caching->is_long);
	if (sense(link, timeout_ms, &command, caching->is_long, &seen))
		caching->can_change = seen.has_page && seen.is_cache_on;
}

int drivecaching_set(const struct drivelink *link, unsigned int timeout_ms,
		     const struct drivecaching *caching, bool is_on)
{
	uint8_t bytes[HEADER_MAX + SCSICMD_PAGE_MAX];
	struct scsicmd command;
	size_t count;

	if (!caching->now.has_page)
		return -EOPNOTSUPP;
	count = scsicmd_build_mode(&caching->now, is_on, caching->is_long,
				   bytes);
	command = scsicmd_mode_select((uint32_t)count, caching->is_long);
	return drivelink_ask(link, &command, bytes, timeout_ms, NULL);
}
