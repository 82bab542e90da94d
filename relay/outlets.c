/* SPDX-License-Identifier: MIT */
#include "relay/outlets.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/options.h"

#define FILE_BYTES_MAX (256 * 1024)
#define DAY_MS         86400000U
#define MARK           "outlet "

struct entry {
	char name[OUTLET_NAME_BYTES];
	unsigned int line; /* where its section begins */
	struct outlet outlet;
	bool has_channel;
	size_t member_count;
	char members[OUTLETS_MEMBERS_MAX][OUTLET_NAME_BYTES];
};

struct outlets {
	size_t count;
	struct entry *entries;
	/* While it is read. */
	const char *name, *at;
	unsigned int line;
	bool is_bad;
	struct err *err;
};

/* ---- keys of every outlet ---- */

static int take_driver(struct entry *entry, const char *value, struct err *err)
{
	if (entry->outlet.driver != NULL)
		return err_set(err, "driver: given twice");
	return outlet_take_driver(&entry->outlet, value, err);
}

static int take_address(struct entry *entry, const char *value, struct err *err)
{
	if (entry->outlet.driver == NULL)
		return err_set(err, "address: driver must stand in front of "
				    "it");
	if (entry->outlet.address[0] != '\0')
		return err_set(err, "address: given twice");
	return outlet_take_address(&entry->outlet, value, err);
}

static int take_channel(struct entry *entry, const char *value, struct err *err)
{
	uint64_t channel = 0;

	if (entry->outlet.driver == NULL)
		return err_set(err, "channel: driver must stand in front of "
				    "it");
	if (entry->has_channel)
		return err_set(err, "channel: given twice");
	entry->has_channel = true;
	if (options_parse_count(value, "channel", &channel, err) < 0)
		return -1;
	return outlet_take_channel(&entry->outlet, channel, err);
}

static int take_baud(struct entry *entry, const char *value, struct err *err)
{
	uint64_t baud = 0;

	if (options_parse_count(value, "baud", &baud, err) < 0)
		return -1;
	if (baud < 50 || baud > 4000000)
		return err_set(err, "baud: %s is not from 50 to 4000000",
			       value);
	entry->outlet.baud = (unsigned int)baud;
	return 0;
}

static int take_contact(struct entry *entry, const char *value, struct err *err)
{
	entry->outlet.is_inverted = strcmp(value, "nc") == 0;
	if (!entry->outlet.is_inverted && strcmp(value, "no") != 0)
		return err_set(err,
			       "contact: %s is neither no (power while the "
			       "board says on) nor nc (while it says off)",
			       value);
	return 0;
}

static int take_lost(struct entry *entry, const char *value, struct err *err)
{
	static const char *const words[] = {"keep", "on", "off"};

	for (unsigned int i = 0; i < 3; i++) {
		if (strcmp(value, words[i]) == 0) {
			entry->outlet.when_lost = (enum outlet_lost)i;
			return 0;
		}
	}
	return err_set(err, "when_lost: %s is neither keep, on nor off", value);
}

static int take_ms(const char *key, const char *value, uint64_t *ms,
		   struct err *err)
{
	if (options_parse_duration(value, key, ms, err) < 0)
		return -1;
	if (*ms > DAY_MS)
		return err_set(err, "%s: %s is more than a day", key, value);
	return 0;
}

static int take_drain(struct entry *entry, const char *value, struct err *err)
{
	return take_ms("drain_time", value, &entry->outlet.drain_ms, err);
}

static int take_settle(struct entry *entry, const char *value, struct err *err)
{
	return take_ms("settle_time", value, &entry->outlet.settle_ms, err);
}

static int take_interval(struct entry *entry, const char *value,
			 struct err *err)
{
	return take_ms("min_interval", value, &entry->outlet.interval_ms, err);
}

static int take_operations(struct entry *entry, const char *value,
			   struct err *err)
{
	return options_parse_count(value, "operations_max",
				   &entry->outlet.operations_max, err);
}

static bool is_name(const char *text, size_t length)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";

	return length > 0 && length < OUTLET_NAME_BYTES && text[0] != '.' &&
	       strspn(text, allowed) >= length;
}

