/* SPDX-License-Identifier: MIT */
#include "campaign/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define JOURNAL_BYTES_MAX  (1024ULL * 1024 * 1024)
#define JOURNAL_PATH_BYTES 4096

struct journal {
	int fd;
	char path[JOURNAL_PATH_BYTES];
};

static struct journal *journal_open(const char *path, int flags,
				    struct err *err)
{
	struct journal *journal = calloc(1, sizeof(*journal));

	if (journal == NULL) {
		(void)err_set(err, "no memory for the journal");
		return NULL;
	}
	(void)snprintf(journal->path, sizeof(journal->path), "%s", path);
	journal->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0644);
	if (journal->fd == -1) {
		(void)err_sys(err, errno, "cannot open the journal %s", path);
		free(journal);
		return NULL;
	}
	if (flock(journal->fd, LOCK_EX | LOCK_NB) == -1) {
		(void)err_set(err,
			      "%s: another campaign is writing this "
			      "journal",
			      path);
		(void)close(journal->fd); /* nothing was written */
		free(journal);
		return NULL;
	}
	return journal;
}

/* A new name is safe only when its folder is on disk. */
static int sync_folder(const char *path, struct err *err)
{
	char copy[JOURNAL_PATH_BYTES];
	int fd = -1;
	int rc = 0;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fsync(fd) == -1)
		rc = err_sys(err, errno, "cannot make %s durable", path);
	if (fd != -1)
		(void)close(fd); /* was only read */
	return rc;
}

struct journal *journal_create(const char *path, struct err *err)
{
	struct journal *journal = journal_open(path, O_CREAT | O_EXCL, err);

	if (journal != NULL && sync_folder(path, err) == -1) {
		(void)journal_close(journal, err);
		return NULL;
	}
	return journal;
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		const ssize_t put = write(fd, text, length);

		if (put == -1 && errno == EINTR)
			continue;
		if (put == -1)
			return -1;
		text += put;
		length -= (size_t)put;
	}
	return 0;
}

static json_t *wall_time(void)
{
	const uint64_t now_ns = clock_wall_ns();
	const time_t seconds = (time_t)(now_ns / CLOCK_NS_PER_S);
	struct tm parts = {0};
	char day[32];

	if (gmtime_r(&seconds, &parts) == NULL)
		return NULL;
	(void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
	return json_sprintf(
		"%s.%03uZ", day,
		(unsigned int)(now_ns % CLOCK_NS_PER_S / CLOCK_NS_PER_MS));
}

int journal_write(struct journal *journal, const char *step, json_t *fields,
		  struct err *err)
{
	json_t *line = json_object();
	char *text = NULL;
	size_t length = 0;
	int rc = -1;

	if (line == NULL ||
	    json_object_set_new(line, "step", json_string(step)) ||
	    json_object_set_new(line, "at", wall_time()) ||
	    (fields != NULL && json_object_update(line, fields)))
		goto out;
	text = json_dumps(line, JSON_COMPACT);
	if (text == NULL)
		goto out;
	length = strlen(text);
	text[length] = '\n'; /* in the NUL's place */
	if (write_all(journal->fd, text, length + 1) == -1 ||
	    fdatasync(journal->fd) == -1)
		(void)err_sys(err, errno,
			      "cannot write \"%s\" to the journal %s", step,
			      journal->path);
	else
		rc = 0;
	goto done;
out:
	(void)err_set(err, "no memory to write \"%s\" to the journal", step);
done:
	free(text);
	json_decref(line);
	json_decref(fields);
	return rc;
}

int journal_close(struct journal *journal, struct err *err)
{
	int rc = 0;

	if (journal == NULL)
		return 0;
	if (close(journal->fd) == -1)
		rc = err_sys(err, errno, "cannot close the journal %s",
			     journal->path);
	free(journal);
	return rc;
}

static char *read_whole(const char *path, size_t *length, struct err *err)
{
	struct stat status;
	char *text = NULL;
	FILE *file = fopen(path, "re");

	if (file == NULL || fstat(fileno(file), &status) == -1) {
		(void)err_sys(err, errno, "cannot open the journal %s", path);
		goto out;
	}
	if ((uint64_t)status.st_size > JOURNAL_BYTES_MAX) {
		(void)err_set(err, "the journal %s is too long", path);
		goto out;
	}
	text = malloc((size_t)status.st_size + 1);
	if (text == NULL) {
		(void)err_set(err, "no memory for the journal %s", path);
		goto out;
	}
	*length = fread(text, 1, (size_t)status.st_size, file);
	text[*length] = '\0';
	if (*length != (size_t)status.st_size) {
		(void)err_sys(err, ferror(file) ? errno : EIO,
			      "cannot read the journal %s to its end", path);
		free(text);
		text = NULL;
	}
out:
	if (file != NULL)
		(void)fclose(file); /* was only read */
	return text;
}

json_t *journal_load(const char *path, uint64_t *torn_bytes, struct err *err)
{
	size_t length = 0;
	size_t at = 0;
	unsigned int number = 0;
	json_t *lines = json_array();
	char *text = read_whole(path, &length, err);

	*torn_bytes = 0;
	if (text != NULL && lines == NULL)
		(void)err_set(err, "no memory for the journal %s", path);
	if (text == NULL || lines == NULL)
		goto fail;
	while (at < length) {
		const char *end = memchr(text + at, '\n', length - at);
		const size_t size =
			end == NULL ? length - at : (size_t)(end - text) - at;
		json_error_t why = {0};
		json_t *line = json_loadb(text + at, size, 0, &why);
		const bool is_last = end == NULL || at + size + 1 == length;

		number++;
		/* Else a whole last line would pass for a torn one. */
		if (line == NULL &&
		    json_error_code(&why) == json_error_out_of_memory) {
			(void)err_set(err, "no memory for the journal %s",
				      path);
			goto fail;
		}
		if (end == NULL || (!json_is_object(line) && is_last)) {
			json_decref(line);
			*torn_bytes = length - at;
			break;
		}
		if (!json_is_object(line) || json_array_append(lines, line)) {
			json_decref(line);
			(void)err_set(err, "%s:%u: damaged line in the journal",
				      path, number);
			goto fail;
		}
		json_decref(line);
		at += size + 1;
	}
	free(text);
	return lines;
fail:
	free(text);
	json_decref(lines);
	return NULL;
}

struct journal *journal_resume(const char *path, struct err *err)
{
	uint64_t torn_bytes = 0;
	struct stat status;
	json_t *lines = NULL;
	struct journal *journal = journal_open(path, 0, err);

	if (journal == NULL)
		return NULL;
	lines = journal_load(path, &torn_bytes, err);
	json_decref(lines);
	if (lines == NULL)
		goto fail;
	if (torn_bytes == 0)
		return journal;
	if (fstat(journal->fd, &status) == 0 &&
	    ftruncate(journal->fd, status.st_size - (off_t)torn_bytes) == 0 &&
	    fsync(journal->fd) == 0)
		return journal;
	(void)err_sys(err, errno, "cannot cut the torn end off %s", path);
fail : {
	struct err ignored;

	(void)journal_close(journal, &ignored); /* err says more */
}
	return NULL;
}
