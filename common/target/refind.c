/* SPDX-License-Identifier: MIT */
#include "common/target/refind.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/base/err.h"
#include "common/target/identity.h"
#include "common/target/inventory.h"
#include "common/target/target_ops.h"

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ _IOR(0x12, 128, uint64_t)
#endif

#define SYSFS      "/sys"
#define ID_PREFIX  "id:"
#define NAMES_ROOM 160
#define NOTE_ROOM  512

static void note(const struct refind_request *request, const char *text)
{
	if (request->note != NULL)
		request->note(text);
}

static const char *sysfs_of(const struct refind_request *request)
{
	return request->sysfs == NULL ? SYSFS : request->sysfs;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* In /dev a missing name is a missing drive. */
static bool is_device_name(const char *name)
{
	return has_prefix(name, "/dev/") && !has_prefix(name, "/dev/shm/");
}

/* Files and NBD exports are where their names lead, or nowhere. */
static bool is_device_identity(const char *identity)
{
	return identity[0] != '\0' && !has_prefix(identity, "file:") &&
	       !has_prefix(identity, "nbd:");
}

/* A WWN that NVMe and SCSI make up from the serial number adds nothing to it.
 */
static bool is_telling(const struct inventory_device *device)
{
	const char *wwn = device->facts.wwn;

	if (!is_device_identity(device->identity.text))
		return false;
	if (has_prefix(device->identity.text, "loop:"))
		return true;
	if (wwn[0] != '\0' && !has_prefix(wwn, "nvme.") &&
	    !has_prefix(wwn, "t10."))
		return true;
	return identity_is_telling(device->identity.serial);
}

static void read_found(const struct inventory_device *device,
		       struct refind *where)
{
	(void)snprintf(where->path, sizeof(where->path), "%s", device->path);
	(void)snprintf(where->identity, sizeof(where->identity), "%s",
		       device->identity.text);
}

/* The sentence about MATCHES, which are not the one drive that is meant. */
static void tell_matches(const struct inventory_matches *matches,
			 const char *identity, char *text, size_t room)
{
	char names[NAMES_ROOM];

	inventory_tell(matches, names, sizeof(names));
	if (matches->count == 0)
		(void)snprintf(text, room,
			       "no drive with the identity '%.120s' is here",
			       identity);
	else if (matches->count > 1)
		(void)snprintf(text, room,
			       "%zu drives have the identity '%.120s': "
			       "%.100s; none is taken",
			       matches->count, identity, names);
	else
		(void)snprintf(text, room,
			       "%.60s has the identity '%.120s', but others "
			       "may have it, too; it is not taken",
			       names, identity);
}

/* Looks for the one device with the run's identity. DEVICE is room to work. */
static void find_again(const struct refind_request *request,
		       struct inventory_device *device, struct refind *where)
{
	struct inventory_matches matches;
	char text[NOTE_ROOM];
	struct err err;

	if (inventory_find(sysfs_of(request), request->identity, &matches,
			   &err) == -1) {
		(void)snprintf(where->why, sizeof(where->why), "%.300s",
			       err.text);
		return;
	}
	if (matches.count != 1 ||
	    inventory_read(sysfs_of(request), &matches.names[0], device) ==
		    -1 ||
	    !is_telling(device)) {
		tell_matches(&matches, request->identity, where->why,
			     sizeof(where->why));
		if (where->identity[0] != '\0') /* it is another drive's */
			note(request, where->why);
		return;
	}
	read_found(device, where);
	where->is_elsewhere = true;
	(void)snprintf(text, sizeof(text), "%.200s is %.80s now", request->name,
		       where->path);
	note(request, text);
}

/* The device at WHERE has the identity that is wanted: has it alone? */
static void look_for_twins(const struct refind_request *request,
			   struct inventory_device *device,
			   struct refind *where)
{
	struct inventory_matches matches;
	char names[NAMES_ROOM], text[NOTE_ROOM];
	struct err ignored; /* without sysfs there is no identity, either */

	if (!is_device_identity(where->identity) ||
	    inventory_find(sysfs_of(request), where->identity, &matches,
			   &ignored) == -1 ||
	    matches.count == 0)
		return;
	where->is_shared = matches.count > 1 ||
			   inventory_read(sysfs_of(request), &matches.names[0],
					  device) == -1 ||
			   !is_telling(device);
	if (matches.count < 2)
		return;
	inventory_tell(&matches, names, sizeof(names));
	(void)snprintf(text, sizeof(text),
		       "%zu drives have the identity '%.120s': %.100s; only "
		       "their labels tell them apart",
		       matches.count, where->identity, names);
	note(request, text);
}

static int find_by_text(const struct refind_request *request,
			struct inventory_device *device, struct refind *where,
			struct err *err)
{
	const char *wanted = request->name + strlen(ID_PREFIX);
	struct inventory_matches matches;
	char names[NAMES_ROOM];

	memset(&matches, 0, sizeof(matches));
	if (wanted[0] != '\0' &&
	    inventory_search(sysfs_of(request), wanted, &matches, err) == -1)
		return err_prefix(err, "cannot open %.100s", request->name);
	inventory_tell(&matches, names, sizeof(names));
	if (matches.count > 1)
		return err_set(err,
			       "cannot open %.200s: it names %zu drives, not "
			       "one: %.100s\nhint: take their names in "
			       "/dev/disk/by-path",
			       request->name, matches.count, names);
	if (matches.count == 0 ||
	    inventory_read(sysfs_of(request), &matches.names[0], device) == -1)
		return err_sys(err, ENODEV,
			       "cannot open %.200s: no drive here has this "
			       "serial number, WWN or identity",
			       request->name);
	read_found(device, where);
	where->is_elsewhere = true;
	return 0;
}

/* Where NAME leads: a block device with its identity, or something else. */
static bool follow_name(const char *sysfs, const char *name,
			struct identity *identity, struct refind *where)
{
	struct stat status;

	if (strstr(name, "://") != NULL)
		return false;
	if (stat(name, &status) == -1)
		return is_device_name(name);
	if (!S_ISBLK(status.st_mode))
		return false;
	if (identity_read(sysfs, major(status.st_rdev), minor(status.st_rdev),
			  identity) == 0)
		(void)snprintf(where->identity, sizeof(where->identity), "%s",
			       identity->text);
	return true;
}

int refind_resolve(const struct refind_request *request, struct refind *where,
		   struct err *err)
{
	struct inventory_device *device = calloc(1, sizeof(*device));
	bool is_right;
	int result = 0;

	memset(where, 0, sizeof(*where));
	if (device == NULL)
		return err_sys(err, ENOMEM, "cannot open %.200s",
			       request->name);
	(void)snprintf(where->path, sizeof(where->path), "%s", request->name);
	if (strncmp(request->name, ID_PREFIX, strlen(ID_PREFIX)) == 0)
		result = find_by_text(request, device, where, err);
	else if (!follow_name(sysfs_of(request), request->name,
			      &device->identity, where))
		goto out;
	is_right = identity_compare(request->identity, where->identity) !=
			   IDENTITY_OTHER &&
		   (where->identity[0] != '\0' || request->identity[0] == '\0');
	if (result == 0 && !where->is_elsewhere && !is_right &&
	    is_device_identity(request->identity))
		find_again(request, device, where);
	else if (result == 0)
		look_for_twins(request, device, where);
out:
	free(device);
	return result;
}

/* True where the number cannot be told (Linux before 5.15), since a device
 * number stays with a disk as long as it is open. */
static bool is_listed(const struct target *target)
{
	struct identity identity;
	struct stat status;
	uint64_t opened = 0;
	char listed[32];

	if (fstat(target->fd, &status) == -1)
		return false;
	if (identity_read(SYSFS, major(status.st_rdev), minor(status.st_rdev),
			  &identity) == -1)
		return target->info.identity[0] == '\0';
	if (strcmp(identity.text, target->info.identity) != 0)
		return false;
	if (ioctl(target->fd, BLKGETDISKSEQ, &opened) == -1 ||
	    !identity_read_text(identity.disk, "diskseq", listed,
				sizeof(listed)))
		return true;
	return strtoull(listed, NULL, 10) == opened;
}

int refind_confirm(const struct refind *where, const struct target *target,
		   struct err *err)
{
	if (target->fd == -1 || !target->info.is_block_device)
		return where->is_elsewhere
			       ? err_set(err,
					 "cannot use %s: it is no block device",
					 where->path)
			       : 0;
	if (strcmp(where->identity, target->info.identity) == 0 &&
	    is_listed(target))
		return 0;
	return err_set(err,
		       "cannot use %s: it became another drive while it was "
		       "opened\nhint: try again",
		       where->path);
}

void refind_explain(const struct refind *where, const char *name,
		    struct err *err)
{
	if (where->is_elsewhere)
		(void)err_prefix(err, "cannot open %.100s", name);
	else if (where->why[0] != '\0')
		(void)err_hint(err, "%s", where->why);
}

struct target *refind_open(const struct refind_request *request,
			   enum target_mode mode, struct refind *where,
			   struct err *err)
{
	struct target *target;

	if (refind_resolve(request, where, err) == -1)
		return NULL;
	target = target_open(where->path, mode, err);
	if (target != NULL && refind_confirm(where, target, err) == 0)
		return target;
	target_close(target);
	refind_explain(where, request->name, err);
	return NULL;
}
