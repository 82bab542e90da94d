/* SPDX-License-Identifier: MIT */
#include "campaign/ccheck.h"

#include <stdio.h>
#include <string.h>

#include "campaign/csettings.h"
#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/run.h"

void ccheck_defaults(struct csettings *settings)
{
	memset(settings, 0, sizeof(*settings));
	settings->bound = 0.01;
	settings->fill = true;
	settings->rescan = true;
	settings->off_time_ms = 5000;
	settings->return_timeout_ms = 60000;
	settings->gone_timeout_ms = 30000;
	settings->boot_timeout_ms = 5ULL * 60 * 1000;
	settings->boot_tries = 2;
	settings->after_min_ms = 200;
	settings->after_max_ms = 2000;
	settings->recut_after_max_ms = 2000;
	settings->recut_off_min_ms = 100;
	settings->recut_off_max_ms = 2000;
	(void)snprintf(settings->name, sizeof(settings->name), "unnamed");
	(void)snprintf(settings->sync, sizeof(settings->sync), "flush:32");
	(void)snprintf(settings->counters, sizeof(settings->counters), "auto");
	(void)snprintf(settings->smartctl, sizeof(settings->smartctl),
		       "smartctl");
	(void)snprintf(settings->nvme, sizeof(settings->nvme), "nvme");
}

static int check_sync(struct csettings *settings, const char *name,
		      struct err *err)
{
	enum ackbody_sync sync = ACKBODY_SYNC_NONE;
	struct err why;
	uint64_t value = 0;

	if (ackbody_sync_parse(settings->sync, &sync, &value, &why) == -1)
		return err_set(err, "%s: sync: %.400s", name, why.text);
	if (sync == ACKBODY_SYNC_NONE)
		return err_set(err,
			       "%s: sync: none is what the control arm does; "
			       "the test arm needs flush:N, flush:Nms or fua",
			       name);
	settings->sync_kind =
		sync == ACKBODY_SYNC_FUA ? GATES_SYNC_FUA : GATES_SYNC_FLUSH;
	return 0;
}

static int check_collector(const struct csettings *settings, const char *name,
			   struct err *err)
{
	const bool is_ours = settings->connect[0] == '\0';

	if (!is_ours && settings->log_dir[0] == '\0')
		return err_set(err,
			       "%s: dir: is missing in [collector]: where can "
			       "the logs of %s be read from here?",
			       name, settings->connect);
	if (!is_ours && settings->listen[0] != '\0')
		return err_set(
			err,
			"%s: listen: connect is given too; ours listens, "
			"or there is another one",
			name);
	if (is_ours && settings->log_dir[0] != '\0')
		return err_set(err, "%s: connect: is missing in [collector]",
			       name);
	if (is_ours && settings->listen[0] == '\0' && settings->key[0] != '\0')
		return err_set(
			err,
			"%s: key: neither connect nor listen is given in "
			"[collector]",
			name);
	return 0;
}

static int check_host(const struct csettings *settings, const char *name,
		      struct err *err)
{
	const bool is_cut = csettings_cuts_host(settings);

	if (!is_cut &&
	    (settings->ready[0] != '\0' || settings->host_key[0] != '\0'))
		return err_set(err, "%s: via: is missing in [host]", name);
	if (is_cut && settings->connect[0] == '\0' &&
	    settings->listen[0] == '\0')
		return err_set(err,
			       "%s: listen: is missing in [collector]: where "
			       "does the writer of the host reach us?",
			       name);
	return 0;
}

static int check_counters(struct csettings *settings, const char *name,
			  struct err *err)
{
	static const char *const kinds[] = {
		[CSETTINGS_COUNTERS_AUTO] = "auto",
		[CSETTINGS_COUNTERS_SMARTCTL] = "smartctl",
		[CSETTINGS_COUNTERS_NVME] = "nvme",
		[CSETTINGS_COUNTERS_NONE] = "none",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(settings->counters, kinds[i]) != 0)
			continue;
		settings->counters_kind = (enum csettings_counters)i;
		if (settings->counters_device[0] == '\0')
			(void)snprintf(settings->counters_device,
				       sizeof(settings->counters_device), "%s",
				       settings->target);
		return 0;
	}
	return err_set(err,
		       "%s: counters: %s is none of auto, smartctl, nvme, none",
		       name, settings->counters);
}

static int check_power(struct csettings *settings, const char *name,
		       struct err *err)
{
	if (settings->has_off_time && settings->has_off_range)
		return err_set(
			err, "%s: off_time: off_min and off_max are given too",
			name);
	if (!settings->has_off_range)
		settings->off_min_ms = settings->off_max_ms =
			settings->off_time_ms;
	if (settings->off_min_ms > settings->off_max_ms)
		return err_set(err, "%s: off_min: is above off_max", name);
	if (settings->after_min_ms > settings->after_max_ms)
		return err_set(err, "%s: after_min: is above after_max", name);
	if (settings->recut_after_min_ms > settings->recut_after_max_ms)
		return err_set(err,
			       "%s: recut_after_min: is above recut_after_max",
			       name);
	if (settings->recut_off_min_ms > settings->recut_off_max_ms)
		return err_set(err, "%s: recut_off_min: is above recut_off_max",
			       name);
	/* A program of the user's knows on, off and status. */
	if (!settings->is_session_given)
		settings->has_session = settings->relay[0] == '\0';
	return 0;
}

int ccheck_together(struct csettings *settings, const char *name,
		    struct err *err)
{
	enum run_pattern pattern = RUN_PATTERN_RANDOM;
	struct err why;

	if (check_power(settings, name, err) == -1 ||
	    check_collector(settings, name, err) == -1 ||
	    check_host(settings, name, err) == -1 ||
	    check_counters(settings, name, err) == -1)
		return -1;
	if (settings->pattern[0] != '\0' &&
	    run_pattern_parse(settings->pattern, &pattern, &why) == -1)
		return err_set(err, "%s: pattern: %.400s", name, why.text);
	if (!settings->has_control_cycles)
		settings->control_cycles = (settings->cycles + 1) / 2;
	return check_sync(settings, name, err);
}
