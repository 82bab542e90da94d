#!/bin/bash
# SPDX-License-Identifier: MIT
# P9, P11: every call of the campaign fails, is short, or is its last in turn,
# on an honest drive and on one that ignores FLUSH. The honest one is never
# failed, the liar never passed; the campaign resumed gives the tally of one
# without trouble, or says why not; and a report from a folder that cannot be
# read whole is no report.
. "${0%/*}/lib.sh"
. "${0%/*}/../inject/walk.sh"
requires nbdkit

settings() {
	cat >"$TMP/ini" <<INI
[campaign]
cycles = 1
control_cycles = 0
seed = 1
[drive]
target = $SIM_URI
erase = $SIM_URI
[workload]
sync = flush:8
[cut]
after_min = 250ms
after_max = 300ms
[power]
outlet = sim:$SIM_CONTROL
off_time = 0ms
gone_timeout = 1s
INI
}

# campaign_by PROGRAM ARGS...: its status is the clean one, or 2 and a reason.
campaign_by() {
	local program=$1
	shift
	"$program" campaign "$@"
	((status < 4)) || return 0 # killed, as was asked for
	[[ $status == 2 || $status == $CLEAN ]] ||
		bad "campaign $1 gave $status, not $CLEAN: $(cat "$TMP/out")"
	[[ $status != 2 ]] || grep -q '^stopped \|^NO VERDICT: ' "$TMP/out" ||
		said campaign
}

tally() {
	value "$TMP/d/summary.json" "$1"
	echo "$1 $VALUE"
}

# A campaign with a fault; then, with power, the rest of it without.
resumed() {
	rm -rf "$TMP/d"
	campaign_by inject run "$TMP/ini" --dir "$TMP/d"
	"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" \
		>/dev/null 2>&1
	[[ -e $TMP/d/journal ]] || return 0
	campaign_by run resume "$TMP/d"
	[[ $status == $CLEAN ]] || return 0
	[[ $(tally done_cycles) == "done_cycles 1" ]] ||
		bad "resumed: $(tally done_cycles)"
	campaign_by run report "$TMP/d"
	[[ $status == $CLEAN ]] || bad "the report gives $status"
}

# The folder of a campaign that is done: whatever fails while it is read, it is
# worth the same afterwards.
reread() {
	local command
	for command in report resume; do
		rm -rf "$TMP/d"
		cp -r "$TMP/d.done" "$TMP/d"
		campaign_by inject "$command" "$TMP/d"
		is_met || continue
		cmp -s "$TMP/d/journal" "$TMP/d.done/journal" ||
			[[ $command == resume ]] ||
			bad "the journal was changed"
		campaign_by run report "$TMP/d"
		[[ $status == $CLEAN ]] ||
			bad "after $command the report gives $status: $(
				cat "$TMP/out" "$TMP/err")"
		echo "0 met" >"$TMP/report"
	done
}

prepare() { # FAULT STATUS
	SPEC=none CLEAN=$2
	start_simdrive drive --size 6m --cache 8m --fault "$1" --seed 1
	settings
	rm -rf "$TMP/d" "$TMP/d.done"
	run campaign run "$TMP/ini" --dir "$TMP/d"
	[[ $status == $CLEAN ]] || fail "clean, and $status"
	cp -r "$TMP/d" "$TMP/d.done"
}

journal() {
	INJECT_PATH=$TMP/d/journal
	walk_all resumed write torn ENOSPC+ kill
	walk_all resumed sync lose cut
	INJECT_PATH=
}

honest_journal() {
	prepare none "$KEPT"
	journal
}

liar_journal() {
	prepare ignores-flush 1
	journal
}

files() {
	prepare ignores-flush 1
	walk resumed open EMFILE
	walk resumed change ENOSPC
	walk resumed stdio ENOSPC
	walk resumed close EIO
}

processes() {
	prepare ignores-flush 1
	walk resumed process EAGAIN
	walk resumed pipe EINTR short
	walk resumed poll EINTR ENOMEM
}

honest_processes() {
	prepare none "$KEPT"
	walk resumed process EAGAIN
	walk resumed pipe EINTR short
}

memory() {
	prepare ignores-flush 1
	! has_memory || walk resumed memory ENOMEM
}

reports() {
	prepare ignores-flush 1
	walk_all reread read EIO short
	walk reread open EMFILE
	walk reread status EIO
	walk reread stdio ENOSPC
}

report_memory() {
	prepare ignores-flush 1
	! has_memory || walk reread memory ENOMEM
}

KEPT="[03]" # it depends on the moment whether a loss is shown
sides ${SIDES:-honest_journal liar_journal files processes honest_processes \
	memory reports report_memory}
told
