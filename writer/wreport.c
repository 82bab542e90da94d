/* SPDX-License-Identifier: MIT */
#include "writer/wreport.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "common/base/err.h"
#include "common/target/guard.h"
#include "common/target/target.h"
#include "writer/preflight.h"
#include "writer/proof.h"
#include "writer/wfind.h"
#include "writer/wsettings.h"

#define ASK_MS     120000
#define JSON_FLAGS (JSON_INDENT(2) | JSON_SORT_KEYS)

struct report {
	struct wfind found;
	struct target *target;
	struct preflight look;
	bool was_asked;    /* a FLUSH was sent, and drivers count */
	bool has_arrived;  /* and it was counted */
	struct err answer; /* where it ended, or why it failed */
	bool may_erase;
	struct err erase; /* what stands against it */
};

/* ---- looking ---- */

static void ask(struct report *report)
{
	struct proof proof = {0};

	if (proof_begin(&proof, report->target, &report->answer) == 0 &&
	    target_info(report->target)->has_flush &&
	    report->look.way.answer != FLUSHWAY_NOT_NEEDED &&
	    proof_is_counted(&proof) && preflight_must_arrive(&report->look)) {
		report->was_asked = true;
		report->has_arrived = proof_ask(&proof, report->target, ASK_MS,
						&report->answer) == 0 &&
				      proof_judge(&proof, &report->answer) == 0;
	}
	proof_end(&proof);
}

static int look(struct report *report, const struct wsettings *settings,
		struct err *err)
{
	const struct target_info *info;

	if (wfind_settle(&report->found, settings, NULL, err) < 0)
		return -1;
	report->target = target_open_engine(report->found.settings.target,
					    TARGET_READ, settings->engine, err);
	if (wfind_confirm(&report->found, report->target, err) < 0 ||
	    preflight_look(&report->look, report->target,
			   settings->engine == TARGET_ENGINE_NATIVE, err) < 0)
		return -1;
	ask(report);
	info = target_info(report->target);
	report->may_erase = guard_check(report->target, 0, info->size_bytes,
					info->erase_name, &report->erase) == 0;
	return 0;
}

static bool would_begin(const struct report *report)
{
	return report->may_erase && report->look.way.answer != FLUSHWAY_NO &&
	       (!report->was_asked || report->has_arrived);
}

/* ---- in words ---- */

static int first_line(const char *text)
{
	return (int)strcspn(text, "\n");
}

static void print_target(const struct report *report, FILE *to)
{
	const struct target_info *info = target_info(report->target);

	fprintf(to, "target: %s, %" PRIu64 " bytes in blocks of %u, by %s\n",
		target_name(report->target), info->size_bytes,
		info->logical_block_bytes,
		target_describe_engine(report->target));
	fprintf(to, "identity: %s\n",
		info->identity[0] == '\0' ? "none" : info->identity);
	if (report->look.lineage[0] != '\0')
		fprintf(to, "stack: %s\n", report->look.lineage);
	if (report->look.unknown[0] != '\0')
		fprintf(to, "not known below it: %s\n", report->look.unknown);
	if (report->look.mount.is_known)
		fprintf(to, "file system: %s on %s (%s)\n",
			report->look.mount.type, report->look.mount.point,
			report->look.mount.options);
}

static void print_queue(const struct queuefacts *queue,
			const struct blockfacts *block, FILE *to)
{
	fprintf(to,
		"%s: %s%s%s, %" PRIu64 " bytes, logical block %u, physical "
		"%u, %s\n",
		queue->name, block->transport,
		block->model[0] == '\0' ? "" : " ", block->model,
		block->size_bytes, block->logical_block_bytes,
		block->physical_block_bytes,
		queue->is_rotational ? "rotational" : "not rotational");
	fprintf(to,
		"  queue: write_cache \"%s\", fua %d, scheduler %s, "
		"nr_requests %" PRIu64 ", max_sectors_kb %" PRIu64
		", max_hw_sectors_kb %" PRIu64 "\n",
		queuefacts_cache_name(queue->cache), queue->has_fua,
		queue->scheduler[0] == '\0' ? "none" : queue->scheduler,
		queue->nr_requests, queue->max_sectors_kb,
		queue->max_hw_sectors_kb);
	fprintf(to,
		"  atomic_write_unit_max_bytes %" PRIu64 ", timeout %" PRIu64
		" ms, driver %s\n",
		queue->atomic_unit_bytes, queue->timeout_ms,
		queue->driver[0] == '\0' ? "unknown" : queue->driver);
}

