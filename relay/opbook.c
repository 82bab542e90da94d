/* SPDX-License-Identifier: MIT */
#include "relay/opbook.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/err.h"

#define BOOT_ID_FILE  "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_BYTES 37 /* with the NUL */
#define LINE_BYTES    256
#define FORMAT        "plugpull-outlet 1"

struct opbook {
	int fd; /* locked */
	char path[PATH_MAX];
	char boot[BOOT_ID_BYTES]; /* of the last switching; "" never */
	uint64_t operations;
	uint64_t last_ms; /* CLOCK_BOOTTIME */
	enum relay_state power;
};

/* ---- where ---- */

static int make_folders(char *path, struct err *err)
{
	for (char *at = path + 1; at != NULL;) {
		at = strchr(at, '/');
		if (at != NULL)
			*at = '\0';
		if (mkdir(path, 0755) == -1 && errno != EEXIST)
			return err_sys(err, errno, "cannot make the folder %s",
				       path);
		if (at != NULL)
			*at++ = '/';
	}
	return 0;
}

static int find_folder(char *path, size_t room, struct err *err)
{
	const char *told = getenv("PLUGPULL_STATE");
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	int length = -1;

	if (told != NULL && *told == '/')
		length = snprintf(path, room, "%s", told);
	else if (geteuid() == 0)
		length = snprintf(path, room, "/var/lib/plugpull");
	else if (state != NULL && *state == '/')
		length = snprintf(path, room, "%s/plugpull", state);
	else if (home != NULL && *home == '/')
		length = snprintf(path, room, "%s/.local/state/plugpull", home);
	else
		return err_set(err, "there is no folder for what outlets have "
				    "done: set PLUGPULL_STATE");
	if (length < 0 || (size_t)length >= room)
		return err_set(err, "the path of the folder for what outlets "
				    "have done is too long");
	return 0;
}

const char *opbook_folder(struct err *err)
{
	static char path[PATH_MAX - OPBOOK_NAME_BYTES];

	if (find_folder(path, sizeof(path), err) < 0 ||
	    make_folders(path, err) < 0)
		return NULL;
	return path;
}

/* ---- the file ---- */

static void read_boot(char boot[BOOT_ID_BYTES])
{
	int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t count = -1;

	boot[0] = '\0';
	if (fd == -1)
		return;
	count = read(fd, boot, BOOT_ID_BYTES - 1);
	(void)close(fd); /* was only read */
	boot[count > 0 ? count : 0] = '\0';
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail: it exists */
	return (uint64_t)now.tv_sec * 1000 +
	       (uint64_t)now.tv_nsec / CLOCK_NS_PER_MS;
}

static int take_line(struct opbook *book, const char *line, struct err *err)
{
	char boot[BOOT_ID_BYTES] = "", power[8] = "";
	uint64_t operations = 0, last_ms = 0;

	if (sscanf(line,
		   FORMAT " operations %" SCNu64 " last %7s boot %36s ms "
			  "%" SCNu64,
		   &operations, power, boot, &last_ms) != 4 ||
	    (strcmp(power, "on") != 0 && strcmp(power, "off") != 0))
		return err_set(err,
			       "%s is not the book of an outlet\nhint: move it "
			       "away; its count of switchings begins anew",
			       book->path);
	book->operations = operations;
	book->last_ms = last_ms;
	book->power = strcmp(power, "on") == 0 ? RELAY_ON : RELAY_OFF;
	memcpy(book->boot, boot, sizeof(book->boot));
	return 0;
}

static int load(struct opbook *book, struct err *err)
{
	char line[LINE_BYTES];
	ssize_t count = pread(book->fd, line, sizeof(line) - 1, 0);

	if (count == -1)
		return err_sys(err, errno, "cannot read %s", book->path);
	line[count] = '\0';
	return count == 0 ? 0 : take_line(book, line, err);
}

/* The lock would stay with a file that is replaced; one line of fixed length
 * in one write is as good. */
static int save(const struct opbook *book, struct err *err)
{
	char line[LINE_BYTES];
	int length = snprintf(
		line, sizeof(line),
		FORMAT " operations %020" PRIu64
		       " last %-3s boot %-36s ms %020" PRIu64 "\n",
		book->operations, book->power == RELAY_ON ? "on" : "off",
		book->boot[0] == '\0' ? "-" : book->boot, book->last_ms);

	if (pwrite(book->fd, line, (size_t)length, 0) != length ||
	    fdatasync(book->fd) == -1)
		return err_sys(err, errno, "cannot write %s", book->path);
	return 0;
}

struct opbook *opbook_open(const char *name, struct err *err)
{
	const char *folder = opbook_folder(err);
	struct opbook *book = NULL;

	if (folder == NULL)
		return NULL;
	book = calloc(1, sizeof(*book));
	if (book == NULL) {
		(void)err_set(err, "no memory for the book of %s", name);
		return NULL;
	}
	(void)snprintf(book->path, sizeof(book->path), "%s/%.*s.outlet", folder,
		       OPBOOK_NAME_BYTES - 16, name);
	book->fd = open(book->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			0644);
	if (book->fd == -1) {
		(void)err_sys(err, errno, "cannot open %s", book->path);
		goto fail;
	}
	if (flock(book->fd, LOCK_EX | LOCK_NB) == -1) {
		(void)err_sys(err, errno,
			      "cannot have outlet %s alone; another program "
			      "uses it",
			      name);
		goto fail;
	}
	if (load(book, err) == 0)
		return book;
fail:
	opbook_close(book);
	return NULL;
}

void opbook_close(struct opbook *book)
{
	if (book == NULL)
		return;
	if (book->fd != -1)
		(void)close(book->fd); /* every line was synced */
	free(book);
}

uint64_t opbook_operations(const struct opbook *book)
{
	return book->operations;
}

bool opbook_last(const struct opbook *book, uint64_t *ago_ms,
		 enum relay_state *power)
{
	char boot[BOOT_ID_BYTES];
	uint64_t now = now_ms();

	read_boot(boot);
	if (boot[0] == '\0' || strcmp(boot, book->boot) != 0 ||
	    book->last_ms > now)
		return false;
	*ago_ms = now - book->last_ms;
	*power = book->power;
	return true;
}

int opbook_done(struct opbook *book, struct err *err)
{
	book->last_ms = now_ms();
	return save(book, err);
}

int opbook_note(struct opbook *book, enum relay_state power, struct err *err)
{
	read_boot(book->boot);
	book->last_ms = now_ms();
	book->power = power;
	book->operations++;
	return save(book, err);
}
