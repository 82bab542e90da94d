/* SPDX-License-Identifier: MIT */
/*
 * key - the pre-shared key: its file and its bytes (functions: channel.h).
 */
#ifndef COMMON_NET_KEY_H
#define COMMON_NET_KEY_H

#include "common/net/channel.h"

struct channel_key {
	uint8_t bytes[CHANNEL_KEY_BYTES];
};

#endif
