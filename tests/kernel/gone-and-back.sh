#!/bin/bash
# SPDX-License-Identifier: MIT
# A drive that comes back otherwise than it went: read-only, smaller, empty, not
# at all; and in a campaign late and under another name, or smaller. Each is said
# by its name, with the next step, and none is held against the drive (P9, P10).
# (Another name and another drive's: found-again.sh. One that hangs:
# verifier-blocked.sh.)
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs blockdev

DISK=$TMP/disk.img
root_plain_loop "$DISK" 64M
run writer --target "$LOOP" --erase "$LOOP" --acklog "$ACKLOG" --count 200 \
	--no-fill
expect_status 0

blockdev --setro "$LOOP"
at_end 'blockdev --setrw $LOOP'
verify_on "$LOOP"
expect_err "^plugpull-verifier: $LOOP is read-only now: .*read all the same"
expect_kept
run writer --target "$LOOP" --acklog "$ACKLOG" --count 10
expect_status 2
expect_err "cannot write to $LOOP: it is read-only"
expect_err '^plugpull-writer: hint: blockdev --setrw '
blockdev --setrw "$LOOP"
verify_on "$LOOP"
! grep -q 'read-only' "$TMP/err" || fail "said of a drive that takes writes"

truncate -s 48M "$DISK"
losetup -c "$LOOP"
run verifier --target "$LOOP" --acklog "$ACKLOG" --json "$TMP/verdict.json"
expect_status 2
expect_err "but $LOOP has shrunk to 50331648 bytes"
expect_err '^plugpull-verifier: hint: see what took its end'
run writer --target "$LOOP" --acklog "$ACKLOG" --count 10
expect_status 2

truncate -s 0 "$DISK"
losetup -c "$LOOP"
for program in verifier writer; do
	run $program --target "$LOOP" --acklog "$ACKLOG"
	expect_status 2
	expect_err "cannot use $LOOP: its size is 0 bytes"
	expect_err "^plugpull-$program: hint: it has no medium, or has not"
done
root_detach "$LOOP"
run verifier --target /dev/plugpull-none --acklog "$ACKLOG"
expect_status 2
expect_err 'cannot open /dev/plugpull-none for reading: No such file'
expect_err "hint: no drive with the identity 'loop:$DISK' is here"

# A campaign: the power takes the device away, and it comes back as "back" says.
cat >"$TMP/relay" <<SH
#!/bin/bash
case \$3 in
off)
	truncate -s 0 $DISK
	for loop in \$(losetup -nO NAME -j $DISK); do losetup -c \$loop; done
	;;
status) echo on ;;
esac
SH
cat >"$TMP/leave" <<SH
#!/bin/bash
for file in $DISK $TMP/other.img; do
	for loop in \$(losetup -nO NAME -j \$file); do
		losetup -d \$loop
		while [[ -e /sys/block/\${loop#/dev/}/loop ]]; do sleep 0.01; done
	done
done
SH
cat >"$TMP/back" <<SH
#!/bin/bash
truncate -s \$(cat $TMP/size) $DISK
# Its old name is another drive's.
losetup --direct-io=on $LOOP $TMP/other.img
(sleep 1; loop=\$(losetup --find --show --direct-io=on $DISK)
echo 'write back' >/sys/block/\${loop#/dev/}/queue/write_cache) \
	>/dev/null 2>&1 &
SH
chmod +x "$TMP/relay" "$TMP/leave" "$TMP/back"
truncate -s 64M "$TMP/other.img"

back_as() { # NAME SIZE
	truncate -s 0 "$DISK"
	truncate -s 64M "$DISK"
	LOOP_WANTED=$LOOP
	root_attach "$DISK"
	echo "$2" >"$TMP/size"
	cat >"$TMP/$1.ini" <<INI
[campaign]
cycles = 1
control_cycles = 0
seed = 1
[drive]
target = $LOOP
erase = $LOOP
counters = none
rescan = no
[workload]
fill = no
queue_depth = 4
[power]
outlet = x
off_time = 0ms
return_timeout = 20s
[cut]
after_min = 100ms
after_max = 100ms
[commands]
relay = $TMP/relay
[hooks]
after_off = $TMP/leave
after_on = $TMP/back
INI
	other=$(sha256sum <"$TMP/other.img")
	run campaign run "$TMP/$1.ini" --dir "$TMP/$1.d"
	expect_equal "the other drive" "$(sha256sum <"$TMP/other.img")" "$other"
	for loop in $(root_loops); do
		root_detach "$loop"
	done
}

# What the truncated file has lost is told, on the device that it is now.
back_as another-name 64M
expect_status 1
expect_out 'FAIL: '
expect_out '^ready +(9[0-9]{2}|[0-9]{4,}) ms after the power'

back_as smaller 40M
expect_status 2
expect_out '^NO VERDICT: '
expect_out '^stopped .*the drive came back smaller: .* has shrunk to 41943040'
exit 0
