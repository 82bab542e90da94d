/* SPDX-License-Identifier: MIT */
#include "campaign/ccollector.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "campaign/command.h"
#include "common/base/clock.h"
#include "common/base/err.h"

#define CCOLLECTOR_PATH_BYTES 1536
#define CCOLLECTOR_START_MS   15000
#define CCOLLECTOR_END_MS     10000
#define CCOLLECTOR_SAYS       "listening on "

struct ccollector {
	bool is_ours;
	const volatile sig_atomic_t *stop;
	char prefix[CSETTINGS_TEXT_BYTES + 512];
	char dir[CCOLLECTOR_PATH_BYTES];
	char socket_dir[64]; /* "": the socket lies in dir */
	char address[CCOLLECTOR_PATH_BYTES];
	char advertised[CCOLLECTOR_PATH_BYTES];
	char key[CSETTINGS_TEXT_BYTES]; /* of ours where it listens; "" */
	char log_dir[CCOLLECTOR_PATH_BYTES];
	struct command *child; /* ours, or NULL */
	struct command_line line;
};

static int start_collector(struct ccollector *collector, struct err *err)
{
	const struct command_files files = {.reads_lines = true,
					    .ends_with_us = true};
	const uint64_t deadline_ns =
		clock_monotonic_ns() + CCOLLECTOR_START_MS * CLOCK_NS_PER_MS;
	char why[COMMAND_OUTPUT_BYTES] = "it did not begin to listen in time";
	enum command_event event = COMMAND_LINE;

	command_line_init(&collector->line, collector->prefix);
	command_line_add(&collector->line, "--listen");
	command_line_add(&collector->line, "%s", collector->address);
	command_line_add(&collector->line, "--dir");
	command_line_add(&collector->line, "%s", collector->log_dir);
	if (collector->key[0] != '\0') {
		command_line_add(&collector->line, "--key");
		command_line_add(&collector->line, "%s", collector->key);
	}
	collector->child = command_start(&collector->line, &files, err);
	if (collector->child == NULL)
		return -1;
	while (event == COMMAND_LINE) {
		event = command_await(collector->child, deadline_ns, true,
				      collector->stop);
		if (event != COMMAND_LINE ||
		    strncmp(command_text(collector->child), CCOLLECTOR_SAYS,
			    strlen(CCOLLECTOR_SAYS)) != 0)
			continue;
		/* Port 0 has become one that it keeps from now on. */
		(void)snprintf(collector->address, sizeof(collector->address),
			       "%s",
			       command_text(collector->child) +
				       strlen(CCOLLECTOR_SAYS));
		return 0;
	}
	if (event == COMMAND_ENDED)
		command_complaint(collector->child, why, sizeof(why));
	else
		(void)command_end(collector->child, CCOLLECTOR_END_MS);
	command_free(collector->child);
	collector->child = NULL;
	return err_set(err, "cannot start the collector: %.400s", why);
}

/* A Unix socket's name is short: in a deep folder it goes to /tmp. */
static int name_socket(struct ccollector *collector, struct err *err)
{
	const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);

	(void)snprintf(collector->address, sizeof(collector->address),
		       "unix:%.1000s/collector.sock", collector->dir);
	if (strlen(collector->address) - 5 < room)
		return 0;
	(void)snprintf(collector->socket_dir, sizeof(collector->socket_dir),
		       "/tmp/plugpull-campaign.XXXXXX");
	if (mkdtemp(collector->socket_dir) == NULL) {
		collector->socket_dir[0] = '\0';
		return err_sys(err, errno,
			       "cannot make a folder in /tmp for the "
			       "collector's socket");
	}
	(void)snprintf(collector->address, sizeof(collector->address),
		       "unix:%s/collector.sock", collector->socket_dir);
	return 0;
}

static int find_collector(struct ccollector *collector,
			  const struct csettings *settings, struct err *err)
{
	if (settings->connect[0] != '\0') {
		(void)snprintf(collector->address, sizeof(collector->address),
			       "%s", settings->connect);
		(void)snprintf(collector->log_dir, sizeof(collector->log_dir),
			       "%s", settings->log_dir);
		return 0;
	}
	(void)snprintf(collector->log_dir, sizeof(collector->log_dir),
		       "%.1000s/acks", collector->dir);
	if (mkdir(collector->log_dir, 0755) == -1 && errno != EEXIST)
		return err_sys(err, errno, "cannot make the folder %s",
			       collector->log_dir);
	if (settings->listen[0] != '\0') {
		(void)snprintf(collector->address, sizeof(collector->address),
			       "%s", settings->listen);
		(void)snprintf(collector->key, sizeof(collector->key), "%s",
			       settings->key);
	} else if (name_socket(collector, err) == -1) {
		return -1;
	}
	return start_collector(collector, err);
}

struct ccollector *ccollector_open(const struct csettings *settings,
				   const char *prefix, const char *dir,
				   const volatile sig_atomic_t *stop,
				   struct err *err)
{
	struct ccollector *collector = calloc(1, sizeof(*collector));

	if (collector == NULL) {
		(void)err_set(err, "no memory for the collector");
		return NULL;
	}
	collector->is_ours = settings->connect[0] == '\0';
	collector->stop = stop;
	(void)snprintf(collector->prefix, sizeof(collector->prefix), "%s",
		       prefix);
	(void)snprintf(collector->dir, sizeof(collector->dir), "%s", dir);
	(void)snprintf(collector->advertised, sizeof(collector->advertised),
		       "%s", settings->advertise);
	if (find_collector(collector, settings, err) == 0)
		return collector;
	ccollector_close(collector);
	return NULL;
}

void ccollector_close(struct ccollector *collector)
{
	if (collector == NULL)
		return;
	if (collector->child != NULL)
		(void)command_end(collector->child, CCOLLECTOR_END_MS);
	command_free(collector->child);
	if (collector->socket_dir[0] != '\0') {
		(void)unlink(collector->address + 5); /* may be gone already */
		(void)rmdir(
			collector->socket_dir); /* a leftover harms nobody */
	}
	free(collector);
}

int ccollector_keep(struct ccollector *collector, struct err *err)
{
	if (!collector->is_ours)
		return 0;
	if (collector->child != NULL && !command_has_ended(collector->child))
		return 0;
	command_free(collector->child);
	collector->child = NULL;
	return start_collector(collector, err);
}

const char *ccollector_address(const struct ccollector *collector)
{
	return collector->address;
}

const char *ccollector_advertised(const struct ccollector *collector)
{
	return collector->advertised[0] != '\0' ? collector->advertised
						: collector->address;
}

void ccollector_log_path(const struct ccollector *collector, const char *run,
			 char *path, size_t room)
{
	(void)snprintf(path, room, "%.1200s/%.64s.acklog", collector->log_dir,
		       run);
}
