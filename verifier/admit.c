/* SPDX-License-Identifier: MIT */
#include "verifier/admit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/target/identity.h"
#include "common/target/target.h"
#include "verifier/reader.h"

#define BLOCK_BYTES_MAX 65536 /* a logical block */

/* A label may have been marked as unsent behind the log's first word. */
static bool is_same_run(const struct run *a, const struct run *b)
{
	uint8_t left[RUN_BODY_BYTES], right[RUN_BODY_BYTES];
	struct run other = *b;

	other.is_unsent = a->is_unsent;
	run_encode_body(a, left);
	run_encode_body(&other, right);
	return memcmp(left, right, sizeof(left)) == 0;
}

static bool is_right(const struct admit_label *label, const struct run *run)
{
	return label->state == ADMIT_COPY_GOOD && is_same_run(&label->run, run);
}

/* What was in the label's place before RUN's own (writer/fill.c). */
static bool is_own_claim(const struct admit_label *label, const struct run *run)
{
	struct run claimed = label->run;
	size_t i;

	if (label->state != ADMIT_COPY_GOOD || label->run.is_filled)
		return false;
	for (i = 0; i < RUN_ID_BYTES; i++)
		claimed.id[i] ^= 0xff;
	claimed.is_filled = run->is_filled;
	return is_same_run(&claimed, run);
}

int admit_check_drive(const struct run *run, const struct admit_drive *drive,
		      struct err *err)
{
	char id[RUN_ID_TEXT_BYTES];

	run_id_text(run->id, id);
	if (identity_compare(run->identity, drive->identity) ==
	    IDENTITY_OTHER) {
		(void)err_set(err,
			      "wrong drive: run %s was written to %s, but %s "
			      "is %s",
			      id, run->identity, drive->name, drive->identity);
		return err_hint(err, "name the drive of the run with --target");
	}
	if (run->offset_bytes > drive->size_bytes ||
	    run->size_bytes > drive->size_bytes - run->offset_bytes)
		return err_set(err,
			       "the region of run %s ends at byte %" PRIu64
			       ", but %s has shrunk to %" PRIu64 " bytes"
			       "\nhint: see what took its end (a limit set in "
			       "the drive, a bridge, a partition)",
			       id, run->offset_bytes + run->size_bytes,
			       drive->name, drive->size_bytes);
	if (drive->logical_block_bytes > run->logical_block_bytes)
		return err_set(err,
			       "the logical block of %s is %" PRIu32
			       " bytes now, it was %" PRIu32 " in run %s"
			       "\nhint: attach it as it was when the run began",
			       drive->name, drive->logical_block_bytes,
			       run->logical_block_bytes, id);
	return 0;
}

/*
 * Another run's own label, not a claim, whose twin was where RUN's twin is. A
 * run that was begun behind RUN would have put its claim over both, one that
 * was before has been overwritten by RUN's: in either case a label that had
 * been flushed has come undone.
 */
static bool is_left_over(const struct admit_label *label, const struct run *run)
{
	return label->state == ADMIT_COPY_GOOD && label->run.is_filled &&
	       label->run.offset_bytes == run->offset_bytes &&
	       label->run.size_bytes == run->size_bytes &&
	       memcmp(label->run.id, run->id, RUN_ID_BYTES) != 0;
}

/* A good label that is not RUN's, beside one that is or a log that knows that
 * they were flushed, and that says nothing against RUN. */
static bool is_explained(const struct admit_label *label, const struct run *run,
			 bool was_labelled, bool has_right)
{
	if (is_own_claim(label, run))
		return was_labelled || has_right;
	return has_right && is_left_over(label, run);
}

/* LABEL is of another run, or describes this one otherwise. */
static int refuse_label(const struct run *run, const struct admit_drive *drive,
			const struct admit_label *label, bool has_right,
			struct err *err)
{
	char wanted[RUN_ID_TEXT_BYTES], found[RUN_ID_TEXT_BYTES];

	run_id_text(run->id, wanted);
	run_id_text(label->run.id, found);
	if (strcmp(found, wanted) == 0)
		return err_set(err,
			       "the label on %s describes run %s otherwise "
			       "than the log does\nhint: take the log that the "
			       "writer made",
			       drive->name, wanted);
	if (has_right)
		return err_set(err,
			       "one label on %s is of run %s, the other of run "
			       "%s: the region was begun for another run"
			       "\nhint: verify a run before the next one is "
			       "begun in its region",
			       drive->name, wanted, found);
	return err_set(err,
		       "the log is of run %s, but the label on %s is of run %s"
		       "\nhint: name that run's log with --acklog",
		       wanted, drive->name, found);
}

