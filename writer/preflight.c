/* SPDX-License-Identifier: MIT */
#include "writer/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/target/elision.h"
#include "common/target/identity.h"
#include "common/target/target.h"

#define NOTED_LAYERS_MAX 8 /* in the log */

/* ---- looking ---- */

/* The node must be of this very device: names move. */
static int open_node(const struct queuefacts *queue, char *why)
{
	char path[64] = "/dev/";
	struct stat status;
	int fd;

	(void)snprintf(path, sizeof(path), "/dev/%s", queue->name);
	for (char *at = path; (at = strchr(at, '!')) != NULL;)
		*at = '/';
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1) {
		(void)snprintf(why, FLUSHWAY_TEXT_BYTES, "cannot open %s: %s",
			       path, strerror(errno));
		return -1;
	}
	if (fstat(fd, &status) == 0 && S_ISBLK(status.st_mode) &&
	    status.st_rdev == makedev(queue->major, queue->minor))
		return fd;
	(void)close(fd); /* nothing was written */
	(void)snprintf(why, FLUSHWAY_TEXT_BYTES, "%s is another device", path);
	return -1;
}

static void ask_drive(struct flushway_layer *layer)
{
	struct err err;
	int fd = open_node(&layer->queue, layer->why);

	if (fd == -1)
		return;
	if (drivefacts_ask(fd, PREFLIGHT_TIMEOUT_MS, &layer->drive, &err) ==
	    -1) {
		memset(&layer->drive, 0, sizeof(layer->drive));
		(void)snprintf(layer->why, sizeof(layer->why), "%.*s",
			       (int)strcspn(err.text, "\n"), err.text);
	} else if (layer->drive.kind == DRIVEFACTS_NONE) {
		(void)snprintf(layer->why, sizeof(layer->why),
			       "it takes no commands of drives");
	}
	(void)close(fd); /* nothing was written */
}

/* A hidden path, nvme1c0n2, is the drive that nvme1n2 is. */
static void take_from_head(const struct preflight *preflight,
			   struct flushway_layer *layer)
{
	char head[QUEUEFACTS_TEXT_BYTES], rest;
	unsigned int at[3];

	if (sscanf(layer->queue.name, "nvme%9uc%9un%9u%c", &at[0], &at[1],
		   &at[2], &rest) != 3)
		return;
	(void)snprintf(head, sizeof(head), "nvme%un%u", at[0], at[2]);
	for (size_t i = 0; i < preflight->count; i++) {
		if (strcmp(preflight->layers[i].queue.name, head) == 0)
			layer->drive = preflight->layers[i].drive;
	}
}

static void ask_drives(struct preflight *preflight)
{
	unsigned int asked = 0;

	for (size_t i = 0; i < preflight->count; i++) {
		struct flushway_layer *layer = &preflight->layers[i];

		if (!layer->queue.is_bottom || layer->queue.is_hidden_path)
			continue;
		if (asked++ < PREFLIGHT_ASKED_MAX)
			ask_drive(layer);
		else
			(void)snprintf(layer->why, sizeof(layer->why),
				       "only %d drives are asked",
				       PREFLIGHT_ASKED_MAX);
	}
	for (size_t i = 0; i < preflight->count; i++) {
		if (preflight->layers[i].queue.is_hidden_path)
			take_from_head(preflight, &preflight->layers[i]);
	}
}

static void read_block(const struct queuefacts *queue, struct blockfacts *block)
{
	struct identity identity;

	if (identity_read("/sys", queue->major, queue->minor, &identity) == 0)
		blockfacts_read(&identity, block);
}

/* By the name that the file had when it was attached; what is not found there
 * any more is taken for the worse. */
