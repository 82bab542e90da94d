#!/bin/bash
# SPDX-License-Identifier: MIT
# make install puts programs and manuals where DESTDIR and PREFIX say; the
# programs find each other and the plugin there; make uninstall takes all back.
. "${0%/*}/lib.sh"
requires make

top=$(cd "${0%/*}/../.." && pwd)
place=(-C "$top" O="$BIN" DESTDIR="$TMP/stage" PREFIX=/opt/pp -o all)
make "${place[@]}" install >"$TMP/out" 2>"$TMP/err" || fail "make install"
prefix=$TMP/stage/opt/pp
for name in "" -writer -collector -verifier -relay -campaign -simdrive -agent; do
	[[ -x $prefix/bin/plugpull$name ]] || fail "no plugpull$name in bin"
	[[ -s $prefix/share/man/man1/plugpull$name.1 ]] ||
		fail "no manual of plugpull$name"
done
unit=$prefix/lib/systemd/system/plugpull-agent.service
grep -q '^ExecStart=/opt/pp/bin/plugpull-agent serve' "$unit" ||
	fail "no unit of the agent"

BIN=$prefix/bin
run_front() {
	status=0
	env PATH=/usr/bin:/bin "$BIN/plugpull" "$@" >"$TMP/out" 2>"$TMP/err" ||
		status=$?
}
run_front --version
expect_status 0
expect_out '^plugpull [0-9]'
run_front relay list
expect_status 0
expect_out '^sim\b'
run_front nonsense
expect_status 2
expect_err "^Try 'plugpull --help'"

# The simulated drive finds its plugin, the campaign its commands.
start_simdrive drive --size 18m --seed 5
cat >"$TMP/campaign.ini" <<INI
[campaign]
name = installed
cycles = 1
control_cycles = 1
seed = 1
[drive]
target = $SIM_URI
erase = $SIM_URI
[workload]
sync = flush:16
[power]
outlet = sim:$SIM_CONTROL
off_time = 20ms
[cut]
after_min = 100ms
after_max = 200ms
INI
run_front campaign run "$TMP/campaign.ini" --dir "$TMP/campaign"
expect_status 0
expect_out '^PASS'

make "${place[@]}" uninstall >"$TMP/out" 2>"$TMP/err" || fail "make uninstall"
left=$(find "$TMP/stage" -type f)
[[ -z $left ]] || fail "left behind: $left"
