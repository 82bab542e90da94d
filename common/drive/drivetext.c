/* SPDX-License-Identifier: MIT */
#include "common/drive/drivetext.h"

#include <stdbool.h>

void drivetext_clean(const uint8_t *from, size_t count, char *to, size_t room)
{
	size_t length = 0;
	bool is_blank = false;

	for (size_t i = 0; i < count && from[i] != '\0'; i++) {
		if (from[i] <= ' ' || from[i] > '~') {
			is_blank = is_blank || from[i] <= ' ';
			continue;
		}
		if (is_blank && length > 0 && length + 1 < room)
			to[length++] = ' ';
		is_blank = false;
		if (length + 1 < room)
			to[length++] = (char)from[i];
	}
	while (length > 0 && to[length - 1] == ' ')
		length--; /* cut off behind a blank */
	to[length] = '\0';
}