static void print_drive(const struct flushway_layer *layer, FILE *to)
{
	const struct drivefacts *drive = &layer->drive;

	if (!layer->queue.is_bottom)
		return;
	if (drive->kind == DRIVEFACTS_NONE) {
		fprintf(to, "  the drive was not asked: %s\n", layer->why);
		return;
	}
	fprintf(to, "  drive: %s, %s, serial %s, firmware %s\n",
		drivefacts_kind_name(drive->kind), drive->model,
		drive->serial[0] == '\0' ? "none" : drive->serial,
		drive->firmware);
	fprintf(to,
		"  it says: volatile cache %s, in use %s, takes FLUSH %s, "
		"takes FUA %s, atomic write %u bytes%s\n",
		drivefacts_answer_name(drive->has_cache),
		drivefacts_answer_name(drive->is_cache_on),
		drivefacts_answer_name(drive->has_flush),
		drivefacts_answer_name(drive->has_fua),
		drive->atomic_write_bytes,
		drive->atomic_write_bytes == 0 ? " (unknown)" : "");
	if (drive->plp_hint[0] != '\0')
		fprintf(to, "  power-loss protection: %s\n", drive->plp_hint);
}

static void print_answer(const struct report *report, FILE *to)
{
	char text[2 * FLUSHWAY_TEXT_BYTES];

	for (unsigned int i = 0;
	     preflight_warning(&report->look, i, text, sizeof(text)); i++)
		fprintf(to, "warning: %s\n", text);
	preflight_tell(&report->look, text, sizeof(text));
	fprintf(to, "%s\n", text);
	if (report->look.way.remedy[0] != '\0')
		fprintf(to, "hint: %s\n", report->look.way.remedy);
	if (report->was_asked)
		fprintf(to, "one flush was sent: %s\n",
			report->has_arrived ? "a driver of the drive counted "
					      "it"
					    : report->answer.text);
	else
		fprintf(to, "no flush was sent: nothing would count it\n");
	if (report->may_erase)
		fprintf(to, "may be overwritten: yes, with --erase '%s'\n",
			target_info(report->target)->erase_name);
	else
		fprintf(to, "may be overwritten: no: %.*s\n",
			first_line(report->erase.text), report->erase.text);
	fprintf(to, "a test would %s\n",
		would_begin(report) ? "begin" : "be refused");
}

static void print(const struct report *report, FILE *to)
{
	print_target(report, to);
	for (size_t i = 0; i < report->look.count; i++) {
		print_queue(&report->look.layers[i].queue,
			    &report->look.blocks[i], to);
		print_drive(&report->look.layers[i], to);
	}
	print_answer(report, to);
}

/* ---- JSON ---- */

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text[0] == '\0' ? json_null() : json_string(text);
}

static json_t *drive_json(const struct flushway_layer *layer)
{
	const struct drivefacts *drive = &layer->drive;

	if (drive->kind == DRIVEFACTS_NONE)
		return json_pack("{s:n, s:o}", "kind", "reason",
				 text_or_null(layer->why));
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:b, s:o}",
		"kind", drivefacts_kind_name(drive->kind), "model",
		drive->model, "serial", drive->serial, "firmware",
		drive->firmware, "volatile_cache",
		drivefacts_answer_name(drive->has_cache), "cache_in_use",
		drivefacts_answer_name(drive->is_cache_on), "flush",
		drivefacts_answer_name(drive->has_flush), "fua",
		drivefacts_answer_name(drive->has_fua), "atomic_write_bytes",
		number(drive->atomic_write_bytes), "bridge", drive->is_bridge,
		"plp_hint", text_or_null(drive->plp_hint));
}

