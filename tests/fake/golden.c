/* SPDX-License-Identifier: MIT */
#include "tests/fake/golden.h"

#include <stdio.h>

#define PATH_BYTES 128

size_t golden_read(const char *name, uint8_t *bytes, size_t room)
{
	char path[PATH_BYTES];
	unsigned int value = 0;
	size_t count = 0;
	FILE *file = NULL;

	(void)snprintf(path, sizeof(path), "tests/golden/%s", name);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	while (fscanf(file, " %2x", &value) == 1) {
		if (count == room) {
			count = 0;
			break;
		}
		bytes[count++] = (uint8_t)value;
	}
	(void)fclose(file); /* read only: nothing to lose */
	return count;
}
