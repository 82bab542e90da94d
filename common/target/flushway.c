/* SPDX-License-Identifier: MIT */
#include "common/target/flushway.h"

#include <stdio.h>
#include <string.h>

/*
 * Drivers that answer SYNCHRONIZE CACHE, or the question for the cache, in the
 * place of the drive (drivers/scsi: pmcraid.c, myrb.c, aacraid/aachba.c,
 * megaraid/megaraid_sas_base.c of Linux 6.12). pmcraid's driver is called
 * otherwise than its module.
 */
static const struct {
	const char *name;
	bool swallows; /* always */
	bool may;      /* for its logical drives, as its firmware is */
	bool vouches;  /* MODE SENSE has the driver's own answer */
} drivers[] = {
	{"pmcraid", true, false, true},  {"PMC MaxRAID", true, false, true},
	{"myrb", true, false, true},     {"megaraid_sas", false, true, true},
	{"aacraid", false, false, true},
};

#define LOGICAL_CHANNEL 2 /* megaraid_sas: MEGASAS_MAX_PD_CHANNELS */

#define DRIVERS (sizeof(drivers) / sizeof(drivers[0]))

static size_t driver_of(const struct flushway_layer *layer)
{
	size_t i = 0;

	while (i < DRIVERS && strcmp(layer->queue.driver, drivers[i].name) != 0)
		i++;
	return i;
}

/* Its own word: a completed write is durable. */
static bool is_cacheless(const struct flushway_layer *layer)
{
	size_t driver = driver_of(layer);

	if (driver < DRIVERS && drivers[driver].vouches)
		return false;
	return layer->queue.is_bottom && layer->drive.kind != DRIVEFACTS_NONE &&
	       (layer->drive.has_cache == DRIVEFACTS_NO ||
		layer->drive.is_cache_on == DRIVEFACTS_NO);
}

static bool are_drives_cacheless(const struct flushway_input *input)
{
	for (size_t i = 0; i < input->count; i++) {
		if (input->layers[i].queue.is_bottom &&
		    !is_cacheless(&input->layers[i]))
			return false;
	}
	return true;
}

/* Device mapper and md say what their members say, and hold nothing back
 * themselves; a loop device has a file system below it. */
static bool may_elide(const struct flushway_input *input,
		      const struct flushway_layer *layer)
{
	if (layer->queue.is_bottom)
		return is_cacheless(layer);
	return !layer->queue.is_loop && input->unknown[0] == '\0' &&
	       are_drives_cacheless(input);
}

static void tell_remedy(const struct queuefacts *queue, char *remedy)
{
	(void)snprintf(remedy, FLUSHWAY_TEXT_BYTES,
		       "if it has one: echo 'write back' "
		       ">/sys/block/%s/queue/write_cache; where that changes "
		       "nothing, a SCSI drive takes 'temporary write back' in "
		       "/sys/block/%s/device/scsi_disk/*/cache_type, or "
		       "--engine native",
		       queue->name, queue->name);
}

static void refuse_elision(const struct flushway_layer *layer,
			   struct flushway *way)
{
	const struct queuefacts *queue = &layer->queue;
	size_t driver = driver_of(layer);
	char more[FLUSHWAY_TEXT_BYTES / 2];

	way->answer = FLUSHWAY_NO;
	if (driver < DRIVERS && drivers[driver].vouches)
		(void)snprintf(more, sizeof(more),
			       "its driver %s speaks in the drive's place",
			       queue->driver);
	else if (layer->drive.is_cache_on == DRIVEFACTS_YES)
		(void)snprintf(more, sizeof(more),
			       "the drive says that it has one, in use");
	else if (layer->drive.kind != DRIVEFACTS_NONE)
		(void)snprintf(more, sizeof(more),
			       "the drive does not say whether it has one");
	else if (queue->is_bottom)
		(void)snprintf(more, sizeof(more),
			       "the drive cannot be asked%s%.120s",
			       layer->why[0] == '\0' ? "" : ": ", layer->why);
	else
		(void)snprintf(more, sizeof(more),
			       "what lies below it was not asked for it");
	(void)snprintf(way->text, sizeof(way->text),
		       "the system believes that %s has no volatile cache, "
		       "and completes flushes itself; %s",
		       queue->name, more);
	tell_remedy(queue, way->remedy);
}

/* It is a plain drive behind an adapter that has logical ones, too. */
static bool is_physical(const struct flushway_layer *layer)
{
	return layer->queue.channel >= 0 &&
	       layer->queue.channel < LOGICAL_CHANNEL;
}

/* True where some driver completes flushes, or may: which one it was nobody
 * would know afterwards. */