static json_t *layer_json(const struct report *report, size_t i)
{
	const struct flushway_layer *layer = &report->look.layers[i];
	const struct queuefacts *queue = &layer->queue;
	const struct blockfacts *block = &report->look.blocks[i];

	return json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:b, s:o, s:o}",
		"name", queue->name, "transport", block->transport, "model",
		text_or_null(block->model), "size", number(block->size_bytes),
		"logical_block", number(block->logical_block_bytes),
		"physical_block", number(block->physical_block_bytes),
		"write_cache", queuefacts_cache_name(queue->cache), "fua",
		queue->has_fua, "scheduler", text_or_null(queue->scheduler),
		"nr_requests", number(queue->nr_requests), "max_sectors_kb",
		number(queue->max_sectors_kb), "max_hw_sectors_kb",
		number(queue->max_hw_sectors_kb), "atomic_write_unit_max_bytes",
		number(queue->atomic_unit_bytes), "timeout_ms",
		number(queue->timeout_ms), "rotational", queue->is_rotational,
		"driver", text_or_null(queue->driver), "drive",
		queue->is_bottom ? drive_json(layer) : json_null());
}

static json_t *list_layers(const struct report *report)
{
	json_t *list = json_array();
	int status = list == NULL ? -1 : 0;

	for (size_t i = 0; status == 0 && i < report->look.count; i++)
		status = json_array_append_new(list, layer_json(report, i));
	if (status == 0)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *list_warnings(const struct report *report)
{
	char text[2 * FLUSHWAY_TEXT_BYTES];
	json_t *list = json_array();

	for (unsigned int i = 0;
	     preflight_warning(&report->look, i, text, sizeof(text)); i++)
		if (json_array_append_new(list, json_string(text)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *mount_json(const struct mountfacts *mount)
{
	if (!mount->is_known)
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:b}", "type", mount->type, "point",
			 mount->point, "options", mount->options, "barriers",
			 !mount->is_barrierless);
}

static json_t *report_json(const struct report *report)
{
	const struct target_info *info = target_info(report->target);
	const struct flushway *way = &report->look.way;

	return json_pack(
		"{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, "
		"s:s, s:o, s:o, s:o, s:b}",
		"target", target_name(report->target), "identity",
		text_or_null(info->identity), "erase", info->erase_name,
		"engine", target_describe_engine(report->target), "size",
		number(info->size_bytes), "logical_block",
		number(info->logical_block_bytes), "below",
		text_or_null(report->look.lineage), "unknown",
		text_or_null(report->look.unknown), "file_system",
		mount_json(&report->look.mount), "layers", list_layers(report),
		"warnings", list_warnings(report), "flush_would_reach",
		flushway_answer_name(way->answer), "flush_reason", way->text,
		"remedy", text_or_null(way->remedy), "flush_counted",
		report->was_asked ? json_boolean(report->has_arrived)
				  : json_null(),
		"refused_to_erase",
		report->may_erase
			? json_null()
			: json_stringn(report->erase.text,
				       strcspn(report->erase.text, "\n")),
		"would_begin", would_begin(report));
}

static int write_json(const struct report *report, const char *path, FILE *to,
		      struct err *err)
{
	json_t *object;
	int status = -1;

	errno = 0;
	object = report_json(report);
	if (object != NULL && strcmp(path, "-") != 0)
		status = json_dump_file(object, path, JSON_FLAGS);
	else if (object != NULL && json_dumpf(object, to, JSON_FLAGS) == 0)
		status = fputc('\n', to) == EOF ? -1 : 0;
	json_decref(object);
	if (status < 0)
		return err_sys(err, errno != 0 ? errno : EIO, "cannot write %s",
			       path);
	return 0;
}

int wreport_run(const struct wsettings *settings, FILE *to, struct err *err)
{
	struct report report;
	int status;

	memset(&report, 0, sizeof(report));
	status = look(&report, settings, err);
	if (status == 0 &&
	    (settings->json == NULL || strcmp(settings->json, "-") != 0))
		print(&report, to);
	if (status == 0 && settings->json != NULL)
		status = write_json(&report, settings->json, to, err);
	if (status == 0 && !would_begin(&report))
		status = 1;
	preflight_free(&report.look);
	target_close(report.target);
	return status;
}
