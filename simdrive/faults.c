/* SPDX-License-Identifier: MIT */
#include "simdrive/faults.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/options.h"

static const struct fault_row rows[FAULT_KINDS] = {
#define FAULT(symbol, name, does, arg, flush, fua, also) \
	[FAULT_##symbol] = {name, does, arg, #flush, #fua, #also},
#include "simdrive/faults.def"
#undef FAULT
};

static int find_kind(const char *name, size_t length)
{
	for (int kind = 0; kind < FAULT_KINDS; kind++)
		if (strlen(rows[kind].name) == length &&
		    strncmp(rows[kind].name, name, length) == 0)
			return kind;
	return -1;
}

static int check_arg(const struct fault *fault, struct err *err)
{
	const char *name = rows[fault->kind].name;

	if (fault->kind == FAULT_TEARS && fault->arg != 512 &&
	    fault->arg != 4096)
		return err_set(err, "fault %s takes 512 or 4096", name);
	if (fault->arg < 1 || fault->arg > UINT32_MAX)
		return err_set(err, "fault %s takes a number from 1 to %u",
			       name, UINT32_MAX);
	return 0;
}

const struct fault_row *faults_row(enum fault_kind kind)
{
	assert(kind < FAULT_KINDS);
	return &rows[kind];
}

int faults_add(struct faults *faults, const char *text, struct err *err)
{
	size_t length = strcspn(text, "=");
	int kind = find_kind(text, length);
	struct fault fault = {.kind = FAULT_NONE};

	if (kind < 0)
		return err_set(err, "there is no fault %.*s", (int)length,
			       text);
	fault.kind = (enum fault_kind)kind;
	fault.arg = rows[kind].arg;
	if (text[length] == '=') {
		if (rows[kind].arg == 0)
			return err_set(err, "fault %s takes no argument",
				       rows[kind].name);
		if (options_parse_size(text + length + 1, rows[kind].name,
				       &fault.arg, err) != 0)
			return -1;
		if (check_arg(&fault, err) != 0)
			return -1;
	}
	if (fault.kind == FAULT_NONE)
		return 0;
	if (faults_find(faults, fault.kind) != NULL)
		return err_set(err, "fault %s is given twice", rows[kind].name);
	if (faults->count == FAULTS_MAX)
		return err_set(err, "a drive has at most %d faults",
			       FAULTS_MAX);
	faults->list[faults->count++] = fault;
	return 0;
}

int faults_set_cuts(struct faults *faults, const char *text, struct err *err)
{
	char copy[48];
	char *dash = NULL;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	dash = strchr(copy, '-');
	if (dash != NULL)
		*dash = '\0';
	if (options_parse_count(copy, "first cut", &faults->first_cut, err) !=
	    0)
		return -1;
	faults->last_cut = dash == NULL ? faults->first_cut : UINT64_MAX;
	if (dash != NULL && dash[1] != '\0' &&
	    options_parse_count(dash + 1, "last cut", &faults->last_cut, err) !=
		    0)
		return -1;
	if (faults->first_cut < 1 || faults->last_cut < faults->first_cut)
		return err_set(err, "there are no cuts %s", text);
	return 0;
}

const struct fault *faults_find(const struct faults *faults,
				enum fault_kind kind)
{
	for (unsigned int i = 0; i < faults->count; i++)
		if (faults->list[i].kind == kind)
			return &faults->list[i];
	return NULL;
}

bool faults_bite(const struct faults *faults, uint64_t cuts)
{
	const uint64_t cut = cuts + 1;

	if (faults->count == 0 || cut < faults->first_cut ||
	    (faults->last_cut != 0 && cut > faults->last_cut))
		return false;
	return faults->every <= 1 || cut % faults->every == 0;
}

enum fault_flush faults_flush(const struct faults *faults,
			      uint64_t flush_number, uint64_t *arg)
{
	const struct fault *fault = NULL;

	if (faults_find(faults, FAULT_IGNORES_FLUSH) != NULL ||
	    faults_find(faults, FAULT_PROTECTED) != NULL ||
	    faults_find(faults, FAULT_WEAK_CAPACITOR) != NULL)
		return FAULT_FLUSH_IGNORE;
	fault = faults_find(faults, FAULT_FLUSHES_LATE);
	if (fault != NULL) {
		*arg = fault->arg;
		return FAULT_FLUSH_LATE;
	}
	fault = faults_find(faults, FAULT_FLUSHES_PARTLY);
	if (fault != NULL && flush_number % fault->arg == 0)
		return FAULT_FLUSH_FORGET;
	if (faults_find(faults, FAULT_REORDERS) != NULL)
		return FAULT_FLUSH_HALF;
	return FAULT_FLUSH_HONEST;
}

bool faults_cache_fua(const struct faults *faults)
{
	return faults_find(faults, FAULT_IGNORES_FUA) != NULL ||
	       faults_find(faults, FAULT_PROTECTED) != NULL ||
	       faults_find(faults, FAULT_WEAK_CAPACITOR) != NULL;
}

uint64_t faults_saved_bytes(const struct faults *faults)
{
	const struct fault *weak = faults_find(faults, FAULT_WEAK_CAPACITOR);

	if (weak != NULL)
		return weak->arg;
	return faults_find(faults, FAULT_PROTECTED) != NULL ? UINT64_MAX : 0;
}
