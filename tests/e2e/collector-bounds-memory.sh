#!/bin/bash
# SPDX-License-Identifier: MIT
# The bounds of a log as long as months would leave it, with more ranges than a
# verifier keeps: less than 64 MiB of memory, a size that does not follow the
# log's, and the same verdict.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/riglib.sh"
requires jq "${CC:-cc}"

LIMIT_KIB=65536
symbols=$(nm "$BIN/libcommon.a" 2>/dev/null)
# A sanitizer's own memory is not ours.
[[ $symbols == *__asan_* ]] && LIMIT_KIB=1048576
DRIVE=$TMP/drive.img

# bounds_of LOG: $TMP/bounds, and the peak in $kib.
bounds_of() {
	rm -f "$TMP/bounds"
	kib=$("$PYTHON" -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
		"$BIN/plugpull-collector" --bounds "$1" \
		--output "$TMP/bounds" 2>"$TMP/err") || fail "no bounds"
	((kib <= LIMIT_KIB)) || fail "$kib KiB, $LIMIT_KIB are the limit"
}

# judge LOG JSON
judge() {
	run verifier --target "$DRIVE" --acklog "$1" --json "$TMP/json"
	jq -S 'del(.seconds, .forgotten, .loss_depth.flushes, .loss_depth.ms,
		.findings[].flush, .findings[].ms_before_last)' \
		"$TMP/json" >"$2"
	echo "$status" >>"$2"
}

rig_compile longlog "$BIN/libcommon.a" -lcrypto
for shape in "1 10" "64 3"; do # streams and cycles
	read -r streams cycles <<<"$shape"
	rm -f "$DRIVE" "$ACKLOG" "$TMP/long"
	truncate -s 18m "$DRIVE"
	run writer --target "$DRIVE" --acklog "$ACKLOG" --seed 7 \
		--block-size 4k --streams "$streams" --count 100
	expect_status 0
	"$TMP/longlog" "$ACKLOG" "$TMP/long" "$cycles" 40000 3 >"$TMP/out" ||
		fail "no long log"
	bounds_of "$TMP/long"
	echo "table: $streams streams: $(stat -c %s "$TMP/long") bytes of" \
		"log, $(stat -c %s "$TMP/bounds") of bounds," \
		"$((kib / 1024)) MiB"
done

# The verdict, where ranges are forgotten. The log has to say how it ended.
rm -f "$DRIVE" "$ACKLOG"
truncate -s 18m "$DRIVE"
start_collector
run writer --target "$DRIVE" --acklog "$ACKLOG" --seed 7 --block-size 4k \
	--count 100
RUN=$(grep -oE '[0-9a-f]{32}' "$TMP/out" | head -n 1)
LOG=$ACKDIR/$RUN.acklog
"$TMP/longlog" "$ACKLOG" "$LOG" 10 40000 3 >"$TMP/out"
run collector --send cut-seen --run "$RUN" --connect "$COLLECTOR"
expect_status 0
bounds_of "$LOG"
judge "$LOG" "$TMP/of-log"
expect_equal status "$status" 1
[[ $(json "$TMP/json" .forgotten) -gt 1000 ]] || fail "nothing was forgotten"
judge "$TMP/bounds" "$TMP/of-bounds"
[[ $(json "$TMP/json" .forgotten) -gt 0 ]] || fail "something was remembered"
cmp -s "$TMP/of-log" "$TMP/of-bounds" ||
	fail "$(diff "$TMP/of-log" "$TMP/of-bounds" | head -n 20)"

# Without holes the bounds are as good as nothing, however long the log.
"$TMP/longlog" "$ACKLOG" "$TMP/longer" 3 400000 0 >"$TMP/out"
bounds_of "$TMP/longer"
(($(stat -c %s "$TMP/bounds") * 10 < $(stat -c %s "$TMP/longer"))) ||
	fail "$(stat -c %s "$TMP/bounds") of $(stat -c %s "$TMP/longer") bytes"
