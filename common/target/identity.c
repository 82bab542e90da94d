/* SPDX-License-Identifier: MIT */
#include "common/target/identity.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define VPD_HEADER_BYTES 4
#define USB_LEVELS_MAX   12 /* from a SCSI disk up to its bridge */
#define FSID_DIGITS      16
#define UUID_DIGITS      32

void identity_clean(const char *from, size_t count, char *to, size_t room)
{
	size_t used = 0;
	bool is_gap = false;

	for (size_t i = 0; i < count && used + 2 < room; i++) {
		if (from[i] > ' ' && from[i] <= '~') {
			if (is_gap && used > 0)
				to[used++] = ' ';
			is_gap = false;
			to[used++] = from[i];
		} else if (from[i] == '\0') {
			break;
		} else {
			is_gap = true;
		}
	}
	to[used] = '\0';
}

/* Bytes of FOLDER/NAME, -1 where it cannot be read. */
static ssize_t read_raw(const char *folder, const char *name, char *to,
			size_t room)
{
	char path[PATH_MAX];
	ssize_t count;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    (int)sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	count = read(fd, to, room);
	(void)close(fd); /* nothing was written */
	return count;
}

bool identity_read_text(const char *folder, const char *name, char *to,
			size_t room)
{
	char raw[1024];
	ssize_t count = read_raw(folder, name, raw, sizeof(raw));

	to[0] = '\0';
	if (count > 0)
		identity_clean(raw, (size_t)count, to, room);
	return to[0] != '\0';
}

static void append(char *text, const char *part)
{
	size_t used = strlen(text);

	if (part[0] == '\0')
		return;
	/* What is too long is cut off. */
	if (snprintf(text + used, IDENTITY_TEXT_BYTES - used, "%s%s",
		     used > 0 ? " " : "", part) < 0)
		text[used] = '\0';
}

/*
 * usb-storage does not ask for page 80h, since many bridges break on it, but
 * the bridge has a serial number in its USB descriptor (iSerialNumber, USB 2.0
 * section 9.6.1). The drives behind one bridge differ by their LUN only.
 */
static void read_usb_serial(const char *disk, char *serial)
{
	char folder[PATH_MAX], value[IDENTITY_TEXT_BYTES - 16], path[PATH_MAX];
	const char *lun;
	char *slash;

	if (snprintf(path, sizeof(path), "%s/device", disk) >=
		    (int)sizeof(path) ||
	    realpath(path, folder) == NULL)
		return;
	lun = strrchr(folder, ':');
	lun = lun == NULL ? "0" : lun + 1;
	(void)snprintf(path, sizeof(path), "%s", lun);
	for (unsigned int i = 0; i < USB_LEVELS_MAX; i++) {
		if (identity_read_text(folder, "idVendor", value,
				       sizeof(value)) &&
		    identity_read_text(folder, "serial", value, sizeof(value)))
			break;
		value[0] = '\0';
		slash = strrchr(folder, '/');
		if (slash == NULL || slash == folder)
			return;
		*slash = '\0';
	}
	if (value[0] == '\0')
		return;
	(void)snprintf(serial, IDENTITY_TEXT_BYTES, "%s%s%.10s", value,
		       strcmp(path, "0") == 0 ? "" : " lun",
		       strcmp(path, "0") == 0 ? "" : path);
}

/* SCSI keeps the serial number in binary page 80h, others as text. */
static void read_serial(const char *disk, char *serial)
{
	char page[260];
	ssize_t count;

	if (identity_read_text(disk, "device/serial", serial,
			       IDENTITY_TEXT_BYTES) ||
	    identity_read_text(disk, "serial", serial, IDENTITY_TEXT_BYTES))
		return;
	count = read_raw(disk, "device/vpd_pg80", page, sizeof(page));
	if (count > VPD_HEADER_BYTES)
		identity_clean(page + VPD_HEADER_BYTES,
			       (size_t)count - VPD_HEADER_BYTES, serial,
			       IDENTITY_TEXT_BYTES);
}

static void read_hardware(const char *disk, struct identity *identity)
{
	static const char *const names[] = {"device/vendor", "device/model",
					    "device/name"};
	char part[IDENTITY_TEXT_BYTES];
	char name[IDENTITY_TEXT_BYTES] = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (identity_read_text(disk, names[i], part, sizeof(part)))
			append(name, part);
	}
	read_serial(disk, identity->serial);
	if (!identity_read_text(disk, "wwid", part, sizeof(part)))
		(void)identity_read_text(disk, "device/wwid", part,
					 sizeof(part)); /* "" will do */
	if (identity->serial[0] == '\0')
		(void)snprintf(identity->serial, sizeof(identity->serial), "%s",
			       part);
	if (identity->serial[0] == '\0')
		read_usb_serial(disk, identity->serial);
	if (identity->serial[0] == '\0')
		return; /* a model alone does not tell two drives apart */
	append(identity->text, name);
	append(identity->text, identity->serial);
	if (strcmp(identity->serial, part) != 0)
		append(identity->text, part);
}

