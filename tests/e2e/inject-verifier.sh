#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: every call of the verifier fails or is short in turn, and what a queue
# answers is wrong, before three drives: an honest one, a liar that lost one
# write, and the same liar without a log. Trouble gives no verdict or changes
# none: the honest drive is never accused, the liar never let off. Only where
# the drive itself answers a read with EIO, once, may a block be called
# unreadable.
. "${0%/*}/lib.sh"
. "${0%/*}/../inject/walk.sh"

# subject DISK STATUS [LOG]: reads DISK in place of the target.
subject() {
	local disk=$1 clean=$2
	shift 2
	cp --no-target-directory "$TMP/$disk" "$TMP/target"
	rm -f "$TMP/verdict.json"
	[[ $TARGET != nbd* ]] || serve
	"$RUNNER" verifier --target "$TARGET" --read-timeout 2s --threads 1 \
		--json "$TMP/verdict.json" "$@"
	value "$TMP/verdict.json" verdict
	((status < 4)) || return 0 # expect_no_crash() has looked at it
	case $status$VALUE in
	0kept | 3kept | 1broken | 2none) ;;
	2*) said verifier ;;
	*) [[ $SPEC == stdio:* ]] || bad "$status, and '$VALUE' in JSON" ;;
	esac
	[[ $status == "$clean" || $status == 2 ]] && return
	if [[ $clean == 0 && $status == 1 && $SPEC == answer:*:EIO ]]; then
		[[ $(broken_classes) == unreadable ]] && return
	fi
	bad "$disk got $status, not $clean: $(cat "$TMP/out" "$TMP/err")"
}

# The three drives, and for one of them at least the point must have been met.
judged() {
	local met=''
	RUNNER=inject
	subject honest 0 --acklog "$TMP/log"
	! is_met || met=yes
	subject liar 1 --acklog "$TMP/log"
	! is_met || met=yes
	subject liar 1
	[[ -z $met ]] || echo "0 met" >"$TMP/report"
}

write_cycle() { # OPTIONS...
	run writer --target "$TARGET" --erase "$TARGET" --acklog "$TMP/log" \
		--count 12 --queue-depth 4 "$@"
	[[ $status == 0 ]] || fail "cannot prepare: $(cat "$TMP/err")"
}

# Puts back one block of cycle 1 that cycle 2 had overwritten for good, such
# that the drive's own records convict as well.
make_liar() {
	local block
	RUNNER=run
	for block in $(cmp -l "$TMP/disk.1" "$TMP/honest" |
		awk '{ print int(($1 - 1) / 4096) }' | uniq); do
		cp "$TMP/honest" "$TMP/liar"
		dd if="$TMP/disk.1" of="$TMP/liar" bs=4096 count=1 \
			skip="$block" seek="$block" conv=notrunc status=none
		cp --no-target-directory "$TMP/liar" "$TMP/target"
		run verifier --target "$TARGET"
		[[ $status == 1 ]] && return
	done
	fail "no block convicts without a log"
}

# Cycle 2 is flushed; cycle 3 is not, and an honest drive has lost it.
prepare() {
	SPEC=none TARGET=${1:-$TMP/target}
	write_cycle --size 8m --sync flush:2 --seed 1
	cp "$TMP/target" "$TMP/disk.1"
	write_cycle --sync flush:1 --queue-depth 1
	cp "$TMP/target" "$TMP/honest"
	write_cycle --sync none
	make_liar
	subject honest 0 --acklog "$TMP/log"
	subject liar 1 --acklog "$TMP/log"
	subject liar 1
}

files() {
	prepare
	walk judged open EMFILE ENOENT
	walk judged read EIO EIO+ short zero EINTR
	walk judged status EIO
	walk judged close EIO
	walk judged lock EINTR EAGAIN
	walk judged stdio ENOSPC
	walk judged process EAGAIN
}

queue() {
	prepare
	walk judged setup EAGAIN ENOMEM
	walk judged submit EAGAIN EINTR EINVAL EINVAL+
	walk judged reap EINTR EINVAL EINVAL+ zero short
}

answers() {
	prepare
	walk judged answer EIO ENOMEM ENOMEM+ EAGAIN EINTR EINVAL short
}

# Servers have been seen to abort where a client leaves a request behind.
serve() {
	[[ -z ${NBD_PID-} ]] || ! has_ended "$NBD_PID" || NBD_PID=
	[[ -z ${NBD_PID-} ]] || return 0
	rm -f "$TMP/nbd.sock"
	background nbdkit -f -U "$TMP/nbd.sock" --filter=exportname file \
		"$TMP/target" exportname= exportdesc=fixed:drive-1 \
		>"$TMP/nbd.out" 2>&1
	NBD_PID=$!
	soon test -S "$TMP/nbd.sock"
}

over_nbd() {
	truncate -s 8m "$TMP/target"
	NBD_PID=
	serve
	prepare "nbd+unix:///?socket=$TMP/nbd.sock"
}

network() {
	over_nbd
	walk judged connect ECONNREFUSED
	walk judged socket EMFILE
	walk judged send ECONNRESET EPIPE EAGAIN EINTR short
	walk judged recv ECONNRESET EAGAIN EINTR short zero
	walk judged poll EINTR ENOMEM
}

nbd_memory() {
	over_nbd
	! has_memory || walk judged memory ENOMEM
}

memory() {
	prepare
	! has_memory || walk judged memory ENOMEM
}

crypto() {
	prepare
	! has_memory || walk judged crypto ENOMEM
}

requires nbdkit
sides ${SIDES:-files queue answers network nbd_memory memory crypto}
told
