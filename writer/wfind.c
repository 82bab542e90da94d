/* SPDX-License-Identifier: MIT */
#include "writer/wfind.h"

#include "common/base/err.h"
#include "common/target/identity.h"
#include "common/target/target.h"
#include "writer/fill.h"
#include "writer/wprogress.h"

int wfind_settle(struct wfind *found, const struct wsettings *settings,
		 const struct run *run, struct err *err)
{
	const struct refind_request request = {
		.name = settings->target,
		.identity = run ? run->identity : "",
		.note = wprogress_note,
	};

	found->asked = settings->target;
	if (refind_resolve(&request, &found->where, err) < 0)
		return -1;
	if (identity_compare(request.identity, found->where.identity) ==
	    IDENTITY_OTHER)
		return err_set(err,
			       "%.80s is the wrong drive: it is '%.120s', the "
			       "run was begun on '%.120s'\nhint: %s",
			       settings->target, found->where.identity,
			       request.identity,
			       found->where.why[0] != '\0'
				       ? found->where.why
				       : "name the drive of the run with "
					 "--target, or begin a new run");
	found->settings = *settings;
	if (found->where.is_elsewhere)
		found->settings.target = found->where.path;
	return 0;
}

int wfind_confirm(const struct wfind *found, const struct target *target,
		  struct err *err)
{
	if (target && refind_confirm(&found->where, target, err) == 0)
		return 0;
	refind_explain(&found->where, found->asked, err);
	return -1;
}

int wfind_check_label(const struct wfind *found, struct target *target,
		      const struct run *run, struct err *err)
{
	const char *identity = target_info(target)->identity;
	const char *name = found->settings.target;
	enum fill_label label = FILL_LABEL_NONE;

	if (fill_find_label(target, run, &label, err) < 0)
		return -1;
	if (label == FILL_LABEL_OTHER)
		return err_set(err,
			       "%s is the wrong drive, or was used since: "
			       "it has the label of another run\nhint: begin "
			       "a new run, with a new log",
			       name);
	if (label == FILL_LABEL_OURS)
		return 0;
	if (found->where.is_shared ||
	    identity_compare(run->identity, identity) != IDENTITY_SAME)
		return err_set(err,
			       "%s has no label of the run, and nothing "
			       "else to know it by\nhint: begin a new run, "
			       "with a new log",
			       name);
	wprogress_note("neither label of the run can be read; going on, since "
		       "the drive's identity is right");
	return 0;
}