int admit_decide(const struct run *run, const struct admit_drive *drive,
		 const struct admit_label labels[2], struct err *err)
{
	bool has_right = is_right(&labels[0], run) || is_right(&labels[1], run);
	char wanted[RUN_ID_TEXT_BYTES];
	unsigned int copy;

	if (admit_check_drive(run, drive, err) < 0)
		return -1;
	for (copy = 0; copy < 2; copy++) {
		const struct admit_label *label = &labels[copy];

		if (label->state == ADMIT_COPY_GOOD && !is_right(label, run) &&
		    !is_explained(label, run, drive->was_labelled, has_right))
			return refuse_label(run, drive, label, has_right, err);
	}
	/* Its claim knows the run as well as its label does. */
	if (has_right || is_own_claim(&labels[0], run) ||
	    is_own_claim(&labels[1], run))
		return 0;
	run_id_text(run->id, wanted);
	if (drive->is_shared ||
	    identity_compare(run->identity, drive->identity) != IDENTITY_SAME)
		return err_set(err,
			       "no label of run %s can be read on %s, and "
			       "nothing else tells that it is the same drive"
			       "\nhint: see that --target is what the writer "
			       "wrote to",
			       wanted, drive->name);
	return 0;
}

static enum admit_copy state_of_read(enum judge_read read)
{
	switch (read) {
	case JUDGE_READ_UNREADABLE:
		return ADMIT_COPY_UNREADABLE;
	case JUDGE_READ_HUNG:
		return ADMIT_COPY_HUNG;
	case JUDGE_READ_GONE:
		return ADMIT_COPY_GONE;
	case JUDGE_READ_UNJUDGED:
		return ADMIT_COPY_UNJUDGED;
	case JUDGE_READ_OK:
		break;
	}
	abort();
}

static bool is_blank(const uint8_t *bytes, size_t count)
{
	size_t i;

	if (bytes[0] != 0x00 && bytes[0] != 0xff)
		return false;
	for (i = 1; i < count; i++)
		if (bytes[i] != bytes[0])
			return false;
	return true;
}

static int read_label(struct reader *reader, uint64_t offset_bytes,
		      struct admit_label *label, struct err *err)
{
	uint8_t bytes[BLOCK_BYTES_MAX];
	enum judge_read reads[BLOCK_BYTES_MAX / RUN_ATOM_BYTES];
	struct reader_range range = {.offset_bytes = offset_bytes,
				     .length = reader->block_bytes,
				     .buffer = bytes,
				     .reads = reads};
	struct err why;
	size_t i;

	if (range.length > BLOCK_BYTES_MAX)
		return err_set(err,
			       "logical blocks of %zu bytes are not "
			       "understood",
			       range.length);
	if (range.length < RUN_LABEL_BYTES)
		range.length = RUN_LABEL_BYTES;
	if (!reader_read(reader, &range, 0))
		return err_sys(err, atomic_load(&reader->rig_error),
			       "cannot read the label at byte %" PRIu64
			       " of %s",
			       offset_bytes, target_name(reader->target));
	label->is_asked = true;
	label->state = ADMIT_COPY_DAMAGED;
	for (i = 0; i < range.length / RUN_ATOM_BYTES; i++) {
		if (reads[i] == JUDGE_READ_OK)
			continue;
		label->state = state_of_read(reads[i]);
		return 0;
	}
	if (run_decode_label(&label->run, bytes, &why) == RUN_LABEL_GOOD)
		label->state = ADMIT_COPY_GOOD;
	else if (is_blank(bytes, RUN_LABEL_BYTES))
		label->state = ADMIT_COPY_BLANK;
	return 0;
}

int admit_read_labels(struct reader *reader, const struct run *run,
		      struct admit_label labels[2], struct err *err)
{
	unsigned int copy;

	for (copy = 0; copy < 2; copy++)
		if (!labels[copy].is_asked &&
		    read_label(reader, run_label_offset(run, copy),
			       &labels[copy], err) < 0)
			return -1;
	return 0;
}

int admit_ask_again(struct reader *reader, const struct run *run,
		    struct admit_label labels[2], struct err *err)
{
	unsigned int copy;
	int result = 0;

	for (copy = 0; copy < 2 && result == 0; copy++) {
		if (labels[copy].state != ADMIT_COPY_HUNG)
			continue;
		if (atomic_load(&reader->rig_error) != 0) {
			labels[copy].state = ADMIT_COPY_UNJUDGED;
			continue;
		}
		reader_ask_second(reader);
		result = read_label(reader, run_label_offset(run, copy),
				    &labels[copy], err);
		reader_ask_first(reader);
	}
	return result;
}