static void read_loop(const char *disk, struct identity *identity)
{
	char file[IDENTITY_TEXT_BYTES - 8];
	char offset[32];

	if (!identity_read_text(disk, "loop/backing_file", file, sizeof(file)))
		return;
	(void)snprintf(identity->text, sizeof(identity->text), "loop:%s", file);
	if (identity_read_text(disk, "loop/offset", offset, sizeof(offset)) &&
	    strcmp(offset, "0") != 0) {
		append(identity->text, "from byte");
		append(identity->text, offset);
	}
}

/* Software layers know themselves by a uuid. */
static bool read_layer(const char *disk, struct identity *identity)
{
	static const char *const rows[][2] = {
		{"dm:", "dm/uuid"}, {"dm:", "dm/name"}, {"md:", "md/uuid"}};
	char value[IDENTITY_TEXT_BYTES - 8];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!identity_read_text(disk, rows[i][1], value, sizeof(value)))
			continue;
		(void)snprintf(identity->text, sizeof(identity->text), "%s%s",
			       rows[i][0], value);
		(void)snprintf(identity->serial, sizeof(identity->serial), "%s",
			       value);
		return true;
	}
	return false;
}

static void add_partition(struct identity *identity)
{
	char number[16];
	char tail[32];
	size_t used;

	if (!identity_read_text(identity->node, "partition", number,
				sizeof(number)))
		return;
	(void)snprintf(tail, sizeof(tail), ":part%s", number);
	used = strlen(identity->text);
	if (used > 0)
		(void)snprintf(identity->text + used,
			       sizeof(identity->text) - used, "%s", tail);
	used = strlen(identity->serial);
	if (used > 0)
		(void)snprintf(identity->serial + used,
			       sizeof(identity->serial) - used, "%s", tail);
}

int identity_read(const char *sysfs, unsigned int major, unsigned int minor,
		  struct identity *identity)
{
	char path[PATH_MAX];
	char value[32];
	char *slash;

	memset(identity, 0, sizeof(*identity));
	(void)snprintf(path, sizeof(path), "%s/dev/block/%u:%u", sysfs, major,
		       minor);
	if (realpath(path, identity->node) == NULL)
		return -1;
	memcpy(identity->disk, identity->node, sizeof(identity->disk));
	identity->is_partition = identity_read_text(identity->node, "partition",
						    value, sizeof(value));
	slash = strrchr(identity->disk, '/');
	if (identity->is_partition && slash != NULL)
		*slash = '\0';

	if (!read_layer(identity->disk, identity))
		read_hardware(identity->disk, identity);
	if (identity->text[0] == '\0')
		read_loop(identity->disk, identity);
	add_partition(identity);
	return 0;
}

/* "file:", DIGITS hexadecimal digits, ":" and an inode: that, else NULL. */
static const char *file_inode(const char *text, size_t digits)
{
	if (strncmp(text, "file:", 5) != 0)
		return NULL;
	text += 5;
	if (strspn(text, "0123456789abcdef") != digits || text[digits] != ':')
		return NULL;
	return text + digits;
}

/* THEN is of a version that took a device's number for the file system's: its
 * upper half is 0. */
static bool is_former(const char *then, const char *now)
{
	const char *old_inode = file_inode(then, FSID_DIGITS);
	const char *inode = file_inode(now, UUID_DIGITS);

	return old_inode != NULL && inode != NULL &&
	       strncmp(old_inode - FSID_DIGITS / 2, "00000000",
		       FSID_DIGITS / 2) == 0 &&
	       strcmp(old_inode, inode) == 0;
}

enum identity_match identity_compare(const char *then, const char *now)
{
	if (then[0] == '\0' || now[0] == '\0')
		return IDENTITY_UNKNOWN;
	if (strcmp(then, now) == 0)
		return IDENTITY_SAME;
	return is_former(then, now) ? IDENTITY_UNKNOWN : IDENTITY_OTHER;
}

bool identity_is_telling(const char *serial)
{
	static const char *const ends[] = {":part", " lun"};
	static const char series[] = "0123456789ABCDEF";
	size_t length = strlen(serial);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *end = strstr(serial, ends[i]);

		if (end != NULL && (size_t)(end - serial) < length)
			length = (size_t)(end - serial);
	}
	if (length == 0 || strspn(serial, (char[]){serial[0], '\0'}) >= length)
		return false;
	return length < 4 || length > strlen(series) ||
	       (strncasecmp(serial, series, length) != 0 &&
		strncasecmp(serial, series + 1, length) != 0);
}
