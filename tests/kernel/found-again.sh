#!/bin/bash
# SPDX-License-Identifier: MIT
# P10: a drive that comes back under another name is found by its identity, and
# the one that has its old name now is not touched; where several could be meant,
# none is taken.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/rootlib.sh"
root_needs

DISK=$TMP/disk.img
OTHER=$TMP/other.img

unchanged() { # FILE SUM
	expect_equal "the content of ${1##*/}" "$(sha256sum <"$1")" "$2"
}

truncate -s 64M "$DISK"
root_attach "$DISK"
OLD=$LOOP
run writer --target "$OLD" --erase "$OLD" --acklog "$ACKLOG" --count 200 \
	--no-fill
expect_status 0
root_detach "$OLD"

# Its name is another drive's now.
truncate -s 64M "$OTHER"
LOOP_WANTED=$OLD
root_attach "$OTHER"
LOOP_WANTED=
root_attach "$DISK"
NEW=$LOOP
other=$(sha256sum <"$OTHER")
[[ $NEW != "$OLD" ]] || fail "the drive has its old name again"

verify_on "$OLD"
expect_err "^plugpull-verifier: $OLD is $NEW now\$"
expect_kept

run writer --target "$OLD" --acklog "$ACKLOG" --count 100
expect_status 0
expect_err "$OLD is $NEW now"
expect_out '^cycle 2 writing'
unchanged "$OTHER" "$other"

# Its name is nobody's now.
root_detach "$OLD"
verify_on /dev/plugpull-none
expect_err "/dev/plugpull-none is $NEW now"
expect_kept
run writer --target /dev/plugpull-none --acklog "$ACKLOG" --count 100
expect_status 0
expect_out '^cycle 3 writing'

# By its whole identity, and by one that nobody has.
verify_on "id:loop:$DISK"
expect_kept
run verifier --target id:S4EWNX0R --acklog "$ACKLOG"
expect_status 2
expect_err 'cannot open id:S4EWNX0R: .*No such device'
run writer --target id:S4EWNX0R --size 16m --acklog "$TMP/new.acklog"
expect_status 2
expect_err 'cannot open id:S4EWNX0R: '
[[ ! -e id:S4EWNX0R ]] || fail "a file was created"

# --erase goes with the drive that was found, not with the name given.
run writer --target "id:loop:$DISK" --erase "id:loop:$DISK" \
	--acklog "$TMP/new.acklog" --count 10
expect_status 2
expect_err "is not its name"
expect_err "hint: .*'$NEW'"

# Two of the same identity: neither is taken, and the file's own is told.
LOOP_WANTED=
root_attach "$DISK"
TWIN=$LOOP
run verifier --target /dev/plugpull-none --acklog "$ACKLOG"
expect_status 2
expect_err 'cannot open /dev/plugpull-none for reading: No such file'
expect_err "hint: 2 drives have the identity 'loop:$DISK': "
run verifier --target "id:loop:$DISK" --acklog "$ACKLOG"
expect_status 2
expect_err 'it names 2 drives, not one: loop[0-9]+, loop[0-9]+'
# By its name it is known, as long as its label is there.
verify_on "$NEW"
expect_err "2 drives have the identity 'loop:$DISK'"
expect_kept
root_detach "$TWIN"

# The run's drive is not here: the other one is refused by name, and unharmed.
root_detach "$NEW"
LOOP_WANTED=$OLD
root_attach "$OTHER"
other=$(sha256sum <"$OTHER")
run verifier --target "$OLD" --acklog "$ACKLOG"
expect_status 2
expect_err 'wrong drive: run [0-9a-f]* was written to loop:'
expect_err "no drive with the identity 'loop:$DISK' is here"
run writer --target "$OLD" --acklog "$ACKLOG" --count 10
expect_status 2
expect_err "$OLD is the wrong drive"
unchanged "$OTHER" "$other"
root_detach "$OLD"
exit 0
