#!/bin/bash
# SPDX-License-Identifier: MIT
# What the writer cannot do it says in one line before it touches anything.
. "${0%/*}/lib.sh"

DISK=$TMP/disk.img

refused() { # REGEX OPTIONS...
	run writer "${@:2}"
	expect_status 2
	expect_err "^plugpull-writer: .*$1"
	expect_equal stdout "$(<"$TMP/out")" ''
	[[ ! -e $TMP/no.acklog ]] || fail "a log was begun: ${*:2}"
}

usage() { # the same, with the hint
	refused "$@"
	expect_err "^Try 'plugpull-writer --help'\.\$"
}

HERE=(--target "$DISK" --acklog "$TMP/no.acklog")
usage 'target is needed' --acklog "$TMP/no.acklog"
usage 'either --collector or --acklog' --target "$DISK"
usage 'either --collector or --acklog' "${HERE[@]}" --collector localhost:1
usage '--key goes with' "${HERE[@]}" --key x
usage 'block-size' "${HERE[@]}" --block-size 100
usage 'block-size 1000 is not a multiple' "${HERE[@]}" --block-size 1000
usage 'sync mode "often"' "${HERE[@]}" --sync often
usage 'at most 32768 writes' "${HERE[@]}" --sync flush:1000000
usage 'pattern' "${HERE[@]}" --pattern zigzag
usage 'queue-depth' "${HERE[@]}" --queue-depth 0
usage 'queue-depth' "${HERE[@]}" --queue-depth 1025
usage 'streams' "${HERE[@]}" --streams 65
usage "'more' is not an option" "${HERE[@]}" more
usage 'cannot both be' "${HERE[@]}" --fill --no-fill
usage 'there is no ack log' "${HERE[@]}" --run 00112233445566778899aabbccddeeff
usage '--engine is libaio or native' "${HERE[@]}" --engine aio
usage '--write-cache is on or off' "${HERE[@]}" --write-cache auto
refused 'cannot open' "${HERE[@]}"
[[ ! -e $DISK ]] || fail "a file was created without --size"
refused 'cannot open' "${HERE[@]}" --size 8m --engine native
refused 'cannot open' "${HERE[@]}" --size 8m --write-cache on
[[ ! -e $DISK ]] || fail "a file was created where a drive is needed"
refused 'cannot open /dev/plugpull-none' --target /dev/plugpull-none \
	--size 8m --acklog "$TMP/no.acklog"

truncate -s 8m "$DISK"
refused 'MiB are the limit' "${HERE[@]}" --block-size 4m --queue-depth 1024 \
	--size 8m
refused 'behind the end' "${HERE[@]}" --offset 8m
refused 'more than the' "${HERE[@]}" --size 16m
refused 'too few' "${HERE[@]}" --size 2m
refused '--engine native needs an NVMe or SCSI/ATA drive; .*disk.img is neither' \
	"${HERE[@]}" --engine native
refused '--write-cache off needs an NVMe .*; .*disk.img is neither' \
	"${HERE[@]}" --write-cache off
refused '--engine native needs an NVMe .*; nbd://none is neither' \
	--target nbd://none --acklog "$TMP/no.acklog" --engine native
refused 'collector|connect' --target "$DISK" --collector "unix:$TMP/none.sock"

run writer --help
expect_status 0
expect_out '^Usage: plugpull-writer'
run writer --version
expect_status 0
expect_out '^plugpull-writer [0-9]'
