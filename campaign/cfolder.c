/* SPDX-License-Identifier: MIT */
#include "campaign/cfolder.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "campaign/csummary.h"
#include "common/base/err.h"

#define CFOLDER_COPY_BYTES 4096

void cfolder_path(const char *dir, const char *name, char *path, size_t room)
{
	(void)snprintf(path, room, "%.*s/%.64s", CFOLDER_DIR_BYTES, dir, name);
}

int cfolder_copy(const char *from, const char *to, struct err *err)
{
	char buffer[CFOLDER_COPY_BYTES];
	FILE *in = fopen(from, "re");
	FILE *out = fopen(to, "we");
	size_t got = 0;
	int rc = 0;

	if (in == NULL || out == NULL) {
		rc = err_sys(err, errno, "cannot copy %s to %s", from, to);
		goto out;
	}
	while (rc == 0 && (got = fread(buffer, 1, sizeof(buffer), in)) > 0)
		if (fwrite(buffer, 1, got, out) != got)
			rc = err_sys(err, errno, "cannot write %s", to);
	if (rc == 0 &&
	    (ferror(in) || fflush(out) != 0 || fsync(fileno(out)) == -1))
		rc = err_sys(err, errno, "cannot copy %s to %s", from, to);
out:
	if (in != NULL)
		(void)fclose(in); /* was only read */
	if (out != NULL && fclose(out) != 0 && rc == 0)
		rc = err_sys(err, errno, "cannot close %s", to);
	return rc;
}

static int write_text(const struct csummary *summary, const char *path,
		      struct err *err)
{
	FILE *file = fopen(path, "we");
	int rc = 0;

	if (file == NULL)
		return err_sys(err, errno, "cannot write %s", path);
	csummary_print(summary, file);
	if (fflush(file) != 0 || ferror(file) || fsync(fileno(file)) == -1)
		rc = err_sys(err, errno, "cannot write %s", path);
	if (fclose(file) != 0 && rc == 0)
		rc = err_sys(err, errno, "cannot close %s", path);
	return rc;
}

int cfolder_write_summary(const char *dir, const struct csummary *summary,
			  struct err *err)
{
	char path[CFOLDER_PATH_BYTES];
	json_t *object = NULL;
	int rc = 0;

	cfolder_path(dir, "summary.txt", path, sizeof(path));
	if (write_text(summary, path, err) == -1)
		return -1;
	cfolder_path(dir, "summary.json", path, sizeof(path));
	object = csummary_encode(summary);
	if (object == NULL || json_dump_file(object, path, JSON_INDENT(2)) != 0)
		rc = err_set(err, "cannot write %s", path);
	json_decref(object);
	return rc;
}
