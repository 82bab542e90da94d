#!/bin/bash
# SPDX-License-Identifier: MIT
# What is known of a target before it is tested is told, in words and as JSON;
# nothing is written to it, and no log begun. What would be refused ends with 2.
. "${0%/*}/lib.sh"
requires jq nbdkit

DISK=$TMP/disk.img
head -c 8m /dev/urandom >"$DISK"
before=$(cksum <"$DISK")

look() { # JQ FILTER
	jq -r "$1" "$TMP/probe.json"
}

run writer --probe --target "$DISK" --json "$TMP/probe.json"
expect_status 0
expect_out "^target: $DISK, 8388608 bytes in blocks of [0-9]+, by libaio\$"
expect_out '^identity: file:'
expect_out "^would a flush reach $DISK\\? (yes|unknown|not needed): "
expect_out '^a test would begin$'
expect_equal 'the size' "$(look .size)" 8388608
expect_equal 'would_begin' "$(look .would_begin)" true
expect_equal 'refused_to_erase' "$(look .refused_to_erase)" null
[[ $(look .identity) == file:* ]] || fail "no identity: $(look .identity)"
[[ $(look .flush_counted) != false ]] || fail "a flush was not counted"
[[ -n $(look .flush_reason) ]] || fail "no reason"
for name in $(look '.layers[].name'); do
	expect_out "^$name: "
done
expect_equal 'the contents' "$(cksum <"$DISK")" "$before"

run writer --probe --target "$DISK" --json -
expect_status 0
jq -e .layers "$TMP/out" >/dev/null || fail "no JSON on stdout"
expect_equal 'what --json - leaves' "$(grep -c '^target:' "$TMP/out")" 0

# Something that the guard does not yield: known, and not to be overwritten.
if command -v mkfs.ext4 >/dev/null; then
	mkfs.ext4 -q -F "$TMP/fs.img" 4m >/dev/null
	run writer --probe --target "$TMP/fs.img"
	expect_status 2
	expect_out '^may be overwritten: no: .*ext4'
	expect_out '^a test would be refused$'
fi

run writer --probe --target "$TMP/none.img"
expect_status 2
expect_err 'cannot open'
[[ ! -e $TMP/none.img ]] || fail "it was created"
run writer --probe
expect_status 2
expect_err '--target is needed'
run writer --probe --target "$DISK" --engine native
expect_status 2
expect_err '--engine native needs an NVMe'

# A server takes every flush, and what it does with it nobody sees.
serve() { # FILTERS...
	rm -f "$TMP/sock"
	background nbdkit -f -U "$TMP/sock" "$@" 2>"$TMP/nbdkit.err"
	wait_until 20 test -S "$TMP/sock"
}
if "$BIN/plugpull-writer" --probe --target 'nbd+unix:///?socket=/none' 2>&1 |
	grep -q 'no NBD support'; then
	exit 0
fi
serve memory 8m
run writer --probe --target "nbd+unix:///?socket=$TMP/sock"
expect_status 0
expect_out '\? unknown: the server is sent every flush'
expect_out '^no flush was sent: nothing would count it$'
exit 0