static int take_members(struct entry *entry, const char *value, struct err *err)
{
	while (*value != '\0') {
		size_t length = strcspn(value, ", \t");

		if (!is_name(value, length))
			return err_set(err,
				       "members: %s is not a list of "
				       "names",
				       value);
		if (entry->member_count == OUTLETS_MEMBERS_MAX)
			return err_set(err, "members: more than %d",
				       OUTLETS_MEMBERS_MAX);
		memcpy(entry->members[entry->member_count++], value, length);
		value += length;
		value += strspn(value, ", \t");
	}
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct entry *entry, const char *value, struct err *err);
} keys[] = {
	{"driver", take_driver},         {"address", take_address},
	{"channel", take_channel},       {"baud", take_baud},
	{"contact", take_contact},       {"when_lost", take_lost},
	{"drain_time", take_drain},      {"settle_time", take_settle},
	{"min_interval", take_interval}, {"operations_max", take_operations},
	{"members", take_members},
};

static int take_key(struct entry *entry, const char *key, const char *value,
		    struct err *err)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, key) == 0)
			return keys[i].take(entry, value, err);
	}
	if (entry->outlet.driver == NULL)
		return err_set(err, "%s: driver must stand in front of it",
			       key);
	return outlet_take_option(&entry->outlet, key, value, err);
}

/* ---- the file ---- */

static int refuse(struct outlets *outlets, const char *why)
{
	if (!outlets->is_bad)
		(void)err_set(outlets->err, "%s:%u: %.400s", outlets->name,
			      outlets->line, why);
	outlets->is_bad = true;
	return 0; /* what inih takes for "no" */
}

static char *next_line(char *to, int room, void *stream)
{
	struct outlets *outlets = stream;
	const size_t length = strcspn(outlets->at, "\n");

	if (*outlets->at == '\0' || outlets->is_bad)
		return NULL;
	outlets->line++;
	if (length + 2 > (size_t)room) {
		(void)refuse(outlets, "this line is too long");
		return NULL;
	}
	if (*outlets->at == ' ' || *outlets->at == '\t') {
		(void)refuse(outlets, "a line must not begin with a blank");
		return NULL;
	}
	memcpy(to, outlets->at, length);
	to[length] = '\n';
	to[length + 1] = '\0';
	outlets->at += length + (outlets->at[length] == '\n');
	return to;
}

static struct entry *find_entry(const struct outlets *outlets, const char *name)
{
	for (size_t i = 0; i < outlets->count; i++)
		if (strcmp(outlets->entries[i].name, name) == 0)
			return &outlets->entries[i];
	return NULL;
}

/* A section may be left and entered again; its keys are one. */
static struct entry *enter(struct outlets *outlets, const char *section)
{
	const char *name = section + strlen(MARK);
	struct entry *entry = NULL;

	if (strncmp(section, MARK, strlen(MARK)) != 0 ||
	    !is_name(name, strlen(name))) {
		(void)refuse(outlets, "a section is [outlet NAME], and a name "
				      "has letters, digits, and _ . -");
		return NULL;
	}
	entry = find_entry(outlets, name);
	if (entry != NULL)
		return entry;
	if (outlets->count == OUTLETS_MAX) {
		(void)refuse(outlets, "there are too many outlets");
		return NULL;
	}
	entry = &outlets->entries[outlets->count++];
	(void)snprintf(entry->name, sizeof(entry->name), "%s", name);
	(void)snprintf(entry->outlet.name, sizeof(entry->outlet.name), "%s",
		       name);
	entry->line = outlets->line;
	return entry;
}

static int take_pair(void *user, const char *section, const char *key,
		     const char *value)
{
	struct outlets *outlets = user;
	struct entry *entry = enter(outlets, section);
	struct err why;

	if (entry == NULL)
		return 0;
	if (*value == '\0')
		(void)err_set(&why, "%s: has no value", key);
	else if (take_key(entry, key, value, &why) == 0)
		return 1;
	return refuse(outlets, why.text);
}

/* ---- all together ---- */

static bool is_group(const struct entry *entry)
{
	return entry->member_count > 0;
}

