/* SPDX-License-Identifier: MIT */
#include "common/ackfile/ackfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/format/ackbody.h"
#include "common/format/acklog.h"
#include "common/format/ledger.h"

struct ackfile {
	int fd;
	char *path;
	uint64_t frames; /* index of the next one */
	uint32_t crc;    /* of the last one */
	bool is_dead;    /* after an error nothing more is promised */
	struct err death;
};

/* The name is durable only once the directory is. */
static int sync_directory(const char *path, struct err *err)
{
	char *copy = strdup(path);
	const char *folder;
	int fd = -1;
	int result = -1;

	if (copy == NULL)
		return err_set(err, "out of memory");
	folder = dirname(copy);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd) == 0)
		result = 0;
	else
		(void)err_sys(err, errno,
			      "cannot make the name of %s durable in %s", path,
			      folder);
	if (fd >= 0)
		(void)close(fd); /* fsync has reported */
	free(copy);
	return result;
}

static int lock_file(int fd, const char *path, struct err *err)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return err_set(err,
			       "cannot append to %s: another program is "
			       "appending to it",
			       path);
	return err_sys(err, errno, "cannot lock %s", path);
}

static struct ackfile *new_file(int fd, const char *path, struct err *err)
{
	struct ackfile *file = calloc(1, sizeof(*file));

	if (file != NULL) {
		file->fd = fd;
		file->path = strdup(path);
	}
	if (file != NULL && file->path != NULL)
		return file;
	free(file);
	(void)err_set(err, "cannot append to %s: out of memory", path);
	return NULL;
}

static void free_file(struct ackfile *file)
{
	if (file == NULL)
		return;
	free(file->path);
	free(file);
}

struct ackfile *ackfile_create(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC,
		      0644);
	struct ackfile *file;

	if (fd < 0) {
		(void)err_sys(err, errno, "cannot create %s", path);
		return NULL;
	}
	file = new_file(fd, path, err);
	if (file == NULL || lock_file(fd, path, err) < 0 ||
	    sync_directory(path, err) < 0)
		goto fail;
	return file;
fail:
	free_file(file);
	(void)unlink(path); /* ours and empty; err says what went wrong */
	(void)close(fd);
	return NULL;
}

static int fold(struct ackreader *reader, struct ledger *ledger,
		const char *path, struct err *err)
{
	struct ackbody *body = malloc(sizeof(*body));
	int got = -1;

	if (body == NULL)
		return err_set(err, "cannot read %s: out of memory", path);
	while ((got = ackreader_next(reader, body, NULL, err)) > 0) {
		if (ledger_apply(ledger, body, err) == 0)
			continue;
		got = ackreader_reject(reader, err);
		break;
	}
	free(body);
	return got;
}

static int hint_damage(struct err *err)
{
	return err_hint(err, "take an undamaged copy of the log, or begin a "
			     "new run in a new log");
}

/* Folds, cuts off a torn tail, and makes what was folded durable: what an
 * earlier program wrote may have been in memory only when it died (P2). */
static int take_over(struct ackfile *file, struct ackreader *reader,
		     struct ledger *ledger, struct err *err)
{
	struct ackreader_end end;

	if (fold(reader, ledger, file->path, err) < 0)
		return hint_damage(err);
	end = ackreader_end(reader);
	if (end.frames == 0 || !ledger_has_run(ledger)) {
		(void)err_set(err, "cannot resume %s: it holds no run",
			      file->path);
		return hint_damage(err);
	}
	if (ackreader_torn_bytes(reader) > 0 &&
	    ftruncate(file->fd, (off_t)end.bytes) < 0)
		return err_sys(err, errno, "cannot cut off the torn tail of %s",
			       file->path);
	if (fsync(file->fd) < 0)
		return err_sys(err, errno, "cannot make %s durable",
			       file->path);
	file->frames = end.frames;
	file->crc = end.crc;
	return sync_directory(file->path, err);
}

struct ackfile *ackfile_resume(const char *path, struct ledger *ledger,
			       uint64_t *repaired_bytes, struct err *err)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
	struct ackfile *file = NULL;
	struct ackreader *reader = NULL;

	if (fd < 0) {
		(void)err_sys(err, errno, "cannot open %s", path);
		return NULL;
	}
	/* Locked before it is read, so that its end stays where it is. */
	if (lock_file(fd, path, err) < 0)
		goto fail;
	file = new_file(fd, path, err);
	if (file == NULL)
		goto fail;
	reader = ackreader_open_fd(fd, path, err);
	if (reader == NULL || take_over(file, reader, ledger, err) < 0)
		goto fail;
	*repaired_bytes = ackreader_torn_bytes(reader);
	ackreader_close(reader);
	return file;
fail:
	ackreader_close(reader);
	free_file(file);
	(void)close(fd); /* nothing was appended */
	return NULL;
}

static int die(struct ackfile *file, const struct err *err)
{
	file->is_dead = true;
	file->death = *err;
	return -1;
}

static int write_all(struct ackfile *file, struct iovec *parts, int count,
		     struct err *err)
{
	while (count > 0) {
		ssize_t done = writev(file->fd, parts, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_sys(err, done < 0 ? errno : ENOSPC,
				       "cannot append to %s", file->path);
		while (count > 0 && (size_t)done >= parts->iov_len) {
			done -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count > 0) {
			parts->iov_base = (uint8_t *)parts->iov_base + done;
			parts->iov_len -= (size_t)done;
		}
	}
	return 0;
}

int ackfile_append(struct ackfile *file, const uint8_t *payload,
		   uint32_t length, uint64_t arrival_ns, struct err *err)
{
	struct acklog_frame frame = {
		.length = length,
		.index = file->frames,
		.arrival_ns = arrival_ns,
		.previous_crc = file->crc,
	};
	uint8_t header[ACKLOG_HEADER_BYTES];
	struct iovec parts[2];

	if (file->is_dead) {
		*err = file->death;
		return -1;
	}
	acklog_encode(&frame, payload, header);
	parts[0] = (struct iovec){header, sizeof(header)};
	parts[1] = (struct iovec){(void *)(uintptr_t)payload, length};
	if (write_all(file, parts, 2, err) < 0)
		return die(file, err);
	file->frames++;
	file->crc = frame.crc;
	return 0;
}

int ackfile_sync(struct ackfile *file, struct err *err)
{
	if (file->is_dead) {
		*err = file->death;
		return -1;
	}
	if (fdatasync(file->fd) == 0)
		return 0;
	(void)err_sys(err, errno, "cannot make %s durable", file->path);
	return die(file, err);
}

int ackfile_close(struct ackfile *file, struct err *err)
{
	int result = 0;

	if (file == NULL)
		return 0;
	if (close(file->fd) < 0)
		result = err_sys(err, errno, "cannot close %s", file->path);
	free_file(file);
	return result;
}
