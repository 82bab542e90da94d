#!/bin/bash
# SPDX-License-Identifier: MIT
# The simulated drive says what is wrong with what it is told, and runs from
# where it was installed.
. "${0%/*}/lib.sh"
requires nbdkit

serve=(serve --socket "$TMP/d.sock" --media "$TMP/d.media" --control
	"$TMP/d.control")

wrong_usage() { # REGEX ARGS...
	local regex=$1
	shift
	run simdrive "$@"
	expect_status 2
	expect_err "^plugpull-simdrive: .*$regex"
	expect_err "^Try 'plugpull-simdrive --help'.$"
}

wrong_usage 'say one of'
wrong_usage 'no command explode' explode
wrong_usage 'needs --control' cut
wrong_usage 'serve needs --socket' serve --size 8m
wrong_usage 'no fault lies' "${serve[@]}" --size 8m --fault lies
wrong_usage 'takes 512 or 4096' "${serve[@]}" --size 8m --fault tears=7
wrong_usage 'at most 4' "${serve[@]}" --size 8m --fault tears --fault dies \
	--fault hangs --fault blanks --fault corrupts
wrong_usage '512 or 4096' "${serve[@]}" --size 8m --logical-block 1024
wrong_usage 'multiple' "${serve[@]}" --size 1000
wrong_usage 'fifo or random' "${serve[@]}" --size 8m --drain-order lifo

run simdrive --list-faults
expect_status 0
while read -r name _; do
	expect_out "^$name[ =]"
done < <(faults)

run simdrive cut --control "$TMP/nowhere"
expect_status 2
expect_err 'cannot reach a simulated drive at .*: No such file'

run simdrive "${serve[@]}"
expect_status 2
expect_err 'cannot open media .*: No such file'
truncate -s 4m "$TMP/d.media"
run simdrive "${serve[@]}" --size 8m
expect_status 2
expect_err 'has 4194304 bytes, but --size says 8388608'

status=0
env PATH=/nonexistent "$BIN/plugpull-simdrive" "${serve[@]}" \
	>"$TMP/out" 2>"$TMP/err" || status=$?
expect_status 2
expect_err 'nbdkit: it is not installed \(Debian and Fedora: package nbdkit\)'
[[ -e $TMP/d.control ]] && fail "the control socket was left behind"

# Installed: the program in bin, the plugin in lib/plugpull.
mkdir -p "$TMP/prefix/bin" "$TMP/prefix/lib/plugpull"
cp "$BIN/plugpull-simdrive" "$TMP/prefix/bin"
run_installed() {
	background "$TMP/prefix/bin/plugpull-simdrive" "${serve[@]}" \
		>"$TMP/out" 2>"$TMP/err" </dev/null
}
run_installed
wait_until 20 lib_has_ended $!
expect_err 'cannot find plugpull-simdrive-plugin.so'
cp "$BIN/plugpull-simdrive-plugin.so" "$TMP/prefix/lib/plugpull"
run_installed
wait_until 20 grep -q '^serving nbd+unix:///?socket=' "$TMP/out"

# A second one does not take the first one's place.
run simdrive "${serve[@]}"
expect_status 2
expect_err 'another simulated drive listens on'
run simdrive status --control "$TMP/d.control"
expect_out '^ok state=on dirty_bytes=0 '
exit 0
