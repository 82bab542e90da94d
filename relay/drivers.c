/* SPDX-License-Identifier: MIT */
#include "relay/drivers.h"

#include <stddef.h>
#include <string.h>

#include "relay/driver.h"

#define RELAY_DRIVER(name) &driver_##name,
const struct relay_driver *const drivers_all[] = {
#include "relay/drivers.def"
	NULL,
};
#undef RELAY_DRIVER

const struct relay_driver *drivers_find(const char *name)
{
	for (size_t i = 0; drivers_all[i] != NULL; i++) {
		if (strcmp(drivers_all[i]->name, name) == 0)
			return drivers_all[i];
	}
	return NULL;
}
