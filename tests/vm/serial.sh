#!/bin/bash
# SPDX-License-Identifier: MIT
# A relay board on a USB serial adapter, through libserialport and the kernel's
# own driver for it: the bytes are those of the board, what it switches is
# switched, its state is read back, and a board that is mute, lies or is pulled
# out in the middle of a command is told as that.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
vm_needs xxd

cat >"$TMP/contact" <<SH
#!/bin/sh
# The drive hangs on the contact of the good board.
word=cut
[ "\$1" = off ] || word=restore
exec "$BIN/plugpull-simdrive" \$word --control "$TMP/drive.control"
SH
chmod +x "$TMP/contact"

# plug_in NAME MANNER COMMAND: a board and the adapter that it hangs on.
plug_in() {
	local port

	background "$PYTHON" "${0%/*}/../rig/board.py" "$3" "$2" start \
		>"$TMP/$1.board"
	wait_until 20 test -s "$TMP/$1.board"
	port=$(cat "$TMP/$1.board")
	VM_EXTRA+=(-chardev "socket,id=$1,host=127.0.0.1,port=$port,$(
		)logfile=$TMP/$1.bytes"
		-device "usb-serial,id=usb-$1,chardev=$1,serial=$1,bus=xhci.0")
}

BY_ID=/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL
outlet() { # NAME
	echo "lcus:${BY_ID}_$1-if00-port0:1"
}

relay() { # NAME WORD
	vm_run "plugpull-relay --outlet $(outlet "$1") $2"
}

drive_is() { # on|off
	expect_equal "the drive" "$("$BIN/plugpull-simdrive" status \
		--control "$TMP/drive.control" | grep -o 'state=[a-z]*')" \
		"state=$1"
}

# What went to the board since it was plugged in, and nothing else.
sent() { # NAME HEX
	expect_equal "the bytes for $1" "$(xxd -p "$TMP/$1.bytes" | tr -d '\n')" \
		"$2"
}

has_sent_beyond() { # NAME BYTES
	[[ $(stat -c %s "$TMP/$1.bytes") -gt $2 ]]
}

start_simdrive drive
vm_bus qemu-xhci xhci
plug_in good good "$TMP/contact"
plug_in silent silent true
plug_in late late true
vm_start
for name in good silent late; do
	vm_wait 20 "test -c ${BY_ID}_$name-if00-port0"
done

# ---- looked for, and not touched
vm_run 'plugpull-relay probe'
expect_status 0
expect_out '^/dev/ttyUSB[0-9]: 0403:6001 .*serial number good, at usb '
expect_out 'drivers: kmtronic, .*; an identity that other adapters have, too'
sent good ""

# ---- a good board
relay good status
expect_status 0
expect_out '^on$'
sent good ff
relay good off
expect_status 0
drive_is off
sent good ffa00100a1ff
relay good status
expect_out '^off$'
relay good on
expect_status 0
drive_is on
sent good ffa00100a1ffffa00101a2ff
vm_run "stty -F ${BY_ID}_good-if00-port0"
expect_out 'speed 9600 baud'
# By the name that the kernel gave it, and cycled as one command.
vm_run "plugpull-relay --off-time 100ms --outlet \
	lcus:\$(readlink -f ${BY_ID}_good-if00-port0):1 cycle"
expect_status 0
drive_is on
sent good ffa00100a1ffffa00101a2ffa00100a1ffa00101a2ff
echo "table: switched and read back through $(
	)libserialport, ftdi_sio and a USB adapter"

# ---- a modem line of the adapter, and not one byte
bytes=$(xxd -p "$TMP/good.bytes" | tr -d '\n')
vm_run "plugpull-relay --outlet line:${BY_ID}_good-if00-port0 off"
expect_status 2
expect_err 'keeps its state only as long as its port is open'
vm_run "printf 'status\noff\nstatus\non\nstatus\nend\n' |
	plugpull-relay --outlet line:${BY_ID}_good-if00-port0 session |
	cut -d' ' -f 1-3 | tr '\n' ,"
expect_out "^ok on read-back,ok off read-back,ok off read-back,ok on read-back,"
sent good "$bytes"

# ---- a mute one
relay silent status
expect_out '^unknown$'
expect_err 'the board did not answer; its state cannot be read back'

# ---- pulled out in the middle of a command: the board has the frame, its answer
# is a second late, and the adapter is gone by then.
before=$(stat -c %s "$TMP/late.bytes")
vm_spawn gone "plugpull-relay --outlet $(outlet late) off"
wait_until 30 has_sent_beyond late "$before"
vm_qmp device_del '{"id":"usb-late"}'
vm_wait 30 "test -e /tmp/gone.status"
vm_run "cat /tmp/gone.err >&2; cat /tmp/gone.status"
expect_out '^2$'
expect_err 'cannot switch off'
echo "table: pulled out in mid-command: $(sed 's/.*tried/tried/' "$TMP/err")"

# ---- and plugged in again
vm_qmp device_add '{"driver":"usb-serial","id":"usb-late","chardev":"late",
	"serial":"late","bus":"xhci.0"}'
vm_wait 20 "test -c ${BY_ID}_late-if00-port0"
relay late status
expect_status 0
expect_out '^o(n|ff)$'
exit 0