static int take_run(struct reader *reader, uint64_t at, uint64_t offset_bytes,
		    struct admit_label *label, struct err *err)
{
	if (read_label(reader, at, label, err) < 0)
		return -1;
	return label->state == ADMIT_COPY_GOOD &&
	       label->run.offset_bytes == offset_bytes;
}

/* The second copy's place depends on the size of a block: every power of two
 * is tried, for a region that reaches to the end of the drive. */
static int find_second(struct reader *reader, uint64_t offset_bytes,
		       struct admit_label *label, struct err *err)
{
	uint64_t drive_bytes = target_info(reader->target)->size_bytes;
	uint64_t room =
		offset_bytes < drive_bytes ? drive_bytes - offset_bytes : 0;
	uint64_t block, last = 0;
	int result = 0;

	for (block = RUN_BLOCK_BYTES_MIN;
	     result == 0 && block <= RUN_BLOCK_BYTES_MAX; block *= 2) {
		uint64_t size = run_fit_size(room, (uint32_t)block);
		uint64_t at = offset_bytes + size - RUN_LABEL_AREA_BYTES;

		if (size == 0 || at == last || at % reader->block_bytes != 0 ||
		    reader_is_over(reader))
			continue;
		last = at;
		result = take_run(reader, at, offset_bytes, label, err);
	}
	label->is_asked =
		result > 0 && run_label_offset(&label->run, 1) == last;
	return result;
}

/* The first copy may be the claim of the run that the second one names. */
static int prefer_claimant(struct reader *reader, struct run *run,
			   struct admit_label labels[2], struct err *err)
{
	const struct target_info *info = target_info(reader->target);
	const uint64_t at = run_label_offset(run, 1);

	if (run->is_filled || at > info->size_bytes ||
	    info->size_bytes - at < RUN_LABEL_BYTES ||
	    at % reader->block_bytes != 0)
		return 0;
	if (read_label(reader, at, &labels[1], err) < 0)
		return -1;
	if (labels[1].state == ADMIT_COPY_GOOD &&
	    is_own_claim(&labels[0], &labels[1].run))
		*run = labels[1].run;
	return 0;
}

int admit_find_run(struct reader *reader, uint64_t offset_bytes,
		   struct run *run, struct admit_label labels[2],
		   struct err *err)
{
	const struct target_info *info = target_info(reader->target);
	int result = 0, copy = 0;

	if (info->size_bytes >= RUN_LABEL_BYTES &&
	    offset_bytes <= info->size_bytes - RUN_LABEL_BYTES)
		result = take_run(reader, offset_bytes, offset_bytes,
				  &labels[0], err);
	if (result == 0) {
		copy = 1;
		result = find_second(reader, offset_bytes, &labels[1], err);
	}
	if (result < 0)
		return -1;
	if (result == 0)
		return err_set(err,
			       "no label can be read on %s at byte %" PRIu64
			       ", and there is no log to tell the run"
			       "\nhint: name the log with --acklog, or the "
			       "region's place with --offset",
			       target_name(reader->target), offset_bytes);
	*run = labels[copy].run;
	return copy == 0 ? prefer_claimant(reader, run, labels, err) : 0;
}

bool admit_is_read(const struct admit_label *label)
{
	return label->state == ADMIT_COPY_GOOD ||
	       label->state == ADMIT_COPY_BLANK ||
	       label->state == ADMIT_COPY_DAMAGED;
}

bool admit_is_unsent(const struct run *run, const struct admit_label labels[2])
{
	bool is_unsent = run->is_unsent;

	for (unsigned int copy = 0; copy < 2; copy++)
		if (is_right(&labels[copy], run) ||
		    is_own_claim(&labels[copy], run))
			is_unsent = is_unsent || labels[copy].run.is_unsent;
	return is_unsent;
}

bool admit_finding(const struct run *run, const struct admit_label *label,
		   unsigned int copy, struct finding *finding)
{
	static const enum verdict classes[] = {
		[ADMIT_COPY_GOOD] = VERDICT_FOREIGN,
		[ADMIT_COPY_BLANK] = VERDICT_BLANK,
		[ADMIT_COPY_DAMAGED] = VERDICT_CORRUPT,
		[ADMIT_COPY_UNREADABLE] = VERDICT_UNREADABLE,
		[ADMIT_COPY_HUNG] = VERDICT_HUNG,
		[ADMIT_COPY_GONE] = VERDICT_GONE,
	};

	if (is_right(label, run) || label->state == ADMIT_COPY_UNJUDGED)
		return false;
	*finding = (struct finding){
		.class = classes[label->state],
		.is_label = true,
		.stream = -1,
		.slot = UINT64_MAX,
		.offset_bytes = run_label_offset(run, copy),
		.atoms = RUN_LABEL_BYTES / RUN_ATOM_BYTES,
	};
	return true;
}
