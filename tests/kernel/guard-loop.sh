#!/bin/bash
# SPDX-License-Identifier: MIT
# What target-loop.sh leaves: block devices with partition tables, encrypted
# volumes and holders are refused by the name of what was found, before a byte
# is written and whatever was confirmed; a verifier keeps off what is in use.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs mkfs.ext4 mount wipefs

DISK=$TMP/disk.img
root_plain_loop "$DISK" 64M

refused() { # TARGET REGEX
	local before

	before=$(sha256sum <"$DISK")
	rm -f "$ACKLOG"
	run writer --target "$1" --erase "$1" --acklog "$ACKLOG" --count 10
	expect_status 2
	expect_err "$2"
	expect_err 'hint: '
	expect_equal "the drive's content" "$(sha256sum <"$DISK")" "$before"
	[[ ! -e $ACKLOG ]] || fail "a log was begun"
}

put() { # BYTE TEXT: as printf knows it
	printf "$2" | dd of="$LOOP" bs=512 seek="$1" oflag=seek_bytes \
		conv=notrunc,fsync status=none || fail "cannot write to $LOOP"
}

# A DOS partition table with one Linux partition from sector 2048.
put 446 '\0\0\0\0\203\0\0\0\0\10\0\0\0\200\0\0'
put 510 '\125\252'
refused "$LOOP" 'it holds a dos partition table'
wipefs -qa "$LOOP" 2>/dev/null

if command -v sfdisk >/dev/null; then
	echo 'size=8M' | sfdisk -q -X gpt --no-reread --no-tell-kernel \
		"$LOOP" 2>"$TMP/err" || fail "cannot make a partition table"
	refused "$LOOP" 'it holds a gpt partition table'
	# The copy at the end of the drive is enough.
	dd if=/dev/zero of="$LOOP" bs=4k count=64 conv=fsync status=none
	refused "$LOOP" 'it holds a gpt partition table'
	wipefs -qa "$LOOP" 2>/dev/null
fi

put 0 'LUKS\272\276\0\1'
refused "$LOOP" 'it holds a crypto_LUKS encrypted volume'
wipefs -qa "$LOOP" 2>/dev/null

# A read-only mount is a mount, and a program that has opened it is a user.
mkfs.ext4 -q -F "$LOOP"
mkdir "$TMP/mnt"
mount -o ro "$LOOP" "$TMP/mnt" || fail "cannot mount $LOOP"
run writer --target "$LOOP" --erase "$LOOP" --acklog "$ACKLOG" --count 10
expect_status 2
expect_err "hint: $LOOP is mounted on $TMP/mnt"
run verifier --target "$LOOP"
expect_status 2
expect_err "cannot open $LOOP"
umount "$TMP/mnt"
wipefs -qa "$LOOP" 2>/dev/null

if command -v dmsetup >/dev/null && [[ -e /dev/mapper/control ]]; then
	NAME=plugpull-test-$$
	if dmsetup create "$NAME" --table "0 65536 linear $LOOP 0" \
		2>/dev/null; then
		at_end "dmsetup remove $NAME"
		refused "$LOOP" "hint: $LOOP is "
		dmsetup remove "$NAME"
	fi
fi

# Two writers never share a drive.
write_on "$LOOP" --sync flush:16
OTHER=$TMP/other.acklog
run writer --target "$LOOP" --erase "$LOOP" --acklog "$OTHER" --count 10
expect_status 2
expect_err "cannot open $LOOP.*(busy|use)"
kill "$WRITER_PID"
end_of_writer
expect_equal "the first writer's end" "$status" 0
verify_on "$LOOP"
expect_kept
root_detach "$LOOP"
exit 0
