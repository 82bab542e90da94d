#!/bin/bash
# SPDX-License-Identifier: MIT
# Every kind of damage done to a file that the real writer filled must be
# convicted by its own name, at its own place, and the undamaged file never.
. "${0%/*}/lib.sh"
requires jq

DRIVE=$TMP/drive.img
LOG=$TMP/run.acklog
BLOCK=8192
START=1048576 # the label's MiB; slots follow

write_more() { # COUNT OPTIONS...
	local count=$1
	shift
	run writer --target "$DRIVE" --acklog "$LOG" --count "$count" \
		--block-size 8k --seed 7 --erase "$DRIVE" "$@"
	expect_status 0
}

judge() {
	run verifier --target "$DRIVE" --acklog "$LOG" \
		--json "$TMP/verdict.json" "$@"
}

# put FILE FROM-BYTE TO-BYTE COUNT: copies bytes of FILE into the drive.
put() {
	dd if="$1" of="$DRIVE" bs=512 skip=$(($2 / 512)) seek=$(($3 / 512)) \
		count=$(($4 / 512)) conv=notrunc status=none
}

restore() {
	dd if="$TMP/good" of="$DRIVE" bs=1M conv=notrunc status=none
}

# expect_only CLASS WRITES ATOMS
expect_only() {
	expect_status 1
	expect_equal "classes" "$(broken_classes)" "$1"
	expect_equal "$1 writes" "$(json "$TMP/verdict.json" ".$1.writes")" "$2"
	expect_equal "$1 atoms" "$(json "$TMP/verdict.json" ".$1.atoms")" "$3"
	expect_equal verdict "$(json "$TMP/verdict.json" .verdict)" broken
}

slot() {
	echo $((START + $1 * BLOCK))
}

truncate -s 10m "$DRIVE" # 1024 slots
write_more 5000
cp "$DRIVE" "$TMP/old"
judge
expect_status 3
expect_equal classes "$(broken_classes)" ""
expect_out '^verdict: promises kept, nothing shown'
write_more 4000 # the second cycle
cp "$DRIVE" "$TMP/good"
judge
expect_status 3
expect_equal cycle "$(json "$TMP/verdict.json" .cycle)" 2
expect_equal intact "$(json "$TMP/verdict.json" .intact.writes)" 1024
expect_equal durable "$(json "$TMP/verdict.json" .durable_log)" 9000

# An old copy of one slot: lost, several generations behind.
put "$TMP/old" "$(slot 40)" "$(slot 40)" $BLOCK
judge
expect_only lost 1 16
expect_out '^LOST block [0-9]+: write [0-9]+ of stream 0 was acknowledged \(flush [0-9]+\), the drive holds write [0-9]+, [0-9]+ generations? older, in 16 atoms \(breaks P4\)$'
expect_equal offset "$(json "$TMP/verdict.json" '.findings[0].offset')" \
	"$(slot 40)"
expect_out '^loss depth: [0-9]+ writes, [0-9]+ flushes, [0-9]+ ms$'
expect_equal unstable "$(json "$TMP/verdict.json" .unstable)" 0
restore

# Part of an old copy, at a logical block: torn.
put "$TMP/old" $(($(slot 41) + 4096)) $(($(slot 41) + 4096)) 4096
judge
expect_only torn 1 8
restore

put /dev/zero 0 "$(slot 42)" 512
judge
expect_only blank 1 1
expect_out '^BLANK block .* \(breaks P4\)$'
restore

printf 'X' | dd of="$DRIVE" bs=1 seek=$(($(slot 43) + 700)) conv=notrunc \
	status=none
judge
expect_only corrupt 1 1
expect_out '^CORRUPT block .* \(breaks P8\)$'
restore

# One slot over another: misdirected, and the lost place is another matter.
put "$TMP/good" "$(slot 50)" "$(slot 60)" $BLOCK
judge
expect_only misdirected 1 16
expect_equal meant "$(json "$TMP/verdict.json" '.findings[0].found_offset')" \
	"$(slot 50)"
put "$TMP/old" "$(slot 50)" "$(slot 50)" $BLOCK
judge
expect_status 1
expect_equal classes "$(broken_classes)" "lost misdirected"
expect_out '^MISDIRECTED block .* which misses its own.* \(breaks P7\)$'
restore

# A label copy is promised as well.
put /dev/zero 0 $((9 * 1048576)) 4096
judge
expect_only blank 1 8
expect_out '^BLANK block [0-9]+: the label of the run'
restore

# The whole region rolled back to the end of the first cycle.
dd if="$TMP/old" of="$DRIVE" bs=1M conv=notrunc status=none
judge --threads 1
expect_status 1
expect_equal classes "$(broken_classes)" lost
expect_equal lost "$(json "$TMP/verdict.json" .lost.writes)" 1024
cp "$TMP/out" "$TMP/out.1"
jq 'del(.seconds)' "$TMP/verdict.json" >"$TMP/json.1"
expect_equal lines "$(grep -c '^LOST' "$TMP/out")" 20
judge --threads 7
cmp "$TMP/out" "$TMP/out.1" || fail "threads change the report"
jq 'del(.seconds)' "$TMP/verdict.json" | cmp - "$TMP/json.1" ||
	fail "threads change the JSON"
judge --all
expect_equal lines "$(grep -c '^LOST' "$TMP/out")" 1000
expect_out '^findings: 24 more$'
# Without a log the old state is a consistent one: nothing tells of the second
# cycle.
run verifier --target "$DRIVE"
expect_status 3
restore
judge
expect_status 3
