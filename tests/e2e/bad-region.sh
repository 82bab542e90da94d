#!/bin/bash
# SPDX-License-Identifier: MIT
# A region that overlaps a partition table or a file system is refused by the
# name of what was found, whatever was confirmed; so is one that the drive does
# not have or whose blocks are smaller than the drive's. Nothing is written, and
# no log is left behind.
PATH=$PATH:/usr/sbin:/sbin
. "${0%/*}/lib.sh"
requires nbdkit mkfs.ext4 sfdisk

DISK=$TMP/disk.img
TARGET=$DISK

refused() { # REASON OPTIONS...
	local reason=$1 before
	shift
	before=$(cksum <"$DISK")
	run writer --target "$TARGET" --acklog "$TMP/none.acklog" --count 10 \
		"$@"
	expect_status 2
	expect_err "^plugpull-writer: .*$reason"
	expect_equal "what the drive holds" "$(cksum <"$DISK")" "$before"
	[[ ! -e $TMP/none.acklog ]] || fail "a log was made all the same"
}

hint() {
	expect_err "^plugpull-writer: hint: .*$1"
}

fresh() {
	rm -f "$DISK"
	truncate -s 16M "$DISK"
}

# Each signature: without a word, confirmed, and with a region far behind it.
everywhere() { # REASON
	local options
	for options in "" "--erase $TARGET" "--erase $TARGET --offset 8m" \
		"--erase $TARGET --offset 6m --size 6m"; do
		# shellcheck disable=SC2086
		refused "$1" $options
		hint 'wipefs --all '
	done
}

fresh
mkfs.ext4 -q -F -L 'my data' "$DISK" || fail "cannot make a file system"
everywhere 'cannot write to .*: it holds an ext4 file system labelled "my data"'

fresh
printf 'label: dos\n2048,4096,83\n' | sfdisk -q "$DISK" ||
	fail "cannot make a partition table"
everywhere 'it holds a dos partition table'

fresh
printf 'label: gpt\n2048,4096,L\n' | sfdisk -q "$DISK" ||
	fail "cannot make a partition table"
everywhere 'it holds a gpt partition table'

# Only its second copy is left, at the end of the drive.
dd if=/dev/zero of="$DISK" bs=1M count=1 conv=notrunc status=none
everywhere 'it holds a gpt partition table'

# A file system in the middle is not seen by its name, but it is data.
fresh
mkfs.ext4 -q -F -E offset=4194304 "$DISK" 8m ||
	fail "cannot make a file system"
for where in "--offset 4m --size 8m" "--offset 2m --size 4m" ""; do
	# shellcheck disable=SC2086
	refused 'it may hold data, and no plugpull run covers the region' $where
	hint "--erase '$DISK'"
done

# The same over NBD, where nothing but the content can be asked.
fresh
mkfs.ext4 -q -F -L 'my data' "$DISK"
TARGET="nbd+unix:///?socket=$TMP/nbd.sock"
background nbdkit -f -U "$TMP/nbd.sock" --filter=blocksize-policy \
	file "$DISK" blocksize-minimum=4096 >"$TMP/nbd.out" 2>&1
NBD_PID=$!
wait_until 10 test -S "$TMP/nbd.sock"
everywhere 'it holds an ext4 file system labelled "my data"'

# Blocks and places that the drive does not have.
dd if=/dev/zero of="$DISK" bs=1M count=16 conv=notrunc status=none
for size in 512 1k 2k 6k; do
	refused "--block-size [0-9]+ is not a multiple of the 4096-byte logical" \
		--erase "$TARGET" --block-size "$size"
	hint '--block-size 4096 is the least'
done
refused '--block-size 1000 is not a multiple of 512 bytes' --block-size 1000
refused 'a region at byte 512 is not aligned to the logical block of 4096' \
	--erase "$TARGET" --offset 512
refused '--offset 1099511627776 lies behind the end of .* 16777216 bytes' \
	--erase "$TARGET" --offset 1t
refused '--size 67108864 from --offset 0 is more than the 16777216 bytes' \
	--erase "$TARGET" --size 64m
refused 'are too few: two labels of 1 MiB and a block' \
	--erase "$TARGET" --size 2m
refused "'S4EWNX0R' is not its name" --erase S4EWNX0R
hint "--erase '"
kill "$NBD_PID"
wait_until 10 lib_has_ended "$NBD_PID"

# With the signature gone and confirmed it is written.
TARGET=$DISK
refused 'it may hold data'
run writer --target "$DISK" --erase "$DISK" --acklog "$TMP/run.acklog" \
	--count 10
expect_status 0
