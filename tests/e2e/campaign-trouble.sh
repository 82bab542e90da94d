#!/bin/bash
# SPDX-License-Identifier: MIT
# Trouble with the rig convicts nobody and acquits nobody (P9), the power is
# never cut unless that is on record, and never comes back while the writer has
# not ended (P11).
. "${0%/*}/lib.sh"
requires nbdkit jq

settings() { # NAME, further lines on stdin
	cat - >"$TMP/$1.ini" <<INI
[campaign]
cycles = 2
control_cycles = 1
seed = 1
[drive]
target = $SIM_URI
erase = $SIM_URI
[cut]
after_min = 50ms
after_max = 100ms
[power]
outlet = sim:$SIM_CONTROL
off_time = 0ms
gone_timeout = 1s
INI
	cat >>"$TMP/$1.ini"
}

script() { # NAME: a stand-in, from stdin
	{ echo '#!/bin/bash' && cat; } >"$TMP/$1"
	chmod +x "$TMP/$1"
}

campaign() { # NAME
	RUN_TIMEOUT=120 run campaign run "$TMP/$1.ini" --dir "$TMP/$1.d"
}

start_simdrive sim --size 18m --cache 8m --fault none --seed 1

# An outlet that is not the drive's: "off" is said, the writer goes on.
script welded <<SH
case \$3 in status) echo on ;; esac
SH
settings welded <<INI
[commands]
relay = $TMP/welded
INI
campaign welded
expect_status 2
expect_out '^NO VERDICT: '
expect_out '^stopped .*the drive was not cut'
expect_equal "cycles done" "$(json "$TMP/welded.d/summary.json" .done_cycles)" 1
[[ $(sim_counter cuts) == 0 ]] || fail "who cut the drive?"

# A relay that does not answer: void, and the campaign stops.
script silent <<SH
case \$3 in status) echo unknown ;; *) echo "relay: no answer" >&2; exit 2 ;; esac
SH
settings silent <<INI
[commands]
relay = $TMP/silent
INI
campaign silent
expect_status 2
expect_out '^stopped .*cannot switch .* off: relay: no answer'

# A relay that is off to begin with is not for us to switch.
script off <<SH
echo off
SH
settings off <<INI
[commands]
relay = $TMP/off
INI
campaign off
expect_status 2
expect_out 'is off; switch it on first'

# P11: a cut that cannot be put on record is not made.
script deaf <<SH
for word; do [[ \$word == cut-asked ]] && { echo "c: disk full" >&2; exit 2; }
done
exec "$BIN/plugpull-collector" "\$@"
SH
script traced <<SH
echo "\$3" >>"$TMP/switched"
exec "$BIN/plugpull-relay" "\$@"
SH
settings deaf <<INI
[commands]
collector = $TMP/deaf
relay = $TMP/traced
INI
campaign deaf
expect_status 2
expect_out 'cannot put cut-asked on record: c: disk full'
grep -q off "$TMP/switched" && fail "the power was cut without a record"

# P11: where the end of the writer's command says nothing of the writer (ssh),
# and the writer left no account, the power does not come back.
script stuck <<SH
"$BIN/plugpull-writer" "\$@" --json /dev/null
SH
rm -f "$TMP/switched"
settings stuck <<INI
[commands]
writer = $TMP/stuck
relay = $TMP/traced
INI
campaign stuck
expect_status 2
expect_out '^stopped .*may still wait for the drive; the power stays off'
expect_equal "switched" "$(xargs <"$TMP/switched")" "status status off"
expect_equal "state of the drive" "$(sim_counter state)" off
"$BIN/plugpull-simdrive" restore --control "$SIM_CONTROL" >"$TMP/out" ||
	fail "cannot restore the simulated drive"

# A hook that does not work voids the cycle, but the power comes back.
settings hook <<INI
[hooks]
after_off = echo no loop device >&2; exit 3
INI
campaign hook
expect_status 2
expect_out 'hook after_off ended with status 3: no loop device'
expect_equal "state of the drive" "$(sim_counter state)" on

# A writer that cannot start.
settings bad <<INI
[workload]
block_size = 4m
[commands]
writer = /nonexistent/writer
INI
campaign bad
expect_status 2
expect_out 'cannot run /nonexistent/writer'

# Settings that do not exist.
settings typo <<INI
[hooks]
after_of = true
INI
campaign typo
expect_status 2
expect_err 'typo.ini:[0-9]+: after_of: there is no such key'
[[ ! -e $TMP/typo.d/journal ]] || fail "a campaign was begun all the same"