static bool decide_driver(const struct flushway_input *input,
			  struct flushway *way)
{
	for (size_t i = 0; i < input->count; i++) {
		const struct flushway_layer *layer = &input->layers[i];
		size_t driver = driver_of(layer);

		if (driver == DRIVERS ||
		    (!drivers[driver].swallows &&
		     (!drivers[driver].may || is_physical(layer))))
			continue;
		way->answer = FLUSHWAY_NO;
		(void)snprintf(
			way->text, sizeof(way->text), "%s hangs on %s, %s",
			layer->queue.name, layer->queue.driver,
			drivers[driver].swallows
				? "whose driver completes every flush itself"
				: "which completes the flushes of its logical "
				  "drives itself unless its firmware takes "
				  "them");
		(void)snprintf(
			way->remedy, sizeof(way->remedy), "%s",
			drivers[driver].swallows
				? "test the drive on a plain host adapter"
				: "let the adapter pass the drive through "
				  "(JBOD), or test it on a plain host adapter");
		return true;
	}
	return false;
}

static bool decide_mount(const struct flushway_input *input,
			 struct flushway *way)
{
	const struct mountfacts *mount = input->mount;

	if (mount == NULL || !mount->is_barrierless)
		return false;
	way->answer = FLUSHWAY_NO;
	(void)snprintf(way->text, sizeof(way->text),
		       "%s on %.200s is mounted without barriers, and sends no "
		       "flush",
		       mount->type, mount->point);
	(void)snprintf(way->remedy, sizeof(way->remedy),
		       "mount -o remount,barrier %.200s", mount->point);
	return true;
}

/* A bridge that calls SYNCHRONIZE CACHE illegal: the kernel reports success. */
static bool takes_no_flush(const struct flushway_layer *layer)
{
	return layer->drive.kind != DRIVEFACTS_NONE &&
	       layer->drive.has_flush == DRIVEFACTS_NO && !is_cacheless(layer);
}

/* True where some queue keeps a FLUSH to itself. */
static bool decide_queues(const struct flushway_input *input,
			  struct flushway *way)
{
	const struct flushway_layer *told = NULL;

	for (size_t i = 0; i < input->count; i++) {
		const struct flushway_layer *layer = &input->layers[i];

		if (takes_no_flush(layer)) {
			way->answer = FLUSHWAY_NO;
			(void)snprintf(way->text, sizeof(way->text),
				       "%s calls SYNCHRONIZE CACHE an unknown "
				       "command",
				       layer->queue.name);
			(void)snprintf(way->remedy, sizeof(way->remedy),
				       "attach the drive without this bridge");
			return true;
		}
		if (layer->queue.cache != QUEUEFACTS_THROUGH)
			continue;
		if (!may_elide(input, layer)) {
			refuse_elision(layer, way);
			return true;
		}
		if (told == NULL || layer->queue.is_bottom)
			told = layer;
	}
	if (told == NULL)
		return false;
	way->answer = FLUSHWAY_NOT_NEEDED;
	(void)snprintf(way->text, sizeof(way->text),
		       "by its own word %s %s: a completed write is durable; "
		       "flushes are not sent",
		       told->queue.name,
		       told->drive.has_cache == DRIVEFACTS_NO
			       ? "has no volatile cache"
			       : "has its volatile cache switched off");
	return true;
}

static void decide_nbd(const struct flushway_input *input, struct flushway *way)
{
	way->answer = input->has_flush ? FLUSHWAY_UNKNOWN : FLUSHWAY_NO;
	(void)snprintf(way->text, sizeof(way->text),
		       input->has_flush
			       ? "the server is sent every flush; what it does "
				 "with them cannot be seen"
			       : "its server takes none");
}

static void decide_rest(const struct flushway_input *input,
			struct flushway *way)
{
	if (input->is_block_device && input->count > 0 &&
	    input->layers[0].queue.cache == QUEUEFACTS_SILENT) {
		way->answer = FLUSHWAY_NO;
		(void)snprintf(way->text, sizeof(way->text),
			       "its queue/write_cache does not say \"write "
			       "back\"");
		(void)snprintf(way->remedy, sizeof(way->remedy),
			       "see queue/write_cache of the device");
	} else if (input->unknown[0] != '\0' || input->count == 0) {
		way->answer = FLUSHWAY_UNKNOWN;
		(void)snprintf(way->text, sizeof(way->text),
			       "whether it gets through below cannot be asked: "
			       "%.200s",
			       input->unknown[0] == '\0' ? "there is no sysfs"
							 : input->unknown);
	} else {
		way->answer = FLUSHWAY_YES;
		(void)snprintf(way->text, sizeof(way->text),
			       "every queue on the way says \"write back\"");
	}
}

void flushway_decide(const struct flushway_input *input, struct flushway *way)
{
	memset(way, 0, sizeof(*way));
	if (input->is_nbd) {
		decide_nbd(input, way);
		return;
	}
	if (decide_driver(input, way))
		return;
	if (input->is_native) {
		way->answer = FLUSHWAY_YES;
		(void)snprintf(way->text, sizeof(way->text),
			       "flushes are commands to the drive itself");
		return;
	}
	if (decide_mount(input, way) || decide_queues(input, way))
		return;
	decide_rest(input, way);
}

const char *flushway_answer_name(enum flushway_answer answer)
{
	static const char *const names[] = {
		[FLUSHWAY_YES] = "yes",
		[FLUSHWAY_UNKNOWN] = "unknown",
		[FLUSHWAY_NOT_NEEDED] = "not needed",
		[FLUSHWAY_NO] = "no",
	};

	return names[answer];
}
