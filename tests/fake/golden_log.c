/* SPDX-License-Identifier: MIT */
#include "tests/fake/golden_log.h"

#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ackfile/ackfile.h"
#include "common/base/bytes.h"
#include "common/base/err.h"
#include "common/format/ledger.h"
#include "tests/fake/golden.h"

int golden_log_set_up(struct golden_log *log)
{
	size_t at = 0;

	memset(log, 0, sizeof(*log));
	(void)snprintf(log->folder, sizeof(log->folder),
		       "/tmp/golden_log.XXXXXX");
	if (mkdtemp(log->folder) == NULL)
		return -1;
	(void)snprintf(log->path, sizeof(log->path), "%s/run.acklog",
		       log->folder);
	log->size = golden_read("acklog.hex", log->bytes, sizeof(log->bytes));
	for (size_t i = 0; i < GOLDEN_LOG_FRAMES; i++) {
		log->begins[i] = at;
		at += ACKLOG_HEADER_BYTES + bytes_get32(log->bytes + at + 4);
	}
	log->begins[GOLDEN_LOG_FRAMES] = at;
	if (at != log->size)
		return -1;
	for (size_t i = 0; i < GOLDEN_LOG_FRAMES; i++) {
		size_t from = log->begins[i] + ACKLOG_HEADER_BYTES;
		size_t count = log->begins[i + 1] - from;

		memcpy(log->payloads + log->payloads_size, log->bytes + from,
		       count);
		log->payloads_size += count;
	}
	return 0;
}

int golden_log_tear_down(const struct golden_log *log)
{
	(void)unlink(log->path);
	return rmdir(log->folder);
}

void golden_log_write(const struct golden_log *log, const uint8_t *bytes,
		      size_t size)
{
	FILE *file = fopen(log->path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

uint64_t golden_log_file_size(const struct golden_log *log)
{
	struct stat about;

	assert_int_equal(stat(log->path, &about), 0);
	return (uint64_t)about.st_size;
}

int golden_log_read(struct golden_log *log, struct err *err)
{
	struct ackreader *reader = ackreader_open(log->path, err);
	struct ackbody body;
	int got;

	assert_non_null(reader);
	log->said_size = 0;
	while ((got = ackreader_next(reader, &body, NULL, err)) > 0)
		assert_int_equal(ackbody_encode(&body, log->said,
						sizeof(log->said),
						&log->said_size),
				 0);
	log->torn_bytes = ackreader_torn_bytes(reader);
	/* the end stays the end, and damage damage */
	assert_int_equal(ackreader_next(reader, &body, NULL, err), got);
	ackreader_close(reader);
	return got;
}

struct ackfile *golden_log_resume(const struct golden_log *log,
				  uint64_t *repaired_bytes, struct err *err)
{
	struct ledger *ledger = ledger_new(err);
	struct ackfile *file;

	assert_non_null(ledger);
	file = ackfile_resume(log->path, ledger, repaired_bytes, err);
	ledger_free(ledger);
	return file;
}

size_t golden_log_note(uint8_t *payload, size_t room, const char *text)
{
	struct ackbody body;
	size_t used = 0;

	memset(&body, 0, sizeof(body));
	body.type = ACKBODY_EVENT;
	body.note.event = ACKBODY_EVENT_NOTE;
	(void)snprintf(body.note.text, sizeof(body.note.text), "%s", text);
	assert_int_equal(ackbody_encode(&body, payload, room, &used), 0);
	return used;
}

int golden_log_append_note(struct ackfile *file, const char *text,
			   struct err *err)
{
	uint8_t payload[512];
	size_t used = golden_log_note(payload, sizeof(payload), text);

	return ackfile_append(file, payload, (uint32_t)used, 1, err);
}

void golden_log_expect(const struct err *err, const char *part)
{
	if (strstr(err->text, part) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", part, err->text);
}
