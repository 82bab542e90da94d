#!/bin/bash
# SPDX-License-Identifier: MIT
# Device mapper over an honest drive, judged as a whole. Each target that the
# kernel lacks is left out by name.
#
#   linear     lets FLUSH and FUA pass: kept.
#   writecache commits its map at a FLUSH: kept. A FUA write to a new place is
#              answered once the data are in the cache; where they lie there is
#              committed later: lost. So it is on Linux 6.1 with an SSD as the
#              cache; of other kernels it is only told.
#   flakey     told in mid-run to drop writes, answers them and every FLUSH
#              well: lost.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse dmsetup
modprobe -q dm-mod 2>/dev/null
dmsetup version >/dev/null 2>&1 || skip "this kernel has no device mapper"

NAME=plugpull-$$
SECTORS=32768
left_out=()

has_target() {
	modprobe -q "dm-$1" 2>/dev/null
	dmsetup targets | grep -q "^$1 "
}

dm() { # COMMAND...
	dmsetup "$1" --noudevrules --noudevsync "${@:2}" >"$TMP/dm" 2>&1 ||
		fail "dmsetup $1: $(cat "$TMP/dm")"
}

# The node that the kernel makes by itself, with udev or without.
device_of() { # NAME
	echo "/dev/$(dmsetup info -c --noheadings -o blkdevname "$1")"
}

# table TARGET: over the drive, whose end is a cache or nothing.
table() {
	case $1 in
	linear) echo "0 $SECTORS linear $LOOP 0" ;;
	writecache)
		# The region fits into the cache; time commits nothing.
		echo "0 $SECTORS writecache s $(device_of "$NAME-origin")" \
			"$(device_of "$NAME-cache") 4096 4" \
			"autocommit_time 600000 autocommit_blocks 1000000"
		;;
	flakey) echo "0 $SECTORS flakey $LOOP 0 3600 0" ;;
	dropping) echo "0 $SECTORS flakey $LOOP 0 0 3600 1 drop_writes" ;;
	esac
}

build() { # TARGET
	if [[ $1 == writecache ]]; then
		dm create "$NAME-origin" --table "0 $SECTORS linear $LOOP 0"
		dm create "$NAME-cache" \
			--table "0 $SECTORS linear $LOOP $SECTORS"
	fi
	dm create "$NAME" --table "$(table "$1")"
	DEVICE=$(device_of "$NAME")
}

# What is still to be written goes to a drive that is off.
raze() {
	local name

	for name in "$NAME" "$NAME-cache" "$NAME-origin"; do
		! dmsetup info "$name" >/dev/null 2>&1 ||
			dm remove --retry "$name"
	done
}
at_end "dmsetup remove --force $NAME-origin"
at_end "dmsetup remove --force $NAME-cache"
at_end "dmsetup remove --force $NAME"

drop_writes() {
	dm suspend --noflush --nolockfs "$NAME"
	dm load "$NAME" --table "$(table dropping)"
	dm resume "$NAME"
	under_acks 5000
}

cut() { # TARGET SYNC [COMMAND...]: which is run under load
	build "$1"
	write_on "$DEVICE" --erase "$NAME" --size 4m --sync "$2"
	under_acks 5000
	"${@:3}"
	power cut
	# Where writes are dropped nobody notices that the drive is gone.
	kill_writer
	raze
	drive_detach
	power restore
	drive_attach
	build "$1"
	verify_on "$DEVICE"
	raze
	echo "table: dm-$1${3:+, $3}, $2: exit $status $(broken_classes)"
	[[ $2 == none ]] || expect_more_promised
}

fresh() {
	rm -f "$ACKLOG"
	PROMISED=0
}

check_linear() {
	cut linear flush:16
	expect_kept
	cut linear fua
	expect_kept
	cut linear none
	expect_kept
	expect_status 0
}

# What lies in the cache already is overwritten there, and kept; so it must be
# empty: a run that is filled, and all of it on the drive behind the cache.
empty_writecache() {
	fresh
	build writecache
	run_apart 60 writer --target "$DEVICE" --erase "$NAME" --size 4m \
		--count 100 --acklog "$ACKLOG"
	expect_status 0
	dm message "$NAME" 0 flush
	raze
	PROMISED=100
}

check_writecache() {
	cut writecache flush:16
	expect_kept
	cut writecache none
	expect_kept
	expect_status 0
	empty_writecache
	cut writecache fua
	case $(uname -r) in
	6.1.*) expect_verdict LOST TORN ;;
	esac
}

check_flakey() {
	cut flakey flush:16
	expect_kept
	cut flakey flush:16 drop_writes
	expect_verdict LOST TORN
}

start_simdrive drive --size 32m --drain-ms 600000 --seed 1
drive_attach
for target in linear writecache flakey; do
	if has_target "$target"; then
		fresh
		"check_$target"
	else
		left_out+=("dm-$target")
	fi
done
drive_detach
[[ ${#left_out[@]} == 0 ]] || skip "this kernel has no ${left_out[*]}"
exit 0