static void look_at_loop(struct preflight *preflight, const char *disk,
			 bool is_bottom)
{
	struct mountfacts mount = {0};
	char path[MOUNTFACTS_TEXT_BYTES];

	preflight->has_loop = true;
	if (is_bottom) /* nothing is counted below it */
		return;
	if (identity_read_text(disk, "loop/backing_file", path, sizeof(path)))
		mountfacts_read(path, &mount);
	preflight->has_lazy_loop =
		preflight->has_lazy_loop || !mount.flushes_always;
}

static int look_at_stack(struct preflight *preflight, struct err *err)
{
	struct stack *stack = elision_walk(preflight->target);
	size_t count = stack == NULL ? 0 : stack_count(stack);

	if (!target_info(preflight->target)->is_nbd && stack == NULL)
		return err_sys(err, ENOMEM, "cannot look at %s",
			       target_name(preflight->target));
	/* One more: a count of 0 is no lack of memory. */
	preflight->layers = calloc(count + 1, sizeof(*preflight->layers));
	preflight->blocks = calloc(count + 1, sizeof(*preflight->blocks));
	if (preflight->layers == NULL || preflight->blocks == NULL) {
		stack_close(stack);
		return err_sys(err, ENOMEM, "cannot look at %s",
			       target_name(preflight->target));
	}
	for (size_t i = 0; i < count; i++) {
		queuefacts_read(stack_disk(stack, (unsigned int)i),
				&preflight->layers[i].queue);
		read_block(&preflight->layers[i].queue, &preflight->blocks[i]);
		if (preflight->layers[i].queue.is_loop)
			look_at_loop(preflight,
				     stack_disk(stack, (unsigned int)i),
				     stack_is_bottom(stack, (unsigned int)i));
	}
	preflight->count = count;
	if (stack != NULL)
		(void)snprintf(preflight->unknown, sizeof(preflight->unknown),
			       "%s", stack_unknown(stack));
	stack_close(stack);
	return 0;
}

static void decide(struct preflight *preflight)
{
	const struct target_info *info = target_info(preflight->target);
	const struct flushway_input input = {
		.layers = preflight->layers,
		.count = preflight->count,
		.mount = &preflight->mount,
		.unknown = preflight->unknown,
		.is_block_device = info->is_block_device,
		.is_native = preflight->is_native,
		.is_nbd = info->is_nbd,
		.has_flush = info->has_flush,
	};

	flushway_decide(&input, &preflight->way);
}

int preflight_look(struct preflight *preflight, const struct target *target,
		   bool is_native, struct err *err)
{
	const struct target_info *info = target_info(target);
	const struct queuefacts *top;

	memset(preflight, 0, sizeof(*preflight));
	preflight->target = target;
	preflight->is_native = is_native;
	if (look_at_stack(preflight, err) < 0)
		return -1;
	ask_drives(preflight);
	if (!info->is_nbd && !info->is_block_device)
		mountfacts_read(target_name(target), &preflight->mount);
	if (preflight->count > 0) {
		top = &preflight->layers[0].queue;
		lineage_tell("/sys", makedev(top->major, top->minor),
			     preflight->lineage, sizeof(preflight->lineage));
	}
	decide(preflight);
	return 0;
}

void preflight_free(struct preflight *preflight)
{
	free(preflight->layers);
	free(preflight->blocks);
	memset(preflight, 0, sizeof(*preflight));
}

bool preflight_must_arrive(const struct preflight *preflight)
{
	return !preflight->has_lazy_loop &&
	       (target_info(preflight->target)->is_block_device ||
		preflight->mount.flushes_always);
}

/* ---- telling ---- */

void preflight_tell(const struct preflight *preflight, char *text, size_t room)
{
	(void)snprintf(text, room, "would a flush reach %.80s? %s: %s",
		       target_name(preflight->target),
		       flushway_answer_name(preflight->way.answer),
		       preflight->way.text);
}

