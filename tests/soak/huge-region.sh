#!/bin/bash
# SPDX-License-Identifier: MIT
# All of a region of 2^40 bytes, mostly holes: every byte of it is read, in less
# than 64 MiB, and a lost write is found in it. Takes minutes.
. "${0%/*}/../e2e/lib.sh"
requires jq truncate

LIMIT_KIB=65536
SIZE=$((1 << 40))
DRIVE=$TMP/drive.img
symbols=$(nm "$BIN/libcommon.a" 2>/dev/null)
[[ $symbols == *__asan_* ]] && LIMIT_KIB=1048576

truncate -s $SIZE "$DRIVE" || skip "no file of $SIZE bytes fits here"
run writer --target "$DRIVE" --acklog "$ACKLOG" --no-fill --seed 7 \
	--block-size 4k --streams 4 --count 40000
expect_status 0

# verify WHAT: $peak in KiB, and a line of the table.
verify() {
	local start=$EPOCHREALTIME ms
	peak=$("$PYTHON" - "$BIN/plugpull-verifier" --target "$DRIVE" \
		--acklog "$ACKLOG" --json "$TMP/verdict.json" <<-'END'
		import os, subprocess, sys
		with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL,
		                      stderr=subprocess.DEVNULL) as verifier:
		    status, usage = os.wait4(verifier.pid, 0)[1:]
		    verifier.returncode = os.waitstatus_to_exitcode(status)
		print(usage.ru_maxrss, verifier.returncode)
	END
	)
	status=${peak#* } peak=${peak% *}
	ms=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
	((peak <= LIMIT_KIB)) || fail "$1: $peak KiB"
	(($(json "$TMP/verdict.json" .read_bytes) >= SIZE - 2 * 1048576)) ||
		fail "not all of it was read"
	expect_equal unscanned "$(json "$TMP/verdict.json" .unscanned_bytes)" 0
	echo "table: $1: $((SIZE / 1000 / ms)) MB/s," \
		"$((peak / 1024)) MiB, exit $status"
}

verify "2^40 bytes, kept"
expect_status 3
expect_equal judged "$(json "$TMP/verdict.json" .judged_writes)" 40000

# One of the writes, wherever it went: the first page that is no hole.
at=$("$PYTHON" - "$DRIVE" <<-'END'
	import os, sys
	drive = os.open(sys.argv[1], os.O_RDONLY)
	print(os.lseek(drive, 1 << 30, os.SEEK_DATA))
END
)
dd if=/dev/zero of="$DRIVE" bs=4096 seek=$((at / 4096)) count=1 \
	conv=notrunc status=none
verify "2^40 bytes, one write lost"
expect_status 1
expect_equal findings "$(jq -c '[.findings[] | {class, offset}]' \
	"$TMP/verdict.json")" "[{\"class\":\"blank\",\"offset\":$at}]"
