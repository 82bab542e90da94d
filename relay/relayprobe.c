/* SPDX-License-Identifier: MIT */
#include "relay/relayprobe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"

#define PARENTS_MAX 16 /* from a device up to its USB device */
#define SHARED      "an identity that other adapters have, too"

/* What hangs on a serial converter, or is one itself. */
static const struct {
	const char *id; /* "VVVV:PPPP" */
	const char *drivers;
	const char *warning;
} ttys[] = {
	{"1a86:7523", "lcus, lcus-ext, sainsmart16, modbus-rtu, hw667",
	 SHARED " (CH340)"},
	{"0403:6001", "kmtronic, denkovi16, modbus-rtu, custom",
	 SHARED " (FTDI); a board with 4 or 8 relays by bit-bang is no serial "
		"device"},
	{"04d8:ffee", "devantech", ""},
	{"067b:2303", "custom",
	 SHARED " (PL2303); an ICStation board must not be tried at"},
	{"10c4:ea60", "custom, modbus-rtu", SHARED " (CP210x)"},
};

static const struct {
	const char *id;
	const char *drivers;
	const char *warning;
} hidraws[] = {
	{"16c0:05df", "hid", "only where its name says USBRelay"},
};

struct look {
	const char *sysfs;
	void (*tell)(void *context, const struct relayprobe_found *found);
	void *context;
};

/* One line, printable. */
static bool read_line(const char *folder, const char *name, char *to,
		      size_t room)
{
	char path[PATH_MAX];
	ssize_t count = -1;
	int fd = -1;

	to[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) <
	    (int)sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1)
		return false;
	count = read(fd, to, room - 1);
	(void)close(fd); /* was only read */
	to[count > 0 ? count : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	for (char *at = to; *at != '\0'; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return to[0] != '\0';
}

/* The folder of the USB device that FOLDER belongs to. */
static bool find_usb(const char *folder, char usb[PATH_MAX])
{
	char vendor[8];

	if (realpath(folder, usb) == NULL)
		return false;
	for (int i = 0; i < PARENTS_MAX; i++) {
		char *slash;

		if (read_line(usb, "idVendor", vendor, sizeof(vendor)))
			return true;
		slash = strrchr(usb, '/');
		if (slash == NULL || slash == usb)
			return false;
		*slash = '\0';
	}
	return false;
}

/* Fills usb and place; ID gets "VVVV:PPPP". */
static bool take_usb(const char *folder, struct relayprobe_found *found,
		     char id[16])
{
	char usb[PATH_MAX], vendor[8], product[8], name[96], serial[64];

	if (!find_usb(folder, usb) ||
	    !read_line(usb, "idVendor", vendor, sizeof(vendor)) ||
	    !read_line(usb, "idProduct", product, sizeof(product)))
		return false;
	(void)read_line(usb, "product", name, sizeof(name));
	(void)read_line(usb, "serial", serial, sizeof(serial));
	(void)snprintf(id, 16, "%.4s:%.4s", vendor, product);
	(void)snprintf(found->usb, sizeof(found->usb), "%s%s%s%s%s", id,
		       name[0] == '\0' ? "" : " ", name,
		       serial[0] == '\0' ? "" : ", serial number ", serial);
	(void)snprintf(found->place, sizeof(found->place), "usb %.64s",
		       strrchr(usb, '/') + 1);
	return true;
}

static bool know_tty(const char *id, struct relayprobe_found *found)
{
	for (size_t i = 0; i < sizeof(ttys) / sizeof(ttys[0]); i++) {
		if (strcmp(ttys[i].id, id) == 0) {
			found->drivers = ttys[i].drivers;
			found->warning = ttys[i].warning;
			return true;
		}
	}
	found->drivers = "custom";
	found->warning = "of no board that is known";
	return true;
}

static bool know_hidraw(const char *id, struct relayprobe_found *found)
{
	for (size_t i = 0; i < sizeof(hidraws) / sizeof(hidraws[0]); i++) {
		if (strcmp(hidraws[i].id, id) == 0) {
			found->drivers = hidraws[i].drivers;
			found->warning = hidraws[i].warning;
			return true;
		}
	}
	return false; /* a keyboard is nobody's business */
}

static int is_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Every device of a class that hangs on USB and that KNOW knows. */
static void look_at_class(const struct look *look, const char *name,
			  bool (*know)(const char *id,
				       struct relayprobe_found *found))
{
	char folder[PATH_MAX - 300], device[PATH_MAX];
	struct dirent **entries = NULL;
	int count;

	(void)snprintf(folder, sizeof(folder), "%s/class/%s", look->sysfs,
		       name);
	count = scandir(folder, &entries, is_entry, versionsort);
	for (int i = 0; i < count; i++) {
		struct relayprobe_found found = {.warning = ""};
		char id[16];

		(void)snprintf(device, sizeof(device), "%s/%s/device", folder,
			       entries[i]->d_name);
		(void)snprintf(found.device, sizeof(found.device),
			       "/dev/%.200s", entries[i]->d_name);
		if (take_usb(device, &found, id) && know(id, &found))
			look->tell(look->context, &found);
		free(entries[i]);
	}
	free(entries);
}

int relayprobe_look(const char *sysfs,
		    void (*tell)(void *context,
				 const struct relayprobe_found *found),
		    void *context, struct err *err)
{
	const struct look look = {sysfs, tell, context};

	if (access(sysfs, R_OK | X_OK) == -1)
		return err_sys(err, errno, "cannot look into %s", sysfs);
	look_at_class(&look, "tty", know_tty);
	look_at_class(&look, "hidraw", know_hidraw);
	return 0;
}