static void tell_drive(const struct flushway_layer *layer, char *text,
		       size_t room)
{
	const struct drivefacts *drive = &layer->drive;

	if (!layer->queue.is_bottom)
		text[0] = '\0';
	else if (drive->kind == DRIVEFACTS_NONE)
		(void)snprintf(text, room, "; the drive was not asked (%.120s)",
			       layer->why);
	else
		(void)snprintf(text, room,
			       "; the %s drive says: volatile cache %s, in use "
			       "%s, FUA %s",
			       drivefacts_kind_name(drive->kind),
			       drivefacts_answer_name(drive->has_cache),
			       drivefacts_answer_name(drive->is_cache_on),
			       drivefacts_answer_name(drive->has_fua));
}

void preflight_tell_layer(const struct preflight *preflight, size_t i,
			  char *text, size_t room)
{
	const struct flushway_layer *layer = &preflight->layers[i];
	const struct queuefacts *queue = &layer->queue;
	char drive[FLUSHWAY_TEXT_BYTES];

	tell_drive(layer, drive, sizeof(drive));
	(void)snprintf(text, room,
		       "%s: write_cache \"%s\", fua %d, scheduler %s, "
		       "max_sectors_kb %" PRIu64 "%s",
		       queue->name, queuefacts_cache_name(queue->cache),
		       queue->has_fua,
		       queue->scheduler[0] == '\0' ? "none" : queue->scheduler,
		       queue->max_sectors_kb, drive);
}

/* What the kernel does with this drive otherwise than the drive could. */
static bool warns_of(const struct flushway_layer *layer, unsigned int kind,
		     char *text, size_t room)
{
	const struct queuefacts *queue = &layer->queue;
	const struct drivefacts *drive = &layer->drive;

	if (kind == 0 && drive->kind == DRIVEFACTS_ATA &&
	    drive->has_fua == DRIVEFACTS_YES && !queue->has_fua)
		(void)snprintf(text, room,
			       "%s takes FUA writes, but libata is not to send "
			       "them (libata.fua=0): a FUA write becomes a "
			       "write and a flush",
			       queue->name);
	else if (kind == 1 && drive->is_bridge)
		(void)snprintf(text, room,
			       "%s is a bridge with an ATA drive behind it: a "
			       "verdict is about both",
			       queue->name);
	else if (kind == 2 && drive->kind == DRIVEFACTS_SCSI &&
		 drive->is_cache_on == DRIVEFACTS_UNKNOWN)
		(void)snprintf(text, room,
			       "%s shows no caching mode page, so that the "
			       "system guesses what its cache is",
			       queue->name);
	else
		return false;
	return true;
}

bool preflight_warning(const struct preflight *preflight, unsigned int i,
		       char *text, size_t room)
{
	for (size_t at = 0; at < preflight->count; at++)
		for (unsigned int kind = 0; kind < 3; kind++)
			if (warns_of(&preflight->layers[at], kind, text,
				     room) &&
			    i-- == 0)
				return true;
	return false;
}

/* The first, then the warnings, then the layers, then the file system. */
bool preflight_note(const struct preflight *preflight, unsigned int i,
		    char *text, size_t room)
{
	const struct mountfacts *mount = &preflight->mount;
	size_t layers = preflight->count < NOTED_LAYERS_MAX ? preflight->count
							    : NOTED_LAYERS_MAX;
	unsigned int warnings = 0;
	char more[FLUSHWAY_TEXT_BYTES];

	while (preflight_warning(preflight, warnings, more, sizeof(more)))
		warnings++;
	if (i == 0) {
		preflight_tell(preflight, text, room);
	} else if (i - 1 < warnings) {
		(void)preflight_warning(preflight, i - 1, more, sizeof(more));
		(void)snprintf(text, room, "warning: %s", more);
	} else if (i - 1 - warnings < layers) {
		preflight_tell_layer(preflight, i - 1 - warnings, text, room);
	} else if (i - 1 - warnings == layers && mount->is_known) {
		(void)snprintf(text, room, "%s on %.100s: %.100s", mount->type,
			       mount->point, mount->options);
	} else {
		return false;
	}
	return true;
}
