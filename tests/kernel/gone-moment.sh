#!/bin/bash
# SPDX-License-Identifier: MIT
# The writer says when the drive went away and by what it saw that, and what the
# kernel said of the device meanwhile: in its JSON and in the log. What the
# kernel says of other devices is not this drive's.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs_fuse

root_plain_loop "$TMP/other.img" 32m
OTHER=$LOOP
start_simdrive drive --size 34m
drive_attach
write_on "$LOOP" --sync flush:16 --block-size 16k --queue-depth 8
under_load 50
say() { # ACTION LOOP: the kernel says it to all
	echo "$1" >"/sys/block/${2#/dev/}/uevent"
}
say change "$LOOP"
say offline "$LOOP"
say change "$LOOP"
say remove "$OTHER"
say add "$OTHER"
power cut
writer_loses_drive

gone() { # FIELD
	json "$TMP/writer.json" ".gone_at.$1"
}
expect_equal gone "$(json "$TMP/writer.json" .gone)" true
[[ $(gone by) == 'reads that fail' || $(gone by) == 'an error' ||
	$(gone by) == 'its device' ]] || fail "gone by $(gone by)"
expect_equal "the time is that of the end" "$(json "$TMP/writer.json" \
	'(.gone_at.ms / 1000 - .seconds) | fabs < 0.01')" true
expect_equal action "$(gone uevent.action)" offline
expect_equal device "$(gone uevent.device)" "${LOOP#/dev/}"
expect_equal "the kernel spoke before" "$(json "$TMP/writer.json" \
	'.gone_at.uevent.ms > 0 and .gone_at.uevent.ms <= .gone_at.ms')" true
grep -aqE "the kernel said offline of ${LOOP#/dev/} after [0-9.]+ ms" "$ACKLOG" ||
	fail "not on record"
drive_detach
LOOP=$OTHER

# A run that ends as told has no such moment.
run writer --target "$OTHER" --erase "$OTHER" --acklog "$TMP/other.log" \
	--count 10 --json "$TMP/writer.json"
expect_status 0
expect_equal gone_at "$(json "$TMP/writer.json" .gone_at)" null
root_detach "$OTHER"
exit 0
