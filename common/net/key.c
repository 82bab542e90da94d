/* SPDX-License-Identifier: MIT */
#include "common/net/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/err.h"

#define KEY_DIGITS (2 * CHANNEL_KEY_BYTES)
#define HINT_NEW_KEY \
	"plugpull-collector --new-key FILE makes a key; both ends need it"

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

static int parse_text(struct channel_key *key, const char *text, size_t length)
{
	if (length == KEY_DIGITS + 1 && text[KEY_DIGITS] == '\n')
		length--;
	if (length != KEY_DIGITS)
		return -1;
	for (size_t i = 0; i < CHANNEL_KEY_BYTES; i++) {
		int high = digit_value(text[2 * i]);
		int low = digit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -1;
		key->bytes[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int check_mode(int fd, const char *path, struct err *err)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return err_sys(err, errno, "cannot look at key file %s", path);
	if (!S_ISREG(stat.st_mode))
		return err_set(err, "key file %s is not a regular file", path);
	if (stat.st_mode & (S_IRWXG | S_IRWXO))
		return err_set(err,
			       "key file %s is open to others (mode %04o)\n"
			       "hint: chmod 600 %s",
			       path, (unsigned int)(stat.st_mode & 07777),
			       path);
	return 0;
}

static int write_key(int fd, const char *path, struct err *err)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[CHANNEL_KEY_BYTES];
	char text[KEY_DIGITS + 1];
	int result = 0;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_sys(err, errno, "cannot draw a random key");
	for (size_t i = 0; i < sizeof(bytes); i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[KEY_DIGITS] = '\n';
	errno = ENOSPC;
	if (write(fd, text, sizeof(text)) != (ssize_t)sizeof(text) ||
	    fsync(fd) < 0)
		result = err_sys(err, errno, "cannot write key file %s", path);
	explicit_bzero(bytes, sizeof(bytes));
	explicit_bzero(text, sizeof(text));
	return result;
}

int channel_key_create(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int result;

	if (fd < 0)
		return err_sys(err, errno, "cannot create key file %s", path);
	result = write_key(fd, path, err);
	if (close(fd) < 0 && result == 0)
		result = err_sys(err, errno, "cannot write key file %s", path);
	if (result < 0)
		(void)unlink(path); /* the first error is the one to tell */
	return result;
}

struct channel_key *channel_key_load(const char *path, struct err *err)
{
	struct channel_key *key = NULL;
	char text[KEY_DIGITS + 2];
	ssize_t length;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		err_sys(err, errno, "cannot open key file %s", path);
		err_hint(err, HINT_NEW_KEY);
		return NULL;
	}
	if (check_mode(fd, path, err) < 0)
		goto out;
	length = read(fd, text, sizeof(text));
	if (length < 0) {
		err_sys(err, errno, "cannot read key file %s", path);
		goto out;
	}
	key = calloc(1, sizeof(*key));
	if (key == NULL) {
		err_sys(err, ENOMEM, "cannot keep the key of %s", path);
	} else if (parse_text(key, text, (size_t)length) < 0) {
		err_set(err, "key file %s does not hold %d hex digits", path,
			KEY_DIGITS);
		err_hint(err, HINT_NEW_KEY);
		channel_key_free(key);
		key = NULL;
	}
	explicit_bzero(text, sizeof(text));
out:
	(void)close(fd); /* only read */
	return key;
}

void channel_key_free(struct channel_key *key)
{
	if (key == NULL)
		return;
	explicit_bzero(key, sizeof(*key));
	free(key);
}
