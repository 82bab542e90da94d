/* SPDX-License-Identifier: MIT */
/*
 * drivers - the table of all relay drivers, made from drivers.def.
 */
#ifndef RELAY_DRIVERS_H
#define RELAY_DRIVERS_H

struct relay_driver;

#define RELAY_DRIVER(name) extern const struct relay_driver driver_##name;
#include "relay/drivers.def"
#undef RELAY_DRIVER

/* Sorted by name; ends with NULL. */
extern const struct relay_driver *const drivers_all[];

/* NULL where there is no driver of that name. */
const struct relay_driver *drivers_find(const char *name);

#endif
