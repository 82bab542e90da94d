#!/bin/bash
# SPDX-License-Identifier: MIT
# A drive that does not come back is a finding only where the relay can be read
# back and says that the power is on; otherwise it may be the rig (P9).
. "${0%/*}/lib.sh"
requires jq

script() {
	{ echo '#!/bin/bash' && cat; } >"$TMP/$1"
	chmod +x "$TMP/$1"
}

# A drive is a file here; the relay moves it away, and brings it back or not.
script writer <<SH
while [[ \$# -gt 0 ]]; do [[ \$1 == --json ]] && json=\$2; shift; done
echo "run 000102030405060708090a0b0c0d0e0f"
echo "cycle 1 writing"
while [[ -e $TMP/drive ]]; do read -rt 0.02 <> <(:) || true; done
echo '{"writes":9,"issued":9,"durable":3,"flushes":3,"in_flight":2,
"gone":true,"error":"gone"}' >"\$json"
exit 2
SH
script relay <<SH
case \$3 in
off) mv $TMP/drive $TMP/away || true ;;
on) [[ -e $TMP/returns ]] && mv $TMP/away $TMP/drive || true ;;
status) cat $TMP/status ;;
esac
SH
script collector <<SH
[[ \$1 == --send ]] && exit 0
echo "listening on x"
exec sleep 600
SH
script verifier <<SH
while [[ \$# -gt 0 ]]; do [[ \$1 == --json ]] && json=\$2; shift; done
verdict() {
	echo "{\"verdict\":\"\$1\",\"reason\":\"\$2\",\"completed_lost\":4,\"cycle_promised\":true}" >"\$json"
	exit "\$3"
}
[[ -e $TMP/drive ]] ||
	verdict none "cannot open $TMP/drive for reading: \$(cat $TMP/why)" 2
verdict kept "" 0
SH
cat >"$TMP/gone.ini" <<INI
[campaign]
cycles = 2
control_cycles = 0
[drive]
target = $TMP/drive
[power]
outlet = x
off_time = 0ms
return_timeout = 200ms
[cut]
after_min = 1ms
after_max = 1ms
[commands]
writer = $TMP/writer
verifier = $TMP/verifier
relay = $TMP/relay
collector = $TMP/collector
INI

try() { # NAME STATUS-OF-RELAY WHY
	rm -f "$TMP/away"
	: >"$TMP/drive"
	echo "$2" >"$TMP/status"
	echo -n "$3" >"$TMP/why"
	run campaign run "$TMP/gone.ini" --dir "$TMP/$1"
}

try convicts on "No such file or directory"
expect_status 1
expect_out '^FAIL: '
expect_out 'did not come back.*power cycled again: persists'
expect_out '^stopped  '

try unread unknown "No such file or directory"
expect_status 2
expect_out '^NO VERDICT: '
expect_out '^stopped .*did not come back'

try forbidden on "Permission denied"
expect_status 2
expect_out '^NO VERDICT: '

: >"$TMP/returns"
try back on "No such file or directory"
expect_status 0
expect_out '^PASS: '
