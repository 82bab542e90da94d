#!/bin/bash
# SPDX-License-Identifier: MIT
# The list of drives needs no target, no log and no root, writes nothing, and
# says of what it could not ask that it could not.
. "${0%/*}/lib.sh"
requires jq

run writer --list
expect_status 0
expect_out '^NAME +SIZE +TRANSPORT +MODEL +SERIAL +MAY BE TESTED$'
lines=$(wc -l <"$TMP/out")
run writer --list --json "$TMP/list.json"
expect_status 0
expect_out '^NAME '
run writer -l --json -
expect_status 0
jq -e 'type == "array" and all(.[]; has("name") and has("size") and
	has("transport") and has("serial") and has("erase") and
	has("may_be_tested") and (.may_be_tested == true or .reason != null))' \
	"$TMP/out" >/dev/null || fail "that is no list"
jq -e 'type == "array"' "$TMP/list.json" >/dev/null || fail "no list in the file"

# Where the root file system lies on a drive, that one is never to be tested.
root=$(lsblk -no PKNAME "$(findmnt -no SOURCE /)" 2>/dev/null | head -n 1)
if [[ -n $root ]]; then
	expect_equal "what may be done with the system's own drive" "$(
		jq -r --arg name "$root" \
			'.[] | select(.name == $name) | .may_be_tested' \
			"$TMP/list.json")" false
fi

run writer --list --json "$TMP/none/list.json"
expect_status 2
expect_err 'cannot write .*none/list.json: No such file'
run writer --list surplus
expect_status 2
expect_err "'surplus' is not an option"

# Without a right to read it, a drive is not called fit.
if [[ $EUID == 0 ]] && command -v setpriv >/dev/null && [[ $lines -gt 1 ]] &&
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$BIN/plugpull-writer" --version >/dev/null 2>&1; then
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$BIN/plugpull-writer" --list >"$TMP/out" 2>"$TMP/err" ||
		fail "no list without root"
	[[ $(wc -l <"$TMP/out") == "$lines" ]] ||
		fail "another list without root"
	! grep -q ' yes: ' "$TMP/out" || fail "it cannot know that"
fi
exit 0