static int check_group(const struct outlets *outlets, const struct entry *entry,
		       struct err *err)
{
	if (entry->outlet.driver != NULL)
		return err_set(err, "has members and a driver");
	for (size_t i = 0; i < entry->member_count; i++) {
		const struct entry *member =
			find_entry(outlets, entry->members[i]);

		if (member == NULL)
			return err_set(err, "members: there is no [outlet %s]",
				       entry->members[i]);
		if (is_group(member))
			return err_set(err, "members: %s has members itself",
				       member->name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(entry->members[i], entry->members[k]) == 0)
				return err_set(err, "members: %s stands twice",
					       member->name);
	}
	return 0;
}

static int check_entry(const struct outlets *outlets, const struct entry *entry,
		       struct err *err)
{
	int rc = 0;

	if (is_group(entry))
		rc = check_group(outlets, entry, err);
	else if (entry->outlet.driver == NULL)
		rc = err_set(err, "driver: is missing");
	else
		rc = outlet_check(&entry->outlet, err);
	if (rc < 0)
		return err_prefix(err, "%s:%u: [outlet %s]", outlets->name,
				  entry->line, entry->name);
	return 0;
}

struct outlets *outlets_of(const char *text, const char *name, struct err *err)
{
	struct outlets *outlets = calloc(1, sizeof(*outlets));
	int rc = 0;

	if (outlets != NULL)
		outlets->entries =
			calloc(OUTLETS_MAX, sizeof(*outlets->entries));
	if (outlets == NULL || outlets->entries == NULL) {
		(void)err_set(err, "no memory for %s", name);
		goto fail;
	}
	outlets->name = name;
	outlets->at = text;
	outlets->err = err;
	rc = ini_parse_stream(next_line, outlets, take_pair, outlets);
	if (outlets->is_bad)
		goto fail;
	if (rc != 0) {
		(void)err_set(err, "%s:%d: neither [section] nor key = value",
			      name, rc);
		goto fail;
	}
	for (size_t i = 0; i < outlets->count; i++)
		if (check_entry(outlets, &outlets->entries[i], err) < 0)
			goto fail;
	return outlets;
fail:
	outlets_free(outlets);
	return NULL;
}

static int read_file(const char *path, char *text, struct err *err)
{
	FILE *file = fopen(path, "re");
	size_t length = 0;
	int rc = 0;

	if (file == NULL)
		return err_sys(err, errno, "cannot read %s", path);
	length = fread(text, 1, FILE_BYTES_MAX, file);
	if (ferror(file))
		rc = err_sys(err, errno, "cannot read %s", path);
	else if (length == FILE_BYTES_MAX || memchr(text, '\0', length) != NULL)
		rc = err_set(err,
			     "%s is no file of outlets: too long, or not "
			     "a text",
			     path);
	(void)fclose(file); /* was only read */
	return rc;
}

struct outlets *outlets_load(const char *path, struct err *err)
{
	char *text = calloc(1, FILE_BYTES_MAX + 1);
	struct outlets *outlets = NULL;

	if (text == NULL)
		(void)err_set(err, "no memory for %s", path);
	else if (read_file(path, text, err) == 0)
		outlets = outlets_of(text, path, err);
	free(text);
	return outlets;
}

void outlets_free(struct outlets *outlets)
{
	if (outlets == NULL)
		return;
	free(outlets->entries);
	free(outlets);
}

const char *outlets_name(const struct outlets *outlets, size_t i)
{
	return i < outlets->count ? outlets->entries[i].name : NULL;
}

size_t outlets_find(const struct outlets *outlets, const char *name,
		    struct outlet found[OUTLETS_MEMBERS_MAX], struct err *err)
{
	const struct entry *entry = find_entry(outlets, name);

	if (entry == NULL) {
		(void)err_set(err,
			      "there is no [outlet %.80s] in the file of "
			      "outlets",
			      name);
		return 0;
	}
	if (!is_group(entry)) {
		found[0] = entry->outlet;
		return 1;
	}
	for (size_t i = 0; i < entry->member_count; i++) {
		const struct entry *member =
			find_entry(outlets, entry->members[i]);

		assert(member != NULL); /* check_group() */
		found[i] = member->outlet;
	}
	return entry->member_count;
}
