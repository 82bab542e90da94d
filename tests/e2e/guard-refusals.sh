#!/bin/bash
# SPDX-License-Identifier: MIT
# Nothing that holds anything but a plugpull region is written, unless --erase
# repeats its name; what carries a signature is not written at all.
. "${0%/*}/lib.sh"

DISK=$TMP/disk.img

refused() { # REGEX OPTIONS...
	local regex=$1 before
	shift
	before=$(sha256sum <"$DISK")
	run writer --target "$DISK" --acklog "$TMP/none.acklog" --count 10 "$@"
	expect_status 2
	expect_err "$regex"
	expect_err 'hint: '
	expect_equal "the file's content" "$(sha256sum <"$DISK")" "$before"
}

write_some() {
	run writer --target "$DISK" --acklog "$TMP/$1.acklog" --count 50 \
		--block-size 4k "${@:2}"
	expect_status 0
}

truncate -s 16M "$DISK"
dd if=/dev/urandom of="$DISK" bs=1M seek=5 count=1 conv=notrunc status=none
refused 'it may hold data'
expect_err "hint: .*--erase '$DISK'"
refused "'S4EWNX0R' is not its name" --erase S4EWNX0R
write_some first --erase "$DISK"

# Our own label speaks for its region and for no larger one.
write_some second
truncate -s 32M "$DISK"
refused 'no plugpull run covers'

# A new file of holes has nothing to lose.
rm "$DISK"
truncate -s 16M "$DISK"
write_some third

# A signature is refused whatever was confirmed.
rm "$DISK"
truncate -s 16M "$DISK"
printf '\1\0\0\0\377\17\0\0' |
	dd of="$DISK" bs=1 seek=1024 conv=notrunc status=none
printf 'SWAPSPACE2' | dd of="$DISK" bs=1 seek=4086 conv=notrunc status=none
refused 'it holds a swap signature' --erase "$DISK"
refused 'it holds a swap signature' --erase "$DISK" --offset 8m
expect_err "hint: .*wipefs --all $DISK"
